// In charge of bringing the rows of a backup into a new schema, in the caller's transaction: without foreign keys and indexes, which
// are made again over what is there, and read again to be held against what was backed up.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { listTables } from './catalogue.ts';
import type { End, TableFacts } from './format.ts';
import { requireSame } from './read-backup.ts';
import { RowsDigest } from './rows-digest.ts';

const digits = new Intl.NumberFormat('en-GB');

/** Gives those of the backup that this schema has, in the backup's order. One that is missing there would be empty here. */
export async function matchTables(tx: Sql, end: End): Promise<readonly TableFacts[]> {
  const made = await listTables(tx);
  for (const { name, columns } of made) {
    const backedUp = end.tables.find((table) => table.name === name);
    const missing = columns.filter((column) => !backedUp?.columns.includes(column));
    if (missing.length > 0) throw new SchoolbellError('unprocessable', `the backup has no ${missing.join(', ')} of ${name}, although its migrations make that`);
  }
  return end.tables.filter(({ name }) => made.some((table) => table.name === name));
}

/** truncate: what migrations put there, the rows of the backup have too. analyze: so that the first requests are planned well. */
export async function doWithTables(tx: Sql, what: 'truncate' | 'analyze'): Promise<void> {
  // Those of an extension are not ours.
  await tx.unsafe(`do $do$ begin execute '${what} ' || (
    select string_agg(quote_ident(c.relname), ', ') from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')); end $do$`);
}

/** Gives how to make again what was taken away. Keys and unique constraints stay. */
export async function dropLinks(tx: Sql): Promise<() => Promise<void>> {
  const keys = await tx<{ table: string; name: string; definition: string }[]>`
    select c.conrelid::regclass::text as table, c.conname::text as name, pg_get_constraintdef(c.oid) as definition from pg_constraint c
    where c.contype = 'f' and c.connamespace = current_schema()::regnamespace order by c.oid`;
  const indexes = await tx<{ name: string; definition: string }[]>`
    select c.relname::text as name, pg_get_indexdef(c.oid) as definition from pg_class c join pg_index i on i.indexrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'i'
      and not exists (select from pg_constraint k where k.conindid = c.oid) order by c.oid`;
  for (const { table, name } of keys) await tx`alter table ${tx(table)} drop constraint ${tx(name)}`;
  for (const { name } of indexes) await tx`drop index ${tx(name)}`;
  return async () => {
    for (const { definition } of indexes) await tx.unsafe(definition);
    for (const { table, name, definition } of keys) await tx`alter table ${tx(table)} add constraint ${tx(name)} ${tx.unsafe(definition)}`;
  };
}

/** Takes the pieces of one table after the other. */
export class TableLoader {
  readonly #tx: Sql;
  readonly #tables: ReadonlyMap<string, TableFacts>;
  readonly #tell: (words: string) => void;
  #rows = 0;
  #current: { name: string; stream: Writable; ended: Promise<void> } | undefined;

  constructor(tx: Sql, tables: readonly TableFacts[], tell: (words: string) => void) {
    this.#tx = tx;
    this.#tell = tell;
    this.#tables = new Map(tables.map((table) => [table.name, table]));
  }

  /** A table that is not ours is left out. */
  async take(name: string, bytes: Buffer): Promise<void> {
    const table = this.#tables.get(name);
    if (!table) return;
    if (this.#current?.name !== name) {
      await this.end();
      this.#tell(`restoring ${name}, ${digits.format((this.#rows += table.rows))} rows`);
      const stream = await this.#tx`copy ${this.#tx(name)} (${this.#tx(table.columns)}) from stdin (format text)`.writable();
      const ended = finished(stream);
      // Whoever writes or ends it hears of it.
      ended.catch(() => {});
      this.#current = { name, stream, ended };
    }
    const { stream, ended } = this.#current ?? {};
    if (stream && !stream.write(Buffer.from(bytes))) await Promise.race([once(stream, 'drain'), ended]);
  }

  async end(): Promise<void> {
    const { stream, ended } = this.#current ?? {};
    this.#current = undefined;
    stream?.end();
    await ended;
  }
}

/** setval is not undone by a rollback; but then the sequence is gone as well. */
export async function setCounters(tx: Sql, { counters }: End): Promise<void> {
  for (const { table, column, last, called } of counters) {
    await tx`select setval(pg_get_serial_sequence(${table}, ${column}), ${last}::bigint, ${called}::boolean) where to_regclass(${table}) is not null`;
  }
}

/** Reads everything again. */
export async function compareTables(tx: Sql, tables: readonly TableFacts[], tell: (words: string) => void): Promise<void> {
  for (const [at, table] of tables.entries()) {
    tell(`comparing ${table.name} (${at + 1} of ${tables.length} tables)`);
    const digest = new RowsDigest();
    const stream = await tx`copy ${tx(table.name)} (${tx(table.columns)}) to stdout (format text)`.readable();
    for await (const bytes of stream as AsyncIterable<Buffer>) digest.take(bytes);
    requireSame(table, digest, 'the restored database');
  }
}
