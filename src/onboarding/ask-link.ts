// In charge of the link that a school asks for. Whoever asks is not told whether the school is known, neither by the
// answer nor by how long it takes: the request only puts the question into the outbox, and a worker looks who it is about.
import { findEstab } from '../access/find-school.ts';
import { noteTry, requireTriesLeft, takeTurn, type TryLimit } from '../access/wrong-tries.ts';
import { isRecent } from '../db/clock.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { enqueueMail } from '../mail/mail.ts';
import { holdsClaim } from '../outbox/claim.ts';
import { enqueue, type Lane } from '../outbox/enqueue.ts';
import type { Handler } from '../outbox/worker.ts';
import { linkPath, lockLinks, makeSignInLink } from './links.ts';
import { renderSignIn } from './mails.ts';

export const linkKind = 'sign-in-link';
const lane: Lane = { key: 'sign-in-link', host: null, width: 4, lasting: false };
const longestSeconds = 10;
const mostLinksAnHour = 5;
/** So that a stranger does not fill the outbox. Every question counts. */
const questions: TryLimit = { kind: 'link', what: 'links asked for', minutes: 10, most: { address: 20 } };

/** The same statements whatever is asked for, a name or a number; what can be neither is nobody's. */
export async function askForLink(db: Db, address: string, asked: string): Promise<void> {
  const unknown = /^[A-Za-z0-9._-]{1,32}$/.test(asked) ? asked : '';
  const tried = { client: '', address };
  await db.begin(async (tx) => {
    await takeTurn(tx, questions, tried);
    await requireTriesLeft(tx, questions, tried);
    await noteTry(tx, questions, tried);
    const estab = (await findEstab(tx, asked)) ?? unknown;
    await enqueue(tx, { estab, rp: null, kind: linkKind, lane, payload: {}, body: null });
  });
}

/** A worker that dies behind the commit sends a second link, which opens the same pages. */
export function createLinkSending(db: Db, publicUrl: string): Handler {
  return {
    longestSeconds,
    async run(work) {
      const message = (await db.begin(async (tx) => {
        return (await holdsClaim(tx, work)) ? (await sendLink(tx, publicUrl, work.estab)).message : 'another worker does it';
      })) as string;
      return { success: true, state: 'done', detail: { message } };
    },
  };
}

/** For an operator whom the school has asked; gives where it went. */
export async function mailLink(db: Db, publicUrl: string, estab: string): Promise<string> {
  const { to, message } = await db.begin((tx) => sendLink(tx, publicUrl, estab));
  if (to === undefined) throw new SchoolbellError('conflict', `no link was made: ${message}`);
  return to;
}

/** To the address of record and to nowhere else; message: what became of it. */
async function sendLink(tx: Tx, publicUrl: string, estab: string): Promise<{ to?: string; message: string }> {
  await lockLinks(tx, estab);
  const [school] = await tx<{ name: string; email: string }[]>`select name, email from establishment where estab = ${estab} and confirmed_at is not null`;
  if (!school) return { message: 'there is no such school, or nobody has confirmed it' };
  const [recent] = await tx<{ count: number }[]>`
    select count(*)::int as count from school_link where estab = ${estab} and invitation is null and ${isRecent(tx, tx`created_at`, 3600)}`;
  if ((recent?.count ?? 0) >= mostLinksAnHour) return { message: `${mostLinksAnHour} links were made within the hour` };
  const link = `${publicUrl}${linkPath(await makeSignInLink(tx, estab))}`;
  await enqueueMail(tx, { estab, rp: null, to: school.email, ...renderSignIn({ school: school.name, link }) });
  return { to: school.email, message: 'a link was made' };
}
