// In charge of the trail of what operators do and look at, by page or by command: who, what, about whom, from where. A line
// is written before the thing is done and gets its outcome afterwards, so that one which is cut off is seen to be.
import { SchoolbellError } from '../errors.ts';
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { cutText } from '../http/cut-text.ts';
import { sourcedIdsOf, type Forget } from '../roster/leaver.ts';
import { plainAddresses } from './plain-addresses.ts';
import type { Pseudonym } from './pseudonym.ts';

/** from: the address of a browser, or the machine of a command. */
export type Actor = Readonly<{ name: string; via: 'console' | 'command line'; from: string }>;

/** subject: whom or what it is about, beside a school and an application. detail: what was given, never a secret. */
export type Deed = Readonly<{
  action: string;
  estab?: string | undefined;
  rp?: string | undefined;
  subject?: string | undefined;
  detail?: Readonly<Record<string, unknown>> | undefined;
}>;

export type AuditEvent = Readonly<{
  number: number;
  at: Date;
  actor: string;
  via: Actor['via'];
  from: string | null;
  action: string;
  estab: string | null;
  rp: string | null;
  subject: string | null;
  detail: Readonly<Record<string, unknown>>;
  outcome: 'done' | 'refused' | 'failed' | null;
  message: string | null;
}>;

/** Whatever is typed into an address or a form: a line stays one. */
const longest = { id: 64, name: 300, text: 300, message: 500, values: 50 } as const;
const begunAtOnce = 100;

/** Does it, with a line in the trail whatever becomes of it. failed: why, of a result that is none although nothing was thrown. */
export async function audited<T>(
  db: Db,
  actor: Actor,
  deed: Deed,
  work: () => Promise<T>,
  failed: (result: T) => string | undefined = () => undefined,
): Promise<T> {
  const number = await begin(db, actor, deed);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    const refused = error instanceof SchoolbellError && error.code !== 'unexpected';
    // What went wrong is what the caller has to hear of, not that it could not be written down.
    await end(db, number, refused ? 'refused' : 'failed', (error as Error).message).catch(() => {});
    throw error;
  }
  const message = failed(result);
  // It is done, and may have made a secret that is shown once: a line that cannot be ended looks cut off, and nothing else is lost.
  await end(db, number, message === undefined ? 'done' : 'failed', message ?? null).catch(() => {});
  return result;
}

/** A look, or what was done in the transaction that this is a part of: there is nothing to end. */
export async function noteLook(db: Sql, actor: Actor, deed: Deed): Promise<void> {
  await end(db, await begin(db, actor, deed), 'done', null);
}

/** How long what is looked at again and again is one look, and among how many of a school's newest lines it is sought. */
const again = { minutes: 10, among: 50 } as const;

/** A look that is repeated with every letter that is typed, or by a page that follows: one line for a while, which says how often. */
export async function noteRepeatedLook(db: Db, actor: Actor, deed: Deed & { estab: string }): Promise<void> {
  const { count } = await db`
    update audit_event e set detail = jsonb_set(e.detail, '{times}', to_jsonb(coalesce((e.detail ->> 'times')::int, 1) + 1)), ended_at = clock_timestamp()
    where e.estab = ${deed.estab} and e.number = (
      select max(n.number) from (select * from audit_event where estab = ${deed.estab} order by number desc limit ${again.among}) n
      where n.estab = ${deed.estab} and n.actor = ${actor.name} and n.via = ${actor.via} and n.address = ${actor.from} and n.action = ${deed.action}
        and n.subject is not distinct from ${cutSubject(deed.subject)} and n.at > now() - make_interval(mins => ${again.minutes}))`;
  if (count === 0) await noteLook(db, actor, { ...deed, detail: { ...deed.detail, times: 1 } });
}

/** What may come about again and again: one line within these minutes, sought among the newest of whom it is about. */
export async function noteOnce(sql: Sql, actor: Actor, deed: Deed, minutes: number): Promise<void> {
  const [noted] = await sql`
    select from (select at, action from audit_event where actor = ${actor.name} order by number desc limit ${again.among}) latest
    where action = ${deed.action} and at > now() - make_interval(mins => ${minutes}) limit 1`;
  if (!noted) await noteLook(sql, actor, deed);
}

async function begin(db: Sql, { name, via, from }: Actor, { action, estab, rp, subject, detail }: Deed): Promise<number> {
  const [row] = await db<{ number: number }[]>`
    insert into audit_event (actor, via, address, action, estab, rp, subject, detail)
    values (${cutText(name, longest.name)}, ${via}, ${from}, ${action}, ${cutId(estab)}, ${cutId(rp)},
      ${cutSubject(subject)}, ${db.json(cutDetail(detail))})
    returning number::float8 as number`;
  return row?.number ?? 0;
}

const cutSubject = (subject: string | undefined) => (subject === undefined ? null : cutText(subject, longest.name));
const cutId = (id: string | undefined) => (id === undefined ? null : cutText(id, longest.id));

function cutDetail(detail: Deed['detail'] = {}): Record<string, unknown> {
  const cut = (value: unknown) => (typeof value === 'string' ? cutText(plainAddresses(value), longest.text) : value);
  return Object.fromEntries(Object.entries(detail).map(([key, value]) => [key, Array.isArray(value) ? value.slice(0, longest.values).map(cut) : cut(value)]));
}

async function end(db: Sql, number: number, outcome: AuditEvent['outcome'], message: string | null): Promise<void> {
  const why = message === null ? null : cutText(plainAddresses(message), longest.message);
  await db`update audit_event set outcome = ${outcome}, message = ${why}, ended_at = clock_timestamp() where number = ${number}`;
}

export type AuditAsked = Readonly<{
  estab?: string | undefined;
  rp?: string | undefined;
  actor?: string | undefined;
  since?: Date | undefined;
  before?: number | undefined;
  most: number;
}>;

/** Newest first; `before` is the number of the last one that was seen. Sorted by the column itself, which its indexes have, not as it is given out. */
export async function listAudited(db: Db, { estab, rp, actor, since, before, most }: AuditAsked): Promise<AuditEvent[]> {
  return db<AuditEvent[]>`
    select number::float8 as number, at, actor, via, address as from, action, estab, rp, subject, detail, outcome, message from audit_event
    where true ${estab === undefined ? db`` : db`and estab = ${estab}`} ${rp === undefined ? db`` : db`and rp = ${rp}`}
      ${actor === undefined ? db`` : db`and actor = ${actor}`} ${since === undefined ? db`` : writtenSince(db, since)}
      ${before === undefined ? db`` : db`and number < ${before}`}
    order by audit_event.number desc limit ${most}`;
}

/** Numbers are given in the order of time but for lines that were begun at once: what is older is not read to be left out. */
function writtenSince(db: Db, since: Date): Fragment {
  return db`and at >= ${since} and number >= (select coalesce(min(first.number), 0) from (
    select number from audit_event where at >= ${since} order by at limit ${begunAtOnce}) first)`;
}

/**
 * That somebody was looked at stays, and by whom; about a trace instead of a person, also where a refusal repeats the id. A page
 * names them by their collection, too, and a mail by their address.
 */
export function forgetLooksAt(pseudonym: Pseudonym): Forget {
  return async (tx, estab, people) => {
    const named = sourcedIdsOf(people).flatMap((id) =>
      [id, `users/${id}`, `demographics/${id}`].map((subject) => ({ subject, id, trace: pseudonym(estab, id) })));
    await tx`
      update audit_event e set subject = gone.trace, message = replace(e.message, gone.id, gone.trace)
      from jsonb_to_recordset(${tx.json(named)}) as gone (subject text, id text, trace text)
      where e.estab = ${estab} and e.subject = gone.subject`;
    const addresses = people.flatMap(({ email }) => (email === null ? [] : [email.toLowerCase()]));
    if (addresses.length === 0) return;
    await tx`update audit_event set detail = detail - 'to' where estab = ${estab} and lower(detail ->> 'to') = any(${addresses}::text[])`;
  };
}

export async function forgetAuditTrail(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'audit_event', db`at < now() - make_interval(days => ${days})`);
}
