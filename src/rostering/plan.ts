// In charge of the one place where a question becomes SQL over the roster tables, of one school: each table of it is compared with the
// establishment as a value, so that the statement can be answered where the school's rows are, whole and of one moment.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { columnsAt, piecesAt, rowsAt, type Piece } from './as-of.ts';
import { compareSql } from './compare.ts';
import type { PathContext, Version } from './field-path.ts';
import { joined } from './join-fragments.ts';
import type { Parent, RelationContext } from './operations.ts';
import type { Question } from './question.ts';
import {
  hasRoleAt, isOfKinds, isOpenEnrolment, visibleAgents, visibleColumn, visibleLate, visibleProperties, type PeopleContext,
} from './visible-people.ts';
import type { Target } from './visibility.ts';

/** A record's place in the order that is asked for; key: as `sortKey` gave it. */
export type Position = Readonly<{ sourcedId: string; key: unknown }>;

/** Pieces of statements about the records t of one school that the question is about. */
export type Plan = Readonly<{
  from: Fragment;
  where: Fragment;
  /** What `from` is made of, where it is not one table. */
  pieces: readonly Piece[] | undefined;
  columns: Fragment;
  orderBy: Fragment;
  /** What records are sorted by, as JSON; within a roster a version stands for its instant. */
  sortKey: Fragment;
  /** What comes after a record in the order of `orderBy`. */
  behind: (position: Position) => Fragment;
  /** The record's JSON but for the closing brace; placeholders stand for the address and the version's instant. */
  json: Fragment;
  parentsExist: Fragment;
  /** Where the roster stands, and since when it is kept, as of the statement's snapshot; proved: with the version's instant. */
  standing: (proved: boolean) => Fragment;
}>;

export function makePlan(sql: Sql, question: Question, target: Target, versions: readonly Version[]): Plan {
  const { dialect, operation, ids, filter, sort, address } = question;
  const resource = collections[operation.collection];
  const rowsOf = rowsAt(sql, target);
  const people: PeopleContext = { target, rowsOf, address };
  const properties = visibleProperties(sql, resource, dialect.properties(sql), people);
  const ofColumn: PathContext['visibleColumn'] = (field, column) => visibleColumn(sql, field, column, target);
  const paths: PathContext = { address, versions, visibleAgents: visibleAgents(sql, people), visibleColumn: ofColumn, properties };
  const relation: RelationContext = {
    estab: target.estab,
    rowsOf,
    roleAt: (org) => hasRoleAt(sql, resource, target, org),
    isOpen: (enrolment) => isOpenEnrolment(sql, enrolment, target),
    isAs: (enrolment, role) => (dialect.byAnyKind ? sql`${enrolment}.role = ${role}` : sql`true`),
  };
  const conditions = [visible(sql, resource, target)];
  if (operation.single) conditions.push(sql`t.sourced_id = ${ids.at(-1) ?? ''}`);
  if (operation.relation) conditions.push(operation.relation(sql, ids, relation));
  if (filter) {
    const arms = filter.map((all) => joined(sql, all.map((check) => compareSql(sql, check, paths)), sql` and `));
    conditions.push(sql`(${joined(sql, arms, sql` or `)})`);
  }
  const sortedBy = sort?.path.sql(sql, paths);
  const byField = sortedBy ? sql`${sortedBy} ${sort?.descending ? sql`desc` : sql`asc`} nulls last,` : sql``;
  return {
    from: sql`${rowsOf(resource)} t`,
    where: joined(sql, conditions, sql` and `),
    pieces: piecesAt(sql, target, resource),
    columns: columnsAt(sql, resource),
    orderBy: sql`${byField} t.sourced_id`,
    sortKey: sortedBy ? sql`to_json(${sortedBy})` : sql`null::json`,
    behind: (position) => isBehind(sql, sortedBy, sort?.descending === true, position),
    json: sql`t.head || ${properties}${resource.fields.some((field) => field.late) ? sql` || ${visibleLate(sql, resource, people)}` : sql``}`,
    parentsExist: parentsExist(sql, operation.parents ?? [], question, target, relation),
    standing: (proved) => standingOf(sql, target, proved),
  };
}

/** What is missing comes last, whichever way the others go. */
function isBehind(sql: Sql, sortedBy: Fragment | undefined, descending: boolean, { sourcedId, key }: Position): Fragment {
  const byId = sql`t.sourced_id > ${sourcedId}`;
  if (!sortedBy) return byId;
  if (key === null || key === undefined) return sql`(${sortedBy} is null and ${byId})`;
  return sql`(${sortedBy} ${descending ? sql`<` : sql`>`} ${key} or ${sortedBy} = ${key} and ${byId} or ${sortedBy} is null)`;
}

/** Where the roster stands as of the statement's snapshot. */
export function standingOf(sql: Sql, target: Target, proved: boolean): Fragment {
  return sql`(select jsonb_build_object('id', r.id, 'version', r.version, 'keptFrom', r.kept_from${proved ? instantAsked(sql, target) : sql``})
    from roster r where r.estab = ${target.estab})`;
}

/** A replica that has taken another way than the primary may have a version of the same number. */
function instantAsked(sql: Sql, { estab, version }: Target): Fragment {
  return sql`, 'instant', (select (extract(epoch from v.instant) * 1000)::bigint from roster_version v where v.estab = ${estab} and v.version = ${version})`;
}

function visible(sql: Sql, resource: Resource, target: Target): Fragment {
  const every = resource.kinds.every((kind) => target.kinds.includes(kind));
  return every
    ? sql`t.estab = ${target.estab}`
    : sql`t.estab = ${target.estab} and ${isOfKinds(sql, resource, sql`t`, sql`${[...target.kinds]}::text[]`, target)}`;
}

function parentsExist(sql: Sql, parents: readonly Parent[], { ids }: Question, target: Target, relation: RelationContext): Fragment {
  if (parents.length === 0) return sql`true`;
  const any = () => sql`true`;
  const each = parents.map((parent, index) => {
    const resource = collections[parent.collection];
    // A person whom the scopes hide is not there; of other parents only the existence shows.
    const kinds = (parent.collection === 'users' ? target.people : resource.kinds).filter((kind) => parent.kinds?.includes(kind) ?? true);
    const within = parent.within ? sql`and ${parent.within(sql, ids, { ...relation, roleAt: any, isOpen: any, isAs: any })}` : sql``;
    return sql`exists (select from ${relation.rowsOf(resource)} t where ${visible(sql, resource, { ...target, kinds })}
      and t.sourced_id = ${ids[index] ?? ''} ${within})`;
  });
  return joined(sql, each, sql` and `);
}
