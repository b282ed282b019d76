// In charge of refusing, in words, a server that Schoolbell cannot work with: too old, not UTF-8, or behind
// a pooler that hands out another connection for each transaction. And of warning when there may be too few connections.
import { EnvironmentFault } from '../environment-fault.ts';
import type { Db, Sql } from './connect.ts';
import { listVersionedProcesses } from './service-versions.ts';

export const oldestSupportedPostgres = 15;
const poolerTries = 3;

export async function requireUsableServer(db: Db): Promise<void> {
  const [row] = await db<{ version: number; encoding: string }[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  const major = Math.floor(Number(row?.version) / 10_000);
  if (major < oldestSupportedPostgres) throw new EnvironmentFault(`PostgreSQL ${major} is too old: Schoolbell needs ${oldestSupportedPostgres} or newer`);
  if (row?.encoding !== 'UTF8') throw new EnvironmentFault(`the database's encoding is ${row?.encoding}: Schoolbell needs UTF8`);
  await refusePooler(db);
}

/** Two connections at once: behind a pooler in transaction mode both are served by the same backend, or one by two in turn. */
async function refusePooler(db: Db): Promise<void> {
  const [one, other] = [await db.reserve(), await db.reserve()];
  try {
    for (let attempt = 1; attempt <= poolerTries; attempt += 1) {
      const before = await backendOf(one);
      await other`begin`;
      const meanwhile = await backendOf(other);
      const after = await backendOf(one);
      await other`rollback`;
      if (meanwhile === before || after !== before) {
        throw new EnvironmentFault(
          'DATABASE_URL: leads to a pooler in transaction mode (such as PgBouncer). ' +
            'Schoolbell keeps prepared statements, locks and notifications on its connections: name PostgreSQL itself, or a pool in session mode',
        );
      }
    }
  } finally {
    one.release();
    other.release();
  }
}

async function backendOf(sql: Sql): Promise<number> {
  const [row] = await sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid');
  return row?.pid ?? 0;
}

/**
 * Returns a warning if all connected processes of the service together may ask for more connections than the server gives. Commands, which
 * come and go, and processes without a connection, which may have been killed, do not count.
 */
export async function findConnectionShortage(db: Db, perProcess: number): Promise<string | undefined> {
  const connected = (await listVersionedProcesses(db)).filter(({ connections }) => connections > 0);
  const processes = Math.max(1, connected.length);
  const [row] = await db<{ room: number }[]>`
    select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as room`;
  const wanted = processes * perProcess;
  if (!row || wanted <= row.room) return undefined;
  return `${processes === 1 ? 'one process' : `${processes} processes`} of the service may ask for ${wanted} connections,` +
    ` and PostgreSQL gives ${row.room}: raise max_connections to ${wanted + 20} or more`;
}
