// In charge of the plan of the recurring backup: where to, how often, how many are kept, and the passphrase, sealed.
import { resolve } from 'node:path';
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import type { Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { formatDuration } from '../http/pages/figures.ts';
import { claimFolder, leaveFolder, type Owner } from './folder.ts';

/** seenAt: when a worker last had the folder at hand. moved: the plan was made for another database, of which this one is a copy; then nothing is written. */
export type BackupPlan = Readonly<{
  id: string;
  folder: string;
  everySeconds: number;
  keep: number;
  since: Date;
  by: string;
  askedAt: Date | null;
  seenAt: Date | null;
  moved: boolean;
}>;

/**
 * The same for as long as it is the same database, also after a failover. Of a server on this machine its folder counts as well: that of
 * another one was copied.
 */
const databaseName = (db: Sql) => db`(select system_identifier::text from pg_control_system()) || '/' ||
  (select oid::text from pg_database where datname = current_database()) ||
  coalesce((select '/' || setting from pg_settings where name = 'data_directory' and inet_server_addr() <<= '127.0.0.0/8'), '')`;

export async function findBackupPlan(db: Sql): Promise<BackupPlan | undefined> {
  const [plan] = await db<BackupPlan[]>`
    select id, folder, every_seconds as "everySeconds", keep, since, by, asked_at as "askedAt", seen_at as "seenAt",
      database <> ${databaseName(db)} as moved
    from backup_plan`;
  return plan;
}

export async function openPassphrase(db: Sql, seal: Seal): Promise<string> {
  const [row] = await db<{ id: string; sealed: Uint8Array }[]>`select id, sealed_passphrase as sealed from backup_plan`;
  if (!row) throw new Error('the plan of the backups was taken away meanwhile');
  return seal.open(row.sealed, sealedAs.backupPassphrase(row.id));
}

/** owner: whose its folder is to be, where that is made. */
export type NewPlan = { folder: string; everySeconds: number; keep: number; passphrase: string; by: string; owner?: Owner | undefined };

/**
 * The only one from now on. In the same folder it goes on; in another, what the one before has made stays where it is. Of a
 * copy of the database it is a new one, since what the table says of files is about those of the original.
 */
export async function setBackupPlan(db: Sql, seal: Seal, wanted: NewPlan, now: Date): Promise<BackupPlan> {
  const { folder: given, everySeconds, keep, passphrase, by, owner } = wanted;
  const before = await findBackupPlan(db);
  const folder = resolve(given);
  const same = before?.folder === folder;
  if (before && same && before.moved) await leaveFolder(before);
  const id = await claimFolder(folder, same ? before.id : undefined, owner);
  if (before && !same && !before.moved) await leaveFolder(before);
  const since = before?.id === id ? before.since : now;
  const sealed = seal.seal(passphrase, sealedAs.backupPassphrase(id));
  await db`
    insert into backup_plan (id, folder, every_seconds, keep, sealed_passphrase, database, since, by, seen_at)
    values (${id}, ${folder}, ${everySeconds}, ${keep}, ${sealed}, ${databaseName(db)}, ${since}, ${by}, ${now})
    on conflict (single) do update set id = excluded.id, folder = excluded.folder, every_seconds = excluded.every_seconds, keep = excluded.keep,
      sealed_passphrase = excluded.sealed_passphrase, database = excluded.database, since = excluded.since, by = excluded.by,
      seen_at = excluded.seen_at`;
  return (await findBackupPlan(db)) as BackupPlan;
}

/** Gives the one that ended. What it made stays. */
export async function stopBackupPlan(db: Sql): Promise<BackupPlan | undefined> {
  const plan = await findBackupPlan(db);
  if (!plan) return undefined;
  await db`delete from backup_plan where id = ${plan.id}`;
  if (!plan.moved) await leaveFolder(plan);
  return plan;
}

/**
 * What was restored is a copy, also in the very database that the backup came from: it says that its own backup is being written, and knows
 * nothing of those that were made since.
 */
export async function endPlan(sql: Sql): Promise<void> {
  await sql`update backup_plan set database = 'restored'`;
  await sql`
    update backup_run set state = 'cut off', trouble = 'it was under way when the backup was taken that this database was restored from', ended_at = now()
    where state = 'writing'`;
}

export async function noteSeen(db: Sql, { id }: BackupPlan, now: Date): Promise<void> {
  await db`update backup_plan set seen_at = ${now} where id = ${id}`;
}

/** A worker looks every minute; for how long its folder may be away before somebody has to look. */
const longestUnseenMs = 15 * 60_000;

/** For how long nobody had the folder at hand, if that is too long. */
export function findUnseen({ seenAt, since }: Pick<BackupPlan, 'seenAt' | 'since'>, now: Date): number | undefined {
  const unseenMs = now.getTime() - (seenAt ?? since).getTime();
  return unseenMs > longestUnseenMs ? unseenMs : undefined;
}

/** Beside the plan, as soon as a worker looks. */
export async function askForBackup(db: Sql, now: Date): Promise<BackupPlan> {
  const plan = await findBackupPlan(db);
  if (!plan) throw new SchoolbellError('conflict', 'no backups are set up: backup --to <folder> does that, and backup <file> makes one');
  if (plan.moved) throw new SchoolbellError('conflict', 'this database is a copy of the one that backups were set up for: set them up anew by backup --to');
  const unseenMs = findUnseen(plan, now);
  if (unseenMs !== undefined)
    throw new SchoolbellError('conflict', `nobody would make it: no worker has had ${plan.folder} at hand for ${formatDuration(unseenMs)}`);
  await db`update backup_plan set asked_at = ${now}`;
  return plan;
}
