// In charge of one run of the recurring backup: its row, its lock for as long as its process lives, its file, and what becomes
// of them.
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Seal } from '../access/seal.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { DamagedBackup } from './age.ts';
import type { BackupCore } from './core.ts';
import { openPassphrase, type BackupPlan } from './plan.ts';
import type { BackupRun, RunReason } from './runs.ts';

/** db: for what is short. long: of a pool that lets a statement take as long as a whole backup does. */
export type PlanParts = Readonly<{
  db: Db;
  long: Db;
  config: Config;
  seal: Seal;
  core: BackupCore;
  signal: AbortSignal;
  tell?: (words: string) => void;
}>;

const longestTrouble = 500;
const lockClass = 5_219;
/** The number of no run: whoever holds it looks after all of them. */
export const everyRun = 0;

/** Held by a process while it lives, and with it by nobody any more. */
export type RunLocks = Readonly<{
  take(number: number): Promise<boolean>;
  leave(number: number): Promise<void>;
  /** Its lock is taken with its row: nobody sees the one without the other. */
  begin(run: Pick<BackupRun, 'plan' | 'why' | 'file' | 'host' | 'startedAt'>): Promise<number>;
}>;

/** All on one connection of those that backups have, which is given back at the end. */
export async function withRunLocks<T>({ long }: Pick<PlanParts, 'long'>, work: (locks: RunLocks) => Promise<T>): Promise<T> {
  const connection = await long.reserve();
  try {
    return await work({
      async take(number) {
        const [lock] = await connection<{ mine: boolean }[]>`select pg_try_advisory_lock(${lockClass}::int, ${number}::int) as mine`;
        return lock?.mine === true;
      },
      async leave(number) {
        await connection`select pg_advisory_unlock(${lockClass}::int, ${number}::int)`;
      },
      async begin({ plan, why, file, host, startedAt }) {
        const [row] = await connection<{ number: number; mine: boolean }[]>`
          insert into backup_run (plan, why, file, host, started_at) values (${plan}, ${why}, ${file}, ${host}, ${startedAt})
          returning number, pg_try_advisory_lock(${lockClass}::int, number::int) as mine`;
        if (!row?.mine) throw new Error('a backup could not be begun: its lock is held already');
        return row.number;
      },
    });
  } finally {
    await connection`select pg_advisory_unlock_all()`.catch(() => {});
    connection.release();
  }
}

/** As schoolbell-2026-11-17T023000Z.backup: in the order of time, and a name on every system. */
const fileOf = ({ folder }: BackupPlan, at: Date) => join(folder, `schoolbell-${at.toISOString().replaceAll(/:|\.\d+/g, '')}.backup`);

type Begun = Pick<BackupRun, 'number' | 'file' | 'why'>;

/** Written and checked as it was written, but not yet good. */
export async function writeRun(parts: PlanParts, locks: RunLocks, plan: BackupPlan, why: RunReason, now: Date): Promise<Begun> {
  const { db, long, config, seal, core, signal, tell } = parts;
  const file = fileOf(plan, now);
  const run = { number: await locks.begin({ plan: plan.id, why, file, host: hostname(), startedAt: now }), file, why };
  try {
    const passphrase = await openPassphrase(db, seal);
    const { bytes, rows, version, migration, tookMs } = await core.write({ db: long, config, passphrase, file, signal, ...(tell ? { tell } : {}) });
    await db`
      update backup_run set state = 'written', ended_at = clock_timestamp(), bytes = ${bytes}, rows = ${rows}, version = ${version}, migration = ${migration},
        took_ms = ${Math.round(tookMs)} where number = ${run.number}`;
    return run;
  } catch (error) {
    // One that was stopped is begun anew, without waiting.
    await (signal.aborted ? endRun(db, run, 'cut off', 'the service was stopped', true) : endRun(db, run, 'failed', (error as Error).message, true));
    throw error;
  }
}

/**
 * Restored into a cluster of its own and compared: only now it counts. One that is damaged is of no use to anybody; but that of an
 * upgrade is the last of its version, and stays for whoever wants to look. One that could not be tried out, for want of room or
 * of a server, may be good, and stays until a newer one is there.
 */
export async function verifyRun({ db, config, seal, core, signal }: PlanParts, run: Begun): Promise<void> {
  try {
    await core.verify({ file: run.file, passphrase: await openPassphrase(db, seal), scratch: join(config.dataDir, scratchFolder), signal });
  } catch (error) {
    const damaged = error instanceof DamagedBackup;
    const what = damaged ? 'it was written, but does not restore' : 'it was written, but could not be restored to try it out';
    if (!signal.aborted) await endRun(db, run, 'failed', `${what}: ${(error as Error).message}`, damaged && run.why !== 'upgrade');
    throw error;
  }
  await db`update backup_run set state = 'good', verified_at = clock_timestamp(), trouble = null where number = ${run.number}`;
}

const scratchFolder = 'backup-check';

async function endRun(db: Db, { number, file }: Begun, state: 'failed' | 'cut off', trouble: string, remove: boolean): Promise<void> {
  if (remove) await removeRun(file).catch(() => {});
  await db`
    update backup_run set state = ${state}, trouble = ${trouble.slice(0, longestTrouble)}, ended_at = clock_timestamp(),
      gone_at = case when ${remove} then clock_timestamp() end
    where number = ${number}`;
}

/** Also what is there while it is written. */
export async function removeRun(file: string): Promise<void> {
  await rm(file, { force: true });
  await rm(`${file}.half`, { force: true });
}
