// In charge of mail as durable work: written in the transaction of its cause, sent by a worker over SMTP, or kept to
// be read where there is none.
import type { Transporter } from 'nodemailer';
import type { Db, Sql } from '../db/connect.ts';
import { enqueue } from '../outbox/enqueue.ts';
import { notHeld } from '../outbox/leases.ts';
import { findRetryDelay } from '../outbox/schedule.ts';
import type { Outcome } from '../outbox/settle.ts';
import type { Handler } from '../outbox/worker.ts';

export type Mail = { estab: string; rp: string | null; to: string; subject: string; text: string; html: string };
export type MailSettings = { smtpUrl: string; from: string };

export const mailKind = 'mail';
/** The `estab` of mails to the people of the console, which belong to no school. */
export const noSchool = '';
export const mailLane = 'mail';
const mailsAtOnce = 4;
const longestSeconds = 20;
/** A server that hangs must not hold a mail for longer than that. */
const patience = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 } as const;

export async function enqueueMail(sql: Sql, { estab, rp, to, subject, text, html }: Mail): Promise<string> {
  return enqueue(sql, {
    estab,
    rp,
    kind: mailKind,
    lane: { key: mailLane, host: null, width: mailsAtOnce, lasting: false },
    payload: { to, subject },
    body: Buffer.from(JSON.stringify({ text, html })),
  });
}

/** Without settings a mail is done when it is kept. What was sent is not: its links are for the receiver alone. */
export function createMailing(db: Db, settings: MailSettings | undefined): Handler & { close(): void } {
  let opened: Promise<Transporter> | undefined;
  return {
    longestSeconds,
    isUncuttable: true,
    async run(work, isHeld = () => true) {
      if (!settings) return { success: true, state: 'done', detail: { kept: true } };
      // A worker that died after sending has taken the text out already.
      if (!work.body) return { success: true, state: 'done', detail: { message: 'was sent before' } };
      const { to, subject } = work.payload as { to: string; subject: string };
      const { text, html } = JSON.parse(work.body.toString('utf8')) as { text: string; html: string };
      try {
        opened ??= openTransport(settings);
        const transport = await opened;
        if (!isHeld()) return notHeld;
        const sent = await send(transport, { to: { name: '', address: to }, subject, text, html, messageId: `<${work.id}@schoolbell>` });
        await db`update outbox set body = null where estab = ${work.estab} and id = ${work.id}`;
        return { success: true, state: 'done', detail: { response: sent.response } };
      } catch (error) {
        return judge(error as SmtpFault, work.attempts);
      }
    },
    close: () => void opened?.then((transport) => transport.close(), () => {}),
  };
}

/** The library is loaded with the first mail that is sent. */
async function openTransport({ smtpUrl, from }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  return createTransport({ url: smtpUrl, ...patience }, { from });
}

/** What is wrong with the mail server, in its own words; undefined when it lets us in. Nothing is sent. */
export async function findMailTrouble(settings: MailSettings): Promise<string | undefined> {
  const transport = await openTransport(settings);
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    transport.close();
  }
}

type Envelope = { to: { name: string; address: string }; subject: string; text: string; html: string; messageId: string };
type SmtpFault = Error & { command?: string; responseCode?: number; response?: string };

const finalCommands: readonly (string | undefined)[] = ['RCPT TO', 'DATA'];

/** The same Message-ID however often it is tried, so that a repeat can be recognised. */
async function send(transport: Transporter, envelope: Envelope): Promise<{ response: string }> {
  return transport.sendMail(envelope) as Promise<{ response: string }>;
}

/** A 5xx to the recipient or the content is final; everything else, a login or a sender that is refused too, may pass. */
function judge(error: SmtpFault, attempts: number): Outcome {
  const errorClass =
    error.responseCode === undefined
      ? 'smtp_unreachable'
      : error.responseCode >= 500 && finalCommands.includes(error.command)
        ? 'smtp_refused'
        : 'smtp_deferred';
  const detail = { message: error.message, response: error.response ?? null };
  const delaySeconds = errorClass === 'smtp_refused' ? undefined : findRetryDelay(attempts + 1, undefined);
  return delaySeconds === undefined
    ? { success: false, state: 'failed', charged: false, errorClass, detail }
    : { success: false, state: 'waiting', charged: false, delaySeconds, errorClass, detail };
}
