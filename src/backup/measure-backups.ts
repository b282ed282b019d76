// In charge of what the metrics say of backups: whether they are set up, how old the newest good one is, and how the last one went.
import type { Db } from '../db/connect.ts';
import { gauge, type Metric } from '../http/metrics.ts';
import { readBackupStanding } from './runs.ts';

export async function measureBackups(db: Db): Promise<Metric[]> {
  const standing = await readBackupStanding(db, new Date());
  const planned = gauge('schoolbell_backup_planned', 'Whether recurring backups are set up; if not, the rest about them is left out', standing ? 1 : 0);
  if (!standing) return [planned];
  const { plan, newest, last, ageMs } = standing;
  return [
    planned,
    gauge('schoolbell_backup_interval_seconds', 'How often one is to be made', plan.everySeconds),
    gauge('schoolbell_backup_age_seconds', 'Age of the newest that was restored and compared; without any, time since they were set up', ageMs / 1000),
    gauge('schoolbell_backup_last_failed', 'Whether the last one failed', last?.state === 'failed' ? 1 : 0),
    gauge('schoolbell_backup_size_bytes', 'Size of the newest good one; 0 without any', newest?.bytes ?? 0),
    gauge('schoolbell_backup_duration_seconds', 'How long the newest good one took to be written; 0 without any', (newest?.tookMs ?? 0) / 1000),
  ];
}
