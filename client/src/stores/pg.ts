// In charge of a copy in PostgreSQL, over a pool or a client of the caller's, from the package pg or with its shape.
import type { Store } from '../sync-store.ts';
import { sqlStore, type RunSteps, type Steps } from './sql.ts';

export type PgClient = { query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> };
// Without a listener an error of a lost connection would end the whole process.
type Listen = (event: 'error', listener: () => void) => unknown;
export type PgPool = {
  readonly totalCount: number;
  connect(): Promise<
    PgClient & {
      release(error?: boolean): void;
      on?: Listen;
      off?: Listen;
    }
  >;
};

/** prefix: what the four tables' names begin with; with a schema as in "roster.school_". A client must be for this alone, and not in a transaction. */
export function pgStore(handle: PgPool | PgClient, { prefix = 'schoolbell_' }: { prefix?: string } = {}): Store {
  let last: Promise<unknown> = Promise.resolve();

  const run: RunSteps = <T>(make: () => Steps<T>): Promise<T> => {
    if ('totalCount' in handle)
      return handle.connect().then(async (client) => {
        let failed = true;
        client.on?.('error', ignore);
        try {
          const result = await transact(client, make);
          failed = false;
          return result;
        } finally {
          client.off?.('error', ignore);
          // One that failed may be broken, or in the middle of something.
          client.release(failed);
        }
      });
    // On a single connection, one after the other.
    const turn = last.then(() => transact(handle, make));
    last = turn.catch(() => {});
    return turn;
  };
  const dialect = {
    json: 'jsonb',
    nowMs: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
    exists: (table: string) => ({ text: 'select 1 where to_regclass($1) is not null', values: [table] }),
    beforeMaking: 'select pg_advisory_xact_lock(7265414001)',
  };
  return sqlStore(run, dialect, prefix);
}

const ignore = () => {};

async function transact<T>(client: PgClient, make: () => Steps<T>): Promise<T> {
  // Whatever the caller's default is: a stricter one would fail where two meet, instead of letting one go first.
  await client.query('begin isolation level read committed');
  try {
    // Whoever is gone without a word, as with its network, keeps others out no longer than its lease would.
    await client.query("set local idle_in_transaction_session_timeout = '60s'");
    const steps = make();
    let step = steps.next();
    while (!step.done) step = steps.next((await client.query(step.value.text, step.value.values)).rows);
    await client.query('commit');
    return step.value;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
