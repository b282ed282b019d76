// In charge of cutting nodes of a spread database off: each is known to the coordinator by a port of ours, behind which it is there, refuses,
// as a server that has ended, or says nothing any more, as a machine that is gone.
import { once } from 'node:events';
import { connect as connectTo, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Db } from '../src/db/connect.ts';
import { listNodes } from '../src/db/distribution.ts';
import { until } from './until.ts';

export type NodeState = 'there' | 'ended' | 'silent';
/** group: as Citus numbers the nodes. */
export type CutNode = { group: number; set(state: NodeState): Promise<void>; close(): void };

/** Those for schools, from now on behind our ports. */
export async function cutNodes(db: Db): Promise<CutNode[]> {
  // Told of a change before it runs there, the server would crash (Citus 14.0.1).
  await until('what looks after the database runs', async () => (await db`
    select from pg_stat_activity where datname = current_database() and application_name like 'Citus Maintenance Daemon%'`).length > 0);
  const cut: CutNode[] = [];
  try {
    for (const { group, name, port } of (await listNodes(db)).filter((node) => node.group !== 0)) {
      const { ourPort, ...node } = await openPort(name, port);
      cut.push({ group, ...node });
      await db`select citus_update_node(nodeid, '127.0.0.1', ${ourPort}::int) from pg_dist_node where groupid = ${group}`;
    }
    return cut;
  } catch (error) {
    for (const node of cut) node.close();
    throw error;
  }
}

async function openPort(host: string, behind: number): Promise<Omit<CutNode, 'group'> & { ourPort: number }> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const drop = () => sockets.forEach((socket) => socket.destroy());
  let state: NodeState = 'there';
  const server = createServer((near) => {
    keep(near);
    if (state === 'silent') return void near.pause();
    const far = connectTo(behind, host);
    keep(far);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const close = () => {
    server.close();
    drop();
  };
  const ourPort = await listen(0);
  return {
    ourPort,
    async set(next) {
      if (next === 'ended') close();
      if (next === 'silent') for (const socket of sockets) socket.unpipe().pause();
      if (next === 'there') {
        // Whoever comes back knows no connection any more.
        drop();
        if (state === 'ended') await listen(ourPort);
      }
      state = next;
    },
    close,
  };
}
