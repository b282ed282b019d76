// In charge of the order of work and what was written with it: on a database that is spread over nodes a commit is one, but not seen on all
// of them at once. Work is found on the coordinator, where a commit is seen first; whoever does it, and whoever is told of it, reads the
// school's node. So it waits until what was prepared there has been committed.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import { ownFault } from './settle.ts';
import type { Handler, Handlers } from './worker.ts';

/** A moment as a rule; a node that died in between commits when it is back, and then the work is tried again. */
const longestMs = 2_000;
const lookMs = 10;
const againSeconds = 1;

export function afterCommit(db: Db, handlers: Handlers): Handlers {
  let spread: Promise<boolean> | undefined;
  const isSpread = () => (spread ??= knowsNotes(db).catch((error: unknown) => {
    spread = undefined;
    throw error;
  }));
  const wrap = (handler: Handler): Handler => ({
    ...handler,
    longestSeconds: handler.longestSeconds + longestMs / 1000,
    async run(work, isHeld) {
      if (!(await isSpread()) || (await isSeen(db, work.estab))) return handler.run(work, isHeld);
      const message = 'what was written with it is not to be seen yet on the node of its school';
      return { success: false, state: 'waiting', delaySeconds: againSeconds, errorClass: ownFault, detail: { message } };
    },
  });
  return Object.fromEntries(Object.entries(handlers).map(([kind, handler]) => [kind, wrap(handler)]));
}

/** Whatever is prepared later is of others. */
async function isSeen(db: Db, estab: string): Promise<boolean> {
  const until = performance.now() + longestMs;
  let waits = await findPending(db, estab);
  while (waits.length > 0 && performance.now() < until) {
    await pause(lookMs);
    const pending = await findPending(db, estab);
    waits = waits.filter((name) => pending.includes(name));
  }
  return waits.length === 0;
}

/** Asked of the school's node. What is of no school has nothing there. */
async function findPending(db: Db, estab: string): Promise<readonly string[]> {
  const [row] = await db<{ pending: string[] }[]>`select commits_pending() as pending from roster where estab = ${estab}`;
  return row?.pending ?? [];
}
