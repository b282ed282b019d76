// In charge of database events: a change of a database is announced to everyone who registered for it, in the
// transaction that changed it. A burst of changes is one event. Whoever is held back at the time (paused, without the
// scope, disabled) is told as soon as that ends.
import { readMoment } from '../db/clock.ts';
import type { Sql } from '../db/connect.ts';
import { enqueue, enqueueCoalesced } from '../outbox/enqueue.ts';
import { openLane } from '../outbox/pause-lane.ts';
import { databases } from './databases.ts';
import { describeEvent, laneKey, registrationLock, type Webhook } from './webhooks.ts';

export async function announceChange(sql: Sql, estab: string, databaseName: string): Promise<void> {
  // A registration that is being made waits for this change to be committed, so that its owner reads what it is not told
  // of; one that is being replaced is told at its new address.
  await sql`select pg_advisory_xact_lock_shared(${registrationLock}, hashtext(${estab}))`;
  const webhooks = await sql<
    (Webhook & { open: boolean })[]
  >`select ${columns(sql)} ${standing(sql)} where w.estab = ${estab} and w.database_name = ${databaseName} order by w.id for no key update of w`;
  const missed: string[] = [];
  for (const webhook of webhooks)
    if (!webhook.open || !(await enqueueCoalesced(sql, describeEvent(webhook), webhook.id))) missed.push(webhook.id);
  if (missed.length > 0) await sql`update webhook set missed_at = ${await readMoment(sql)} where estab = ${estab} and id = any(${missed})`;
}

/** Announces to those who missed a change and can be told now; gives how many those are. */
export async function announceMissing(sql: Sql, of: { estab?: string; rp?: string } = {}): Promise<number> {
  const webhooks = await sql<(Webhook & { open: boolean })[]>`
    select ${columns(sql)} ${standing(sql)}
    where w.missed_at is not null ${of.estab ? sql`and w.estab = ${of.estab}` : sql``} ${of.rp ? sql`and w.rp = ${of.rp}` : sql``} order by w.id
      for update of w`;
  let told = 0;
  for (const webhook of webhooks.filter(({ open }) => open)) {
    if (!(await enqueueCoalesced(sql, describeEvent(webhook), webhook.id))) continue;
    await sql`update webhook set missed_at = null where estab = ${webhook.estab} and id = ${webhook.id}`;
    told += 1;
  }
  return told;
}

const columns = (sql: Sql) => sql`w.estab, w.id, w.rp, w.database_name as "databaseName", w.url, w.method`;

/** open: the school authorises it, and a scope opens the database. Whether the receiver was given up only the lane can say, once it is held. */
function standing(sql: Sql) {
  const opening = Object.entries(databases).flatMap(([name, scopes]) => scopes.map((scope) => [name, scope] as const));
  return sql`, (a.state = 'Approved' and exists (
      select from unnest(${opening.map(([name]) => name)}::text[], ${opening.map(([, scope]) => scope)}::text[]) as opening (name, scope)
        where opening.name = w.database_name and opening.scope = any(a.scopes))) as open
    from webhook w join authorisation a on a.estab = w.estab and a.rp = w.rp`;
}

/** One event now, whatever held the registration back: it is how its owner finds out whether it works again. */
export async function sendTest(sql: Sql, webhook: Omit<Webhook, 'createdAt' | 'updatedAt'>): Promise<string> {
  const work = describeEvent(webhook);
  const id = await enqueue(sql, { ...work, payload: { ...work.payload, event: 'test' } });
  await openLane(sql, laneKey(webhook.id));
  return id;
}
