// Mails to an application's contact: a target that has failed for a day, one that was disabled; once for each time, with
// what one needs to look and to resume, and none where there is nobody to write to.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { enqueueOneOff } from '../notifications/one-off.ts';
import { tellFailingTargets } from './failing-targets.ts';

const delivering = await useDelivering();
const { db, change, register, settled, retried, hurry } = delivering;
const receiver = await useReceiver();
const publicUrl = 'https://bell.example';
const tellAll = () => tellFailingTargets(db, publicUrl);
let school: School;
let webhook = '';

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool('School');
  webhook = await register(school, `${receiver.origin}/hook?key=private`);
  await setContact('developers@vendor.example');
  receiver.arrivals = [];
  receiver.answer = () => 500;
});

const setContact = (contact: string | null) => db`update application set contact = ${contact} where rp = ${school.rp}`;

type Sent = { estab: string; rp: string; to: string; subject: string; text: string };
async function mails(): Promise<Sent[]> {
  const rows = await db<(Sent & { body: Buffer | null })[]>`
    select estab, rp, payload ->> 'to' as to, payload ->> 'subject' as subject, body from outbox where kind = 'mail' and rp = ${school.rp}
      and payload ->> 'to' = 'developers@vendor.example' order by seq`;
  return rows.map(({ body, ...row }) => ({ ...row, text: (JSON.parse(body?.toString('utf8') ?? '{}') as { text: string }).text }));
}

/** An event that fails so often. */
async function fail(times = 2): Promise<string> {
  await change(school.estab);
  for (let time = 0; time < times; time += 1) {
    await settled(school.estab);
    await hurry(school.estab);
  }
  return (await delivering.rows(school.estab)).at(-1)?.id ?? '';
}

/** Breakers are closed by then. */
const passed = (hours: number) => db`update lane set open_until = null, failing_since = failing_since - make_interval(hours => ${hours}),
  disabled_at = disabled_at - make_interval(hours => ${hours}), failing_told_at = failing_told_at - make_interval(hours => ${hours}),
  disabled_told_at = disabled_told_at - make_interval(hours => ${hours})`;

test('a target that has failed for a day is told of once, with where, since when, the last error and what to do', async () => {
  const id = await fail();
  await passed(23);
  assert.equal(await tellAll(), 0, 'not yet a day');
  await passed(2);
  assert.deepEqual([await tellAll(), await tellAll()], [1, 0]);
  const [mail, ...more] = await mails();
  assert.equal(more.length, 0);
  assert.deepEqual([mail?.estab, mail?.rp], [school.estab, school.rp]);
  const where = `127.0.0.1:${receiver.port}/hook`;
  assert.equal(mail?.subject, `Calls to ${where} have failed for a day`);
  for (const words of [
    `calls to ${where}, the registration ${webhook} at the school ${school.estab} of the application “Application ${school.rp}”`,
    'failed since',
    'the receiver answered 500.',
    `GET ${publicUrl}/api/v1/Deliveries with a school or management token`,
    `GET ${publicUrl}/api/v1/Deliveries/${id}`,
    'After five days of nothing but failures it is disabled',
  ])
    assert.ok(mail.text.includes(words), `${words}\n\n${mail.text}`);
  assert.doesNotMatch(mail.text + mail.subject, /private|key=/, 'the query is left out');
});

test('it is told of again only when it began to fail anew', async () => {
  await fail();
  await passed(25);
  assert.equal(await tellAll(), 1);
  await passed(30);
  await fail();
  await passed(0);
  assert.equal(await tellAll(), 0, 'it fails still');
  receiver.answer = () => 200;
  await fail(1);
  receiver.answer = () => 500;
  await fail();
  assert.equal(await tellAll(), 0, 'it answered in between, and has failed for a moment');
  await passed(25);
  assert.equal(await tellAll(), 1);
  assert.equal((await mails()).length, 2);
});

test('a target that is disabled is told of at once and once, with the ways to resume', async () => {
  receiver.answer = () => 410;
  const id = await fail(1);
  assert.deepEqual([await tellAll(), await tellAll()], [1, 0]);
  const [mail] = await mails();
  assert.match(mail?.subject ?? '', /^Disabled: nothing more is sent to 127\.0\.0\.1:\d+\/hook$/);
  assert.match(mail?.text ?? '', /: the receiver answered 410 Gone\./);
  assert.ok(mail?.text.includes(`POST ${publicUrl}/api/v1/Webhook/${webhook}/Test`), mail?.text);
  assert.ok(mail?.text.includes(`POST ${publicUrl}/api/v1/Deliveries/${id}/Replay`));
  await passed(48);
  assert.equal(await tellAll(), 0, 'nor is it said that it failed for a day');
  assert.equal((await school.ask('POST', `Deliveries/${id}/Replay`)).status, 202);
  await settled(school.estab);
  assert.equal(await tellAll(), 1, 'it was tried again, and is gone again');
});

test('after days of nothing but failures both are said, each in its time', async () => {
  await fail(2);
  await passed(25);
  assert.equal(await tellAll(), 1);
  await passed(100);
  await db`update lane set failures = 9 where key = ${`webhook ${webhook}`}`;
  await fail(1);
  assert.deepEqual([await tellAll(), await tellAll()], [1, 0]);
  const [, disabled] = await mails();
  assert.match(disabled?.text ?? '', /five days of nothing but failures[^]*It had failed since/);
});

test('nobody is written to without a contact; one that is set later is told then', async () => {
  await setContact(null);
  await fail();
  await passed(25);
  assert.equal(await tellAll(), 0);
  await setContact('');
  assert.equal(await tellAll(), 0);
  await setContact('developers@vendor.example');
  assert.equal(await tellAll(), 1);
});

test('a single test that failed is not a target that fails', async () => {
  await school.api('POST', `/${webhook}/Test`);
  await settled(school.estab);
  await passed(25);
  assert.equal(await tellAll(), 0);
});

test('a removed registration is told of no more', async () => {
  await fail();
  await passed(25);
  await school.api('DELETE', `/${webhook}`);
  assert.equal(await tellAll(), 0);
});

test('of addresses that came with one request only the host is said, of a callback URL that it is one', async () => {
  const { estab, rp } = school;
  await db.begin((tx) => enqueueOneOff(tx, { estab, rp, event: 'writeback', url: `${receiver.origin}/pupil/zoe?id=7`, body: {} }));
  for (let time = 0; time < 3; time += 1) await retried(estab);
  await passed(25);
  assert.equal(await tellAll(), 1);
  const [oneOff] = await mails();
  assert.equal(oneOff?.subject, `Calls to 127.0.0.1:${receiver.port} have failed for a day`);
  assert.doesNotMatch(oneOff.text, /zoe|disabled/);
  await db`update application set callback_url = ${`${receiver.origin}/callback?x=1`} where rp = ${rp}`;
  receiver.answer = () => 410;
  await delivering.run('authorise', { rp, estab });
  const [form] = await db<{ id: string }[]>`select id from outbox where estab = ${estab} and payload ->> 'event' = 'authentication' order by seq desc limit 1`;
  await until('it is told', async () => (await tellAll()) > 0);
  const text = (await mails()).at(-1)?.text ?? '';
  assert.match(text, /127\.0\.0\.1:\d+\/callback, the callback URL/);
  assert.ok(text.includes(`/Deliveries/${form?.id}/Replay`), text);
});

test('two who look at once write one mail', async () => {
  await fail();
  await passed(25);
  const written = await Promise.all([tellAll(), tellAll(), tellAll()]);
  assert.deepEqual(written.toSorted(), [0, 0, 1]);
});

test('a target that is never called for what its URL looks like is told of too, and keeps nobody else from being told', async () => {
  await fail();
  await passed(25);
  const [other] = await db<{ key: string }[]>`update outbox set payload = payload || ${db.json({ url: 'http://name:word@receiver.example:81/in?x=1' })}
    where estab = ${school.estab} and kind = 'call' returning lane as key`;
  assert.ok(other);
  assert.equal(await tellAll(), 1);
  const [mail] = await mails();
  assert.equal(mail?.subject, 'Calls to receiver.example:81/in have failed for a day');
  assert.doesNotMatch(mail.text, /word@|x=1/);
});
