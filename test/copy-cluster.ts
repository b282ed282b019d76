// In charge of making a server the standby of one that runs: its files copied between the start and the stop of a backup, without
// the log, which the standby asks for.
import { chown, copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from '../src/db/embedded-place.ts';
import type { ServerProcess } from './server-process.ts';

/** Of a running server only; and what is in these folders is made anew. */
const leftOut = ['postmaster.pid', 'postmaster.opts', 'standby.signal'];
const emptied = ['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp', 'pg_subtrans'];

export async function copyCluster(from: ServerProcess, to: ServerProcess): Promise<void> {
  const { cluster, account } = to.place;
  // The folder itself stays: by its number, a server finds and ends what a killed one has left in memory.
  for (const entry of await readdir(cluster)) await rm(join(cluster, entry), { recursive: true });
  await from.hold(async (client) => {
    await client.query(`select pg_backup_start('standby', fast => true)`);
    await copyFolder(from.place.cluster, cluster, account, true);
    const { rows } = await client.query<{ labelfile: string }>('select * from pg_backup_stop(wait_for_archive => false)');
    await writeOwned(join(cluster, 'backup_label'), rows[0]?.labelfile ?? '', account);
  });
  await makeOwned(join(cluster, 'pg_wal', 'archive_status'), account);
  await writeOwned(join(cluster, 'standby.signal'), '', account);
}

async function copyFolder(from: string, to: string, account: Account | undefined, isRoot = false): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(ignoreGone);
  await Promise.all((entries ?? []).map(async (entry) => {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name.startsWith('pgsql_tmp') || (isRoot && leftOut.includes(entry.name))) return;
    if (entry.isDirectory()) {
      await makeOwned(target, account);
      if (!isRoot || !emptied.includes(entry.name)) await copyFolder(source, target, account);
      return;
    }
    // What goes while it is copied, the log brings to the same end.
    await copyFile(source, target).then(() => (account ? chown(target, account.uid, account.gid) : undefined)).catch(ignoreGone);
  }));
}

async function makeOwned(folder: string, account: Account | undefined): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  if (account) await chown(folder, account.uid, account.gid);
}

async function writeOwned(file: string, text: string, account: Account | undefined): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  if (account) await chown(file, account.uid, account.gid);
}

function ignoreGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
