// In charge of one node: a Patroni and the PostgreSQL that it starts, as one would set them up, but that a leader which is silent is given up within seconds.
import { join } from 'node:path';
import { freePort } from '../../test/free-port.ts';
import type { Programs } from './programs.ts';
import type { Scratch } from './scratch.ts';

export type Passwords = Readonly<Record<'postgres' | 'replicator' | 'schoolbell', string>>;
export type Member = Readonly<{ name: string; role: string; state: string; lag?: number | string }>;

/**
 * Seconds. Patroni wants ttl to be loop_wait and twice retry_timeout at least; a newer one than Debian 12's makes it 20 where it is less. In production
 * its defaults (30, 10, 10) are a start.
 */
const pace = { ttl: 8, loop_wait: 1, retry_timeout: 3 } as const;
const longestAnswerMs = 2_000;

export class PatroniNode {
  readonly name: string;
  readonly port: number;
  readonly restPort: number;
  readonly #scratch: Scratch;
  readonly #start: () => number;
  readonly #dataDir: string;
  #pid: number | undefined;
  #isFrozen = false;

  private constructor(scratch: Scratch, programs: Programs, name: string, ports: readonly [number, number], etcd: string, passwords: Passwords) {
    [this.port, this.restPort] = ports;
    this.name = name;
    this.#scratch = scratch;
    this.#dataDir = join(scratch.makeFolder(name), 'data');
    const settings = this.#describe(etcd, programs, passwords);
    // Whatever is JSON is YAML.
    const file = scratch.write(`${name}.yml`, JSON.stringify(settings, undefined, 2));
    this.#start = () => scratch.start(name, programs.patroni, [file]);
  }

  static async create(scratch: Scratch, programs: Programs, name: string, etcd: string, passwords: Passwords): Promise<PatroniNode> {
    return new PatroniNode(scratch, programs, name, [await freePort(), await freePort()], etcd, passwords);
  }

  /** Neither ended nor frozen. */
  get isUp(): boolean {
    return this.#pid !== undefined && !this.#isFrozen;
  }

  /** As a machine that comes back: what was frozen is begun anew. */
  async start(): Promise<void> {
    if (this.#isFrozen) await this.kill();
    this.#pid ??= this.#start();
  }

  /** Patroni and PostgreSQL, in the middle of whatever they do. */
  async kill(): Promise<void> {
    if (this.#pid === undefined) return;
    await this.#scratch.kill(this.#pid, this.#dataDir);
    this.#pid = undefined;
    this.#isFrozen = false;
  }

  freeze(): void {
    if (this.#pid === undefined) return;
    this.#scratch.freeze(this.#pid, this.#dataDir);
    this.#isFrozen = true;
  }

  /** Whether it leads, in its own words. */
  async leads(): Promise<boolean> {
    return (await this.#ask('/primary'))?.status === 200;
  }

  /** All nodes, as this one sees them; none while it does not answer. */
  async members(): Promise<readonly Member[]> {
    const answer = await this.#ask('/cluster');
    return answer?.ok ? ((await answer.json()) as { members: Member[] }).members : [];
  }

  async #ask(path: string): Promise<Response | undefined> {
    return fetch(`http://127.0.0.1:${this.restPort}${path}`, { signal: AbortSignal.timeout(longestAnswerMs) }).catch(() => undefined);
  }

  #describe(etcd: string, programs: Programs, passwords: Passwords): object {
    const [rest, address] = [`127.0.0.1:${this.restPort}`, `127.0.0.1:${this.port}`];
    return {
      scope: 'drill',
      name: this.name,
      etcd3: { host: etcd },
      restapi: { listen: rest, connect_address: rest },
      bootstrap: {
        dcs: {
          ...pace,
          maximum_lag_on_failover: 1024 ** 2,
          // A commit is acknowledged when a standby has it too, and only that standby may lead next.
          synchronous_mode: true,
          postgresql: { use_pg_rewind: true, use_slots: true, parameters: { max_connections: 400, hot_standby_feedback: 'on', wal_keep_size: '512MB' } },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
      },
      postgresql: {
        listen: address,
        connect_address: address,
        data_dir: this.#dataDir,
        bin_dir: programs.postgres,
        pgpass: join(this.#scratch.folder, this.name, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: passwords.postgres },
          replication: { username: 'replicator', password: passwords.replicator },
        },
        pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication replicator 127.0.0.1/32 scram-sha-256'],
        parameters: { unix_socket_directories: join(this.#scratch.folder, this.name), shared_buffers: '128MB' },
        // What cannot be rewound is copied again.
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
  }
}
