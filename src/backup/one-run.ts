// In charge of one run of the recurring backup: its row, its lock for as long as its process lives, its file, and what becomes
// of them.
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Seal } from '../access/seal.ts';
import type { Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { DamagedBackup, WrongPassphrase } from './age.ts';
import type { BackupCore } from './core.ts';
import { giveToOwnerOf, isFileThere } from './folder.ts';
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

/** As schoolbell-2026-11-17T023000Z.backup: in the order of time, and a name on every system. A clock that was set back gives one twice. */
async function findName({ folder }: BackupPlan, at: Date): Promise<string> {
  const name = join(folder, `schoolbell-${at.toISOString().replaceAll(/:|\.\d+/g, '')}`);
  for (let number = 1; ; number += 1) {
    const file = `${name}${number === 1 ? '' : `-${number}`}.backup`;
    if (!(await isFileThere(file))) return file;
  }
}

type Begun = Pick<BackupRun, 'number' | 'file' | 'why'>;

/** Written and checked as it was written, but not yet good; with the passphrase that it opens with. */
export async function writeRun(
  parts: PlanParts,
  locks: RunLocks,
  plan: BackupPlan,
  why: RunReason,
  now: Date,
): Promise<{ run: Begun; passphrase: string }> {
  const { db, long, config, seal, core, signal, tell } = parts;
  const file = await findName(plan, now);
  const run = { number: await locks.begin({ plan: plan.id, why, file, host: hostname(), startedAt: now }), file, why };
  let written = false;
  try {
    const passphrase = await openPassphrase(db, seal);
    const { bytes, rows, version, migration, tookMs } = await core.write({ db: long, config, passphrase, file, signal, ...(tell ? { tell } : {}) });
    written = true;
    await giveToOwnerOf(plan.folder, file);
    await db`
      update backup_run set state = 'written', ended_at = clock_timestamp(), bytes = ${bytes}, rows = ${rows}, version = ${version}, migration = ${migration},
        took_ms = ${Math.round(tookMs)} where number = ${run.number}`;
    return { run, passphrase };
  } catch (error) {
    // What was not written to its end has left nothing; and a file of that name, if there is one by now, is another's.
    if (written) await removeRun(file).catch(() => {});
    // One that was stopped is begun anew, without waiting.
    await (signal.aborted ? endRun(db, run, 'cut off', 'the service was stopped', true) : endRun(db, run, 'failed', (error as Error).message, true));
    throw error;
  }
}

/**
 * Restored into a cluster of its own and compared: only now it counts. One that is damaged is of no use to anybody; but that of an
 * upgrade is the last of its version, and stays for whoever wants to look. One that could not be tried out, for want of room, of a
 * server or of its passphrase, may be good, and stays until a newer one is there. passphrase: that of the plan, unless it is known better.
 */
export async function verifyRun({ db, config, seal, core, signal }: PlanParts, run: Begun, passphrase?: string): Promise<void> {
  try {
    const [size] = await db<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`;
    const scratch = join(config.dataDir, scratchFolder);
    await core.verify({ file: run.file, passphrase: passphrase ?? (await openPassphrase(db, seal)), scratch, signal, mostBytes: size?.bytes ?? 0 });
  } catch (error) {
    const damaged = error instanceof DamagedBackup && !(error instanceof WrongPassphrase);
    const what = damaged ? 'it was written, but does not restore' : 'it was written, but could not be restored to try it out';
    const remove = damaged && run.why !== 'upgrade';
    if (!signal.aborted) {
      if (remove) await removeRun(run.file).catch(() => {});
      await endRun(db, run, 'failed', `${what}: ${(error as Error).message}`, remove);
    }
    throw error;
  }
  await db`update backup_run set state = 'good', verified_at = clock_timestamp(), trouble = null where number = ${run.number}`;
}

const scratchFolder = 'backup-check';

/** gone: there is no file. */
async function endRun(db: Db, { number }: Begun, state: 'failed' | 'cut off', trouble: string, gone: boolean): Promise<void> {
  await db`
    update backup_run set state = ${state}, trouble = ${trouble.slice(0, longestTrouble)}, ended_at = clock_timestamp(),
      gone_at = case when ${gone} then clock_timestamp() end
    where number = ${number}`;
}

/** Also what is there while it is written. */
export async function removeRun(file: string): Promise<void> {
  await rm(file, { force: true });
  await rm(`${file}.half`, { force: true });
}
