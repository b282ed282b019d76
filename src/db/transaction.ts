// In charge of transactions on one connection: all of it or nothing, with savepoints inside.
import { setTimeout as pause } from 'node:timers/promises';
import { isStalePlan, type PooledSession } from './session.ts';
import { createSql, type Composed, type Row, type Rows, type Runner, type Sql } from './statement.ts';
import { DatabaseUnavailable, isDeadlock, isServerError, sqlStates } from './unavailable.ts';

export type Tx = Sql & {
  /** What fails inside is undone; the transaction goes on. */
  savepoint<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
};

export const command = (text: string): Composed => ({ text, values: [] });

/**
 * Of tables at the coordinator Citus knows those that refer to what is everywhere, and not the outbox: unless one of them was changed, too, it
 * commits on the school's node first and here then, and whoever dies in between has lost what was to happen. So one is, though not a row of it.
 */
const changeHere = command(`delete from webhook where estab = ''`);

/** What has nothing to commit, also on a server that takes no writes. */
const onlyAsks = /^\s*(?:select|declare|fetch|close|set)\b/i;

/**
 * Whoever waits for a row is not served first: a transaction that is done once more at once may take the row again before
 * the other one wakes, and stand in its way once more. So it steps aside for a moment, for longer each time.
 */
const stepsAside = [20, 60, 180];

/** Does the work in a transaction. */
export function runTransaction<T>(session: PooledSession, work: (tx: Tx) => Promise<T>, repeatable: boolean): Promise<T> {
  return untilDone(session, repeatable, (stale) => runOnce(session, work, stale));
}

/** These statements are sent at once, and are a transaction unless all of them only read: then nothing is to be committed. */
export function runTogether(session: PooledSession, statements: readonly Composed[], onlyRead: boolean): Promise<Rows<Row[]>[]> {
  return untilDone(session, true, async (stale) => {
    try {
      if (onlyRead) return await session.runAtOnce(statements);
      const answers = await session.runAtOnce([command('begin'), ...statements, command('commit')]);
      return answers.slice(1, -1);
    } catch (error) {
      if (isStalePlan(error)) stale.push(...statements);
      if (onlyRead) throw error;
      return explainCommit(session, error);
    }
  });
}

/** A commit that was not answered may have been made; it is never cancelled, since what a standby has not confirmed would then count as made. */
function explainCommit(session: PooledSession, error: unknown): never {
  if (!session.isLost) throw error;
  throw new DatabaseUnavailable('unknown', 'the database did not confirm what was to be written: it may have been written, or not', { cause: error });
}

/**
 * A kept plan that has gone stale after a change of schema ends the transaction, as does having stood in the way of another one; then
 * everything is done again, unless the work cannot be repeated.
 */
async function untilDone<T>(session: PooledSession, repeatable: boolean, once: (stale: Composed[]) => Promise<T>): Promise<T> {
  const waits = stepsAside.values();
  let plansForgotten = false;
  for (;;) {
    const stale: Composed[] = [];
    try {
      return await once(stale);
    } catch (error) {
      for (const statement of stale) await session.forget(statement);
      if (!repeatable) throw error;
      const wait = isDeadlock(error) ? waits.next().value : undefined;
      if (wait !== undefined) {
        await pause(wait * (0.5 + Math.random()));
      } else {
        if (!isStalePlan(error) || plansForgotten) throw error;
        plansForgotten = true;
      }
    }
  }
}

async function runOnce<T>(session: PooledSession, work: (tx: Tx) => Promise<T>, stale: Composed[]): Promise<T> {
  const { tx, end, changes } = createTransaction(session, stale);
  await session.run(command('begin'));
  try {
    const result = await work(tx);
    end();
    const done = await commit(session, changes()).catch((error: unknown) => explainCommit(session, error));
    // That is how PostgreSQL answers the commit of a transaction in which something failed.
    if (done !== 'COMMIT') throw new Error('a statement of the transaction failed, and the failure was passed over');
    return result;
  } catch (error) {
    end();
    await session.run(command('rollback')).catch(() => {});
    throw error;
  }
}

/** Gives what the server says it has done. */
async function commit(session: PooledSession, changes: boolean): Promise<string | undefined> {
  if (!session.isSpread || !changes) return (await session.run(command('commit'))).command;
  try {
    return (await session.runAtOnce([changeHere, command('commit')])).at(-1)?.command;
  } catch (error) {
    // As the commit behind it was answered.
    if (isServerError(error) && error.code === sqlStates.inFailedTransaction) return 'ROLLBACK';
    throw error;
  }
}

/** Statements of a transaction that has ended are refused: they would run outside it. */
function createTransaction(session: PooledSession, stale: Composed[]): { tx: Tx; end(): void; changes(): boolean } {
  let ended = false;
  let changes = false;
  let savepoints = 0;
  const open = (): PooledSession => {
    if (ended) throw new Error('the transaction has ended');
    return session;
  };
  const runner: Runner = {
    async run(statement) {
      changes ||= !onlyAsks.test(statement.text);
      try {
        return await open().run(statement);
      } catch (error) {
        if (isStalePlan(error)) stale.push(statement);
        throw error;
      }
    },
    cursor: (statement, rowsAtOnce) => open().cursor(statement, rowsAtOnce),
    copyIn: async (statement) => {
      changes = true;
      return open().copyIn(statement);
    },
    copyOut: async (statement) => open().copyOut(statement),
  };
  const tx: Tx = Object.assign(createSql(runner), {
    async savepoint<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      const name = `savepoint_${(savepoints += 1)}`;
      await runner.run(command(`savepoint ${name}`));
      try {
        const result = await work(tx);
        await runner.run(command(`release savepoint ${name}`));
        return result;
      } catch (error) {
        if (!ended) await session.run(command(`rollback to savepoint ${name}`)).catch(() => {});
        throw error;
      }
    },
  });
  return {
    tx,
    end: () => {
      ended = true;
    },
    changes: () => changes,
  };
}
