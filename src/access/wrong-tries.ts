// In charge of guessing: so many wrong tries within a while, then a pause. Counted in the database, so that the limit
// holds over all processes.
import ipaddr from 'ipaddr.js';
import { isRecent } from '../db/clock.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

/** Tries of a kind, and how many of them are too many: of one client from one address, of one client, from one address. */
export type TryLimit = {
  kind: 'secret' | 'sign-in' | 'link' | 'console';
  what: string;
  minutes: number;
  most: Partial<Record<'pair' | 'client' | 'address', number>>;
};
export type Tried = { client: string; address: string };

const secretTries: TryLimit = { kind: 'secret', what: 'wrong tries', minutes: 1, most: { pair: 30 } };
/** Whatever a stranger sends as a name is cut to this before it is kept. */
const keptNameLength = 200;
/** No limit looks back further. */
const keptMinutes = 10;

/**
 * What `find` finds for a client's secret, or undefined after noting a wrong try; too many of those are a
 * too_many_requests error. One try at a time for a client and address, so that many at once do not slip by.
 */
export async function judgeTry<T>(db: Db, client: string, address: string, find: (sql: Sql) => Promise<T | undefined>): Promise<T | undefined> {
  const tried = { client, address };
  return db.begin(async (tx) => {
    await takeTurn(tx, secretTries, tried);
    await requireTriesLeft(tx, secretTries, tried);
    const found = await find(tx);
    if (found === undefined) await noteTry(tx, secretTries, tried);
    return found;
  });
}

/** Until the transaction ends nobody else's try of the same client and address is judged. */
export async function takeTurn(sql: Sql, { kind }: TryLimit, tried: Tried): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${kind} ${keptName(tried)} ${networkOf(tried.address)}`}, 0))`;
}

export async function requireTriesLeft(sql: Sql, limit: TryLimit, tried: Tried): Promise<void> {
  const used = await findUsedUp(sql, limit, tried);
  if (!used) return;
  const within = limit.minutes === 1 ? 'a minute' : `${limit.minutes} minutes`;
  throw new SchoolbellError('too_many_requests', `Too many ${limit.what}: ${used.most} in ${within}. Wait and try again.`, {
    headers: { 'retry-after': String(Math.max(1, used.wait)) },
  });
}

/** wait: seconds until there is a try left. */
export async function findUsedUp(sql: Sql, { kind, minutes, most }: TryLimit, tried: Tried): Promise<{ most: number; wait: number } | undefined> {
  for (const [together, limit] of Object.entries(most) as [keyof TryLimit['most'], number][]) {
    const ofClient = together === 'address' ? sql`` : sql`and client = ${keptName(tried)}`;
    const fromAddress = together === 'client' ? sql`` : sql`and address = ${networkOf(tried.address)}`;
    const [row] = await sql<{ tries: number; wait: number }[]>`
      select count(*)::int as tries, ceil(60 * ${minutes}::int - extract(epoch from now() - min(tried_at)))::int as wait
      from (select tried_at from wrong_try where kind = ${kind} ${ofClient} ${fromAddress} and ${isRecent(sql, sql`tried_at`, minutes * 60)}
            order by tried_at desc limit ${limit}) latest`;
    if (row && row.tries >= limit) return { most: limit, wait: row.wait };
  }
  return undefined;
}

export async function noteTry(sql: Sql, { kind }: TryLimit, tried: Tried): Promise<void> {
  await sql`insert into wrong_try (kind, client, address) values (${kind}, ${keptName(tried)}, ${networkOf(tried.address)})`;
}

const keptName = ({ client }: Tried) => client.slice(0, keptNameLength);

/** Returns the address that attempts are counted under: one household or machine owns a whole IPv6 network of 64 bits. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64` : parsed.toString();
}

export async function forgetOldCounts(db: Db): Promise<void> {
  await db`delete from wrong_try where tried_at < now() - make_interval(mins => ${keptMinutes})`;
  await db`delete from request_count where minute < now() - interval '10 minutes'`;
}
