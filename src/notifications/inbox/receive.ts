// In charge of taking a call into an inbox: so many a minute, of each so much, and of all the newest. What came is sealed, and
// what would open something for whoever reads it is left out.
import { createSeal, type Seal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import type { Db } from '../../db/connect.ts';
import { cutText } from '../../http/cut-text.ts';
import type { InboxAnswer } from './inboxes.ts';
import { judgeSignature } from './judge-signature.ts';

/** address: of who called; null where the call was handed over in the process. path: with the query. */
export type Arrival = Readonly<{
  method: string;
  path: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array;
  address: string | null;
}>;
/** What is kept of one beside its body, sealed. */
export type Head = Readonly<{ path: string; headers: readonly (readonly [name: string, value: string])[] }>;

/** unknown: there is no such inbox. wait: seconds until it takes more. */
export type Received = Readonly<{ kind: 'taken'; answer: InboxAnswer } | { kind: 'unknown' } | { kind: 'too many'; wait: number }>;

export const inboxLimits = { callsPerMinute: 120, keptCalls: 100, keptBytes: 64 * 1024 } as const;
const longest = { path: 4096, id: 200, method: 20, headers: 60, name: 100, value: 2000 } as const;

type Found = { id: string; seq: string; rp: string; answer: InboxAnswer; sealedKey: Uint8Array; minute: Date; nextMinute: Date; seconds: number; wait: number };

export async function receiveCall(db: Db, seal: Seal, key: string, arrival: Arrival): Promise<Received> {
  const [found] = await db<Found[]>`
    select id, nextval(pg_get_serial_sequence('inbox_call', 'seq'))::text as seq, rp, answer, sealed_key as "sealedKey", date_trunc('minute', now()) as minute,
      date_trunc('minute', now()) + interval '1 minute' as "nextMinute", extract(epoch from now())::float8 as seconds,
      ceil(extract(epoch from date_trunc('minute', now()) + interval '1 minute' - now()))::int as wait from inbox where key = ${key}`;
  if (!found) return { kind: 'unknown' };
  if (!(await countCall(db, found))) return { kind: 'too many', wait: Math.max(1, found.wait) };
  const verdict = judgeSignature({ ...arrival, seconds: found.seconds }, await listSigningSecrets(db, seal, found.rp));
  const { 'webhook-id': given } = arrival.headers;
  const id = given === undefined ? null : storable(cutText(given, longest.id));
  const own = createSeal([seal.open(found.sealedKey, sealedAs.inboxKey(found.rp, found.id))]);
  const kept = Buffer.from(arrival.body.subarray(0, inboxLimits.keptBytes));
  const head = own.seal(JSON.stringify(describe(arrival)), sealedAs.inboxCall('head', found.id, found.seq));
  const body = own.seal(kept.toString('base64'), sealedAs.inboxCall('body', found.id, found.seq));
  // The inbox is held first: one that was removed meanwhile is unknown, and who removes or empties it is neither waited for with a
  // call in hand nor kept waiting so.
  const add = db`
    with held as (select id from inbox where id = ${found.id} for no key update)
    insert into inbox_call (inbox, seq, method, webhook_id, verdict, answer, address, bytes, head, body) overriding system value
    select id, ${found.seq}::bigint, ${cutText(arrival.method, longest.method)}::text, ${id}::text, ${verdict}::text, ${found.answer}::text,
      ${arrival.address}::text,
      ${arrival.body.length}::int, ${head}::bytea, ${body}::bytea from held returning inbox`;
  const forgetOldest = db`
    delete from inbox_call where inbox = ${found.id}
      and seq <= (select seq from inbox_call where inbox = ${found.id} order by seq desc offset ${inboxLimits.keptCalls} limit 1)`;
  const [[added]] = await db.together(add, forgetOldest);
  return added ? { kind: 'taken', answer: found.answer } : { kind: 'unknown' };
}

/** Whether it is one of those that are taken in its minute, or in the next one, if that has begun meanwhile. A clock may have been put back. */
async function countCall(db: Db, { id, minute, nextMinute }: Found): Promise<boolean> {
  const begun = db`(minute between ${minute} and ${nextMinute})`;
  const { count } = await db`
    update inbox set minute = case when ${begun} then minute else ${minute} end, minute_calls = case when ${begun} then minute_calls + 1 else 1 end
    where id = ${id} and not (${begun} and minute_calls >= ${inboxLimits.callsPerMinute})`;
  return count > 0;
}

/** Those that ended too, as long as they are kept: whoever still signs with one wants to know. */
async function listSigningSecrets(db: Db, seal: Seal, rp: string): Promise<{ text: string; valid: boolean }[]> {
  const rows = await db<{ id: string; sealed: Uint8Array; valid: boolean }[]>`
    select id, sealed, valid_until is null or valid_until > now() as valid from application_secret
    where rp = ${rp} and kind = 'signing' and sealed is not null order by created_at desc limit 20`;
  return rows.flatMap(({ id, sealed, valid }) => {
    try {
      return [{ text: seal.open(sealed, sealedAs.signingSecret(rp, id)), valid }];
    } catch (error) {
      // One that has ended is not sealed anew when the key changes.
      if (valid) throw error;
      return [];
    }
  });
}

function describe({ path, headers }: Arrival): Head {
  const kept = Object.entries(headers).flatMap(([name, value]) => {
    const shown = value === undefined ? undefined : keepHeader(name, value);
    return shown === undefined ? [] : [[cutText(name, longest.name), cutText(shown, longest.value)] as const];
  });
  return { path: cutText(path, longest.path), headers: kept.slice(0, longest.headers) };
}

/** A browser at the console sends the cookie of its session here as well. Of a credential, what kind it was. */
function keepHeader(name: string, value: string): string | undefined {
  if (name === 'cookie') return undefined;
  return /^(?:proxy-)?authorization$/.test(name) ? `${/^[A-Za-z]{1,20}(?= )/.exec(value)?.[0] ?? ''} …`.trim() : value;
}

/** PostgreSQL has no NUL in a text. */
const storable = (text: string) => text.replaceAll('\0', '?');
