// In charge of reading again what has moved on since it was looked at, or is not to be seen yet where it lies: a whole request, which begins
// anew with who is calling, or one school of it at the version that it is about all the same.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { Behind } from '../db/replicas.ts';
import { SchoolbellError } from '../errors.ts';
import { RosterMoved } from './roster-facts.ts';
import type { Target } from './visibility.ts';

/** A merge would have to commit between two statements of each of these tries. */
const tries = 5;
const triesOfSchool = 3;
/** What has been committed on one node is seen on another a moment later; waited for longer each time. */
const behindMs = 50;

/** over: nobody waits for it any more. */
export async function readAgain<T>(work: () => Promise<T>, over?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!hasMoved(error)) throw error;
      if (attempt === tries) throw refusalOf(error);
      await stepAside(error, attempt);
      over?.throwIfAborted();
    }
  }
}

/** It is tried at what is known of the school; where that stands is looked up only when it has moved. */
export async function asItStands<T>(primary: Db, target: Target, work: (target: Target) => Promise<T>): Promise<T> {
  let standing = target;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(standing);
    } catch (error) {
      if (!hasMoved(error) || attempt === triesOfSchool) throw error;
      await stepAside(error, attempt);
      standing = await asOfNow(primary, standing);
    }
  }
}

const hasMoved = (error: unknown) => error instanceof RosterMoved || error instanceof Behind;

async function stepAside(error: unknown, attempt: number): Promise<void> {
  if (error instanceof Behind) await pause(behindMs * attempt);
}

function refusalOf(error: unknown): SchoolbellError {
  return error instanceof Behind
    ? new SchoolbellError('unavailable', 'The newest version of the roster cannot be read yet. Try again in a moment.', {
        headers: { 'retry-after': '2' },
        cause: error,
      })
    : new SchoolbellError('too_many_requests', 'The roster is changing too fast to be read. Try again in a moment.', { headers: { 'retry-after': '1' } });
}

/** The same version, which others may have replaced since. */
async function asOfNow(primary: Db, target: Target): Promise<Target> {
  const [row] = await primary<{ id: string; version: number; keptFrom: number }[]>`
    select roster_id as id, version, kept_from as "keptFrom" from roster_standing where estab = ${target.estab}`;
  if (row?.id !== target.rosterId) throw new RosterMoved();
  return { ...target, current: row.version, keptFrom: row.keptFrom };
}
