// In charge of hearing what is asked of the database while something is done, on the connections of one pool.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

type Statement = { text: string; pool: string };

export async function heardStatements(work: () => Promise<unknown>, pool = 'test'): Promise<string[]> {
  const heard: Statement[] = [];
  const note = (message: unknown) => heard.push(message as Statement);
  subscribe('schoolbell:statement', note);
  try {
    await work();
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
  return heard.filter((statement) => statement.pool === pool).map(({ text }) => text);
}
