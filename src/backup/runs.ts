// In charge of what is known of the runs of the recurring backup: each with its file and what became of it; and how the backups
// stand, for whoever looks after them.
import type { Db, Sql } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { findBackupPlan, findUnseen, type BackupPlan } from './plan.ts';

/** writing: until it is whole. written: checked as it was written. good: restored elsewhere and compared, too. */
export type RunState = 'writing' | 'written' | 'good' | 'failed' | 'cut off';
export type RunReason = 'plan' | 'asked' | 'upgrade';

export type BackupRun = Readonly<{
  number: number;
  plan: string;
  why: RunReason;
  file: string;
  host: string;
  state: RunState;
  startedAt: Date;
  endedAt: Date | null;
  verifiedAt: Date | null;
  version: string | null;
  migration: number | null;
  bytes: number | null;
  rows: number | null;
  tookMs: number | null;
  trouble: string | null;
  goneAt: Date | null;
}>;

/** Newest first. */
export async function listBackupRuns(db: Sql, most: number, plan?: string): Promise<BackupRun[]> {
  return db<BackupRun[]>`
    select ${columns(db)} from backup_run where ${plan === undefined ? db`true` : db`plan = ${plan}`} order by number desc limit ${most}`;
}

const columns = (db: Sql) => db`
  number, plan, why, file, host, state, started_at as "startedAt", ended_at as "endedAt", verified_at as "verifiedAt", version, migration,
  bytes::float8 as bytes, rows::float8 as rows, took_ms as "tookMs", trouble, gone_at as "goneAt"`;

/** Of a plan all whose files are there, and the newest of the others. Newest first. */
export async function listPlanRuns(db: Sql, plan: string): Promise<BackupRun[]> {
  return db<BackupRun[]>`
    select ${columns(db)} from backup_run
    where plan = ${plan} and (gone_at is null or number > (select max(number) from backup_run where plan = ${plan}) - ${othersLookedAt}::int)
    order by number desc`;
}

/** Stamped by a clock that was ahead: when it was made is not known, and nothing is counted from it. */
export const isAhead = ({ startedAt }: Pick<BackupRun, 'startedAt'>, now: Date) => startedAt.getTime() > now.getTime() + clocksApartMs;

/**
 * newest: the newest good one whose file is there, as far as whoever has the folder last saw. last: the newest that has ended
 * one way or the other. overdue: for so long that somebody has to look.
 */
export type BackupStanding = Readonly<{
  plan: BackupPlan;
  newest: BackupRun | undefined;
  last: BackupRun | undefined;
  underWay: BackupRun | undefined;
  /** Since the newest good one, or since the plan where there is none. */
  ageMs: number;
  overdue: boolean;
  /** For how long no worker had the folder at hand, if that is too long. */
  unseenMs: number | undefined;
}>;

/** How much later than planned is too late. */
const patience = 2;
const othersLookedAt = 100;
/** Of machines that keep their time. */
const clocksApartMs = 5 * 60_000;

export async function readBackupStanding(db: Sql, now: Date): Promise<BackupStanding | undefined> {
  const plan = await findBackupPlan(db);
  if (!plan) return undefined;
  const runs = await listPlanRuns(db, plan.id);
  const newest = runs.find((run) => run.state === 'good' && run.goneAt === null && !isAhead(run, now));
  const underWay = runs.find(({ state }) => state === 'writing' || state === 'written');
  const ageMs = Math.max(0, now.getTime() - (newest?.startedAt ?? plan.since).getTime());
  return {
    plan,
    newest,
    last: runs.find(({ state }) => state === 'good' || state === 'failed'),
    underWay,
    ageMs,
    overdue: ageMs > patience * plan.everySeconds * 1000,
    // Whoever makes one does not look meanwhile.
    unseenMs: underWay ? undefined : findUnseen(plan, now),
  };
}

export const forgetBackupRuns = (db: Db, days: number) => deleteInBatches(db, 'backup_run', db`gone_at < now() - make_interval(days => ${days})`);
