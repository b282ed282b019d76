// In charge of what 1.2 shows of records that are there: of those that were merged before there was 1.2, or by a version that does not
// know it, and of administrators, whose role depends on the organisation.
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { charactersIn, renderRecord } from '../roster/record.ts';
import { administratorPlaceholder, type Item, type Resource } from '../roster/resource.ts';
import { administratorAt, mainRole } from '../roster/resources/user-role.ts';
import { goThrough } from '../roster/go-through.ts';
import { noteStanding } from '../roster/standing.ts';
import { historyTable } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { canBeMixed, measureCollection } from './measure-collection.ts';
import { correctPersonKinds } from './person-kinds.ts';
import type { Reading } from './reading.ts';
import { staged } from './stage.ts';
import { valuesOfRow, type StoredRow } from './stored-row.ts';

const rowsAtOnce = 2_000;

type Edited = Readonly<{ sourcedId: string; version: number; v1p2: string | null; shared: number | null }>;

function renderRow(resource: Resource, row: StoredRow): Edited {
  const { sourced_id: sourcedId, version, record: stored, metadata, lacks } = row;
  const given = { sourcedId, values: valuesOfRow(resource, row), lacks: lacks ?? undefined };
  const { record, v1p2, shared } = renderRecord(resource, { ...given, metadata: undefined });
  if (stored.endsWith(record)) {
    // In front of the fields stands the metadata, as the source wrote it.
    const before = charactersIn(stored.slice(0, stored.length - record.length));
    return { sourcedId, version, v1p2: v1p2 === '' ? null : v1p2, shared: shared === undefined ? null : before + shared };
  }
  // It was rendered otherwise than it would be now, so that nothing is shared.
  const whole = renderRecord(resource, { ...given, metadata: metadata ? JSON.stringify(metadata) : undefined });
  return { sourcedId, version, v1p2: [...whole.record].slice(0, whole.shared).join('') + whole.v1p2, shared: 0 };
}

/** They stand in the order of the organisations. */
function nameAdministrator(v1p2: string, types: readonly (string | null)[]): string {
  let at = 0;
  return v1p2.replaceAll(administratorPlaceholder, () => administratorAt(types[at++] ?? undefined));
}

/** The types of a user's organisations, each once, as roles have them. */
function orgTypes(sql: Sql, estab: string, ids: Fragment, type: Fragment): Fragment {
  return sql`array(select coalesce(${type}, (select o.type from roster_org o where o.estab = ${estab} and o.sourced_id = given.id))
    from (select id, min(position) as position from unnest(${ids}) with ordinality as one (id, position) group by id) given order by position)`;
}

const isAdministrator = (sql: Sql, t: Fragment) => sql`${t}.role = 'administrator' and ${t}.roles is null`;

/** Of what is staged, when it is known which organisations will be there. */
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

/** Of those at organisations that changed in this version, whoever is shown otherwise than they were. */
export async function renderAdministrators(tx: Tx, estab: string, version: number): Promise<{ sourcedId: string; v1p2: string }[]> {
  const rows = await tx<{ row: StoredRow & { v1p2: string | null }; types: (string | null)[] }[]>`
    select to_jsonb(t) as row, ${orgTypes(tx, estab, tx`t.org_ids`, tx`null`)} as types from roster_user t
    where t.estab = ${estab} and ${isAdministrator(tx, tx`t`)}
      and t.org_ids && (select array_agg(o.sourced_id) from roster_org o where o.estab = ${estab} and o.version = ${version})`;
  return rows.flatMap(({ row, types }) => {
    const v1p2 = nameAdministrator(renderRow(collections.users, row).v1p2 ?? '', types);
    // What is not made yet is made as it is now.
    return row.v1p2 === null || v1p2 === row.v1p2 ? [] : [{ sourcedId: row.sourced_id, v1p2 }];
  });
}

/** Every record of rosters that were, in part, merged without it. Gives how many rosters. */
export async function renderRosters(db: Db): Promise<number> {
  const due = await db<{ estab: string }[]>`select estab from roster_standing where rendered_to <> version order by estab`;
  await goThrough(due, 'could not be rendered', (estab) => renderLive(db, estab));
  return due.length;
}

/** What is merged meanwhile by whoever does not know of it is for the next time. */
async function renderLive(db: Db, estab: string): Promise<void> {
  const version = await renderTables(db, estab);
  if (version === undefined) return;
  await db.begin(async (tx) => {
    if ((await lockRoster(tx, estab)) === version) await settle(tx, estab);
  });
}

/** Unless it is done, of a roster that is locked. */
export async function renderRoster(tx: Tx, estab: string): Promise<void> {
  if ((await renderTables(tx, estab)) !== undefined) await settle(tx, estab);
}

/** Gives the version of which it is; undefined when it is done. */
async function renderTables(sql: Sql, estab: string): Promise<number | undefined> {
  const [roster] = await sql<{ version: number }[]>`select version from roster where estab = ${estab} and rendered_to <> version`;
  if (!roster) return undefined;
  await forgetOverruled(sql, estab);
  for (const resource of allResources) for (const table of [resource.table, historyTable(resource)]) await renderTable(sql, estab, resource, table);
  return roster.version;
}

/** Whoever did not know that people can be of several kinds has neither said so of what is about them nor counted them so. */
async function settle(tx: Tx, estab: string): Promise<void> {
  const [mixed] = await tx`
    select where exists (select from roster_user where estab = ${estab} and kinds is not null)
      or exists (select from roster_mixed_total where estab = ${estab})`;
  if (mixed) {
    await correctPersonKinds(tx, estab);
    for (const resource of allResources.filter(canBeMixed)) await measureCollection(tx, estab, resource);
  }
  await tx`update roster set rendered_to = version, rendered_later = version where estab = ${estab}`;
  await noteStanding(tx, estab);
}

/** Who got another role from whoever does not know that there can be several has that one. */
async function forgetOverruled(sql: Sql, estab: string): Promise<void> {
  const all = sql<{ id: string; role: string; org: string | null; roles: Item[] }[]>`
    select sourced_id as id, role, primary_org_id as org, roles from roster_user where estab = ${estab} and roles is not null`;
  for await (const rows of all.cursor(rowsAtOnce)) {
    const ids = rows.filter(({ role, org, roles }) => mainRole(roles, org ?? undefined) !== role).map(({ id }) => id);
    if (ids.length > 0)
      await sql`
        update roster_user set roles = null, kinds = null, primary_org_id = null where estab = ${estab} and sourced_id = any(${ids}::text[])`;
  }
}

async function renderTable(sql: Sql, estab: string, resource: Resource, table: string): Promise<void> {
  const ofOrgs = orgTypes(sql, estab, sql`t.org_ids`, sql`null`);
  const types = resource === collections.users ? sql`case when ${isAdministrator(sql, sql`t`)} then ${ofOrgs} end` : sql`null`;
  for (let [id, version] = ['', -1]; ; ) {
    const rows = await sql<{ row: StoredRow; types: (string | null)[] | null }[]>`
      select to_jsonb(t) as row, ${types} as types from ${sql(table)} t
      where t.estab = ${estab} and (t.sourced_id, t.version) > (${id}, ${version}) order by t.sourced_id, t.version limit ${rowsAtOnce}`;
    const last = rows.at(-1)?.row;
    if (!last) return;
    [id, version] = [last.sourced_id, last.version];
    const edited = rows.map(({ row, types: of }) => {
      const one = renderRow(resource, row);
      return of && one.v1p2 !== null ? { ...one, v1p2: nameAdministrator(one.v1p2, of) } : one;
    });
    await sql`
      update ${sql(table)} t set v1p2 = given.v1p2, shared = given.shared
      from unnest(${edited.map((one) => one.sourcedId)}::text[], ${edited.map((one) => one.version)}::int[], ${edited.map((one) => one.v1p2)}::text[],
        ${edited.map((one) => one.shared)}::int[]) as given (sourced_id, version, v1p2, shared)
      where t.estab = ${estab} and t.sourced_id = given.sourced_id and t.version = given.version
        and (t.v1p2 is distinct from given.v1p2 or t.shared is distinct from given.shared)`;
  }
}
