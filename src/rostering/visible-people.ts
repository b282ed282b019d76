// In charge of what the scopes hide inside a record and of it: agents whom the caller may not see, and roles of somebody who has several.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { addressPlaceholder, kindColumns, type Resource } from '../roster/resource.ts';
import { rolesOfKinds } from '../roster/resources/user-role.ts';
import { joined } from './join-fragments.ts';
import type { RowsOf } from './operations.ts';
import type { Target } from './visibility.ts';

export type PeopleContext = Readonly<{ targets: readonly Target[]; rowsOf: RowsOf; address: string }>;

type Judging = readonly Pick<Target, 'byAnyKind'>[];

/** Whether a row of the collection is of one of these kinds: by its main one, or by any. */
export function isOfKinds(sql: Sql, resource: Resource, row: Fragment, kinds: Fragment, [target]: Judging): Fragment {
  if (!target?.byAnyKind || !kindColumns(resource).includes('kinds')) return sql`${row}.kind = any(${kinds})`;
  return sql`(case when ${row}.kinds is null then ${row}.kind = any(${kinds}) else ${row}.kinds && ${kinds} end)`;
}

/** The ids of a user's agents whom the caller may see. */
export function visibleAgents(sql: Sql, context: PeopleContext): Fragment {
  if (context.targets.every(seesEveryone)) return sql`t.agent_ids`;
  return sql`nullif(array(select id from unnest(t.agent_ids) with ordinality as given (id, position)
    where ${isVisiblePerson(sql, sql`given.id`, context)} order by position), '{}')`;
}

/** What stands behind the rest of a record; of a user the agents' references, without those that the scopes hide. */
export function visibleLate(sql: Sql, resource: Resource, context: PeopleContext): Fragment {
  if (resource.collection !== 'users' || context.targets.every(seesEveryone)) return sql`t.late`;
  return sql`case when t.late = '' then '' else coalesce((
    select ',"agents":[' || string_agg(given.agent::text, ',' order by given.position) || ']'
    from json_array_elements(('{' || substr(${withAddress(sql, sql`t.late`, context)}, 2) || '}')::json -> 'agents') with ordinality as given (agent, position)
    where ${isVisiblePerson(sql, sql`given.agent ->> 'sourcedId'`, context)}), '') end`;
}

/** Looked up by key, one by one: as a join the planner would read the whole school for every record. */
function isVisiblePerson(sql: Sql, id: Fragment, { targets, rowsOf }: PeopleContext): Fragment {
  const people = perTarget(sql, targets, ({ people: kinds }) => kinds);
  return sql`(select ${isOfKinds(sql, collections.users, sql`a`, people, targets)} from ${rowsOf(collections.users)} a
    where a.estab = t.estab and a.sourced_id = ${id})`;
}

/** The properties of a record without roles of kinds that the caller may not see; they are the last of them. */
export function visibleProperties(sql: Sql, resource: Resource, properties: Fragment, context: PeopleContext): Fragment {
  const { targets } = context;
  const { kindsBy } = resource;
  if (!kindsBy || targets.every(seesEveryone) || targets.every(({ byAnyKind }) => !byAnyKind)) return properties;
  const [before, begins] = [sql`strpos(${properties}, ${`,"${kindsBy.field}":[`})`, kindsBy.field.length + 4];
  const items = withAddress(sql, sql`substr(${properties}, ${before} + ${begins}::int)`, context);
  const open = perTarget(sql, targets, ({ people }) => rolesOfKinds(people));
  return sql`case when t.kinds is null then ${properties} else left(${properties}, ${before} - 1) || (
    select ${`,"${kindsBy.field}":[`} || string_agg(given.item::text, ',' order by given.position) || ']'
    from json_array_elements(${items}::json) with ordinality as given (item, position)
    where ${isOpenRole(sql, sql`given.item ->> 'role'`, open)}) end`;
}

/** Of whoever is of several kinds: whether a role of the kinds that are asked for is at this organisation. */
export function hasRoleAt(sql: Sql, { kindsBy }: Resource, targets: readonly Target[], org: string): Fragment {
  if (!kindsBy || targets.every(({ byAnyKind }) => !byAnyKind)) return sql`true`;
  const open = perTarget(sql, targets, ({ kinds }) => rolesOfKinds(kinds));
  return sql`(t.kinds is null or exists (select from jsonb_array_elements(t.roles) item
    where item ->> 'org' = ${org} and ${isOpenRole(sql, sql`item ->> 'role'`, open)}))`;
}

/** Of an enrolment in the establishment of t. Where the main kind alone decides, it is that of the person, who was judged already. */
export function isOpenEnrolment(sql: Sql, enrolment: Fragment, targets: readonly Target[]): Fragment {
  if (targets.every((target) => !target.byAnyKind || seesEveryone(target))) return sql`true`;
  return isOfKinds(sql, collections.enrollments, enrolment, perTarget(sql, targets, ({ people }) => people), targets);
}

/** Words by which a vocabulary is extended are judged by their beginning. */
function isOpenRole(sql: Sql, role: Fragment, open: Fragment): Fragment {
  return sql`split_part(${role}, ':', 1) = any(${open})`;
}

const withAddress = (sql: Sql, text: Fragment, { address }: PeopleContext) => sql`replace(${text}, ${addressPlaceholder}, ${address})`;

function perTarget(sql: Sql, targets: readonly Target[], listOf: (target: Target) => readonly string[]): Fragment {
  const [only, ...others] = targets;
  if (only && others.length === 0) return sql`${[...listOf(only)]}::text[]`;
  const cases = targets.map((target) => sql`when ${target.estab} then ${[...listOf(target)]}::text[]`);
  return sql`(case t.estab ${joined(sql, cases, sql` `)} end)`;
}

function seesEveryone({ people }: Target): boolean {
  return collections.users.kinds.every((kind) => people.includes(kind));
}
