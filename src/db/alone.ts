// In charge of making sure that nobody else works on a database, for commands that change all of it.
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { SchoolbellError } from '../errors.ts';
import type { Sql } from './connect.ts';
import { describePlace } from './open.ts';
import type { PoolPolicy } from './policies.ts';
import { processTag } from './pool.ts';

/** A server lists a connection for a moment after it was ended, a busy one for longer. */
const longestGoingMs = 3_000;

/** own: the pool that asks. */
export async function requireAlone(sql: Sql, config: Config, own: PoolPolicy): Promise<void> {
  const others = await findStaying(sql, own);
  if (others.length === 0) return;
  const named = others.map((one) => `"${one.name}" from ${one.host} (process ${one.pid})`).join(', ');
  throw new SchoolbellError('conflict', `others are connected to ${describePlace(config)}: ${named}; end them first. Nothing was changed`);
}

export const isAlone = async (sql: Sql, own: PoolPolicy): Promise<boolean> => (await findStaying(sql, own)).length === 0;

type Other = { pid: number; name: string; host: string };

/** Whoever has just ended their connection is waited for. */
async function findStaying(sql: Sql, own: PoolPolicy): Promise<Other[]> {
  const name = `schoolbell ${own.name} ${processTag}`;
  const until = performance.now() + longestGoingMs;
  let others = await findOthers(sql, name);
  while (others.length > 0 && performance.now() < until) {
    await pause(50);
    others = await findOthers(sql, name);
  }
  return others;
}

/** Of those of others a role that is no superuser sees little but that they are there. What Citus does by itself is no other. */
function findOthers(sql: Sql, own: string): Promise<Other[]> {
  return sql`
    select pid, coalesce(nullif(application_name, ''), usename, 'unknown') as name, coalesce(host(client_addr), 'this machine') as host from pg_stat_activity
    where datname = current_database() and usename is not null and coalesce(backend_type, 'client backend') = 'client backend'
      and pid <> pg_backend_pid() and application_name is distinct from ${own} and application_name !~ '^(Citus |citus_(internal|rebalancer|run_command) )'
    order by pid limit 5`;
}
