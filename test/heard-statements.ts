// In charge of hearing what is asked of the database while something is done, on the connections of one pool.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';

type Statement = { text: string; pool: string };

/** With it a spread database ends each transaction: it changes nothing. */
const changesNothing = /^delete from webhook where estab = ''$/;

/** What the test itself asks is told from what workers of other files in its process do; a server asks in its own name. */
const own = new AsyncLocalStorage<true>();

export async function heardStatements(work: () => Promise<unknown>, pool = 'test'): Promise<string[]> {
  const heard: Statement[] = [];
  const note = (message: unknown) => {
    if (pool !== 'test' || own.getStore()) heard.push(message as Statement);
  };
  subscribe('schoolbell:statement', note);
  try {
    await own.run(true, work);
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
  return heard.filter((statement) => statement.pool === pool && !changesNothing.test(statement.text)).map(({ text }) => text);
}
