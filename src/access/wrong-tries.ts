// In charge of guessing: thirty wrong tries in a minute for one client from one address, then a pause. Counted in
// the database, so that the limit holds over all processes, and one try at a time, so that many at once do not slip by.
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

const triesPerMinute = 30;
/** Whatever a stranger sends as a name is cut to this before it is kept. */
const keptNameLength = 200;

/** What `find` finds, or undefined after noting a wrong try; too many of those are a too_many_requests error. */
export async function judgeTry<T>(db: Db, name: string, address: string, find: (sql: Sql) => Promise<T | undefined>): Promise<T | undefined> {
  const client = name.slice(0, keptNameLength);
  return db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended(${`${client} ${address}`}, 0))`;
    await requireTriesLeft(tx, client, address);
    const found = await find(tx);
    if (found === undefined) await tx`insert into wrong_try (client, address) values (${client}, ${address})`;
    return found;
  });
}

async function requireTriesLeft(sql: Sql, client: string, address: string): Promise<void> {
  const [row] = await sql<{ tries: number; wait: number }[]>`
    select count(*)::int as tries, ceil(60 - extract(epoch from now() - min(tried_at)))::int as wait
    from (select tried_at from wrong_try where client = ${client} and address = ${address} and tried_at > now() - interval '1 minute'
          order by tried_at desc limit ${triesPerMinute}) latest`;
  if (row && row.tries >= triesPerMinute) {
    throw new SchoolbellError('too_many_requests', `Too many wrong tries: ${triesPerMinute} in a minute. Wait and try again.`, { headers: { 'retry-after': String(Math.max(1, row.wait)) } });
  }
}

export async function forgetOldCounts(db: Db): Promise<void> {
  await db`delete from wrong_try where tried_at < now() - interval '10 minutes'`;
  await db`delete from request_count where minute < now() - interval '10 minutes'`;
}
