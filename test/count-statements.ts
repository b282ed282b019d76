// In charge of counting what is asked of the database while something is done, on the connections of one pool.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

export async function countStatements(work: () => Promise<unknown>, pool = 'test'): Promise<number> {
  let count = 0;
  const note = (message: unknown) => {
    if ((message as { pool: string }).pool === pool) count += 1;
  };
  subscribe('schoolbell:statement', note);
  try {
    await work();
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
  return count;
}
