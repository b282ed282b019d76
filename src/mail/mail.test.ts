// Mail as durable work, against a real SMTP server: what is sent, what a refusal or an absence means, what is left of a
// mail afterwards, and what the operator sees.
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { after, beforeEach, test } from 'node:test';
import { until } from '../../test/until.ts';
import { useCommands } from '../../test/commands.ts';
import { receiveMail } from '../../test/mail-receiver.ts';
import { mailCommandRunner } from '../../test/onboarding.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import type { Db } from '../db/connect.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { retryDelays } from '../outbox/schedule.ts';
import { createMailing, enqueueMail } from './mail.ts';

const receiver = await receiveMail();
const service = await useService({ SMTP_URL: receiver.url, MAIL_FROM: 'Schoolbell <schoolbell@trust.example>' });
const { db } = service;
await service.work();
await service.addSchool('s1');
const mails = mailCommandRunner(service);

beforeEach(async () => {
  receiver.refuse = undefined;
  receiver.mails = [];
  await db`delete from outbox`;
});

const letter = { estab: 's1', rp: null, to: 'office@s1.example', subject: 'Grüße & “quotes”', text: 'Plain: ünï\n.\nafter a dot\n', html: '<p>Rich: ünï</p>' };
const post = (on: Db = db, more: object = {}) => on.begin((tx) => enqueueMail(tx, { ...letter, ...more })) as Promise<string>;
const row = async (id: string) =>
  (
    await db<{ state: string; attempts: number; body: Buffer | null; dueIn: number; errorClass: string | null; message: string | null }[]>`
  select o.state, o.attempts, o.body, extract(epoch from o.due_at - a.at)::float8 as "dueIn", a.error_class as "errorClass", a.detail ->> 'message' as message
  from outbox o left join lateral (select * from outbox_attempt a where a.estab = o.estab and a.id = o.id order by number desc limit 1) a on true
  where o.id = ${id}`
  )[0];
const becomes = (id: string, state: string, attempts = 1) =>
  until(
    `${state} after ${attempts}`,
    async () => {
      const now = await row(id);
      return now?.state === state && now.attempts === attempts;
    },
    () => row(id),
  );
async function again(): Promise<void> {
  await db`update outbox set due_at = now() where state = 'waiting'`;
  await db`update lane set next_at = now() where key = 'mail'`;
  await db`select pg_notify('schoolbell_outbox', '')`;
}

test('text and HTML go out from MAIL_FROM to one address, under an id of their own, and the text is erased', async () => {
  const id = await post();
  await becomes(id, 'done');
  const [got] = receiver.mails;
  assert.deepEqual([receiver.mails.length, got?.from, got?.to, got?.subject], [1, 'schoolbell@trust.example', ['office@s1.example'], letter.subject]);
  assert.deepEqual([got?.text.replaceAll('\r\n', '\n').trimEnd(), got?.html.trim()], [letter.text.trimEnd(), letter.html]);
  assert.match(got?.raw ?? '', /^From: Schoolbell <schoolbell@trust\.example>\r$/m);
  assert.match(got?.raw ?? '', /^Content-Type: multipart\/alternative/m);
  assert.ok(got?.raw.includes(`Message-ID: <${id}@schoolbell>`));
  assert.equal((await row(id))?.body, null);
  const [shown] = await mails();
  assert.deepEqual([shown?.state, shown?.to, shown?.subject, shown?.text, shown?.html, shown?.error], ['sent', letter.to, letter.subject, null, null, null]);
});

test('a refusal for now is tried again on the schedule, under the same Message-ID', async () => {
  receiver.refuse = { code: 451, message: 'greylisted, come back' };
  const id = await post();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await becomes(id, 'waiting', attempt);
    const [shown] = await mails();
    assert.deepEqual([shown?.state, /greylisted/.test(shown?.error ?? ''), shown?.attempts], ['failing', true, attempt]);
    const now = await row(id);
    const delay = retryDelays[attempt - 1] ?? 0;
    assert.equal(now?.errorClass, 'smtp_deferred');
    assert.ok(now.dueIn >= delay * 0.8 - 0.01 && now.dueIn <= delay * 1.2 + 0.01, `attempt ${attempt}: ${now.dueIn}`);
    if (attempt === 3) receiver.refuse = undefined;
    await again();
  }
  await becomes(id, 'done', 4);
  assert.equal(receiver.mails.length, 1);
  assert.ok(receiver.mails[0]?.raw.includes(`<${id}@schoolbell>`));
});

test('a refusal for good has failed at once, is not repeated, and is shown with its words and its text', async () => {
  receiver.refuse = { code: 550, message: 'no such mailbox' };
  const id = await post();
  await becomes(id, 'failed');
  const now = await row(id);
  assert.equal(now?.errorClass, 'smtp_refused');
  const [shown] = await mails();
  assert.deepEqual([shown?.state, shown?.attempts, shown?.text], ['failed', 1, letter.text]);
  assert.match(shown?.error ?? '', /no such mailbox/);
});

test('one address that is refused for good does not hold up the others', async () => {
  receiver.refuse = { code: 550, message: 'no' };
  const refused = await Promise.all(Array.from({ length: 7 }, () => post()));
  for (const id of refused) await becomes(id, 'failed');
  receiver.refuse = undefined;
  await becomes(await post(db, { to: 'other@s1.example' }), 'done');
});

test('after the last attempt of the schedule it has failed', async () => {
  receiver.refuse = { code: 451, message: 'later' };
  const id = await post();
  await becomes(id, 'waiting');
  await db`update outbox set attempts = ${retryDelays.length} where id = ${id}`;
  await again();
  await becomes(id, 'failed', retryDelays.length + 1);
});

test('a name with line breaks in subject or address begins no header', async () => {
  const id = await post(db, { subject: 'One\r\nBcc: spy@elsewhere.example' });
  await becomes(id, 'done');
  assert.doesNotMatch(receiver.mails[0]?.raw ?? '', /^Bcc:/m);
  assert.deepEqual(receiver.mails[0]?.to, ['office@s1.example']);
});

// ---- The handler by itself ----------------------------------------------------------------------------------------

const from = 'schoolbell@trust.example';
const work = (more: Partial<ClaimedWork> = {}): ClaimedWork => ({
  estab: 's1', id: 'msg_test', rp: null, kind: 'mail', lane: 'mail', epoch: 0, payload: { to: letter.to, subject: letter.subject },
  body: Buffer.from(JSON.stringify({ text: letter.text, html: letter.html })), attempts: 0, forgiven: 0, claim: '', claimedAt: 0, ...more,
});

test('a server that is away, or hangs without a word, is tried again, and soon', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  for (const smtpUrl of ['smtp://127.0.0.1:1', `smtp://127.0.0.1:${port}`]) {
    const mailing = createMailing(db, { smtpUrl, from });
    const begun = performance.now();
    const outcome = await mailing.run(work());
    mailing.close();
    assert.deepEqual([outcome.state, outcome.errorClass, outcome.charged], ['waiting', 'smtp_unreachable', false], smtpUrl);
    assert.ok(performance.now() - begun < mailing.longestSeconds * 1000, 'within what the worker was promised');
  }
});

test('a server that turns everybody away at the door, or does not take our sender, is ours to mend: it is tried again', async () => {
  const answers: [door: string, mailFrom: string][] = [['554 no service here', ''], ['220 hello', '550 sender not allowed']];
  for (const [door, mailFrom] of answers) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write(`${door}\r\n`);
      socket.on('data', (data) => void socket.write(/^mail from/i.test(String(data)) ? `${mailFrom}\r\n` : '250 fine\r\n'));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const mailing = createMailing(db, { smtpUrl: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?ignoreTLS=true`, from });
    const outcome = await mailing.run(work());
    mailing.close();
    server.close();
    assert.equal(outcome.state, 'waiting', `${door} ${mailFrom}: ${JSON.stringify(outcome)}`);
  }
});

test('a worker that died after sending has nothing left to send', async () => {
  const mailing = createMailing(db, { smtpUrl: receiver.url, from });
  const outcome = await mailing.run(work({ body: null }));
  mailing.close();
  assert.deepEqual([outcome.success, outcome.state, receiver.mails.length], [true, 'done', 0]);
});

test('a worker that may have lost the work sends nothing', async () => {
  const mailing = createMailing(db, { smtpUrl: receiver.url, from });
  const outcome = await mailing.run(work(), () => false);
  mailing.close();
  assert.deepEqual([outcome.state, outcome.errorClass, receiver.mails.length], ['waiting', 'unexpected', 0]);
});

// ---- Without a server ---------------------------------------------------------------------------------------------

test('without SMTP_URL a mail is kept, and mails shows it in full', async () => {
  const quiet = await useService();
  await quiet.work();
  await quiet.addSchool('s1');
  const id = await post(quiet.db);
  await until('kept', async () => (await quiet.db`select from outbox where id = ${id} and state = 'done'`).length === 1);
  const [shown] = await mailCommandRunner(quiet)();
  assert.deepEqual(
    [shown?.id, shown?.state, shown?.to, shown?.subject, shown?.text, shown?.html],
    [id, 'kept', letter.to, letter.subject, letter.text, letter.html],
  );
  const { schoolbell } = useCommands({ DATABASE_URL: quiet.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: quiet.dataDir });
  const { out } = await schoolbell('mails');
  assert.match(out, /^WRITTEN +STATE +TO +SUBJECT +WHY\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ +kept +office@s1\.example .* not sent: there is no SMTP_URL\n/);
  assert.match(out, /\n {4}Plain: ünï\n {4}\.\n/);
  assert.doesNotMatch(out, /done|\t/);
  assert.equal(receiver.mails.length, 0);
});
