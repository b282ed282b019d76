// In charge of how the nodes of a spread database are doing: whether each answers, and how schools lie on them.
import { atOnce } from '../at-once.ts';
import type { Db } from './connect.ts';
import { findCitus, knowsNotes, listNodes, type DataNode } from './distribution.ts';
import { isServerError, isSilent, sqlStates } from './unavailable.ts';

/** bytes: of the tables that lie by school or everywhere; null where it could not be asked. */
export type NodeLoad = Readonly<{ node: string; coordinator: boolean; answers: boolean; schools: number; bytes: number | null }>;

/** One that is gone may not refuse a connection either. */
const longestConnectMs = 2_000;
/** Nor does it answer over a connection that was there before. Below what others wait for a connection, which are few where this is asked. */
const longestAnswerMs = 2_500;
const askedAtOnce = 2;

/** None, where the database is on one node. */
export async function findNodes(db: Db): Promise<DataNode[]> {
  return (await knowsNotes(db)) && (await findCitus(db)) !== undefined ? listNodes(db) : [];
}

/** Those that do not answer, or that Citus leaves out. */
export async function findSilentNodes(db: Db, nodes: readonly DataNode[]): Promise<DataNode[]> {
  const answers = await atOnce(askedAtOnce, nodes, async (node) => node.active && (await doesAnswer(db, node)));
  return nodes.filter((_, at) => !answers[at]);
}

async function doesAnswer(db: Db, { name, port }: DataNode): Promise<boolean> {
  try {
    return await db.begin(async (tx) => {
      await tx`select set_config('citus.node_connection_timeout', ${String(longestConnectMs)}, true),
        set_config('statement_timeout', ${String(longestAnswerMs)}, true)`;
      const [row] = await tx<{ answers: boolean }[]>`select citus_check_connection_to_node(${name}, ${port}::int) as answers`;
      return row?.answers === true;
    });
  } catch (error) {
    if (!isOfNode(error)) throw error;
    return false;
  }
}

/** What the coordinator itself lacks is told as that. */
function isOfNode(error: unknown): boolean {
  return isSilent(error) || (isServerError(error) && error.code === sqlStates.queryCanceled);
}

export async function readNodeLoads(db: Db): Promise<NodeLoad[]> {
  const nodes = await findNodes(db);
  if (nodes.length === 0) return [];
  const silent = new Set((await findSilentNodes(db, nodes)).map(({ address }) => address));
  const schools = await db<{ group: number; schools: number }[]>`
    select p.groupid as group, count(*)::int as schools
    from establishment e join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('roster', e.estab) group by 1`;
  const bytes = silent.size > 0 ? [] : await db<{ node: string; bytes: number }[]>`
    select nodename || ':' || nodeport as node, sum(shard_size)::float8 as bytes from citus_shards group by 1`;
  return nodes.map(({ address, group }) => ({
    node: address,
    coordinator: group === 0,
    answers: !silent.has(address),
    schools: schools.find((one) => one.group === group)?.schools ?? 0,
    bytes: bytes.find(({ node }) => node === address)?.bytes ?? null,
  }));
}
