// In charge of deleting much without holding it long: so many rows to a statement, those that somebody else holds the
// next time.
import type { Db } from './connect.ts';
import type { Fragment } from './statement.ts';

const rowsAtOnce = 10_000;

export async function deleteInBatches(db: Db, table: string, over: Fragment): Promise<number> {
  for (let total = 0; ; ) {
    const { count } = await db`
      delete from ${db(table)} where ctid = any(array(select ctid from ${db(table)} where ${over} limit ${rowsAtOnce} for update skip locked))`;
    total += count;
    if (count < rowsAtOnce) return total;
  }
}
