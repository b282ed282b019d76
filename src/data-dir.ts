// Checks of DATA_DIR before anything else uses it, so that a wrong one is named by its setting, and how folders in it are created.
import { accessSync, constants, existsSync, lstatSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { EnvironmentFault, explainFileFault } from './environment-fault.ts';

/** A file of this size shows that the disk has room: on some full disks an empty one can still be created. */
const probeBytes = 64 * 1024;

export const placeOfDataDir = (dataDir: string) => `DATA_DIR ${dataDir}`;

/** Creates DATA_DIR if it does not exist, and writes a file to it and removes it again. Throws an EnvironmentFault if any of this fails. */
export function prepareDataDir(dataDir: string): void {
  const probe = join(dataDir, `.writable.${process.pid}`);
  try {
    // If the service was started as root, PostgreSQL runs under another account, which must be able to pass through this folder. Files with secrets
    // have mode 0600.
    createFolder(resolve(dataDir), { mode: process.getuid?.() === 0 ? 0o711 : 0o700, place: placeOfDataDir });
    try {
      writeFileSync(probe, Buffer.alloc(probeBytes));
    } finally {
      rmSync(probe, { force: true });
    }
  } catch (error) {
    const place = placeOfDataDir(dataDir);
    const explained = explainFileFault(error, place);
    if (explained instanceof EnvironmentFault) throw explained;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new EnvironmentFault(`${place} cannot be used: ${message}. Repair it, or name another folder`, { ...(code ? { code } : {}), cause: error });
  }
}

type FolderOptions = {
  mode?: number;
  /** How errors name a folder. */
  place?: (path: string) => string;
};

/**
 * Creates a folder and the missing ones above it. The recursive mkdir of Node does not return on a file system that answers ENOENT although the
 * folder above exists, such as /proc.
 */
export function createFolder(path: string, { mode = 0o777, place = (folder) => folder }: FolderOptions = {}): void {
  for (const isLast of [false, true]) {
    try {
      mkdirSync(path, { mode });
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') {
        const found = statSync(path, { throwIfNoEntry: false });
        if (found?.isDirectory()) return;
        if (!found && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink())
          throw new EnvironmentFault(`${place(path)}: it is a symbolic link to a folder that does not exist. Create that folder, or name another one`);
      }
      if (code !== 'ENOENT') throw error;
      if (isLast) throw new EnvironmentFault(`${place(path)}: its file system does not allow new folders. Name another one`, { code });
      // Otherwise another process has created the folder above it in the meantime.
      if (!existsSync(dirname(path))) createFolder(dirname(path), { mode, place });
    }
  }
}

/** The same without changing anything, for commands: a DATA_DIR that does not exist is no fault here. */
export function requireUsableDataDir(dataDir: string): void {
  try {
    // Fails with ENOTDIR for a file.
    accessSync(`${dataDir}/.`, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw explainFileFault(error, placeOfDataDir(dataDir));
  }
}
