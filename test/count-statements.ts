// In charge of counting what is asked of the database while something is done, in this process.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

export async function countStatements(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const note = () => {
    count += 1;
  };
  subscribe('schoolbell:statement', note);
  try {
    await work();
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
  return count;
}
