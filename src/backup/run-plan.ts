// In charge of the plan being kept: of all processes, one on whose machine the folder is makes the backup that is due, verifies
// it, and only then removes what is too many. What a process left behind that died is cleared away by the next.
import type { Db } from '../db/connect.ts';
import { isFileThere, isFolderHere } from './folder.ts';
import { everyRun, removeRun, verifyRun, withRunLocks, writeRun, type PlanParts, type RunLocks } from './one-run.ts';
import { findBackupPlan, noteSeen, type BackupPlan } from './plan.ts';
import { isAhead, listPlanRuns, type BackupRun, type RunReason } from './runs.ts';

/** One that failed is tried again after this, or after the plan's own time if that is shorter. */
const tryAgainMs = 60 * 60_000;

/** Nothing, where nothing is due, somebody else is at it or the folder is not here. */
export async function keepBackupPlan(parts: PlanParts, now: Date): Promise<void> {
  const plan = await findBackupPlan(parts.db);
  if (!plan || plan.moved || !(await isFolderHere(plan))) return;
  await noteSeen(parts.db, plan, now);
  await withRunLocks(parts, async (locks) => {
    if (await locks.take(everyRun)) await keep(parts, locks, plan, now);
  }).catch((error: unknown) => {
    if (!parts.signal.aborted) throw error;
  });
}

async function keep(parts: PlanParts, locks: RunLocks, plan: BackupPlan, now: Date): Promise<void> {
  const { db } = parts;
  const runs = () => listPlanRuns(db, plan.id);
  await clearLeft(db, locks, await runs(), now);
  // One that was written before an upgrade was not verified then, so as not to keep the start.
  for (const run of (await runs()).filter(({ state, goneAt }) => state === 'written' && goneAt === null)) await verifyRun(parts, run);
  const why = findDue(plan, await runs(), now);
  if (why) await removeUntried(db, await runs(), now);
  if (why) {
    const { run, passphrase } = await writeRun(parts, locks, plan, why, now);
    await verifyRun(parts, run, passphrase);
  }
  await rotate(db, plan, await runs(), now);
}

/**
 * At the hour at which it was set up: the turn that has come last is due until one was made since. However many were missed,
 * one makes up for them.
 */
export function findDue({ since, everySeconds, askedAt }: BackupPlan, made: readonly BackupRun[], now: Date): RunReason | undefined {
  const runs = made.filter((run) => !isAhead(run, now));
  const everyMs = everySeconds * 1000;
  const turn = since.getTime() + Math.floor((now.getTime() - since.getTime()) / everyMs) * everyMs;
  const counts = ({ state }: BackupRun) => state === 'good' || state === 'written';
  const failed = runs.find(({ state }) => state === 'failed');
  const waits = failed?.endedAt && now.getTime() - failed.startedAt.getTime() < Math.min(tryAgainMs, everyMs);
  const begun = (from: number) => runs.some((run) => (counts(run) || run.state === 'writing') && run.startedAt.getTime() >= from);
  const tried = (from: number) => begun(from) || runs.some(({ state, startedAt }) => state === 'failed' && startedAt.getTime() >= from);
  if (askedAt && !tried(askedAt.getTime())) return 'asked';
  return begun(turn) || waits ? undefined : 'plan';
}

async function clearLeft(db: Db, locks: RunLocks, runs: readonly BackupRun[], now: Date): Promise<void> {
  for (const { number, state, file, goneAt } of runs) {
    if (state === 'writing' && (await locks.take(number))) {
      await removeRun(file);
      await db`
        update backup_run set state = 'cut off', trouble = 'its process ended', ended_at = ${now}, gone_at = ${now}
        where number = ${number} and state = 'writing'`;
      await locks.leave(number);
    } else if (state !== 'writing' && goneAt === null && !(await isFileThere(file))) {
      await db`update backup_run set gone_at = ${now} where number = ${number}`;
    }
  }
}

/** Of those that could not be tried out the newest is enough: what goes on failing must not fill the disk. */
async function removeUntried(db: Db, runs: readonly BackupRun[], now: Date): Promise<void> {
  const [, ...older] = runs.filter(({ state, why, goneAt }) => state === 'failed' && why !== 'upgrade' && goneAt === null);
  for (const { number, file } of older) {
    await removeRun(file);
    await db`update backup_run set gone_at = ${now} where number = ${number}`;
  }
}

/** Only what is good makes something else superfluous, and only files of this plan are known here. */
async function rotate(db: Db, plan: BackupPlan, runs: readonly BackupRun[], now: Date): Promise<void> {
  const there = runs.filter(({ state, goneAt }) => (state === 'good' || state === 'failed') && goneAt === null);
  const oldest = there.filter(({ state }) => state === 'good')[Math.max(1, plan.keep) - 1];
  if (!oldest) return;
  for (const { number, file } of there.filter((run) => run.number < oldest.number)) {
    await removeRun(file);
    await db`update backup_run set gone_at = ${now} where number = ${number}`;
  }
}
