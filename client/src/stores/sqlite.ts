// In charge of a copy in SQLite, over a handle of the caller's: node:sqlite, better-sqlite3, bun:sqlite. A transaction never
// waits, so that nothing else the caller does with the handle gets into it.
import type { Store } from '../sync-store.ts';
import { sqlStore, type Answer, type RunSteps, type Statement, type Steps } from './sql.ts';

/** What these have in common. */
export type SqliteHandle = {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: never[]): unknown[]; run(...values: never[]): unknown };
};

const busyWaitMs = 10_000;
const lookAgainMs = 20;

export function sqliteStore(db: SqliteHandle, { prefix = 'schoolbell_' }: { prefix?: string } = {}): Store {
  const ask = ({ text, values }: Statement): Answer[] => {
    const inOrder: unknown[] = [];
    // In their order, each as often as it is used: to better-sqlite3, and to Node for long, ?1 is a name.
    const plain = text.replaceAll(/\$(\d+)/g, (_, number: string) => {
      inOrder.push(values[Number(number) - 1]);
      return '?';
    });
    const statement = db.prepare(plain);
    if (/^select|\sreturning\s/i.test(text)) return statement.all(...(inOrder as never[])) as Answer[];
    statement.run(...(inOrder as never[]));
    return [];
  };

  function transact<T>(make: () => Steps<T>): T {
    db.exec('begin immediate');
    try {
      const steps = make();
      let step = steps.next();
      while (!step.done) step = steps.next(ask(step.value));
      db.exec('commit');
      return step.value;
    } catch (error) {
      try {
        db.exec('rollback');
      } catch {
        // A full disk has ended it already; that is what must be known.
      }
      throw error;
    }
  }

  /** Another process may be reading or writing, or the caller be in a transaction of their own; both pass. */
  const run: RunSteps = async (make) => {
    for (const end = Date.now() + busyWaitMs; ; await new Promise((resolve) => setTimeout(resolve, lookAgainMs))) {
      try {
        return transact(make);
      } catch (error) {
        if (!/locked|busy|within a transaction/i.test(String(error)) || Date.now() > end) throw error;
      }
    }
  };
  const nowMs = "cast((julianday('now') - 2440587.5) * 86400000 as integer)";
  const exists = (table: string) => ({ text: "select 1 from sqlite_master where type = 'table' and name = $1", values: [table] });
  return sqlStore(run, { json: 'text', nowMs, exists }, prefix);
}
