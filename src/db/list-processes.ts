// In charge of which processes of ours are connected to the database, by the names that their connections have.
import type { Db } from './connect.ts';
import { processTag } from './pool.ts';

/** tag: of one process, as long as it lives. pid: on its machine. address: undefined on the machine of the database itself. */
export type ConnectedProcess = Readonly<{
  tag: string;
  pid: number;
  address: string | undefined;
  since: Date;
  connections: number;
  does: readonly ('API' | 'work' | 'a command')[];
  isThis: boolean;
}>;

type Row = { tag: string; address: string | null; since: Date; connections: number; pools: string[] };

/** What is started lasts for as long as it has one of these. */
const named = '^schoolbell [a-z]+ [0-9a-z]+( listening)?$';
const stampLetters = 4;

export async function listProcesses(db: Db): Promise<ConnectedProcess[]> {
  const rows = await db<Row[]>`
    select split_part(application_name, ' ', 3) as tag, min(host(client_addr)) as address, min(backend_start) as since, count(*)::int as connections,
      array_agg(distinct split_part(application_name, ' ', 2)) as pools
    from pg_stat_activity where application_name ~ ${named} and datname = current_database() group by 1 order by min(backend_start) limit 200`;
  return rows.map(({ tag, address, since, connections, pools }) => ({
    tag,
    pid: pidOf(tag),
    address: address ?? undefined,
    since,
    connections,
    does: [
      ...(pools.some((pool) => pool === 'callers' || pool === 'changes') ? (['API'] as const) : []),
      ...(pools.includes('outbox') ? (['work'] as const) : []),
      ...(pools.includes('commands') ? (['a command'] as const) : []),
    ],
    isThis: tag === processTag,
  }));
}

/** Which process a tag was of, also when it has ended. */
export const pidOf = (tag: string) => Number.parseInt(tag.slice(0, -stampLetters), 36) || 0;
