// In charge of connections to PostgreSQL: one way to open a pool, with the settings every session shares.
import type { ISql, PendingQuery, Row, Sql as PostgresSql, TransactionSql } from 'postgres';
import { postgres } from './postgres.ts';

export type Db = PostgresSql<Record<string, never>>;
export type Tx = TransactionSql<Record<string, never>>;
/** What both a pool and a transaction can do: compose and run statements. */
export type Sql = ISql<Record<string, never>>;
/** A piece of a statement, with its bound values. */
export type Fragment = PendingQuery<Row[]>;

export const oldestSupportedPostgres = 15;

/**
 * How statements are planned. kept: once, whatever the values; planning a page again would cost more than reading it.
 * made: anew for the values at hand; a filter that matches a hundred of a million rows needs another plan than one
 * that matches them all. Otherwise PostgreSQL chooses.
 */
export type PoolOptions = {
  max: number;
  name: string;
  plans?: 'kept' | 'made';
  /** A statement that takes longer is ended. */
  longestMs?: number;
};

const planCacheModes = { kept: 'force_generic_plan', made: 'force_custom_plan', chosen: 'auto' } as const;

export function connect(url: string, options: PoolOptions): Db {
  return postgres(url, {
    max: options.max,
    idle_timeout: 60,
    connect_timeout: 10,
    // Between tries to reach a server that is away; callers are told at once, and it is found again soon after.
    backoff: (tries: number) => Math.min(0.5, 0.05 * 2 ** tries),
    onnotice: () => {},
    // The shape of a filter is the caller's: its statements are not kept by name, or they would fill the server's memory.
    prepare: options.plans !== 'made',
    // jit: compiling a plan costs more than these short statements take.
    connection: {
      application_name: `schoolbell ${options.name}`,
      TimeZone: 'UTC',
      jit: 'off',
      temp_buffers: '64MB',
      plan_cache_mode: planCacheModes[options.plans ?? 'chosen'],
      ...(options.longestMs ? { statement_timeout: options.longestMs } : {}),
    },
    types: {},
  });
}

/** Refuses a server that is too old or not UTF-8, in words that say what would do. */
export async function requireUsableServer(db: Db): Promise<void> {
  const [row] = await db`select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  const major = Math.floor(Number(row?.version) / 10_000);
  if (major < oldestSupportedPostgres) throw new Error(`PostgreSQL ${major} is too old: Schoolbell needs ${oldestSupportedPostgres} or newer`);
  if (row?.encoding !== 'UTF8') throw new Error(`the database's encoding is ${row?.encoding}: Schoolbell needs UTF8`);
}

/** A connection of the pool, or undefined when none came free in time. */
export async function reserveWithin(db: Db, milliseconds: number): Promise<Awaited<ReturnType<Db['reserve']>> | undefined> {
  const reserved = db.reserve();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), milliseconds)));
  const first = await Promise.race([reserved, late]).finally(() => clearTimeout(timer));
  if (!first) void reserved.then((connection) => connection.release(), () => {});
  return first;
}

/** Ends the transaction in which something was read, whatever became of it, and gives the connection back. */
export async function endReading(connection: NonNullable<Awaited<ReturnType<typeof reserveWithin>>>): Promise<void> {
  await connection`rollback`.catch(() => {});
  connection.release();
}
