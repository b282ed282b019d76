// In charge of the way back for who has forgotten a password: a link to the work address of the person. Whoever asks is
// not told whether there is such a login, neither by the answer nor by how long it takes: the request only puts the
// question into the outbox, and a worker looks who it is about.
import { findEstab } from '../access/find-school.ts';
import { noteTry, requireTriesLeft, takeTurn, type TryLimit } from '../access/wrong-tries.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { cutText } from '../http/cut-text.ts';
import { holdsClaim } from '../outbox/claim.ts';
import { enqueue, type Lane } from '../outbox/enqueue.ts';
import type { Handler } from '../outbox/worker.ts';
import { audit } from './audit.ts';
import { sendPasswordLink } from './logins.ts';
import { requireMailsLeft } from './mail-limits.ts';
import { findByEmail, findByUserName } from './presences.ts';

export const forgottenKind = 'password-link';
const lane: Lane = { key: forgottenKind, host: null, width: 4, lasting: false };
const longestSeconds = 10;
const longestTyped = 300;
/** So that a stranger does not fill the outbox. Every question counts. */
const questions: TryLimit = { kind: 'link', what: 'links asked for', minutes: 10, most: { address: 20 } };

/** The same statements whatever is asked for. */
export async function askForPassword(db: Db, address: string, asked: { school: string; person: string }): Promise<void> {
  const tried = { client: '', address };
  await db.begin(async (tx) => {
    await takeTurn(tx, questions, tried);
    await requireTriesLeft(tx, questions, tried);
    await noteTry(tx, questions, tried);
    const estab = (await findEstab(tx, asked.school)) ?? '';
    await enqueue(tx, { estab, rp: null, kind: forgottenKind, lane, payload: { person: cutText(asked.person, longestTyped) }, body: null });
  });
}

/** A worker that dies behind the commit sends a second link, after which the first no longer opens. */
export function createPasswordLinkSending(db: Db, publicUrl: string): Handler {
  return {
    longestSeconds,
    async run(work) {
      const message = (await db.begin(async (tx) => {
        if (!(await holdsClaim(tx, work))) return 'another worker does it';
        // Whoever was asked about is not kept beside the answer.
        await tx`update outbox set payload = '{}' where estab = ${work.estab} and id = ${work.id}`;
        return sendLink(tx, publicUrl, work.estab, String(work.payload.person ?? ''));
      })) as string;
      return { success: true, state: 'done', detail: { message } };
    },
  };
}

/** To the address that the school has for the person, and to nowhere else. */
async function sendLink(tx: Tx, publicUrl: string, estab: string, person: string): Promise<string> {
  const presence = (await findByUserName(tx, estab, person)) ?? (await findByEmail(tx, estab, person));
  if (!presence || presence.userName === '') return 'there is no such login';
  if (presence.workEmail === '') return 'the school has no address for the person';
  try {
    await requireMailsLeft(tx, estab, { mails: 1, presenceId: presence.id, why: 'forgotten' });
  } catch (error) {
    if (error instanceof SchoolbellError && error.code === 'too_many_requests') return error.message;
    throw error;
  }
  await sendPasswordLink(tx, publicUrl, estab, presence);
  await audit(tx, { estab, rp: null, operation: 'ForgottenPassword', presenceId: presence.id, outcome: 'done' });
  return 'a link was made';
}
