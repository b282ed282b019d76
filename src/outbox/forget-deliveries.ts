// In charge of forgetting people who are purged, in the outbox: what was sent or is to be sent about them, and what was
// answered to it. Where somebody registered an address, the address is the registration's and names nobody.
import type { Sql } from '../db/connect.ts';
import { readInBatches } from '../db/read-in-batches.ts';
import { newSighting, seenAtAll, type NameFinder } from '../roster/name-finder.ts';
import { namingOneOf, searching, type Naming, type Written } from '../roster/search-names.ts';

/** settledOnly: named by a short word, for which nothing that is yet to be sent is given up. */
type Delivery = Naming & { id: string; settledOnly: boolean };
type Attempt = Naming & { id: string; number: number };

type DeliveryRow = { id: string; payload: Record<string, unknown>; body: Buffer | null; oneOff: boolean };
type AttemptRow = { id: string; number: number; detail: Record<string, unknown>; response: Buffer | null; oneOff: boolean };

/** What carries a secret, or is no message and waits for its turn, goes on; only what its attempts say of them goes. */
export const forgetDeliveriesOf = searching<{ deliveries: Delivery[]; attempts: Attempt[] }>({
  async find(sql, estab, names, written) {
    return { deliveries: await findDeliveries(sql, estab, names, written), attempts: await findAttempts(sql, estab, names, written) };
  },
  async forget(tx, estab, people, found) {
    const deliveries = namingOneOf(people, found.flatMap((one) => one.deliveries));
    const idsOf = (settledOnly: boolean) => deliveries.filter((one) => one.settledOnly === settledOnly).map(({ id }) => id);
    const goes = tx`estab = ${estab} and ((id = any(${idsOf(false)}) and (settled_at is not null or body is not null))
      or (id = any(${idsOf(true)}) and settled_at is not null))`;
    const lanes = (await tx<{ lane: string }[]>`select distinct lane from outbox where ${goes}`).map(({ lane }) => lane);
    // As whoever claims and settles does it: the lanes first, all of them at once.
    await tx`select from lane where key = any(${lanes}) order by key for update`;
    await tx`delete from outbox where ${goes} and lane = any(${lanes})`;
    // What stood in the way of others may just have gone.
    await tx`update lane set next_at = now() where key = any(${lanes}) and disabled_at is null and paused_at is null`;
    const attempts = namingOneOf(people, found.flatMap((one) => one.attempts));
    await tx`
      update outbox_attempt a set detail = '{}', response = null
      from unnest(${attempts.map(({ id }) => id)}::text[], ${attempts.map(({ number }) => number)}::int[]) as given (id, number)
      where a.estab = ${estab} and a.id = given.id and a.number = given.number`;
  },
});

async function findDeliveries(sql: Sql, estab: string, names: NameFinder, written: Written): Promise<Delivery[]> {
  const found: Delivery[] = [];
  const rows = readInBatches<DeliveryRow>((after, limit) => sql<DeliveryRow[]>`
    select o.id, o.payload, o.body, not l.lasting as "oneOff" from outbox o join lane l on l.key = o.lane
    where o.estab = ${estab} and o.id > ${after?.id ?? ''} and coalesce(o.payload ->> 'sealed', '') <> 'true' and ${written('outbox', 'o')}
    order by o.id limit ${limit}`);
  for await (const { id, payload: { url, ...payload }, body, oneOff } of rows) {
    const seen = newSighting();
    if (oneOff && typeof url === 'string') names.inUrl(url, seen);
    names.inJson(payload, seen);
    if (body) names.inBytes(body, seen);
    if (seen.clear.size > 0) found.push({ id, people: seen.clear, settledOnly: false });
    if (seen.short.size > 0) found.push({ id, people: seen.short, settledOnly: true });
  }
  return found;
}

async function findAttempts(sql: Sql, estab: string, names: NameFinder, written: Written): Promise<Attempt[]> {
  const found: Attempt[] = [];
  const rows = readInBatches<AttemptRow>((after, limit) => sql<AttemptRow[]>`
    select a.id, a.number, a.detail, a.response, not l.lasting as "oneOff"
    from outbox_attempt a join outbox o on o.estab = ${estab} and o.id = a.id join lane l on l.key = o.lane
    where a.estab = ${estab} and (a.id, a.number) > (${after?.id ?? ''}, ${after?.number ?? 0}::int) and ${written('outbox_attempt', 'a')}
    order by a.id, a.number limit ${limit}`);
  for await (const { id, number, detail: { request, ...detail }, response, oneOff } of rows) {
    const seen = newSighting();
    const { url } = (request ?? {}) as { url?: unknown };
    if (oneOff && typeof url === 'string') names.inUrl(url, seen);
    names.inJson(detail, seen);
    if (response) names.inBytes(response, seen);
    const people = seenAtAll(seen);
    if (people.size > 0) found.push({ id, number, people });
  }
  return found;
}
