// In charge of the backup before a version that is new to a database changes anything in it. One that fails stops the start: what
// migrations do is not undone. Where none can be had, since the folder is not on this machine or the database is spread and in use, that is
// told, and the upgrade goes on: a start on the wrong one of several machines, or beside others, must not keep the service down.
import type { Seal } from '../access/seal.ts';
import type { Config } from '../config.ts';
import { isAlone } from '../db/alone.ts';
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import type { MigrateOptions, Upgrade } from '../db/migrate.ts';
import { SchoolbellError } from '../errors.ts';
import { version } from '../version.ts';
import type { BackupCore } from './core.ts';
import { isFileThere, isFolderHere } from './folder.ts';
import { withRunLocks, writeRun } from './one-run.ts';
import { findBackupPlan, type BackupPlan } from './plan.ts';
import { isAhead, listBackupRuns, type BackupRun } from './runs.ts';

/** A start that fails after its backup, and is repeated again and again, does not fill the disk. */
const freshMs = 60 * 60_000;

/** seal: made only when it is needed, since a start that finds no plan needs no key for this. */
export type BeforeUpgradeParts = Readonly<{
  config: Config;
  seal: () => Seal;
  core: BackupCore;
  tell: (words: string) => void;
  signal?: AbortSignal;
  now?: () => Date;
}>;

/** By this version, of the schema that is there: not one before an upgrade that has been made since. */
const isOfThis = (run: BackupRun, migration: number) =>
  run.why === 'upgrade' && (run.state === 'good' || run.state === 'written') && run.version === version && run.migration === migration;
const isFresh = (run: BackupRun, now: Date) => !isAhead(run, now) && now.getTime() - run.startedAt.getTime() < freshMs;

async function findObstacle(db: Db, plan: BackupPlan): Promise<string | undefined> {
  if (plan.moved) return 'this database is a copy of the one that backups were set up for';
  if (!(await isFolderHere(plan))) return `its folder ${plan.folder} is not on this machine`;
  if (!(await knowsNotes(db)) || (await isAlone(db, db.policy))) return undefined;
  return 'the database is spread over several nodes, and others are connected, so that no snapshot of one instant can be had';
}

type BeforeMigrating = NonNullable<MigrateOptions['before']>;

export function createBackupBeforeUpgrade({ config, seal, core, tell, signal = new AbortController().signal, now }: BeforeUpgradeParts): BeforeMigrating {
  return async ({ db, pending }: Upgrade) => {
    const plan = await findBackupPlan(db);
    if (!plan) return;
    const obstacle = await findObstacle(db, plan);
    if (obstacle !== undefined) {
      tell(`no backup is taken before the upgrade: ${obstacle}`);
      return;
    }
    const at = now?.() ?? new Date();
    const [applied] = await db<{ newest: number }[]>`select max(version) as newest from migration`;
    const [last] = (await listBackupRuns(db, 1, plan.id)).filter((run) => isOfThis(run, applied?.newest ?? 0) && isFresh(run, at));
    if (last && (await isFileThere(last.file))) {
      tell(`the backup before the upgrade is ${last.file}`);
      return;
    }
    tell(`a version that is new to this database${pending.length > 0 ? `, with ${pending.length} migrations` : ''}: a backup goes to ${plan.folder} first`);
    try {
      const parts = { db, long: db, config, seal: seal(), core, signal };
      await withRunLocks(parts, (locks) => writeRun(parts, locks, plan, 'upgrade', at));
    } catch (error) {
      throw new SchoolbellError(
        'unavailable',
        `the backup before the upgrade failed, and nothing was changed: ${(error as Error).message}.` +
          ' Mend that and start again; start the version before, which goes on as it was; or upgrade without a backup: npx schoolbell upgrade --without-backup',
        { cause: error },
      );
    }
  };
}
