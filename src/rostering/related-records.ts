// In charge of the records that refer to one: a person's classes, a class's members, a term's classes. In the order of their
// ids, a page at a time.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { cutPage } from '../http/cut-page.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { nameOf } from './record-names.ts';

/** Which records t of a collection refer to the one with this id. fields: by which of their fields that is. */
export type Relation = Readonly<{
  name: string;
  title: string;
  to: CollectionName;
  collection: CollectionName;
  fields: readonly string[];
  holds: (sql: Sql, id: string) => Fragment;
}>;

/** other: what the record leads on to, seen from the one that was asked about: of an enrolment the class, or the person. */
export type Related = Readonly<{
  sourcedId: string;
  name: string;
  status: string;
  kind: string;
  role: string | null;
  other: Readonly<{ collection: CollectionName; sourcedId: string; name: string }> | null;
}>;
export type RelatedPage = Readonly<{ relation: Relation; records: readonly Related[]; next: string | undefined }>;

/** Also whose scan of a school is short; what is as long as the school (its people, its enrolments) is in `notFollowed`. */
export const relations: readonly Relation[] = [
  { name: 'enrolments', title: 'Classes', to: 'users', collection: 'enrollments', fields: ['user'], holds: (sql, id) => sql`t.user_id = ${id}` },
  {
    name: 'named-by', title: 'People who name this person', to: 'users', collection: 'users', fields: ['agents'],
    holds: (sql, id) => sql`t.agent_ids @> ${[id]}::text[]`,
  },
  {
    name: 'staff', title: 'Teachers and staff', to: 'classes', collection: 'enrollments', fields: ['class'],
    holds: (sql, id) => sql`t.class_id = ${id} and t.kind in ('teacher', 'staff')`,
  },
  {
    name: 'pupils', title: 'Pupils', to: 'classes', collection: 'enrollments', fields: ['class'],
    holds: (sql, id) => sql`t.class_id = ${id} and t.kind = 'student'`,
  },
  {
    name: 'others', title: 'Contacts', to: 'classes', collection: 'enrollments', fields: ['class'],
    holds: (sql, id) => sql`t.class_id = ${id} and t.kind = 'contact'`,
  },
  { name: 'classes', title: 'Classes', to: 'courses', collection: 'classes', fields: ['course'], holds: (sql, id) => sql`t.course_id = ${id}` },
  { name: 'classes', title: 'Classes', to: 'orgs', collection: 'classes', fields: ['school'], holds: (sql, id) => sql`t.school_id = ${id}` },
  { name: 'courses', title: 'Courses', to: 'orgs', collection: 'courses', fields: ['org'], holds: (sql, id) => sql`t.org_id = ${id}` },
  { name: 'parts', title: 'What belongs to it', to: 'orgs', collection: 'orgs', fields: ['parent'], holds: (sql, id) => sql`t.parent_id = ${id}` },
  {
    name: 'classes', title: 'Classes', to: 'academicSessions', collection: 'classes', fields: ['terms'],
    holds: (sql, id) => sql`t.term_ids @> ${[id]}::text[]`,
  },
  {
    name: 'courses', title: 'Courses', to: 'academicSessions', collection: 'courses', fields: ['schoolYear'],
    holds: (sql, id) => sql`t.school_year_id = ${id}`,
  },
  {
    name: 'parts', title: 'Its parts', to: 'academicSessions', collection: 'academicSessions', fields: ['parent'],
    holds: (sql, id) => sql`t.parent_id = ${id}`,
  },
];

/** References that are not followed back, because the whole school has them: the search finds its people. */
export const notFollowed: readonly string[] = ['users.orgs', 'users.primaryOrg', 'enrollments.school'];

export const relationsOf = (collection: CollectionName): Relation[] => relations.filter(({ to }) => to === collection);

/** after: the id of the last one that was seen. */
export async function readRelated(db: Db, estab: string, relation: Relation, id: string, most: number, after?: string): Promise<RelatedPage> {
  const { collection, to, holds } = relation;
  const other = otherEnd(db, estab, collection, to);
  const rows = await db<(Omit<Related, 'other'> & { otherId: string | null; otherName: string | null })[]>`
    select t.sourced_id as "sourcedId", ${nameOf(db, collection, estab)} as name, t.status, t.kind, ${roleOf(db, collection)} as role, ${other.columns}
    from (select * from ${db(collections[collection].table)} t where t.estab = ${estab} and ${holds(db, id)}
      ${after === undefined ? db`` : db`and t.sourced_id > ${after}`} order by t.sourced_id limit ${most + 1}) t
    where t.estab = ${estab} order by t.sourced_id`;
  const { shown, last } = cutPage(rows, most);
  const records = shown.map(({ otherId, otherName, ...record }): Related => ({
    ...record,
    other: other.collection && otherId !== null ? { collection: other.collection, sourcedId: otherId, name: otherName ?? otherId } : null,
  }));
  return { relation, records, next: last?.sourcedId };
}

function roleOf(sql: Sql, collection: CollectionName): Fragment {
  if (collection === 'users' || collection === 'enrollments') return sql`t.role`;
  if (collection === 'classes') return sql`t.class_type`;
  return collection === 'courses' ? sql`null::text` : sql`t.type`;
}

function otherEnd(sql: Sql, estab: string, collection: CollectionName, to: CollectionName): { collection: CollectionName | undefined; columns: Fragment } {
  if (collection !== 'enrollments') return { collection: undefined, columns: sql`null::text as "otherId", null::text as "otherName"` };
  if (to === 'classes')
    return {
      collection: 'users',
      columns: sql`t.user_id as "otherId",
        (select u.given_name || ' ' || u.family_name from roster_user u where u.estab = ${estab} and u.sourced_id = t.user_id) as "otherName"`,
    };
  return {
    collection: 'classes',
    columns: sql`t.class_id as "otherId", (select c.title from roster_class c where c.estab = ${estab} and c.sourced_id = t.class_id) as "otherName"`,
  };
}
