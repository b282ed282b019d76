// Names the roles of administrators for OneRoster 1.2, which tells administrators of a school from those of a district. The role follows
// from the type of the organisation, so it is filled in when the types are known, and again when one of them changes.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { renderRecord } from '../roster/record.ts';
import { administratorPlaceholder } from '../roster/resource.ts';
import { administratorAt } from '../roster/resources/user-role.ts';
import { keepReplaced } from './history.ts';
import type { Reading } from './reading.ts';
import { staged } from './stage.ts';
import { valuesOfRow, type StoredRow } from './stored-row.ts';

/** Fills in the roles of staged administrators, from the types that the organisations will have after the import. */
export async function nameStagedAdministrators(tx: Tx, reading: Reading): Promise<void> {
  const { estab, number } = reading;
  const type = tx`(select o.type from ${staged(tx, collections.orgs, reading)} o where o.sourced_id = given.id)`;
  const rows = await tx<{ id: string; v1p2: string; types: (string | null)[] }[]>`
    select s.sourced_id as id, s.v1p2, ${orgTypes(tx, estab, tx`s.org_ids`, type)} as types
    from ${staged(tx, collections.users, reading)} s where ${isAdministrator(tx, tx`s`)}`;
  if (rows.length === 0) return;
  await tx`
    update stage_user s set v1p2 = given.v1p2
    from unnest(${rows.map(({ id }) => id)}::text[], ${rows.map(({ v1p2, types }) => nameAdministrator(v1p2, types))}::text[]) as given (sourced_id, v1p2)
    where s.estab = ${estab} and s.reading = ${number} and s.sourced_id = given.sourced_id`;
}

/** Renames the roles of administrators whose organisations changed in this version. Returns whether any role changed. */
export async function deriveAdministrators(tx: Tx, estab: string, version: number): Promise<boolean> {
  const rows = await tx<{ row: StoredRow & { v1p2: string | null }; types: (string | null)[] }[]>`
    select to_jsonb(t) as row, ${orgTypes(tx, estab, tx`t.org_ids`, tx`null`)} as types from roster_user t
    where t.estab = ${estab} and ${isAdministrator(tx, tx`t`)}
      and t.org_ids && (select array_agg(o.sourced_id) from roster_org o where o.estab = ${estab} and o.version = ${version})`;
  const changed = rows.flatMap(({ row, types }) => {
    const given = { sourcedId: row.sourced_id, values: valuesOfRow(collections.users, row), lacks: row.lacks ?? undefined, metadata: undefined };
    const v1p2 = nameAdministrator(renderRecord(collections.users, given).v1p2, types);
    return v1p2 === row.v1p2 ? [] : [{ sourcedId: row.sourced_id, v1p2 }];
  });
  if (changed.length === 0) return false;
  const ids = changed.map(({ sourcedId }) => sourcedId);
  await keepReplaced(tx, estab, collections.users, version, tx`t.sourced_id = any(${ids})`);
  await tx`
    update roster_user t set v1p2 = given.v1p2, version = ${version}, place = case when t.version = ${version} then t.place end
    from unnest(${ids}::text[], ${changed.map(({ v1p2 }) => v1p2)}::text[]) as given (sourced_id, v1p2)
    where t.estab = ${estab} and t.sourced_id = given.sourced_id`;
  return true;
}

const isAdministrator = (sql: Sql, t: Fragment) => sql`${t}.role = 'administrator' and ${t}.roles is null`;

/** Replaces each placeholder by a role. The placeholders are in the order of the organisations. */
function nameAdministrator(v1p2: string, types: readonly (string | null)[]): string {
  let at = 0;
  return v1p2.replaceAll(administratorPlaceholder, () => administratorAt(types[at++] ?? undefined));
}

/** The types of a user's organisations in the order of the user's roles. An organisation that is listed twice counts once. */
function orgTypes(sql: Sql, estab: string, ids: Fragment, type: Fragment): Fragment {
  return sql`array(select coalesce(${type}, (select o.type from roster_org o where o.estab = ${estab} and o.sourced_id = given.id))
    from (select id, min(position) as position from unnest(${ids}) with ordinality as one (id, position) group by id) given order by position)`;
}
