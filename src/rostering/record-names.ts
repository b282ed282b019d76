// In charge of what a record is called where another refers to it: a person by their name, a class by its title.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { kindColumns, type CollectionName, type Resource } from '../roster/resource.ts';

/** kinds: all that it is of. */
export type NamedRecord = Readonly<{ sourcedId: string; name: string; kind: string; kinds: readonly string[]; status: string }>;

/** Of a row t of the collection's table. */
const names: Readonly<Record<CollectionName, (sql: Sql, estab: string) => Fragment>> = {
  orgs: (sql) => sql`t.name`,
  academicSessions: (sql) => sql`t.title`,
  courses: (sql) => sql`t.title`,
  classes: (sql) => sql`t.title`,
  users: (sql) => sql`(t.given_name || ' ' || t.family_name)`,
  enrollments: (sql, estab) => sql`concat_ws(' in ',
    (select u.given_name || ' ' || u.family_name from roster_user u where u.estab = ${estab} and u.sourced_id = t.user_id),
    (select c.title from roster_class c where c.estab = ${estab} and c.sourced_id = t.class_id))`,
  demographics: (sql, estab) =>
    sql`coalesce((select u.given_name || ' ' || u.family_name from roster_user u where u.estab = ${estab} and u.sourced_id = t.sourced_id), t.sourced_id)`,
};

/** Of a row t. */
export function allKindsOf(sql: Sql, resource: Resource): Fragment {
  return kindColumns(resource).includes('kinds') ? sql`coalesce(t.kinds, array[t.kind])` : sql`array[t.kind]`;
}

export function nameOf(sql: Sql, collection: CollectionName, estab: string): Fragment {
  return names[collection](sql, estab);
}

/** By their ids; what is not there any more has no name. */
export async function nameRecords(db: Db, estab: string, collection: CollectionName, ids: readonly string[]): Promise<Map<string, NamedRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await db<NamedRecord[]>`
    select t.sourced_id as "sourcedId", ${nameOf(db, collection, estab)} as name, t.kind, ${allKindsOf(db, collections[collection])} as kinds, t.status
    from ${db(collections[collection].table)} t
    where t.estab = ${estab} and t.sourced_id = any(${ids}::text[])`;
  return new Map(rows.map((row) => [row.sourcedId, row]));
}
