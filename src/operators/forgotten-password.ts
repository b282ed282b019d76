// In charge of the way back for operators who have forgotten their password: a link to their own address. Whoever asks is not
// told whether there is such an operator, neither by the answer nor by how long it takes: the request only puts the question
// into the outbox, and a worker looks who it is about.
import { noteLook } from '../access/audit-trail.ts';
import { noteTry, requireTriesLeft, takeTurn } from '../access/wrong-tries.ts';
import { isRecent } from '../db/clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { cutText } from '../http/cut-text.ts';
import { holdsClaim } from '../outbox/claim.ts';
import { enqueue, type Lane } from '../outbox/enqueue.ts';
import type { Handler } from '../outbox/worker.ts';
import { linkTries, sendForgotten, sendInvitation } from './links.ts';
import type { Role } from './sessions.ts';

export const operatorLinkKind = 'operator-link';
const lane: Lane = { key: operatorLinkKind, host: null, width: 4, lasting: false };
const longestSeconds = 10;
const longestTyped = 300;
const mostLinksAnHour = 5;

/** The same statements whatever is asked for. Every question counts, so that a stranger does not fill the outbox. */
export async function askForOperatorLink(db: Db, address: string, asked: string): Promise<void> {
  const tried = { client: '', address };
  await db.begin(async (tx) => {
    await takeTurn(tx, linkTries, tried);
    await requireTriesLeft(tx, linkTries, tried);
    await noteTry(tx, linkTries, tried);
    const payload = { person: cutText(asked, longestTyped), address };
    await enqueue(tx, { estab: '', rp: null, kind: operatorLinkKind, lane, payload, body: null });
  });
}

/** A worker that dies behind the commit sends a second link; the first that is used ends both. */
export function createOperatorLinkSending(db: Db, publicUrl: string): Handler {
  return {
    longestSeconds,
    async run(work) {
      const { person = '', address = '' } = work.payload as { person?: string; address?: string };
      const message = await db.begin(async (tx) => {
        if (!(await holdsClaim(tx, work))) return 'another worker does it';
        // Whoever was asked about is not kept beside the answer.
        await tx`update outbox set payload = '{}' where estab = ${work.estab} and id = ${work.id}`;
        return send(tx, publicUrl, person, address);
      });
      return { success: true, state: 'done', detail: { message } };
    },
  };
}

/** Who never chose a password is invited again; those who have no address, as `admin`, have a password that is kept elsewhere. */
async function send(tx: Tx, publicUrl: string, person: string, address: string): Promise<string> {
  const [account] = await tx<{ id: string; name: string; email: string; role: Role; by: string; invited: boolean }[]>`
    select id, name, email, role, created_by as by, password_hash is null as invited from console_account
    where sign_in_name = ${person.trim().toLowerCase()} and email is not null for no key update`;
  if (!account) return 'there is no such operator';
  const [recent] = await tx<{ count: number }[]>`
    select count(*)::int as count from console_link where account = ${account.id} and ${isRecent(tx, tx`created_at`, 3600)}`;
  if ((recent?.count ?? 0) >= mostLinksAnHour) return `${mostLinksAnHour} links were made within the hour`;
  if (account.invited) await sendInvitation(tx, publicUrl, account);
  else await sendForgotten(tx, publicUrl, account);
  await noteLook(tx, { name: person.trim().toLowerCase(), via: 'console', from: address }, { action: 'ask for a link' });
  return 'a link was made';
}
