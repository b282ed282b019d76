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
  await from.hold(async (client) => {
    await client.query(`select pg_backup_start('standby', fast => true)`);
    await copyFolder(from.place.cluster, cluster, account, true);
    const { rows } = await client.query<{ labelfile: string }>('select * from pg_backup_stop(wait_for_archive => false)');
    await writeOwned(join(cluster, 'backup_label'), rows[0]?.labelfile ?? '', account);
  });
  await makeOwned(join(cluster, 'pg_wal', 'archive_status'), account);
  await writeOwned(join(cluster, 'standby.signal'), '', account);
}

/** What the copy has already is written over: to remove a thousand files and make them again takes longer than what is in them. */
async function copyFolder(from: string, to: string, account: Account | undefined, isRoot = false): Promise<void> {
  const entries = (await readdir(from, { withFileTypes: true }).catch(ignoreGone)) ?? [];
  const copied = entries.filter(({ name }) => !name.startsWith('pgsql_tmp') && !(isRoot && leftOut.includes(name)));
  const isThere = new Set(await readdir(to));
  const isEmptied = (name: string) => isRoot && emptied.includes(name);
  for (const name of isThere) {
    if (copied.some((entry) => entry.name === name) && !isEmptied(name)) continue;
    await rm(join(to, name), { recursive: true });
    isThere.delete(name);
  }
  await Promise.all(copied.map(async (entry) => {
    const { name } = entry;
    const [source, target] = [join(from, name), join(to, name)];
    if (entry.isDirectory()) {
      if (!isThere.has(name)) await makeOwned(target, account);
      if (!isEmptied(name)) await copyFolder(source, target, account);
      return;
    }
    // What goes while it is copied, the log brings to the same end.
    await copyFile(source, target).then(() => (account && !isThere.has(name) ? chown(target, account.uid, account.gid) : undefined)).catch(ignoreGone);
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
