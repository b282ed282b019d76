// In charge of the order of work and what was written with it: on a database that is spread over nodes a commit is one, but not seen on all
// of them at once. Work is found on the coordinator, where a commit is seen first; whoever does it, and whoever is told of it, reads the
// school's node. So it waits until what was prepared there has been committed; and work of a school whose node does not answer is not begun.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import { isUnavailable } from '../db/unavailable.ts';
import type { ClaimedWork } from './claim.ts';
import { ownFault, type Outcome } from './settle.ts';
import type { Handler, Handlers } from './worker.ts';

/** A moment as a rule; a node that died in between commits when it is back, and then the work is tried again. */
const longestMs = 1_500;
const lookMs = 10;
/** The wait, and what the first and the last question may take of their own. */
const longestSeconds = 5;
/** So long nobody asks a node again that did not answer: many wait for it, and connections to ask over are few. */
const awayMs = 3_000;
const againSeconds = { pending: 1, away: 2, longest: 15 } as const;

/** seen: what was prepared when it was asked has been committed. */
export type Sight = 'seen' | 'pending' | 'away';
/** Gives how it is by the end of a wait that is bounded; at once where the database is on one node. */
export type WaitForCommit = (estab: string) => Promise<Sight>;

/** nodes: connections of its own, since a node that is gone may take long to say nothing. */
export function createCommitWait(nodes: Db, now: () => number = () => performance.now()): WaitForCommit {
  let spread: Promise<boolean> | undefined;
  const isSpread = () => (spread ??= knowsNotes(nodes).catch((error: unknown) => {
    spread = undefined;
    throw error;
  }));
  /** Until when each is left alone. */
  const away = new Map<number, number>();
  const isLeftAlone = async (estab: string) => (away.get(await findNode(nodes, estab)) ?? -Infinity) > now();

  return async (estab) => {
    if (!(await isSpread())) return 'seen';
    if (away.size > 0 && (await isLeftAlone(estab))) return 'away';
    try {
      const sight = (await isSeen(nodes, estab)) ? 'seen' : 'pending';
      if (away.size > 0) away.delete(await findNode(nodes, estab));
      return sight;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      away.set(await findNode(nodes, estab), now() + awayMs);
      return 'away';
    }
  };
}

/** By its number; the coordinator knows. */
async function findNode(nodes: Db, estab: string): Promise<number> {
  const [row] = await nodes<{ group: number }[]>`
    select groupid as group from pg_dist_placement where shardid = get_shard_id_for_distribution_column('roster', ${estab}::text)`;
  return row?.group ?? 0;
}

const words = {
  pending: 'what was written with it is not to be seen yet on the node of its school',
  away: 'the node of its school does not answer',
} as const;

export function afterCommit(wait: WaitForCommit, handlers: Handlers): Handlers {
  const wrap = (handler: Handler): Handler => ({
    ...handler,
    longestSeconds: handler.longestSeconds + longestSeconds,
    async run(work, isHeld) {
      const sight = await wait(work.estab);
      return sight === 'seen' ? handler.run(work, isHeld) : later(work, sight);
    },
  });
  return Object.fromEntries(Object.entries(handlers).map(([kind, handler]) => [kind, wrap(handler)]));
}

function later({ forgiven }: ClaimedWork, sight: 'pending' | 'away'): Outcome {
  const delaySeconds = sight === 'away' ? Math.min(againSeconds.longest, againSeconds.away * 2 ** Math.min(forgiven, 10)) : againSeconds.pending;
  return { success: false, state: 'waiting', delaySeconds, errorClass: ownFault, detail: { message: words[sight] } };
}

/** Whatever is prepared later is of others. */
async function isSeen(nodes: Db, estab: string): Promise<boolean> {
  const until = performance.now() + longestMs;
  let waits = await findPending(nodes, estab);
  while (waits.length > 0 && performance.now() < until) {
    await pause(lookMs);
    const pending = await findPending(nodes, estab);
    waits = waits.filter((name) => pending.includes(name));
  }
  return waits.length === 0;
}

/** Asked of the school's node. What is of no school has nothing there. */
async function findPending(nodes: Db, estab: string): Promise<readonly string[]> {
  const [row] = await nodes<{ pending: string[] }[]>`select commits_pending() as pending from roster where estab = ${estab}`;
  return row?.pending ?? [];
}
