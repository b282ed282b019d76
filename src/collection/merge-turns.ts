// Turns of merges for the connections of a worker's pool. Any number of sources may be read at once, since that holds no connection; but only some
// may merge, so that the short statements of the others always find a connection.

/** Runs `work` when it is its turn, or throws NoTurn. */
export type TakeMergeTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** A merge had no turn in its time, because others took long. Its work is handed back and done again later. */
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
