// In charge of secrets that the first start makes and keeps in a file: whole or not there, whoever else starts or dies.
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

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
    throw new Error(`${file} holds fewer than ${shortest} characters: it was damaged; put back the one that this data was made with`);
  return secret;
}
