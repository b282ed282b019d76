// In charge of whether there is a backup to go back to: that one is set up, that the newest good one is not too old, that the
// last one went well, and that there is room for the next.
import { readFolderRoom } from '../backup/folder.ts';
import { readBackupStanding, type BackupStanding } from '../backup/runs.ts';
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import type { DiskRoom } from '../disk-room.ts';
import { formatBytes, formatDuration } from '../http/pages/figures.ts';
import { fail, ok, warn, type Judged } from './finding.ts';

const roomForNext = 2;
/** No plan can be kept where the database is spread over several nodes. */
const ofNodes = 'back up the nodes themselves, with their logs up to the same citus_create_restore_point';
const setUp = 'backup --to <folder> --every 24h --keep 14 --passphrase-file <file>';

/** Before going live; the demo has nothing that its next start would not make again. */
export async function judgeBackupsLive(db: Db, { demo }: { demo: boolean }): Promise<Judged> {
  const standing = await readBackupStanding(db, new Date());
  if (standing) return judgeHere(standing);
  return demo ? ok('none is set up, and the demo needs none') : warn('none is set up: what is lost is lost for good', (await knowsNotes(db)) ? ofNodes : setUp);
}

/** While it runs: whoever has set none up has decided so. */
export async function judgeBackups(db: Db): Promise<Judged> {
  const standing = await readBackupStanding(db, new Date());
  return standing ? judgeHere(standing) : ok('none is set up');
}

/** With the room that there is, where this machine has the folder. */
export async function judgeHere(standing: BackupStanding): Promise<Judged> {
  return judgeStanding(standing, await readFolderRoom(standing.plan));
}

export function judgeStanding({ plan, newest, last, ageMs, overdue, unseenMs }: BackupStanding, room?: DiskRoom): Judged {
  const every = formatDuration(plan.everySeconds * 1000);
  if (plan.moved) return warn('this database is a copy of the one that backups were set up for: none is made of it', setUp);
  if (overdue) {
    const found = newest ? `the newest good one is ${formatDuration(ageMs)} old` : `none was good since they were set up ${formatDuration(ageMs)} ago`;
    const why = last?.state === 'failed' ? `the last one failed: ${last.trouble}` : `no worker runs on a machine that has ${plan.folder}`;
    return fail(`${found}, of one every ${every}; ${why}`, 'backup list, which shows each of them; then backup --now');
  }
  if (unseenMs !== undefined)
    return warn(
      `no worker has had ${plan.folder} at hand for ${formatDuration(unseenMs)}: none runs where it is, or its disk is not there`,
      'mount it where a worker runs, with the file .schoolbell-backups in it; or name another folder by backup --to',
    );
  if (last?.state === 'failed') return warn(`the last one failed: ${last.trouble}`, 'mend that; it is tried again within the hour, or at once: backup --now');
  // One is removed only when the next is good, and a school's data grows.
  if (room && newest?.bytes && room.free < roomForNext * newest.bytes)
    return warn(
      `${formatBytes(room.free)} are free in ${plan.folder}, of which the newest takes ${formatBytes(newest.bytes)}: there is hardly room for the next`,
      `make room there, or keep fewer than ${plan.keep}: backup --to … --keep <n>`,
    );
  return ok(newest ? `the newest good one is ${formatDuration(ageMs)} old, of one every ${every}` : `one every ${every}; the first is due`);
}
