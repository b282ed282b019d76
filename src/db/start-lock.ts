// In charge of one process at a time making or starting the embedded cluster. The lock is a file that names its holder,
// so that a dead one's is taken over.
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EnvironmentFault } from '../environment-fault.ts';

/** However long a start may take, nobody holds the lock for longer. */
const longestHoldMs = 120_000;

export async function withStartLock<T>(dataDir: string, deadline: number, work: () => Promise<T>): Promise<T> {
  const file = path.join(dataDir, 'postgres.start-lock');
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // On a full disk the file may exist without its content.
      if (code === 'ENOSPC') rmSync(file, { force: true });
      if (code !== 'EEXIST') throw error;
    }
    if (isAbandoned(file)) takeAway(file);
    else if (Date.now() > deadline)
      throw new EnvironmentFault(`another process has been starting the embedded PostgreSQL for too long; if none is, remove ${file}`);
    else await pause(100);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** One at a time and after another look, or the second would remove the lock that the first has just taken. */
function takeAway(file: string): void {
  const turn = `${file}.turn`;
  try {
    mkdirSync(turn);
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > 5_000) rmSync(turn, { recursive: true, force: true });
    return;
  }
  if (isAbandoned(file)) rmSync(file, { force: true });
  rmSync(turn, { recursive: true, force: true });
}

function isAbandoned(file: string): boolean {
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    const ageMs = Date.now() - statSync(file).mtimeMs;
    if (holder === process.pid || ageMs > longestHoldMs) return true;
    if (!holder) return ageMs > 2_000;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
