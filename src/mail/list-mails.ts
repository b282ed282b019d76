// In charge of finding mails for those who look after the service: what became of each, and what it says as long as that is kept.
import type { Sql } from '../db/connect.ts';
import { findWork, listWork, workStates, type Work, type WorkKey, type WorkState } from '../outbox/list-work.ts';
import { mailKind } from './mail.ts';

/** kept: there is no SMTP_URL, so that nobody was sent anything. failing: it is tried again. */
export type MailState = 'waiting' | 'sending' | 'sent' | 'kept' | 'failing' | 'failed' | 'cancelled';

export type ListedMail = Readonly<{
  id: string;
  estab: string;
  rp: string | null;
  to: string;
  subject: string;
  state: MailState;
  created: Date;
  attempts: number;
  sent: Date | null;
  /** When it is tried again. */
  next: Date | null;
  error: string | null;
  work: Work;
}>;

export type MailText = Readonly<{ text: string; html: string }>;

export type MailQuestion = Readonly<{ states?: readonly WorkState[] | undefined; estab?: string | undefined; before?: WorkKey | undefined; most: number }>;

export async function listMails(db: Sql, { states = workStates, ...question }: MailQuestion): Promise<ListedMail[]> {
  return (await listWork(db, { ...question, kinds: [mailKind], states })).map(describeMail);
}

export async function findMail(db: Sql, id: string): Promise<(ListedMail & { body: MailText | undefined }) | undefined> {
  const work = await findWork(db, id);
  if (work?.kind !== mailKind) return undefined;
  return { ...describeMail(work), body: (await readTexts(db, [work])).get(id) };
}

/** Of those that are kept. */
export async function readTexts(db: Sql, works: readonly Pick<Work, 'estab' | 'id'>[]): Promise<ReadonlyMap<string, MailText>> {
  const rows = await db<{ id: string; body: Buffer }[]>`
    select o.id, o.body from outbox o join unnest(${works.map(({ estab }) => estab)}::text[], ${works.map(({ id }) => id)}::text[]) as asked (estab, id)
      on o.estab = asked.estab and o.id = asked.id
    where o.kind = ${mailKind} and o.body is not null`;
  return new Map(rows.map(({ id, body }) => [id, JSON.parse(body.toString('utf8')) as MailText]));
}

function describeMail(work: Work): ListedMail {
  const { id, estab, rp, payload, created, attempts, settled, due, error } = work;
  const state = stateOf(work);
  return {
    id,
    estab,
    rp,
    to: String(payload.to ?? ''),
    subject: String(payload.subject ?? ''),
    state,
    created,
    attempts,
    sent: state === 'sent' ? settled : null,
    next: state === 'failing' ? due : null,
    error: state === 'failing' || state === 'failed' ? error : null,
    work,
  };
}

/** The text is erased when a mail was sent; one that is done and has it was kept. */
function stateOf({ state, hasBody, error }: Work): MailState {
  if (state === 'done') return hasBody ? 'kept' : 'sent';
  if (state === 'waiting') return error === null ? 'waiting' : 'failing';
  if (state === 'running') return 'sending';
  return state === 'failed' ? 'failed' : 'cancelled';
}
