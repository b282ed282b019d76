// In charge of the one place where a question becomes SQL over the roster tables. The establishment is part of every
// plan: each condition below hangs on the targets.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { addressPlaceholder, type Resource } from '../roster/resource.ts';
import { columnsAt, piecesAt, rowsAt, type Piece } from './as-of.ts';
import { compareSql } from './compare.ts';
import type { PathContext, Version } from './field-path.ts';
import type { ListRequest } from './list-request.ts';
import type { Operation, Parent, RowsOf } from './operations.ts';
import type { Target } from './visibility.ts';

export type Question = Readonly<{
  operation: Operation;
  /** The ids in the path, in their order. */
  ids: readonly string[];
  targets: readonly Target[];
  filter: ListRequest['filter'];
  sort: ListRequest['sort'];
  address: string;
  versions: ReadonlyMap<string, readonly Version[]>;
}>;

/** Pieces of statements about the records t that the question is about. */
export type Plan = Readonly<{
  from: Fragment;
  where: Fragment;
  /** What `from` is made of, where it is not one table. */
  pieces: readonly Piece[] | undefined;
  columns: Fragment;
  orderBy: Fragment;
  /** The record's JSON but for the closing brace; placeholders stand for the address and the version's instant. */
  json: Fragment;
  /** Whether every parent exists. */
  parentsExist: Fragment;
  /** Where each establishment's roster stands, and since when it is kept, as of the statement's snapshot. */
  currentVersions: Fragment;
}>;

export function makePlan(sql: Sql, question: Question): Plan {
  const { operation, ids, targets, filter, sort, address, versions } = question;
  const resource = collections[operation.collection];
  const { parents = [] } = operation;
  const rowsOf = rowsAt(sql, targets);
  const context: PathContext = { address, versions, visibleAgents: visibleAgents(sql, targets, rowsOf) };
  const conditions = [visible(sql, resource, targets)];
  if (operation.single) conditions.push(sql`t.sourced_id = ${ids.at(-1) ?? ''}`);
  if (operation.relation) conditions.push(operation.relation(sql, ids, rowsOf));
  if (filter)
    conditions.push(
      sql`(${joined(
        sql,
        filter.map((all) =>
          joined(
            sql,
            all.map((check) => compareSql(sql, check, context)),
            sql` and `,
          ),
        ),
        sql` or `,
      )})`,
    );
  const byField = sort ? sql`${sort.path.sql(sql, context)} ${sort.descending ? sql`desc` : sql`asc`} nulls last,` : sql``;
  return {
    from: sql`${rowsOf(resource)} t`,
    where: joined(sql, conditions, sql` and `),
    pieces: piecesAt(sql, targets, resource),
    columns: columnsAt(sql, resource),
    orderBy: targets.length > 1 ? sql`${byField} t.sourced_id, t.estab` : sql`${byField} t.sourced_id`,
    json: recordJson(sql, resource, targets, address, rowsOf),
    parentsExist: joined(sql, [sql`true`, ...parents.map((parent, index) => parentExists(sql, parent, { ids, index, targets, rowsOf }))], sql` and `),
    currentVersions: sql`(select jsonb_object_agg(r.estab, jsonb_build_object('id', r.id, 'version', r.version, 'keptFrom', r.kept_from)) from roster r
      where r.estab = any(${targets.map((target) => target.estab)}))`,
  };
}

function visible(sql: Sql, resource: Resource, targets: readonly Target[]): Fragment {
  const groups = Map.groupBy(targets, (target) => target.kinds.join());
  const perGroup = [...groups.values()].map((group) => {
    const kinds = group[0]?.kinds ?? [];
    const inKinds = resource.kinds.every((kind) => kinds.includes(kind)) ? sql`` : sql`and t.kind = any(${[...kinds]})`;
    return group.length === 1 ? sql`(t.estab = ${group[0]?.estab ?? ''} ${inKinds})` : sql`(t.estab = any(${group.map((target) => target.estab)}) ${inKinds})`;
  });
  return sql`(${joined(sql, perGroup, sql` or `)})`;
}

type Parented = { ids: readonly string[]; index: number; targets: readonly Target[]; rowsOf: RowsOf };

function parentExists(sql: Sql, parent: Parent, { ids, index, targets, rowsOf }: Parented): Fragment {
  const resource = collections[parent.collection];
  // A person whom the scopes hide is not there; of other parents only the existence shows.
  const kinds = (target: Target) => (parent.collection === 'users' ? target.people : resource.kinds).filter((kind) => parent.kinds?.includes(kind) ?? true);
  const seen = visible(sql, resource, targets.map((target) => ({ ...target, kinds: kinds(target) })));
  return sql`exists (select from ${rowsOf(resource)} t
    where ${seen} and t.sourced_id = ${ids[index] ?? ''} ${parent.within ? sql`and ${parent.within(sql, ids, rowsOf)}` : sql``})`;
}

/** The ids of a user's agents whom the caller may see. */
function visibleAgents(sql: Sql, targets: readonly Target[], rowsOf: RowsOf): Fragment {
  if (targets.every(seesEveryone)) return sql`t.agent_ids`;
  return sql`nullif(array(select id from unnest(t.agent_ids) with ordinality as given (id, position)
    where ${kindOfPerson(sql, sql`given.id`, rowsOf)} = any(${peopleOf(sql, targets)}) order by position), '{}')`;
}

function recordJson(sql: Sql, resource: Resource, targets: readonly Target[], address: string, rowsOf: RowsOf): Fragment {
  if (!resource.fields.some((field) => field.late)) return sql`t.head || t.record`;
  const late = resource.collection !== 'users' || targets.every(seesEveryone) ? sql`t.late` : visibleLate(sql, targets, address, rowsOf);
  return sql`t.head || t.record || ${late}`;
}

/** The agents' references, without those that the scopes hide. */
function visibleLate(sql: Sql, targets: readonly Target[], address: string, rowsOf: RowsOf): Fragment {
  return sql`case when t.late = '' then '' else coalesce((
    select ',"agents":[' || string_agg(given.agent::text, ',' order by given.position) || ']'
    from json_array_elements(('{' || substr(replace(t.late, ${addressPlaceholder}, ${address}), 2) || '}')::json -> 'agents') with ordinality as given (agent,
      position)
    where ${kindOfPerson(sql, sql`given.agent ->> 'sourcedId'`, rowsOf)} = any(${peopleOf(sql, targets)})), '') end`;
}

/** Looked up by key, one by one: as a join the planner would read the whole school for every record. */
function kindOfPerson(sql: Sql, id: Fragment, rowsOf: RowsOf): Fragment {
  return sql`(select a.kind from ${rowsOf(collections.users)} a where a.estab = t.estab and a.sourced_id = ${id})`;
}

function peopleOf(sql: Sql, targets: readonly Target[]): Fragment {
  if (targets.length === 1) return sql`${[...(targets[0]?.people ?? [])]}::text[]`;
  const cases = targets.map((target) => sql`when ${target.estab} then ${[...target.people]}::text[]`);
  return sql`(case t.estab ${joined(sql, cases, sql` `)} end)`;
}

function seesEveryone({ people }: Target): boolean {
  return collections.users.kinds.every((kind) => people.includes(kind));
}

function joined(sql: Sql, parts: readonly Fragment[], by: Fragment): Fragment {
  return parts.reduce((all, one) => sql`${all}${by}${one}`);
}
