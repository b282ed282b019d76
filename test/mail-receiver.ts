// In charge of a real SMTP receiver for tests: it keeps what arrives, and refuses when it is told to.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { SMTPServer } from 'smtp-server';

export type ReceivedMail = { from: string; to: string[]; raw: string; subject: string; text: string; html: string };
export type MailReceiver = { url: string; mails: ReceivedMail[]; refuse: { code: number; message: string } | undefined };

export async function receiveMail(): Promise<MailReceiver> {
  const receiver: MailReceiver = { url: '', mails: [], refuse: undefined };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo(_address, _session, done) {
      const { refuse } = receiver;
      done(refuse ? Object.assign(new Error(refuse.message), { responseCode: refuse.code }) : undefined);
    },
    onData(stream, session, done) {
      const pieces: Buffer[] = [];
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('end', () => {
        const raw = Buffer.concat(pieces).toString('utf8');
        const from = session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address;
        receiver.mails.push({ from, to: session.envelope.rcptTo.map((one) => one.address), raw, ...parse(raw) });
        done();
      });
    },
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  receiver.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return receiver;
}

/** Enough of MIME for what we send: a multipart of text and HTML, quoted-printable or plain. */
function parse(raw: string): { subject: string; text: string; html: string } {
  const [, subject = ''] = /^Subject: (.*(?:\r\n[ \t].*)*)/im.exec(raw) ?? [];
  const part = (type: string) => {
    const [, head = '', body = ''] = new RegExp(`content-type: ${type}([\\s\\S]*?)\\r\\n\\r\\n([\\s\\S]*?)\\r\\n--`, 'i').exec(raw) ?? [];
    if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8');
    return /quoted-printable/i.test(head) ? decodeQuoted(body) : body;
  };
  return { subject: decodeWords(subject.replace(/\r\n[ \t]/g, ' ')), text: part('text/plain'), html: part('text/html') };
}

function decodeQuoted(text: string): string {
  return Buffer.from(
    text.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');
}

function decodeWords(text: string): string {
  return text.replace(/=\?utf-8\?([qb])\?([^?]*)\?=\s*/gi, (_, kind: string, word: string) =>
    kind.toLowerCase() === 'b' ? Buffer.from(word, 'base64').toString('utf8') : decodeQuoted(word.replaceAll('_', ' ')),
  );
}
