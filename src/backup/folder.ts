// In charge of the folder that recurring backups go to. A small file in it says whose it is: a folder of the same name on another
// machine, or the empty place where a disk is to be mounted, is not taken for it.
import { randomUUID } from 'node:crypto';
import { chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readDiskRoom, type DiskRoom } from '../disk-room.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';

const markFile = '.schoolbell-backups';

/** The id of the plan whose folder it is; undefined: there is no such folder here, or nobody's. */
async function readMark(folder: string): Promise<string | undefined> {
  const text = await readFile(join(folder, markFile), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (text.split('\n', 1)[0] ?? '');
}

export async function isFolderHere({ folder, id }: { folder: string; id: string }): Promise<boolean> {
  return (await readMark(folder)) === id;
}

/** Of the folder, where it is on this machine. */
export async function readFolderRoom(plan: { folder: string; id: string }): Promise<DiskRoom | undefined> {
  return (await isFolderHere(plan)) ? readDiskRoom(plan.folder) : undefined;
}

/** Whose the files are that root makes for the service. */
export type Owner = Readonly<{ uid: number; gid: number }>;

/** Makes it, where it is not there, and gives the id that is in it. own: the plan that is being replaced. */
export async function claimFolder(folder: string, own: string | undefined, owner?: Owner): Promise<string> {
  try {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (made !== undefined && owner) await chownAll(made, folder, owner);
    const mark = await readMark(folder);
    if (mark !== undefined && mark === own) return mark;
    if (mark !== undefined) {
      throw new SchoolbellError('conflict', `the backups of another service, or of an earlier plan, go to ${folder}: name another folder,` +
        ` or remove ${join(folder, markFile)} if they do not any more`);
    }
    const id = randomUUID();
    const text = `${id}\nBackups of Schoolbell are written here and removed again; do not remove this file.\n`;
    await writeFile(join(folder, markFile), text, { mode: 0o600, flag: 'wx' });
    if (owner) await chown(join(folder, markFile), owner.uid, owner.gid);
    return id;
  } catch (error) {
    throw explainFileFault(error, `the folder for backups ${folder}`);
  }
}

/** From the first that was made down to the last: whoever cannot pass the first cannot use the last. */
async function chownAll(first: string, last: string, { uid, gid }: Owner): Promise<void> {
  await chown(last, uid, gid);
  if (last !== first && dirname(last) !== last) await chownAll(first, dirname(last), { uid, gid });
}

/** What root writes into a folder of another's is theirs: whoever runs the service has to read it, and to remove it. */
export async function giveToOwnerOf(folder: string, file: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await chown(file, uid, gid);
}

/** Where root sets up what a service does that runs as somebody else: whose DATA_DIR is, is whose the service is. */
export async function findOwner(dataDir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const found = await stat(dataDir).catch(() => undefined);
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : undefined;
}

/** Whatever is in it stays. */
export async function leaveFolder(plan: { folder: string; id: string }): Promise<void> {
  if (await isFolderHere(plan)) await rm(join(plan.folder, markFile), { force: true });
}

export async function isFileThere(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined))?.isFile() === true;
}
