// In charge of finding processes through /proc and of ending them without warning, with all that they started.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

type Found = Readonly<{ pid: number; parent: number; state: string; command: string }>;

const longestEndMs = 20_000;

/** Every process of the machine that still runs: one that only waits for its parent to notice its end is none. */
export function listProcesses(): Found[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      // The name stands in brackets and may hold anything.
      const [state = '', parent] = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return state === 'Z' || state === 'X' ? [] : [{ pid: Number(name), parent: Number(parent), state, command }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Those that are meant, and whatever they started. */
function withChildren(isMeant: (one: Found) => boolean): Found[] {
  const all = listProcesses();
  const found = new Set(all.filter(isMeant));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const pids = new Set([...found].map(({ pid }) => pid));
    for (const one of all) if (pids.has(one.parent)) found.add(one);
  }
  return [...found].filter(({ pid }) => pid !== process.pid);
}

/** They do nothing any more, and nobody who is connected to them is told. */
export function freeze(isMeant: (one: Found) => boolean): void {
  const moving = () => withChildren(isMeant).filter(({ state }) => state !== 'T');
  // Again, for those that were started meanwhile. One that waits for the disk stops when it has what it waits for.
  for (let found = moving(), end = Date.now() + longestEndMs; found.length > 0 && Date.now() < end; found = moving()) signalAll(found, 'SIGSTOP');
}

/**
 * As a machine that loses its power: all stop at one instant, and then end. Killed one by one, a server that has lost its postmaster would
 * go on for a moment and acknowledge what nobody is to have been told.
 */
export async function kill(isMeant: (one: Found) => boolean): Promise<void> {
  const end = Date.now() + longestEndMs;
  freeze(isMeant);
  for (let left = withChildren(isMeant); left.length > 0; left = withChildren(isMeant)) {
    signalAll(left, 'SIGKILL');
    if (Date.now() > end) throw new Error(`these processes do not end: ${left.map(({ pid, command }) => `${pid} ${command}`).join(', ')}`);
    await pause(20);
  }
}

function signalAll(all: readonly Found[], signal: NodeJS.Signals): void {
  for (const { pid } of all) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
