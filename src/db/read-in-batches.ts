// In charge of reading much without holding anything: so many rows to a statement, by their key, and others of this
// process have their turn in between.
import { setImmediate as giveWay } from 'node:timers/promises';

const rowsAtOnce = 50;

/** `read` gives at most so many rows that come after this one, in the order of their key. */
export async function* readInBatches<T>(read: (after: T | undefined, limit: number) => PromiseLike<readonly T[]>): AsyncGenerator<T> {
  for (let after: T | undefined; ; ) {
    const rows = await read(after, rowsAtOnce);
    for (const row of rows) {
      yield row;
      await giveWay();
    }
    after = rows.at(-1);
    if (rows.length < rowsAtOnce) return;
  }
}
