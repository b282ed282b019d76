// In charge of school secrets that have arrived: nothing that could be read or sent again is left of them.
import type { Db } from '../db/connect.ts';
import { isUnavailable } from '../db/unavailable.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { attemptAll } from '../roster/go-through.ts';

/** A school secret is kept readable until the last form that carries it has arrived. */
export async function eraseSecret(db: Db, { estab, id, payload }: ClaimedWork): Promise<void> {
  const { secretId, last } = payload as { secretId: string; last: boolean };
  if (!last) return;
  // First what keeps it from being sent again: secrets lie on every node of a spread database, and one may be away. Then the chore erases it.
  await db`update outbox set body = null where estab = ${estab} and (id = ${id} or (payload ->> 'secretId' = ${secretId} and state <> 'running'))`;
  await eraseOne(db, estab, secretId).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
}

const eraseOne = (db: Db, estab: string, secretId: string) =>
  db`update school_secret set sealed = null where estab = ${estab} and id = ${secretId} and sealed is not null`;

/** Those whose last form has arrived, as is seen by its body, and that were not erased then. */
export async function eraseDelivered(db: Db): Promise<void> {
  const left = await db<{ estab: string; id: string }[]>`
    select s.estab, s.id from school_secret s where s.sealed is not null and exists (select from outbox o where o.lane = 'callback ' || s.rp
      and o.estab = s.estab and o.payload ->> 'secretId' = s.id::text and (o.payload ->> 'last')::boolean and o.body is null)`;
  const erasing = left.map(({ estab, id }) => () => eraseOne(db, estab, id));
  await attemptAll(erasing, (count) => `${count} of ${left.length} secrets that have arrived could not be erased`);
}
