// In charge of inboxes: places of an application that take calls and show them, for those who have no receiver of their own yet.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Seal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import type { Db, Sql } from '../../db/connect.ts';
import { SchoolbellError } from '../../errors.ts';

/** How an inbox answers: with that status, with 200 after a while, or not at all. */
export const inboxAnswers = ['200', '500', '410', 'slow', 'never'] as const;
export type InboxAnswer = (typeof inboxAnswers)[number];

export type Inbox = Readonly<{ id: string; rp: string; name: string; key: string; answer: InboxAnswer; created: Date; calls: number; lastCall: Date | null }>;

const mostInboxes = 5;
const longestName = 60;
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const columns = (sql: Sql) => sql`
  i.id, i.rp, i.name, i.key, i.answer, i.created_at as created, (select count(*)::int from inbox_call c where c.inbox = i.id) as calls,
  (select max(received_at) from inbox_call c where c.inbox = i.id) as "lastCall"`;

export async function listInboxes(db: Db, rp: string): Promise<Inbox[]> {
  return db<Inbox[]>`select ${columns(db)} from inbox i where i.rp = ${rp} order by i.name`;
}

/** Of that application: another's is not there. */
export async function requireInbox(sql: Sql, rp: string, id: string): Promise<Inbox> {
  const [found] = uuid.test(id) ? await sql<Inbox[]>`select ${columns(sql)} from inbox i where i.rp = ${rp} and i.id = ${id}` : [];
  if (!found) throw new SchoolbellError('not_found', 'There is no such inbox.');
  return found;
}

export async function findInboxByKey(sql: Sql, key: string): Promise<Pick<Inbox, 'id' | 'rp'> | undefined> {
  const [found] = await sql<Pick<Inbox, 'id' | 'rp'>[]>`select id, rp from inbox where key = ${key}`;
  return found;
}

export async function addInbox(db: Db, seal: Seal, { rp, name, answer }: { rp: string; name: string; answer: string }): Promise<Inbox> {
  const named = name.trim();
  if (named === '' || named.length > longestName) throw new SchoolbellError('invalid_request', `--name: 1 to ${longestName} characters`);
  const answers = requireAnswer(answer);
  return db.begin(async (tx) => {
    // One at a time, so that two at once are not one too many.
    const [known] = await tx`select from application where rp = ${rp} for no key update`;
    if (!known) throw new SchoolbellError('not_found', `there is no application ${rp}; application list shows those there are`);
    const [there] = await tx<{ inboxes: number; named: boolean }[]>`
      select count(*)::int as inboxes, coalesce(bool_or(name = ${named}), false) as named from inbox where rp = ${rp}`;
    if (there?.named) throw new SchoolbellError('conflict', `--name: ${rp} has an inbox called ${named} already; choose another name`);
    if ((there?.inboxes ?? 0) >= mostInboxes)
      throw new SchoolbellError('conflict', `${rp} has ${mostInboxes} inboxes, and no more are kept for an application; remove one first`);
    const id = randomUUID();
    const sealedKey = seal.seal(randomBytes(32).toString('base64url'), sealedAs.inboxKey(rp, id));
    await tx`
      insert into inbox (id, rp, name, key, sealed_key, answer)
      values (${id}, ${rp}, ${named}, ${randomBytes(32).toString('base64url')}, ${sealedKey}, ${answers})`;
    return requireInbox(tx, rp, id);
  });
}

/** How it answers from the next call on. */
export async function editInbox(db: Db, { rp, id, answer }: { rp: string; id: string; answer: string }): Promise<Inbox> {
  const answers = requireAnswer(answer);
  const { id: known } = await requireInbox(db, rp, id);
  await db`update inbox set answer = ${answers} where id = ${known}`;
  return requireInbox(db, rp, known);
}

/** What came goes; gives how many. */
export async function emptyInbox(db: Db, rp: string, id: string): Promise<number> {
  const { id: known } = await requireInbox(db, rp, id);
  // Held first, as by whoever takes a call: two who forget the same calls in another order would wait for one another.
  const { count } = await db`
    with held as (select id from inbox where id = ${known} for no key update) delete from inbox_call where inbox = (select id from held)`;
  return count;
}

/** From now on its address is none: what is still sent there fails with a 404. */
export async function removeInbox(db: Db, rp: string, id: string): Promise<Inbox> {
  const inbox = await requireInbox(db, rp, id);
  await db`delete from inbox where id = ${inbox.id}`;
  return inbox;
}

function requireAnswer(given: string): InboxAnswer {
  const known = inboxAnswers.find((one) => one === given);
  if (!known) throw new SchoolbellError('invalid_request', `--answer "${given.slice(0, 20)}": must be one of ${inboxAnswers.join(', ')}`);
  return known;
}
