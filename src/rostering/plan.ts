// In charge of the one place where a question becomes SQL over the roster tables. The establishment is part of every
// plan: each condition below hangs on the targets.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { columnsAt, piecesAt, rowsAt, type Piece } from './as-of.ts';
import { compareSql } from './compare.ts';
import type { PathContext, Version } from './field-path.ts';
import { joined } from './join-fragments.ts';
import type { Parent, RelationContext, RowsOf } from './operations.ts';
import type { Question } from './question.ts';
import {
  hasRoleAt, isOfKinds, isOpenEnrolment, visibleAgents, visibleColumn, visibleLate, visibleProperties, type PeopleContext,
} from './visible-people.ts';
import type { Target } from './visibility.ts';

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
  /** Whether every parent exists, in one school. */
  parentsExist: Fragment;
  /** Where each establishment's roster stands, and since when it is kept, as of the statement's snapshot; proved: with the version's instant. */
  standing: (proved: boolean) => Fragment;
}>;

export type Versions = ReadonlyMap<string, readonly Version[]>;

export function makePlan(sql: Sql, question: Question, versions: Versions): Plan {
  const { dialect, operation, ids, targets, filter, sort, address } = question;
  const resource = collections[operation.collection];
  const rowsOf = rowsAt(sql, targets);
  const ready = sql`(select bool_and(${dialect.isReady(sql)}) from roster r where r.estab = any(${targets.map((target) => target.estab)}))`;
  const people: PeopleContext = { targets, rowsOf, address, ready };
  const properties = visibleProperties(sql, resource, dialect.properties(sql), people);
  const ofColumn: PathContext['visibleColumn'] = (field, column) => visibleColumn(sql, field, column, targets);
  const paths: PathContext = { address, versions, visibleAgents: visibleAgents(sql, people), visibleColumn: ofColumn, properties, ready };
  const conditions = [visible(sql, resource, targets)];
  if (operation.single) conditions.push(sql`t.sourced_id = ${ids.at(-1) ?? ''}`);
  if (operation.relation) {
    const context: RelationContext = {
      rowsOf,
      roleAt: (org) => hasRoleAt(sql, resource, targets, org),
      isOpen: (enrolment) => isOpenEnrolment(sql, enrolment, targets),
      isAs: (enrolment, role) => (dialect.byAnyKind ? sql`${enrolment}.role = ${role}` : sql`true`),
    };
    conditions.push(operation.relation(sql, ids, context));
  }
  const parents = planParents(sql, operation.parents ?? [], { ids, targets, rowsOf });
  if (parents.ofOwnSchool) conditions.push(parents.ofOwnSchool);
  if (filter)
    conditions.push(
      sql`(${joined(
        sql,
        filter.map((all) =>
          joined(
            sql,
            all.map((check) => compareSql(sql, check, paths)),
            sql` and `,
          ),
        ),
        sql` or `,
      )})`,
    );
  const byField = sort ? sql`${sort.path.sql(sql, paths)} ${sort.descending ? sql`desc` : sql`asc`} nulls last,` : sql``;
  return {
    from: sql`${rowsOf(resource)} t`,
    where: joined(sql, conditions, sql` and `),
    pieces: piecesAt(sql, targets, resource),
    columns: columnsAt(sql, resource),
    orderBy: targets.length > 1 ? sql`${byField} t.estab, t.sourced_id` : sql`${byField} t.sourced_id`,
    json: sql`t.head || ${properties}${resource.fields.some((field) => field.late) ? sql` || ${visibleLate(sql, resource, people)}` : sql``}`,
    parentsExist: parents.exist,
    standing: (proved) => sql`(select jsonb_object_agg(r.estab, jsonb_build_object('id', r.id, 'version', r.version, 'keptFrom', r.kept_from, 'ready',
      ${dialect.isReady(sql)}${proved ? instantAsked(sql, targets) : sql``})) from roster r
      where r.estab = any(${targets.map((target) => target.estab)}))`,
  };
}

/** A replica that has taken another way than the primary may have a version of the same number. */
function instantAsked(sql: Sql, targets: readonly Target[]): Fragment {
  return sql`, 'instant', (select (extract(epoch from v.instant) * 1000)::bigint from roster_version v
    join unnest(${targets.map(({ estab }) => estab)}::text[], ${targets.map(({ version }) => version)}::int[]) asked (estab, version)
    on asked.estab = r.estab and asked.version = v.version where v.estab = r.estab)`;
}

function visible(sql: Sql, resource: Resource, targets: readonly Target[]): Fragment {
  const groups = Map.groupBy(targets, (target) => target.kinds.join());
  const perGroup = [...groups.values()].map((group) => {
    const kinds = group[0]?.kinds ?? [];
    const every = resource.kinds.every((kind) => kinds.includes(kind));
    const inKinds = every ? sql`` : sql`and ${isOfKinds(sql, resource, sql`t`, sql`${[...kinds]}::text[]`, group)}`;
    return group.length === 1 ? sql`(t.estab = ${group[0]?.estab ?? ''} ${inKinds})` : sql`(t.estab = any(${group.map((target) => target.estab)}) ${inKinds})`;
  });
  if (perGroup.length === 1) return sql`(${joined(sql, perGroup, sql` or `)})`;
  return sql`(t.estab = any(${targets.map((target) => target.estab)}) and (${joined(sql, perGroup, sql` or `)}))`;
}

type Parented = Readonly<{ ids: readonly string[]; targets: readonly Target[]; rowsOf: RowsOf }>;

/** Schools may have the same ids, so that all parents have to be in one, and of several schools only the records of such a one count. */
function planParents(sql: Sql, parents: readonly Parent[], parented: Parented): { exist: Fragment; ofOwnSchool?: Fragment } {
  const { targets } = parented;
  if (parents.length === 0) return { exist: sql`true` };
  const all = (at: Fragment) => joined(sql, parents.map((parent, index) => parentExists(sql, parent, index, parented, at)), sql` and `);
  if (targets.length === 1) return { exist: all(sql``) };
  const schools = sql`unnest(${targets.map(({ estab }) => estab)}::text[]) as school (estab)`;
  const having = sql`select school.estab from ${schools} where ${all(sql`and t.estab = school.estab`)}`;
  return { exist: sql`exists (${having})`, ofOwnSchool: sql`t.estab = any(array(${having}))` };
}

function parentExists(sql: Sql, parent: Parent, index: number, { ids, targets, rowsOf }: Parented, at: Fragment): Fragment {
  const resource = collections[parent.collection];
  // A person whom the scopes hide is not there; of other parents only the existence shows.
  const kinds = (target: Target) => (parent.collection === 'users' ? target.people : resource.kinds).filter((kind) => parent.kinds?.includes(kind) ?? true);
  const seen = visible(sql, resource, targets.map((target) => ({ ...target, kinds: kinds(target) })));
  const any = () => sql`true`;
  const within = parent.within ? sql`and ${parent.within(sql, ids, { rowsOf, roleAt: any, isOpen: any, isAs: any })}` : sql``;
  return sql`exists (select from ${rowsOf(resource)} t where ${seen} and t.sourced_id = ${ids[index] ?? ''} ${within} ${at})`;
}
