// In charge of the single steps by which tables come to lie elsewhere. Each is a transaction and leaves a state from which the next
// run goes on, either way: what stands between a table and its new place is taken away before, and noted, to be put back in the end.
import { SchoolbellError } from '../errors.ts';
import type { Sql } from './connect.ts';
import { isElsewhere, readLying, type Lying, type Way } from './distribution.ts';
import { countRows } from './estimate-rows.ts';
import { placements } from './placement.ts';

export type Link = Readonly<{ table: string; name: string; definition: string; to: string }>;
type Noted = 'under way' | 'foreign key' | 'identity' | 'breaks';

export async function noteUnderWay(tx: Sql, way: Way): Promise<void> {
  await tx`create table if not exists distribution (
    kind text not null, of_table text not null, name text not null, definition text not null, primary key (kind, of_table, name))`;
  await tx`delete from distribution where kind = 'under way'`;
  await note(tx, 'under way', '', '', way);
}

/** A version whose statements are of a single node does not start: to it, the newest migration is one that breaks it. Gone with the way back. */
export async function shutOutOlder(tx: Sql): Promise<void> {
  if ((await readNoted(tx, 'breaks')).length > 0) return;
  const [newest] = await tx<{ version: number; before: number | null }[]>`
    select version, breaks_before as before from migration order by version desc limit 1`;
  await note(tx, 'breaks', 'migration', String(newest?.version ?? 0), String(newest?.before ?? ''));
  await tx`update migration set breaks_before = version where version = ${newest?.version ?? 0}`;
}

async function letInOlder(tx: Sql): Promise<void> {
  for (const { name, definition } of await readNoted(tx, 'breaks'))
    await tx`update migration set breaks_before = ${definition === '' ? null : definition}::int where version = ${name}::int`;
}

async function note(tx: Sql, kind: Noted, table: string, name: string, definition: string): Promise<void> {
  await tx`insert into distribution (kind, of_table, name, definition) values (${kind}, ${table}, ${name}, ${definition})
    on conflict (kind, of_table, name) do update set definition = excluded.definition`;
}

function readNoted(sql: Sql, kind: Noted): Promise<{ table: string; name: string; definition: string }[]> {
  return sql`select of_table as table, name, definition from distribution where kind = ${kind} order by of_table, name`;
}

const forgetNoted = (tx: Sql, kind: Noted, table: string, name: string) =>
  tx`delete from distribution where kind = ${kind} and of_table = ${table} and name = ${name}`;

export async function listLinks(sql: Sql): Promise<Link[]> {
  return sql<Link[]>`
    select f.relname::text as table, k.conname::text as name, pg_get_constraintdef(k.oid) as definition, t.relname::text as to
    from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
    where k.contype = 'f' and k.connamespace = current_schema()::regnamespace and k.conparentid = 0 order by 1, 2`;
}

/** Tables that hang together with these by foreign keys: Citus then has to know them all. */
export function reach(tables: Iterable<string>, links: readonly Pick<Link, 'table' | 'to'>[]): Set<string> {
  const reached = new Set(tables);
  for (let size = -1; size !== reached.size; ) {
    size = reached.size;
    for (const { table, to } of links) if (reached.has(table) || reached.has(to)) reached.add(table).add(to);
  }
  return reached;
}

export async function dropLink(tx: Sql, { table, name, definition }: Link): Promise<void> {
  await note(tx, 'foreign key', table, name, definition);
  await tx`alter table ${tx(table)} drop constraint ${tx(name)}`;
}

export const listDroppedLinks = (sql: Sql) => readNoted(sql, 'foreign key');

export async function restoreLink(tx: Sql, { table, name, definition }: Omit<Link, 'to'>): Promise<void> {
  await tx`alter table ${tx(table)} add constraint ${tx(name)} ${tx.unsafe(definition)}`;
  await forgetNoted(tx, 'foreign key', table, name);
}

/** What has an identity column does not come back from Citus; one that counts by a default does. Each goes on from its number. */
export async function plainNumbers(tx: Sql, tables: Iterable<string>): Promise<void> {
  const found = await tx<{ table: string; column: string; type: string; sequence: string }[]>`
    select c.relname::text as table, a.attname::text as column, format_type(a.atttypid, null) as type,
      pg_get_serial_sequence(quote_ident(c.relname), a.attname) as sequence
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where a.attidentity = 'a' and c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname::text = any(${[...tables]}::text[])`;
  for (const { table, column, type, sequence } of found) {
    const { last, called } = await readCounter(tx, sequence);
    await note(tx, 'identity', table, column, type);
    await tx`alter table ${tx(table)} alter column ${tx(column)} drop identity`;
    await tx.unsafe(`create sequence ${sequence} as ${type}`);
    await tx.unsafe(`alter sequence ${sequence} owned by ${table}.${column}`);
    await tx`select setval(${sequence}, ${last}::bigint, ${called}::boolean)`;
    await tx.unsafe(`alter table ${table} alter column ${column} set default nextval('${sequence}')`);
  }
}

/** The sequence by which a column counts by default. */
async function findCounter(tx: Sql, table: string, column: string): Promise<string | undefined> {
  const [row] = await tx<{ sequence: string }[]>`
    select s.oid::regclass::text as sequence from pg_class c join pg_attribute a on a.attrelid = c.oid
      join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      join pg_depend on classid = 'pg_attrdef'::regclass and objid = d.oid and refclassid = 'pg_class'::regclass
      join pg_class s on s.oid = refobjid and s.relkind = 'S'
    where c.relnamespace = current_schema()::regnamespace and c.relname = ${table} and a.attname = ${column}
      and starts_with(pg_get_expr(d.adbin, d.adrelid), 'nextval(')`;
  return row?.sequence;
}

async function readCounter(tx: Sql, sequence: string): Promise<{ last: string; called: boolean }> {
  const [row] = await tx.unsafe<{ last: string; called: boolean }[]>(`select last_value::text as last, is_called as called from ${sequence}`);
  return row ?? { last: '1', called: false };
}

/** A later version may have dropped or renamed a table or a column, or let it count no more: that stays as it was made. */
export async function restoreNumbers(tx: Sql): Promise<void> {
  for (const { table, name: column } of await readNoted(tx, 'identity')) {
    const sequence = await findCounter(tx, table, column);
    if (sequence === undefined) continue;
    const { last, called } = await readCounter(tx, sequence);
    await tx.unsafe(`alter table ${table} alter column ${column} drop default`);
    await tx.unsafe(`drop sequence ${sequence}`);
    await tx.unsafe(`alter table ${table} alter column ${column} add generated always as identity`);
    await tx`select setval(pg_get_serial_sequence(${table}, ${column}), ${last}::bigint, ${called}::boolean)`;
  }
}

/** What statements and computed columns call, on the nodes where these are executed. */
export async function shareFunctions(tx: Sql): Promise<void> {
  const found = await tx<{ signature: string }[]>`
    select p.oid::regprocedure::text as signature from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.prokind = 'f'
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e') order by 1`;
  for (const { signature } of found) await tx`select create_distributed_function(${signature})`;
}

/** Gives how many rows went along: as many as were there, or it is as if nothing had been done. */
export async function moveTable(tx: Sql, table: string, place: Lying | undefined, shards: number): Promise<number> {
  await tx`set local citus.multi_shard_modify_mode = 'sequential'`;
  // What the coordinator has read of its own copy without a connection cannot be changed over one.
  await tx`set local citus.enable_local_execution = off`;
  const before = await countRows(tx, table);
  // What a version before had elsewhere is brought back first, whatever its goal.
  if (place === undefined || isElsewhere((await readLying(tx)).get(table))) await tx`select undistribute_table(${table}::regclass)`;
  if (place !== undefined) {
    if (place === 'everywhere') await tx`select create_reference_table(${table}::regclass)`;
    else await placeBySchool(tx, table, shards);
    await tx`select truncate_local_data_after_distributing_table(${table}::regclass)`;
  }
  const after = await countRows(tx, table);
  if (after !== before) throw new SchoolbellError('unexpected', `${table} had ${before} rows, and ${after} after it was moved; it stays where it was`);
  await tx`analyze ${tx(table)}`;
  return after;
}

/** With whichever table of schools lies by them already: on the way back, which may have been interrupted, that can be any. */
async function placeBySchool(tx: Sql, table: string, shards: number): Promise<void> {
  const other = [...(await readLying(tx))].find(([name, lying]) => lying === 'school' && placements.get(name) === 'school')?.[0];
  if (other === undefined) await tx`select create_distributed_table(${table}::regclass, 'estab', colocate_with => 'none', shard_count => ${shards}::int)`;
  else await tx`select create_distributed_table(${table}::regclass, 'estab', colocate_with => ${other})`;
}

/** Ends the way out. The notes about numbers stay, for the way back. */
export async function endOut(tx: Sql): Promise<void> {
  await tx`delete from distribution where kind = 'under way'`;
}

export async function endBack(tx: Sql): Promise<void> {
  await restoreNumbers(tx);
  await letInOlder(tx);
  await tx`drop table distribution`;
}
