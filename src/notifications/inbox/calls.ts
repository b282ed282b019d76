// In charge of what came into an inbox: read again, newest first, and forgotten when it is old.
import { createSeal, type Seal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import type { Db } from '../../db/connect.ts';
import { deleteInBatches } from '../../db/delete-in-batches.ts';
import { SchoolbellError } from '../../errors.ts';
import type { Inbox, InboxAnswer } from './inboxes.ts';
import type { Verdict } from './judge-signature.ts';
import type { Head } from './receive.ts';

/** address: of who called; null where it was handed over in the process. bytes: of the body. repeats: how many before it had the same webhook-id. */
export type InboxCall = Head &
  Readonly<{
    seq: string;
    received: Date;
    method: string;
    webhookId: string | null;
    verdict: Verdict;
    answer: InboxAnswer;
    address: string | null;
    bytes: number;
    repeats: number;
  }>;

type Row = Omit<InboxCall, keyof Head> & { inbox: string; rp: string; sealedKey: Uint8Array; head: Uint8Array };

const columns = (db: Db) => db`
  c.seq::text as seq, c.received_at as received, c.method, c.webhook_id as "webhookId", c.verdict, c.answer, c.address, c.bytes, c.head,
  c.inbox, i.rp, i.sealed_key as "sealedKey",
  (select count(*)::int from inbox_call e where e.inbox = c.inbox and e.webhook_id = c.webhook_id and e.seq < c.seq) as repeats`;

/** Without their bodies. */
export async function listCalls(db: Db, seal: Seal, { id }: Pick<Inbox, 'id'>, most: number): Promise<InboxCall[]> {
  const rows = await db<Row[]>`
    select ${columns(db)} from inbox_call c join inbox i on i.id = c.inbox where c.inbox = ${id} order by c.seq desc limit ${most}`;
  const [first] = rows;
  if (!first) return [];
  const own = openInboxKey(seal, first);
  return rows.map((row) => describe(own, row));
}

/** With as much of its body as is kept. */
export async function requireCall(db: Db, seal: Seal, { id }: Pick<Inbox, 'id'>, seq: string): Promise<InboxCall & { body: Buffer }> {
  const [row] = /^\d{1,18}$/.test(seq)
    ? await db<(Row & { body: Uint8Array })[]>`
        select ${columns(db)}, c.body from inbox_call c join inbox i on i.id = c.inbox where c.inbox = ${id} and c.seq = ${seq}`
    : [];
  if (!row) throw new SchoolbellError('not_found', 'There is no such call: only the newest are kept, and none longer than a few days.');
  const own = openInboxKey(seal, row);
  return { ...describe(own, row), body: Buffer.from(own.open(row.body, sealedAs.inboxCall('body', row.inbox, row.seq)), 'base64') };
}

const openInboxKey = (seal: Seal, { rp, inbox, sealedKey }: Row) => createSeal([seal.open(sealedKey, sealedAs.inboxKey(rp, inbox))]);

function describe(own: Seal, row: Row): InboxCall {
  const { inbox, seq, received, method, webhookId, verdict, answer, address, bytes, repeats } = row;
  const head = JSON.parse(own.open(row.head, sealedAs.inboxCall('head', inbox, seq))) as Head;
  return { seq, received, method, webhookId, verdict, answer, address, bytes, repeats, ...head };
}

export async function forgetInboxCalls(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'inbox_call', db`received_at < now() - make_interval(days => ${days})`);
}
