// In charge of proving that a backup restores: into an embedded server of its own in a scratch folder, by the very code of a restore,
// which compares every table. Folder and server are gone afterwards, whatever came of it.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readConfig } from '../config.ts';
import { openEmbedded } from '../db/embedded.ts';
import { findCluster } from '../db/embedded-place.ts';
import { readDiskRoom } from '../disk-room.ts';
import { SchoolbellError } from '../errors.ts';
import { formatBytes } from '../http/pages/figures.ts';
import { restoreBackup, type RestoreFacts } from './restore-backup.ts';

export type VerifiedFacts = Pick<RestoreFacts, 'file' | 'takenAt' | 'version' | 'migration' | 'tables' | 'rows' | 'tookMs'>;
/** mostBytes: so much room there must be, since the service may live on the same disk. */
export type VerifyParts = { file: string; passphrase: string; scratch: string; mostBytes?: number; signal?: AbortSignal; tell?: (words: string) => void };

/** What a crash would leave of it matters to nobody. */
const server = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', wal_level: 'minimal', max_wal_senders: '0', shared_buffers: '64MB' };
/** Says that all in this folder may go. */
const marker = 'scratch-of-a-backup';

/** scratch: a folder that is empty, or not there, or was left by one that was cut off. */
export async function verifyBackup({ file, passphrase, scratch, mostBytes = 0, ...parts }: VerifyParts): Promise<VerifiedFacts> {
  await clearScratch(scratch);
  await requireDisk(scratch, mostBytes);
  await mkdir(scratch, { recursive: true, mode: 0o711 });
  await writeFile(join(scratch, marker), '');
  try {
    const config = readConfig({ DATA_DIR: scratch, DEMO: 'off' });
    const facts = await restoreBackup({ ...parts, config, file, passphrase, deliveries: 'hold', trial: server });
    const { takenAt, version, migration, tables, rows, tookMs } = facts;
    return { file, takenAt, version, migration, tables, rows, tookMs };
  } finally {
    await clearScratch(scratch);
  }
}

async function requireDisk(scratch: string, mostBytes: number): Promise<void> {
  const room = await readDiskRoom(scratch);
  if (room && room.free < mostBytes)
    throw new SchoolbellError('unavailable', `that may take ${formatBytes(mostBytes)}, and ${formatBytes(room.free)} are free in ${dirname(scratch)}`);
}

/** A server that was left running is stopped by whoever leaves it last. */
async function clearScratch(scratch: string): Promise<void> {
  const found = await readdir(scratch).catch(() => []);
  if (found.length > 0 && !existsSync(join(scratch, marker)))
    throw new SchoolbellError('conflict', `${scratch} is not empty: a backup is tried out in a folder of its own`);
  const cluster = findCluster(scratch);
  if (existsSync(join(cluster ?? scratch, 'postmaster.pid'))) await (await openEmbedded(scratch, server)).close();
  // Where root hands the server to another account, it lives elsewhere, in a folder of its own.
  if (cluster !== undefined && dirname(cluster) !== scratch) await rm(dirname(cluster), { recursive: true, force: true });
  await rm(scratch, { recursive: true, force: true });
}
