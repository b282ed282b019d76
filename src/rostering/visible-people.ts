// In charge of what the scopes hide inside a record and of it: agents whom the caller may not see, and of somebody who has several roles
// those of other kinds, with what only they tell.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { addressPlaceholder, kindColumns, type Field, type Resource } from '../roster/resource.ts';
import { rolesOfKinds } from '../roster/resources/user-role.ts';
import { joined } from './join-fragments.ts';
import type { RowsOf } from './operations.ts';
import type { Target } from './visibility.ts';

export type PeopleContext = Readonly<{
  target: Target;
  rowsOf: RowsOf;
  address: string;
}>;

const relating = collections.users.fields.flatMap(({ relates }) => relates ?? []);

type Judging = Pick<Target, 'byAnyKind'>;

/** Whether a row of the collection is of one of these kinds: by its main one, or by any. */
export function isOfKinds(sql: Sql, resource: Resource, row: Fragment, kinds: Fragment, { byAnyKind }: Judging): Fragment {
  if (!byAnyKind || !kindColumns(resource).includes('kinds')) return sql`${row}.kind = any(${kinds})`;
  return sql`(case when ${row}.kinds is null then ${row}.kind = any(${kinds}) else ${row}.kinds && ${kinds} end)`;
}

/** The ids of a user's agents whom the caller may see. */
export function visibleAgents(sql: Sql, context: PeopleContext): Fragment {
  if (seesEveryone(context.target)) return sql`t.agent_ids`;
  return sql`nullif(array(select id from unnest(t.agent_ids) with ordinality as given (id, position)
    where ${isVisiblyRelated(sql, sql`given.id`, context)} order by position), '{}')`;
}

/** What stands behind the rest of a record; of a user the agents' references, without those that the scopes hide. */
export function visibleLate(sql: Sql, resource: Resource, context: PeopleContext): Fragment {
  if (resource.collection !== 'users' || seesEveryone(context.target)) return sql`t.late`;
  return sql`case when t.late = '' then '' else coalesce((
    select ',"agents":[' || string_agg(given.agent::text, ',' order by given.position) || ']'
    from json_array_elements(('{' || substr(${withAddress(sql, sql`t.late`, context)}, 2) || '}')::json -> 'agents') with ordinality as given (agent, position)
    where ${isVisiblyRelated(sql, sql`given.agent ->> 'sourcedId'`, context)}), '') end`;
}

/** Looked up by key, one by one: as a join the planner would read the whole school for every record. */
function isVisiblyRelated(sql: Sql, id: Fragment, { target, rowsOf }: PeopleContext): Fragment {
  const open = textsOf(sql, target.people);
  const isSeen = isOfKinds(sql, collections.users, sql`a`, open, target);
  const isOpen = !target.byAnyKind
    ? isSeen
    : sql`case when ${isFamily(sql)} then ${[...relating]}::text[] <@ ${open} else ${isSeen} end`;
  return sql`(select ${isOpen} from ${rowsOf(collections.users)} a where a.estab = ${target.estab} and a.sourced_id = ${id})`;
}

/** Whether t and a are related as people are, one of one kind and one of the other: then that shows to whoever may see both. */
function isFamily(sql: Sql): Fragment {
  const [one = '', other = ''] = relating;
  const is = (person: Fragment, kind: string) => sql`${kind} = any(coalesce(${person}.kinds, array[${person}.kind]))`;
  return sql`(${is(sql`t`, one)} and ${is(sql`a`, other)} or ${is(sql`t`, other)} and ${is(sql`a`, one)})`;
}

/** The properties of a record without roles of kinds that the caller may not see, and without what only these tell. */
export function visibleProperties(sql: Sql, { kindsBy, fields }: Resource, properties: Fragment, context: PeopleContext): Fragment {
  const { target } = context;
  if (!kindsBy || hidesNoRole(target)) return properties;
  const open = textsOf(sql, rolesOfKinds(target.people));
  const items = (where: (item: Fragment) => Fragment) => sql`(select '[' || string_agg(one.item::text, ',' order by one.position) || ']'
    from json_array_elements(given.value) with ordinality as one (item, position) where ${where(sql`one.item`)})`;
  const isNamed = (id: Fragment, path: string) => sql`coalesce((select bool_or(${isOpenRole(sql, sql`role.item ->> 'role'`, open)})
    from json_array_elements(whole.record -> ${kindsBy.field}) as role (item) where role.item #>> ${path}::text[] = ${id}), true)`;
  const shown = fields.flatMap(({ name, namedBy, tellsOf, type }) => {
    if (name === kindsBy.field) return [sql`when ${name} then ${items((item) => isOpenRole(sql, sql`${item} ->> 'role'`, open))}`];
    if (tellsOf !== undefined) return [sql`when ${name} then case when ${isOpenKind(sql, tellsOf, target)} then given.value::text end`];
    if (namedBy === undefined) return [];
    if (type === 'items') return [sql`when ${name} then ${items((item) => isNamed(sql`${item} ->> 'profileId'`, `{${namedBy}}`))}`];
    const itself = isNamed(sql`given.value ->> 'sourcedId'`, `{${namedBy},sourcedId}`);
    return [sql`when ${name} then case when ${itself} then given.value::text end`];
  });
  return sql`(case when t.kinds is null then ${properties} else (
    select string_agg(',' || to_json(part.key)::text || ':' || part.shown, '' order by part.position)
    from (select ('{' || substr(${withAddress(sql, properties, context)}, 2) || '}')::json as record) whole, lateral (
      select given.key, given.position, case given.key ${joined(sql, shown, sql` `)} else given.value::text end as shown
      from json_each(whole.record) with ordinality as given (key, value, position)) part where part.shown is not null) end)`;
}

/** The value of a field that a role can name, or that tells of one, unless the caller may not see any such. */
export function visibleColumn(sql: Sql, { namedBy, tellsOf }: Field, column: Fragment, target: Target): Fragment {
  if (hidesNoRole(target)) return column;
  if (tellsOf !== undefined) return sql`(case when t.kinds is null or ${isOpenKind(sql, tellsOf, target)} then ${column} end)`;
  if (namedBy === undefined) return column;
  const open = textsOf(sql, rolesOfKinds(target.people));
  return sql`(case when t.kinds is null or coalesce((select bool_or(${isOpenRole(sql, sql`role.item ->> 'role'`, open)})
    from jsonb_array_elements(t.roles) as role (item) where role.item ->> ${namedBy} = ${column}), true) then ${column} end)`;
}

/** Of somebody of several kinds: whether it is none of theirs, or one that the caller may see. */
function isOpenKind(sql: Sql, kind: string, { people }: Target): Fragment {
  return sql`(${kind} <> all(t.kinds) or ${kind} = any(${textsOf(sql, people)}))`;
}

const hidesNoRole = (target: Target): boolean => !target.byAnyKind || seesEveryone(target);

/** Of whoever is of several kinds: whether a role of the kinds that are asked for is at this organisation. */
export function hasRoleAt(sql: Sql, { kindsBy }: Resource, { byAnyKind, kinds }: Target, org: string): Fragment {
  if (!kindsBy || !byAnyKind) return sql`true`;
  const open = textsOf(sql, rolesOfKinds(kinds));
  return sql`(t.kinds is null or exists (select from jsonb_array_elements(t.roles) item
    where item ->> 'org' = ${org} and ${isOpenRole(sql, sql`item ->> 'role'`, open)}))`;
}

/** Of an enrolment in the establishment of t. Where the main kind alone decides, it is that of the person, who was judged already. */
export function isOpenEnrolment(sql: Sql, enrolment: Fragment, target: Target): Fragment {
  if (hidesNoRole(target)) return sql`true`;
  return isOfKinds(sql, collections.enrollments, enrolment, textsOf(sql, target.people), target);
}

/** Words by which a vocabulary is extended are judged by their beginning. */
function isOpenRole(sql: Sql, role: Fragment, open: Fragment): Fragment {
  return sql`split_part(${role}, ':', 1) = any(${open})`;
}

const withAddress = (sql: Sql, text: Fragment, { address }: PeopleContext) => sql`replace(${text}, ${addressPlaceholder}, ${address})`;

const textsOf = (sql: Sql, texts: readonly string[]): Fragment => sql`${[...texts]}::text[]`;

export function seesEveryone({ people }: Target): boolean {
  return collections.users.kinds.every((kind) => people.includes(kind));
}
