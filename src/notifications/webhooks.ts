// In charge of registrations: one per application, establishment and database; registering again replaces.
import { readMoment } from '../db/clock.ts';
import type { Db, Sql } from '../db/connect.ts';
import { parseTarget } from '../http/address-guard.ts';
import type { Lane, NewWork } from '../outbox/enqueue.ts';

export type Webhook = { estab: string; id: string; rp: string; databaseName: string; url: string; method: 'GET' | 'POST'; createdAt: Date; updatedAt: Date };

export const callsAtOnce = 4;

const columns = (sql: Sql) => sql`estab, id, rp, database_name as "databaseName", url, method, created_at as "createdAt", updated_at as "updatedAt"`;

export const callKind = 'call';
/** Held by a school's registrations and, shared, by the announcement of its changes. */
export const registrationLock = 5_219_007;

export const pausedWords = 'paused by the operator of this service or a developer of the application; what comes meanwhile waits';

export const laneKey = (id: string) => `webhook ${id}`;

function laneOf({ id, url }: Pick<Webhook, 'id' | 'url'>): Lane {
  return { key: laneKey(id), host: parseTarget(url).hostname, width: callsAtOnce, lasting: true };
}

/** The bytes are made once; every attempt sends and signs the same. */
export function describeEvent(webhook: Omit<Webhook, 'createdAt' | 'updatedAt'>): NewWork {
  const body = webhook.method === 'GET' ? null : Buffer.from(JSON.stringify({ Estab: webhook.estab, DatabaseName: webhook.databaseName }));
  return {
    estab: webhook.estab,
    rp: webhook.rp,
    kind: callKind,
    lane: laneOf(webhook),
    payload: { event: 'database', method: webhook.method, url: webhook.url, ...(body ? { contentType: 'application/json' } : {}) },
    body,
  };
}

/** A new URL is a new start: what held the old one back is forgotten, and an event that waited for it goes to the new one. */
export async function registerWebhook(
  db: Db,
  given: Pick<Webhook, 'estab' | 'rp' | 'databaseName' | 'url' | 'method'>,
): Promise<{ webhook: Webhook; replaced: boolean }> {
  return db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${registrationLock}, hashtext(${given.estab}))`;
    const [before] = await tx<
      { id: string }[]
    >`select id from webhook where estab = ${given.estab} and rp = ${given.rp} and database_name = ${given.databaseName} for update`;
    const [webhook] = await tx<Webhook[]>`
      insert into webhook (estab, rp, database_name, url, method) values (${given.estab}, ${given.rp}, ${given.databaseName}, ${given.url}, ${given.method})
      on conflict (estab, rp, database_name) do update set url = excluded.url, method = excluded.method, updated_at = excluded.updated_at
      returning ${columns(tx)}`;
    if (!webhook) throw new Error('the registration was not stored');
    if (before) await redirectEvents(tx, webhook);
    return { webhook, replaced: before !== undefined };
  });
}

/** An event that is under way to the old address is not stopped; if it fails there, it goes on to the new one. */
async function redirectEvents(tx: Sql, webhook: Webhook): Promise<void> {
  const { payload, body } = describeEvent(webhook);
  await resetLane(tx, webhook.id, parseTarget(webhook.url).hostname);
  await tx`
    update outbox set payload = ${tx.json(payload)}, body = ${body as Buffer | null}, forgiven = attempts,
      due_at = least(due_at, clock_timestamp() + interval '2 seconds')
    where estab = ${webhook.estab} and topic = ${webhook.id} and state = 'waiting'`;
  await tx`update outbox set state = 'cancelled', settled_at = now() where estab = ${webhook.estab} and lane = ${laneKey(webhook.id)} and topic is null
    and state = 'waiting'`;
  // The last event never arrived at the old address; the new one is told.
  await tx`
    update webhook w set missed_at = ${await readMoment(tx)} where w.estab = ${webhook.estab} and w.id = ${webhook.id}
      and (select o.state from outbox o where o.estab = w.estab and o.topic = w.id::text order by o.seq desc limit 1) in ('failed', 'cancelled')`;
}

async function forgetLane(tx: Sql, { estab, id }: Webhook): Promise<void> {
  await resetLane(tx, id, null);
  await tx`update lane set paused_at = null, paused_by = null where key = ${laneKey(id)}`;
  await tx`update outbox set state = 'cancelled', settled_at = now() where estab = ${estab} and lane = ${laneKey(id)} and state = 'waiting'`;
}

/**
 * The lane comes first, here as everywhere: whoever locked its rows first would wait for those who did not, and they for him.
 * One that the operator paused stays so: whose registration it is cannot end that.
 */
async function resetLane(tx: Sql, id: string, host: string | null): Promise<void> {
  await tx`
    update lane set epoch = epoch + 1, host = ${host}, failures = 0, failing_since = null, open_until = null, openings = 0, warned_at = null,
      disabled_at = null, disabled_why = null, next_at = case when paused_at is null then now() end
    where key = ${laneKey(id)}`;
}

/** Registrations of which nothing is sent at present, with the reason. paused: by the operator, who alone lets it go on. */
export async function listDisabled(db: Db, webhooks: readonly Webhook[]): Promise<{ id: string; why: string; paused: boolean }[]> {
  return db<{ id: string; why: string; paused: boolean }[]>`
    select substr(key, 9) as id, paused_at is not null as paused,
      case when paused_at is not null then ${pausedWords} when disabled_at is not null then disabled_why
        else 'paused until ' || to_char(open_until at time zone 'UTC', 'HH24:MI:SS"Z"') || ' after repeated failures' end as why
    from lane where key = any(${webhooks.map(({ id }) => laneKey(id))}) and (disabled_at is not null or paused_at is not null
      or open_until > now())`;
}

export async function listWebhooks(db: Db, estab: string, rp: string): Promise<Webhook[]> {
  return db<Webhook[]>`select ${columns(db)} from webhook where estab = ${estab} and rp = ${rp} order by database_name`;
}

export async function removeWebhook(db: Db, estab: string, rp: string, id: string): Promise<boolean> {
  return db.begin(async (tx) => {
    const [webhook] = await tx<
      Webhook[]
    >`delete from webhook where estab = ${estab} and rp = ${rp} and id::text = ${plainId(id)} returning ${columns(tx)}`;
    if (webhook) await forgetLane(tx, webhook);
    return webhook !== undefined;
  });
}

export async function findWebhook(db: Db, estab: string, rp: string, id: string): Promise<Webhook | undefined> {
  const [webhook] = await db<Webhook[]>`select ${columns(db)} from webhook where estab = ${estab} and rp = ${rp} and id::text = ${plainId(id)}`;
  return webhook;
}

/** In any case; PostgreSQL has no NUL in a text. */
const plainId = (id: string) => id.toLowerCase().replaceAll('\0', '?');
