// In charge of two real PostgreSQL servers for tests, of which one follows the other: either can be killed or frozen, the one that
// follows can be promoted or held back, and the one that was killed can follow again.
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPlace, handOver } from '../src/db/embedded-place.ts';
import { makeCluster } from '../src/db/embedded-server.ts';
import { copyCluster } from './copy-cluster.ts';
import type { FailingCluster } from './failover/failing-cluster.ts';
import { freePort } from './free-port.ts';
import { ServerProcess, type Answer } from './server-process.ts';
import { until } from './until.ts';

export type Which = 'primary' | 'standby';

export type TwoServers = FailingCluster & {
  /** Where the one that has this part now is. */
  url(which: Which): string;
  ask<T = Answer>(which: Which, text: string, values?: unknown[]): Promise<T[]>;
  kill(which: Which): Promise<void>;
  /** The standby takes writes from now on, and is the primary. */
  promote(): Promise<void>;
  /** The one that was killed is the standby, with all that the primary has. */
  rejoin(): Promise<void>;
  /** It answers nothing, and its connections stay, until it is resumed. */
  freeze(which: Which): void;
  resume(which: Which): void;
  /** The standby goes on receiving, and shows nothing of it until this is over. */
  pauseReplay(): Promise<void>;
  resumeReplay(): Promise<void>;
  /** Until the standby shows what the primary has written so far. */
  caughtUp(): Promise<void>;
  /** The standby has what was written so far, and hears of nothing more. */
  cutOff(): Promise<void>;
};

const database = 'schoolbell';

/** synchronous: what the primary has committed, the standby has too; while there is a standby. folder: goes with them. */
export async function openTwoServers({ synchronous, folder = makeFolder() }: { synchronous: boolean; folder?: string }): Promise<TwoServers> {
  const password = randomBytes(24).toString('hex');
  const place = findPlace(folder);
  const make = async (name: string) =>
    new ServerProcess({ ...place, cluster: join(folder, name), log: join(folder, `${name}.log`) }, await freePort(), password);
  let [primary, standby] = [await make('one'), await make('other')];
  const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`).join();
  const databaseUrl = primary.url(database).replace(`127.0.0.1:${primary.port}`, hosts);
  const of = (which: Which) => (which === 'primary' ? primary : standby);

  async function open(): Promise<void> {
    makeCluster(primary.place, { superuser: password, owner: password, serving: password }, folder);
    await primary.start();
    mkdirSync(standby.place.cluster, { mode: 0o700 });
    handOver(standby.place.cluster, standby.place.account, 0o700);
    await rejoin();
  }

  async function rejoin(): Promise<void> {
    // A standby that is promoted must not wait for one that is not there: it is copied before the primary waits for it.
    await primary.ask('alter system reset synchronous_standby_names');
    await primary.ask('select pg_reload_conf()');
    await copyCluster(primary, standby);
    await standby.start(primary);
    if (synchronous) {
      await primary.ask(`alter system set synchronous_standby_names = '*'`);
      await primary.ask('select pg_reload_conf()');
    }
    const state = synchronous ? 'sync' : 'async';
    const replication = () => primary.ask<{ sync_state: string }>('select state, sync_state from pg_stat_replication');
    await until('it follows', async () => (await replication()).some(({ sync_state }) => sync_state === state), replication);
    await caughtUp();
  }

  async function caughtUp(): Promise<void> {
    const [written] = await primary.ask<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn');
    const there = () => standby.ask<{ there: boolean }>('select pg_last_wal_replay_lsn() >= $1::pg_lsn as there', [written?.lsn]);
    await until('the standby shows it', async () => (await there())[0]?.there === true);
  }

  async function promote(): Promise<void> {
    await standby.ask('select pg_promote(true, 60)');
    [primary, standby] = [standby, primary];
    await until('it takes writes', async () => (await primary.ask<{ reads: boolean }>('select pg_is_in_recovery() as reads'))[0]?.reads === false);
  }

  async function close(): Promise<void> {
    await Promise.all([primary.stop(), standby.stop()]);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  await open().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    databaseUrl,
    url: (which) => of(which).url(database),
    ask: (which, text, values) => of(which).hold(async (client) => (await client.query(text, values)).rows as never[], database),
    kill: (which) => of(which).kill(),
    promote,
    rejoin,
    freeze: (which) => void of(which).freeze(),
    resume: (which) => of(which).resume(),
    async pauseReplay() {
      await standby.ask('select pg_wal_replay_pause()');
      const state = () => standby.ask<{ state: string }>('select pg_get_wal_replay_pause_state() as state');
      await until('replay is paused', async () => (await state())[0]?.state === 'paused');
    },
    async resumeReplay() {
      await standby.ask('select pg_wal_replay_resume()');
    },
    caughtUp,
    async cutOff() {
      await caughtUp();
      await standby.kill();
      await standby.start();
    },
    async failOver({ ending, meanwhile }) {
      ending();
      await primary.kill();
      await meanwhile?.();
      await promote();
    },
    heal: rejoin,
    close,
  };
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-servers-'));
  chmodSync(folder, 0o711);
  return folder;
}
