// In charge of database events: a change of a database is announced to everyone who registered for it, in the
// transaction that changed it. A burst of changes is one event.
import type { Sql } from '../db/connect.ts';
import { enqueue, enqueueCoalesced } from '../outbox/enqueue.ts';
import { databases } from './databases.ts';
import { describeEvent, type Webhook } from './webhooks.ts';

export async function announceChange(sql: Sql, estab: string, databaseName: string): Promise<void> {
  const webhooks = await sql<Webhook[]>`
    select w.estab, w.id, w.rp, w.database_name as "databaseName", w.url, w.method
    from webhook w join authorisation a on a.estab = w.estab and a.rp = w.rp and a.state = 'Approved' and a.scopes && ${[...(databases[databaseName] ?? [])]}::text[]
    left join lane l on l.key = 'webhook ' || w.id
    where w.estab = ${estab} and w.database_name = ${databaseName} and l.disabled_at is null
    order by w.id`;
  for (const webhook of webhooks) await enqueueCoalesced(sql, describeEvent(webhook), webhook.id);
}

/** Announces the present state to everyone who registered but has not been told of it; gives how many those are. */
export async function announceMissing(sql: Sql): Promise<number> {
  const rows = await sql<Webhook[]>`
    select w.estab, w.id, w.rp, w.database_name as "databaseName", w.url, w.method
    from webhook w
    join authorisation a on a.estab = w.estab and a.rp = w.rp and a.state = 'Approved' and a.scopes && ${[...(databases.SchoolData ?? [])]}::text[]
    join roster r on r.estab = w.estab
    join roster_version v on v.estab = r.estab and v.version = r.version
    where w.database_name = 'SchoolData'
      and not exists (select from outbox o where o.estab = w.estab and o.topic = w.id::text and (o.state in ('waiting', 'running') or (o.state = 'done' and o.settled_at > v.instant)))`;
  for (const webhook of rows) await enqueueCoalesced(sql, describeEvent(webhook), webhook.id);
  return rows.length;
}

/** One event now, whatever held the registration back: it is how its owner finds out whether it works again. */
export async function sendTest(sql: Sql, webhook: Webhook): Promise<string> {
  const work = describeEvent(webhook);
  const id = await enqueue(sql, work);
  await sql`update lane set disabled_at = null, disabled_why = null, open_until = null, failing_since = null, warned_at = null where key = ${work.lane.key}`;
  return id;
}
