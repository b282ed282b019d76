// In charge of deleting much without holding it long: so many rows to a statement, those that somebody else holds the
// next time.
import type { Db } from './connect.ts';
import type { Fragment } from './statement.ts';

const rowsAtOnce = 10_000;

/** Of all schools, from a table that lies in one place. */
export function deleteInBatches(db: Db, table: string, over: Fragment): Promise<number> {
  return inBatches(() => db`
    delete from ${db(table)} where ctid = any(array(select ctid from ${db(table)} where ${over} limit ${rowsAtOnce} for update skip locked))`);
}

/** Of one school. */
export function deleteOfSchool(db: Db, table: string, estab: string, over: Fragment): Promise<number> {
  return inBatches(() => db`
    delete from ${db(table)} where estab = ${estab}
      and ctid = any(array(select ctid from ${db(table)} where estab = ${estab} and ${over} limit ${rowsAtOnce} for update skip locked))`);
}

async function inBatches(deleteSome: () => PromiseLike<{ count: number }>): Promise<number> {
  for (let total = 0; ; ) {
    const { count } = await deleteSome();
    total += count;
    if (count < rowsAtOnce) return total;
  }
}
