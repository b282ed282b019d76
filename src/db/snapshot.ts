// In charge of reading at length out of one snapshot: a connection with a transaction that only reads, until it is closed.
import { SchoolbellError } from '../errors.ts';
import type { Db, Sql } from './connect.ts';
import { DatabaseUnavailable } from './unavailable.ts';

/** Closing twice is closing once; whoever holds it closes it, since a stream that is dropped before its first byte never runs. */
export type Snapshot = { sql: Sql; close(): Promise<void> };

/** Where all connections are taken by other readers, the caller is told so rather than that the database is away. */
export function tellBusy(error: unknown): never {
  if (!(error instanceof DatabaseUnavailable) || error.why !== 'busy') throw error;
  throw new SchoolbellError('too_many_requests', 'Too many lists are being read at once. Wait and try again, or read in pages.', {
    headers: { 'retry-after': '10' },
    cause: error,
  });
}

/** Whether it is that, told or not. */
export function isBusy(error: unknown): boolean {
  const cause = error instanceof SchoolbellError ? error.cause : error;
  return cause instanceof DatabaseUnavailable && cause.why === 'busy';
}

export async function openSnapshot(db: Db): Promise<Snapshot> {
  const connection = await db.reserve().catch(tellBusy);
  let closing: Promise<void> | undefined;
  const end = async () => {
    await connection`rollback`.catch(() => {});
    connection.release();
  };
  const close = () => (closing ??= end());
  try {
    await connection`begin isolation level repeatable read read only`;
  } catch (error) {
    await close();
    throw error;
  }
  return { sql: connection, close };
}

/** With its first batch at hand: what is wrong can still be said. */
export async function begun<T>(batches: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await batches.next();
  return (async function* all() {
    try {
      if (first.done) return;
      yield first.value;
      yield* batches;
    } finally {
      // Whoever leaves before the rest has begun ends it as well.
      await batches.return(undefined);
    }
  })();
}
