// In charge of registrations: one per application, establishment and database; registering again replaces.
import type { Db, Sql } from '../db/connect.ts';
import { parseTarget } from '../http/address-guard.ts';
import type { Lane, NewWork } from '../outbox/enqueue.ts';

export type Webhook = { estab: string; id: string; rp: string; databaseName: string; url: string; method: 'GET' | 'POST'; createdAt: Date; updatedAt: Date };

const callsAtOnce = 4;

const columns = (sql: Sql) => sql`estab, id, rp, database_name as "databaseName", url, method, created_at as "createdAt", updated_at as "updatedAt"`;

export const callKind = 'call';

function laneOf({ id, url }: Webhook): Lane {
  return { key: `webhook ${id}`, host: parseTarget(url).hostname, width: callsAtOnce, lasting: true };
}

/** The bytes are made once; every attempt sends and signs the same. */
export function describeEvent(webhook: Webhook): NewWork {
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
export async function registerWebhook(db: Db, given: Pick<Webhook, 'estab' | 'rp' | 'databaseName' | 'url' | 'method'>): Promise<{ webhook: Webhook; replaced: boolean }> {
  return db.begin(async (tx) => {
    const [before] = await tx<{ id: string }[]>`select id from webhook where estab = ${given.estab} and rp = ${given.rp} and database_name = ${given.databaseName} for update`;
    const [webhook] = await tx<Webhook[]>`
      insert into webhook (estab, rp, database_name, url, method) values (${given.estab}, ${given.rp}, ${given.databaseName}, ${given.url}, ${given.method})
      on conflict (estab, rp, database_name) do update set url = excluded.url, method = excluded.method, updated_at = now()
      returning ${columns(tx)}`;
    if (!webhook) throw new Error('the registration was not stored');
    if (before) await redirectEvents(tx, webhook);
    return { webhook, replaced: before !== undefined };
  });
}

async function redirectEvents(tx: Sql, webhook: Webhook): Promise<void> {
  const { payload, body } = describeEvent(webhook);
  await tx`
    update outbox set payload = ${tx.json(payload as never)}, body = ${body as Buffer | null}, forgiven = attempts, due_at = least(due_at, now() + interval '2 seconds')
    where estab = ${webhook.estab} and topic = ${webhook.id} and state = 'waiting'`;
  await tx`update outbox set state = 'cancelled', settled_at = now() where estab = ${webhook.estab} and lane = ${`webhook ${webhook.id}`} and topic is null and state = 'waiting'`;
  await resetLane(tx, webhook);
}

async function forgetLane(tx: Sql, { estab, id }: Webhook): Promise<void> {
  await tx`update outbox set state = 'cancelled', settled_at = now() where estab = ${estab} and lane = ${`webhook ${id}`} and state = 'waiting'`;
  await resetLane(tx, { id });
}

async function resetLane(tx: Sql, { id }: Pick<Webhook, 'id'>): Promise<void> {
  await tx`update lane set failures = 0, failing_since = null, open_until = null, openings = 0, warned_at = null, disabled_at = null, disabled_why = null, next_at = now() where key = ${`webhook ${id}`}`;
}

export async function listWebhooks(db: Db, estab: string, rp: string): Promise<Webhook[]> {
  return db<Webhook[]>`select ${columns(db)} from webhook where estab = ${estab} and rp = ${rp} order by database_name`;
}

export async function removeWebhook(db: Db, estab: string, rp: string, id: string): Promise<boolean> {
  return db.begin(async (tx) => {
    const [webhook] = await tx<Webhook[]>`delete from webhook where estab = ${estab} and rp = ${rp} and id::text = ${id.toLowerCase()} returning ${columns(tx)}`;
    if (webhook) await forgetLane(tx, webhook);
    return webhook !== undefined;
  }) as Promise<boolean>;
}

export async function findWebhook(db: Db, estab: string, rp: string, id: string): Promise<Webhook | undefined> {
  const [webhook] = await db<Webhook[]>`select ${columns(db)} from webhook where estab = ${estab} and rp = ${rp} and id::text = ${id.toLowerCase()}`;
  return webhook;
}
