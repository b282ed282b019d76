// In charge of the haproxy in front, as one would set it up: it asks Patroni of each node who leads, and ends the connections to one that does not any more.
import { freePort } from '../../test/free-port.ts';
import type { PatroniNode } from './patroni-node.ts';
import type { Programs } from './programs.ts';
import type { Scratch } from './scratch.ts';

export type Proxy = Readonly<{ primaryPort: number; replicasPort: number }>;

export async function startHaproxy(scratch: Scratch, programs: Programs, nodes: readonly PatroniNode[]): Promise<Proxy> {
  const [primaryPort, replicasPort] = [await freePort(), await freePort()];
  const file = scratch.write('haproxy.cfg', renderConfiguration(nodes, primaryPort, replicasPort));
  scratch.start('haproxy', programs.haproxy, ['-db', '-f', file]);
  return { primaryPort, replicasPort };
}

/** The timeouts are longer than Schoolbell leaves a connection without a word: 60 s in a pool, and 15 s one that listens. */
function renderConfiguration(nodes: readonly PatroniNode[], primaryPort: number, replicasPort: number): string {
  const listen = (name: string, port: number, path: string) => `
listen ${name}
  bind 127.0.0.1:${port}
  option httpchk OPTIONS ${path}
  http-check expect status 200
  default-server inter 1s fastinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map((node) => `  server ${node.name} 127.0.0.1:${node.port} check port ${node.restPort}`).join('\n')}
`;
  return `global
  maxconn 2000
defaults
  mode tcp
  timeout connect 2s
  timeout check 2s
  timeout client 30m
  timeout server 30m
  retries 1
${listen('primary', primaryPort, '/primary')}${listen('replicas', replicasPort, '/replica')}`;
}
