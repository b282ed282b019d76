// In charge of the etcd in which Patroni's nodes agree on who leads: one is enough, since it is not what the drill ends.
import { freePort } from '../../test/free-port.ts';
import type { Programs } from './programs.ts';
import type { Scratch } from './scratch.ts';

/** Resolves with its address at once; Patroni waits for it. */
export async function startEtcd(scratch: Scratch, programs: Programs): Promise<string> {
  const [clients, peers] = [`127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  const options = {
    name: 'drill',
    'data-dir': scratch.makeFolder('etcd'),
    'listen-client-urls': `http://${clients}`,
    'advertise-client-urls': `http://${clients}`,
    'listen-peer-urls': peers,
    'initial-advertise-peer-urls': peers,
    'initial-cluster': `drill=${peers}`,
  };
  // Debian's refuses to start on 64-bit ARM unless it is told that this is known.
  const env: Record<string, string> = process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {};
  scratch.start('etcd', programs.etcd, Object.entries(options).map(([name, value]) => `--${name}=${value}`), env);
  return clients;
}
