// In charge of whether there is a backup to go back to: that one is set up, that the newest good one is not too old, and that the
// last one went well.
import { readBackupStanding, type BackupStanding } from '../backup/runs.ts';
import type { Db } from '../db/connect.ts';
import { formatDuration } from '../http/pages/figures.ts';
import { fail, ok, warn, type Judged } from './finding.ts';

const setUp = 'backup --to <folder> --every 24h --keep 14 --passphrase-file <file>';

/** Before going live; the demo has nothing that its next start would not make again. */
export async function judgeBackupsLive(db: Db, { demo }: { demo: boolean }): Promise<Judged> {
  const standing = await readBackupStanding(db, new Date());
  if (standing) return judgeStanding(standing);
  return demo ? ok('none is set up, and the demo needs none') : warn('none is set up: what is lost is lost for good', setUp);
}

/** While it runs: whoever has set none up has decided so. */
export async function judgeBackups(db: Db): Promise<Judged> {
  const standing = await readBackupStanding(db, new Date());
  return standing ? judgeStanding(standing) : ok('none is set up');
}

export function judgeStanding({ plan, newest, last, ageMs, overdue }: BackupStanding): Judged {
  const every = formatDuration(plan.everySeconds * 1000);
  if (plan.moved) return warn('this database is a copy of the one that backups were set up for: none is made of it', setUp);
  if (overdue) {
    const found = newest ? `the newest good one is ${formatDuration(ageMs)} old` : `none was good since they were set up ${formatDuration(ageMs)} ago`;
    const why = last?.state === 'failed' ? `the last one failed: ${last.trouble}` : `no worker runs on a machine that has ${plan.folder}`;
    return fail(`${found}, of one every ${every}; ${why}`, 'backup list, which shows each of them; then backup --now');
  }
  if (last?.state === 'failed') return warn(`the last one failed: ${last.trouble}`, 'mend that; it is tried again within the hour, or at once: backup --now');
  return ok(newest ? `the newest good one is ${formatDuration(ageMs)} old, of one every ${every}` : `one every ${every}; the first is due`);
}
