// Limits how many merges run at once in a worker. A merge holds a connection of the pool for long, so merges take turns, and the pool always has
// connections left for the short statements of other fetches. Reading a provider holds no connection and has no limit.

/** Runs `work` when it is its turn, or throws NoTurn. */
export type TakeMergeTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** A merge had no turn in its time, because others took long. Its work is released and done again later. */
export class NoTurn extends Error {
  constructor(waitedMs: number) {
    super(`other imports kept the database busy for ${Math.round(waitedMs / 1000)} s; this one is tried again`);
  }
}

/** For commands, which import one school. */
export const mergeAtOnce: TakeMergeTurn = (work) => work();

/** most: merges at once. longestMs: how long a merge waits for its turn. */
export function createMergeTurns(most: number, longestMs: number): TakeMergeTurn {
  let merging = 0;
  const waiting: (() => void)[] = [];

  function wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(new NoTurn(longestMs));
      }, longestMs);
      waiting.push(begin);
    });
  }

  return async (work) => {
    if (merging < most) merging += 1;
    else await wait();
    try {
      return await work();
    } finally {
      // A turn goes to the next merge directly.
      const next = waiting.shift();
      if (next) next();
      else merging -= 1;
    }
  };
}
