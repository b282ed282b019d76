// In charge of what belongs to a database and is kept in DATA_DIR: gathered for a backup, and put back by a restore, each file whole
// or not at all. The spool, the cluster and its password are of this machine, and no part of it.
import { createHash } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { adminPasswordFile, secretKeyFile, type Config } from '../config.ts';
import { placeOfDataDir } from '../data-dir.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';

export type KeptFile = { name: string; bytes: Buffer };

const demoFile = 'demo.json';
/** Marks for schools that fetch them as files. */
const folders = ['writeback'] as const;
/** As we name them, once they are whole; what others put beside them is theirs, and may be called whatever they like. */
const ownName = /^writeback\/[\w.-]{1,32}\/[\w-]{1,40}\.csv$/;

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export async function* gatherFiles({ dataDir }: Pick<Config, 'dataDir'>): AsyncGenerator<KeptFile> {
  for (const name of [adminPasswordFile, demoFile].filter((one) => one !== undefined)) yield* gather(dataDir, name);
  for (const folder of folders) {
    const found = await readdir(join(dataDir, folder), { recursive: true, withFileTypes: true }).catch(onlyIfMissing);
    const names = (found ?? []).filter((one) => one.isFile()).map((file) => relative(dataDir, join(file.parentPath, file.name)).split(sep).join('/'));
    for (const name of names.filter((one) => ownName.test(one))) yield* gather(dataDir, name);
  }
}

/** A school's program may have taken it meanwhile. */
async function* gather(dataDir: string, name: string): AsyncGenerator<KeptFile> {
  const bytes = await readFile(join(dataDir, name)).catch(onlyIfMissing);
  if (bytes) yield { name, bytes };
}

function onlyIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw explainFileFault(error, error.path ?? 'a file in DATA_DIR', 'input');
}

/** What is to be in DATA_DIR beside the database; a password that a setting replaces, or that nothing reads, is left out. */
export function chooseFiles({ databaseUrls, adminPassword, secretKeys }: Config, keys: readonly string[], files: readonly KeptFile[]): KeptFile[] {
  const readsPassword = databaseUrls === undefined && adminPassword === undefined;
  const key = secretKeys.length === 0 ? [{ name: secretKeyFile, bytes: Buffer.from(keys[0] ?? '') }] : [];
  return [...key, ...files.filter(({ name }) => readsPassword || name !== adminPasswordFile)] as KeptFile[];
}

/** Only where nothing else stands: the same is left by a restore that was cut off, and is right. */
export async function requireRoom(dataDir: string, files: readonly KeptFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    requireInside(name);
    await isPlaced(join(dataDir, name), bytes);
  }
}

/** Whether it is there; another one in its place is refused. */
async function isPlaced(path: string, bytes: Buffer): Promise<boolean> {
  const there = await readFile(path).catch(onlyIfMissing);
  if (there && there.toString('utf8').trim() !== bytes.toString('utf8').trim())
    throw new SchoolbellError('conflict', `${path} is there already, and is not that of the backup; restore with a DATA_DIR of its own`);
  return there !== undefined;
}

function requireInside(name: string): void {
  if (name.split('/').some((part) => part === '' || part === '.' || part === '..' || part.includes('\0') || part.includes('\\')))
    throw new SchoolbellError('unprocessable', `the backup holds a file with a name that leads elsewhere: ${JSON.stringify(name)}`);
}

/**
 * The key first of all: a start that comes meanwhile, and would make one for itself, finds it. It also stays whatever becomes of the
 * restore, since such a start may use it by then.
 */
export async function placeKey(dataDir: string, files: readonly KeptFile[]): Promise<void> {
  for (const { name, bytes } of files.filter((file) => file.name === secretKeyFile)) await placeFile(dataDir, name, bytes);
}

export async function placeFiles(dataDir: string, files: readonly KeptFile[]): Promise<void> {
  const placed: string[] = [];
  try {
    for (const { name, bytes } of files) {
      if (await placeFile(dataDir, name, bytes)) placed.push(join(dataDir, name));
    }
  } catch (error) {
    for (const path of placed) await rm(path, { force: true });
    throw error;
  }
}

async function placeFile(dataDir: string, name: string, bytes: Buffer): Promise<boolean> {
  const path = join(dataDir, name);
  if (await isPlaced(path, bytes)) return false;
  await writeWhole(path, bytes).catch((error: unknown) => {
    throw explainFileFault(error, placeOfDataDir(dataDir));
  });
  return true;
}

async function writeWhole(path: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  const half = `${path}.${process.pid}`;
  await rm(half, { force: true });
  await writeFile(half, bytes, { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(half, path);
  } finally {
    await rm(half, { force: true });
  }
  await syncFolder(dirname(path));
}

/** So that a name outlives a loss of power. Some file systems do not offer that. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
