// In charge of sending deliveries again: one, for the operator or for its application, refused where it could only be
// cancelled again, so that what became of it stays known; and all that failed since a time, for the operator.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { listEndedLanes, replayFailedSince, replayOne, requireReplayable, type EndedLane, type Owner, type Replayable } from '../outbox/replay.ts';
import { announceMissing } from './announce.ts';
import { listOwners } from './browse-deliveries.ts';
import { databases } from './databases.ts';
import { isOutdated } from './outdated.ts';
import { isCallbackTest } from './test-callback.ts';
import { callKind } from './webhooks.ts';

/** ended: why its receiver had been given up, which is over now. paused: it waits until its target is resumed. */
export async function replayDelivery(db: Db, id: string, owner: Owner = {}): Promise<{ id: string; ended: string | null; paused: boolean }> {
  const found = await requireReplayable(db, callKind, id, owner);
  const { estab, rp, erased, ended, paused } = found;
  if (found.tellsState) await requireLastWord(db, found);
  else if (!isCallbackTest(found)) await requireAuthorised(db, found);
  if (erased)
    throw new SchoolbellError(
      'conflict',
      `The school secret in this event was erased once it had arrived, so that it cannot be sent again; ` +
        `the school has to approve again, which issues a new one (operator: authorise --rp ${rp} --estab ${estab}).`,
    );
  const replayed = await replayOne(db, found);
  if (!isCallbackTest(found)) await db.begin(async (tx) => {
    await forgetMissed(tx, found);
    await announceMissing(tx, { estab, rp });
  });
  if (replayed.length === 0) throw new SchoolbellError('conflict', 'A newer event for the same registration is waiting already; it will be sent.');
  return { id: found.id, ended, paused };
}

/** What its registration had missed until then it is told by this: a newer event would only take the place of what somebody asked for. */
async function forgetMissed(tx: Tx, { estab, id, lane }: Replayable): Promise<void> {
  await tx`
    update webhook w set missed_at = null from outbox o
    where o.estab = ${estab} and o.id = ${id} and o.payload ->> 'event' = 'database' and w.estab = ${estab} and 'webhook ' || w.id = ${lane}
      and w.missed_at <= o.due_at`;
}

export type FailedDeliveries = { since: Date; rp?: string | undefined; lane?: string | undefined; most: number };

/** left: targets that were given up, whose failed deliveries stay where they are. */
export async function replayFailed(db: Db, { rp, ...asked }: FailedDeliveries): Promise<{ replayed: string[]; left: EndedLane[] }> {
  const failed = { ...asked, rps: rp === undefined ? await listOwners(db) : [rp] };
  const replayed = await replayFailedSince(db, callKind, failed);
  return { replayed, left: await listEndedLanes(db, callKind, failed) };
}

/** How it stands is told however it stands, but only as long as it is true. */
async function requireLastWord(db: Db, found: Replayable): Promise<void> {
  if (await isOutdated(db, found, { justSaid: 'counts' }))
    throw new SchoolbellError('conflict', 'A newer event of the same school was sent since; this one would be taken for how it stands now.');
}

type Wanted = Pick<Replayable, 'estab' | 'rp' | 'lane'>;

export async function requireAuthorised(db: Db, found: Wanted): Promise<void> {
  const { estab, rp } = found;
  const [pair] = await db<{ state: string; scopes: string[] }[]>`select state, scopes from authorisation where estab = ${estab} and rp = ${rp}`;
  if (pair?.state !== 'Approved')
    throw new SchoolbellError('conflict', `${rp} is not authorised at ${estab} (${pair?.state ?? 'removed'}); the school has to resume or approve it first.`);
  await requireRegistration(db, found, pair.scopes);
}

/** Where it is for a registration, that must still be there, with a scope that opens its database. */
async function requireRegistration(db: Db, { estab, lane }: Wanted, scopes: readonly string[]): Promise<void> {
  if (!lane.startsWith('webhook ')) return;
  const [registration] = await db<
    { databaseName: string }[]
  >`select database_name as "databaseName" from webhook where estab = ${estab} and 'webhook ' || id = ${lane}`;
  if (!registration) throw new SchoolbellError('conflict', 'The registration was removed; there is nobody to send this to.');
  const needed = databases[registration.databaseName] ?? [];
  if (!needed.some((scope) => scopes.includes(scope)))
    throw new SchoolbellError('conflict', `The school has not granted a scope that opens ${registration.databaseName}: it needs one of ${needed.join(', ')}.`);
}
