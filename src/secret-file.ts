// Secrets in files: those that the first start creates, whole or not at all, whichever process starts or dies beside it; and those that an
// operator names on the command line.
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { EnvironmentFault, explainFileFault } from './environment-fault.ts';

const shortest = 32;

export function readOrMakeSecret(file: string, make: () => string): string {
  const half = `${file}.${process.pid}`;
  mkdirSync(dirname(file), { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  try {
    return read(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  writeFileSync(half, make(), { mode: 0o600 });
  try {
    linkSync(half, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(half, { force: true });
  }
  return read(file);
}

function read(file: string): string {
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length < shortest)
    throw new EnvironmentFault(`${file} holds fewer than ${shortest} characters: it was damaged; put back the one that this data was made with`);
  return secret;
}

/** Returns the first line, without the spaces around it, of the file that an option names; `-` is standard input. */
export async function readSecretLine(option: string, path: string): Promise<string> {
  const content = await (path === '-' ? text(process.stdin) : readFile(path, 'utf8')).catch((error: unknown) => {
    throw explainFileFault(error, `${option} ${path}`, 'input');
  });
  return (content.split(/\r?\n/)[0] ?? '').trim();
}
