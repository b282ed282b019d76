// In charge of who waits for a lock, for tests of what happens meanwhile. Where the database is spread, rows are locked on their node, and the
// coordinator does not say of itself that somebody waits there.
import type { Db } from '../src/db/connect.ts';

export type LockWait = Readonly<{ pid: number; query: string }>;

/** Of those with a statement like this one, each once. */
export async function lockWaits(db: Db, like = '%'): Promise<LockWait[]> {
  const here = await db<LockWait[]>`
    select pid, query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${like}`;
  const [known] = await db<{ spread: boolean }[]>`select to_regclass('citus_lock_waits') is not null as spread`;
  if (!known?.spread) return here;
  // The number of a process stands behind that of its node.
  const there = await db<LockWait[]>`
    select (waiting_gpid % 10000000000)::int as pid, blocked_statement as query from citus_lock_waits where blocked_statement like ${like}`;
  return [...new Map([...there, ...here].map((one) => [one.pid, one])).values()];
}
