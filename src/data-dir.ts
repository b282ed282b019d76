// Checks of DATA_DIR before anything else uses it, so that a wrong one is named by its setting.
import { accessSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainFileFault } from './environment-fault.ts';

/** A file of this size shows that the disk has room: on some full disks an empty one can still be created. */
const probeBytes = 64 * 1024;

export const placeOfDataDir = (dataDir: string) => `DATA_DIR ${dataDir}`;

/** Creates DATA_DIR if it does not exist, and writes a file to it and removes it again. Throws an EnvironmentFault if any of this fails. */
export function prepareDataDir(dataDir: string): void {
  const probe = join(dataDir, `.writable.${process.pid}`);
  try {
    // If the service was started as root, PostgreSQL runs under another account, which must be able to pass through this folder. Files with secrets
    // have mode 0600.
    mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    try {
      writeFileSync(probe, Buffer.alloc(probeBytes));
    } finally {
      rmSync(probe, { force: true });
    }
  } catch (error) {
    throw explainFileFault(error, placeOfDataDir(dataDir));
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
