// In charge of many schools in little time: a school that was imported is copied inside the database, with all that its roster has.
import type { Db } from '../src/db/connect.ts';
import { noteStanding } from '../src/roster/standing.ts';
import { dropIndexes } from './indexes.ts';

/** Of each school, those that others refer to first; everything else of a roster follows. */
const firstOnes = ['establishment', 'roster'];
const others = ['component_database', 'authorisation'];
/** From so many rows on, indexes are made when these are there. */
const manyRows = 1_000_000;

type Table = { name: string; columns: string[] };

/** Copies are named `<estab>-1` and so on, and authorise the applications that the school does. */
export async function copySchool(db: Db, estab: string, copies: number): Promise<void> {
  const tables = await db<Table[]>`
    select c.table_name as name, array_agg(c.column_name::text) as columns from information_schema.columns c
    join information_schema.columns e on e.table_schema = c.table_schema and e.table_name = c.table_name and e.column_name = 'estab'
    where c.table_schema = 'public' and c.is_generated = 'NEVER' and c.column_name <> 'estab' and (c.table_name, c.column_name) <> ('roster', 'id')
      and (c.table_name = any(${[...firstOnes, ...others]}) or starts_with(c.table_name, 'roster_')) and c.table_name <> 'roster_standing'
    group by 1`;
  const place = ({ name }: Table) => (firstOnes.includes(name) ? firstOnes.indexOf(name) : firstOnes.length);
  for (const table of tables.toSorted((a, b) => place(a) - place(b))) await copyRows(db, table, estab, copies);
  for (let copy = 1; copy <= copies; copy += 1) await noteStanding(db, `${estab}-${copy}`);
  await db`vacuum analyze roster_standing`;
}

async function copyRows(db: Db, { name, columns }: Table, estab: string, copies: number): Promise<void> {
  const [of] = await db<{ rows: number }[]>`select count(*)::int as rows from ${db(name)} where estab = ${estab}`;
  const indexes = (of?.rows ?? 0) * copies < manyRows ? [] : await dropIndexes(db, name);
  const list = db.unsafe(columns.map((column) => `"${column}"`).join(', '));
  const copy = (from: number, to: number) => db`
    insert into ${db(name)} (estab, ${list}) select ${estab}::text || '-' || n, ${list}
    from generate_series(${from}::int, ${to}::int) n, ${db(name)} where estab = ${estab}`;
  const half = Math.floor(copies / 2);
  await Promise.all([copy(1, half), copy(half + 1, copies)]);
  for (const index of indexes) {
    await db.begin(async (tx) => {
      await tx`set local maintenance_work_mem = '1GB'`;
      await tx.unsafe(index);
    });
  }
  await db`vacuum analyze ${db(name)}`;
}
