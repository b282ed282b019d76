// What fails in the worker is a line of the log that somebody can be woken by: with the school, the application and the
// reason, and without names, addresses or queries. What will come right by itself is none.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, test } from 'node:test';
import { csvPackage, type PackageOptions } from '../test/csv-package.ts';
import { useReceiver } from '../test/delivery.ts';
import { keepLog, warning, type LogLine } from '../test/log-lines.ts';
import { receiveMail } from '../test/mail-receiver.ts';
import { user } from '../test/small-school.ts';
import { until } from '../test/until.ts';
import { mark, useWriteback } from '../test/writeback.ts';
import { requestCollection } from './collection/component-databases.ts';
import { setConnector } from './collection/connector-settings.ts';
import { enqueueMail } from './mail/mail.ts';

const log = keepLog();
const post = await receiveMail();
const env = { LOG_LEVEL: 'warn', SMTP_URL: post.url, MAIL_FROM: 'bell@trust.example' };
const { service, db, addSchool } = await useWriteback({ env, logTo: log });
const receiver = await useReceiver();
let seen = 0;
beforeEach(() => (seen = log.lines().length));

/** The lines of this test about a school, once there are any. */
async function warningsOf(estab: string, count = 1): Promise<LogLine[]> {
  const found = () => log.lines().slice(seen).filter((line) => line.estab === estab && line.level >= warning);
  await until(`${count} lines`, () => found().length >= count, () => log.lines().slice(seen));
  assert.equal(found().length, count, JSON.stringify(found()));
  return found();
}

/** A school that is read from a folder with these users. */
async function addFolder(estab: string, users: number, options: PackageOptions = {}): Promise<string> {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  await service.addSchool(estab);
  await fill(folder, users, options);
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder }));
  return folder;
}

async function fill(folder: string, users: number, options: PackageOptions = {}): Promise<void> {
  const files = {
    orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
    users: Array.from({ length: users }, (_, at) => user(`p${at}`, 'student')),
  };
  for (const file of csvPackage(files, options).files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
}

const statusOf = async (estab: string) => (await db`select status from component_database where estab = ${estab} and name = 'SchoolData'`)[0]?.status;
const collect = (estab: string) => db.begin((tx) => requestCollection(tx, estab, 'SchoolData', { full: true }));

test('a collection that fails, at once and not only when it is given up', async () => {
  const { estab, set } = await addSchool();
  await set('offline');
  await db`insert into component_database (estab, name) values (${estab}, 'SchoolData') on conflict do nothing`;
  await collect(estab);
  const [line] = await warningsOf(estab);
  assert.deepEqual([line?.level, line?.kind, line?.class, line?.againInSeconds], [warning, 'collect', 'mis', 60]);
  assert.equal(line?.msg, 'work failed; it will be tried again');
  assert.match(String(line?.reason), /cannot be reached/);
});

test('a collection that is held, and one that is refused', async () => {
  const folder = await addFolder('held', 60);
  await until('it is there', async () => (await statusOf('held')) === 'OK');
  await fill(folder, 10);
  await collect('held');
  const [held] = await warningsOf('held');
  assert.deepEqual([held?.kind, held?.msg], ['collect', 'work needs a decision by a person']);
  assert.match(String(held?.reason), /^waits for approval: 50 of 60 student users/);
  await addFolder('refused', 3, { raw: { 'users.csv': 'sourcedId,status\r\nx\r\n' } });
  const [refused] = await warningsOf('refused');
  assert.match(String(refused?.reason), /^refused, nothing was changed: \d+ problem/);
});

test('a delivery that fails for good, and a target that is disabled', async () => {
  const { estab, client } = await addSchool();
  const registered = await client.s(estab, 'Webhook', {
    method: 'POST',
    body: JSON.stringify({ url: `${receiver.origin}/hook?key=hunter2`, DatabaseName: 'SchoolData' }),
  });
  const id = ((await registered.json()) as { Webhook: { Id: string }[] }).Webhook[0]?.Id;
  receiver.answer = () => 500;
  await client.s(estab, `Webhook/${id}/Test`, { method: 'POST' });
  const [failed] = await warningsOf(estab);
  assert.deepEqual(
    [failed?.kind, failed?.rp, failed?.class, failed?.reason, failed?.lane, failed?.msg],
    ['test', client.rp, 'status_500', 'status_500', `webhook ${id}`, 'work failed'],
  );
  receiver.answer = () => 410;
  await client.s(estab, `Webhook/${id}/Test`, { method: 'POST' });
  const [, disabled] = await warningsOf(estab, 2);
  assert.deepEqual([disabled?.rp, disabled?.reason, disabled?.msg], [client.rp, 'the receiver answered 410 Gone', 'disabled: nothing more is sent there']);
  assert.equal(log.text().includes('hunter2'), false);
});

test('a call to an address that may not be called, each time', async () => {
  const { estab, client } = await addSchool();
  const body = JSON.stringify({ url: `${receiver.origin}/hook`, DatabaseName: 'Attendance' });
  await client.s(estab, 'Webhook', { method: 'POST', body });
  await db`update webhook set url = 'http://10.1.2.3/hook?key=hunter2' where estab = ${estab}`;
  await client.s(estab, `School/${estab}/Attendance`, { method: 'POST', body: JSON.stringify({ Marks: [mark(0)] }) });
  const [line] = await warningsOf(estab);
  assert.deepEqual([line?.kind, line?.rp, line?.class, line?.msg], ['database', client.rp, 'blocked_address', 'work failed; it will be tried again']);
});

test('a mail that nobody takes, without whom it was for; not one that is tried again', async () => {
  const mail = { estab: 'M1', rp: null, to: 'ann.other@school.example', subject: 'To Ann Other', text: 'x', html: 'x' };
  await service.addSchool('M1');
  await service.addSchool('M2');
  post.refuse = { code: 451, message: 'come back' };
  await enqueueMail(db, { ...mail, estab: 'M2' });
  await until('it was tried', async () => (await db`select from outbox_attempt where estab = 'M2'`).length > 0);
  post.refuse = { code: 550, message: '<ann.other@school.example>: no such mailbox' };
  await enqueueMail(db, mail);
  const [line] = await warningsOf('M1');
  assert.deepEqual([line?.kind, line?.class], ['mail', 'smtp_refused']);
  assert.match(String(line?.reason), /550.*<address>.*no such mailbox/);
  assert.equal(log.lines().slice(seen).some(({ estab }) => estab === 'M2'), false);
  for (const secret of ['ann.other', 'Ann Other']) assert.equal(log.text().includes(secret), false);
});

test('a writeback that the MIS does not take, and one that ran out of time', async () => {
  const { estab, client, set, post: write, hurry } = await addSchool();
  await set('rejecting');
  await write([mark(0)]);
  const [rejected] = await warningsOf(estab);
  assert.deepEqual([rejected?.kind, rejected?.rp, rejected?.msg], ['writeback', client.rp, 'work failed']);
  assert.match(String(rejected?.reason), /did not take the marks/);
  await set('offline');
  const { TrackingId } = await write([mark(1)], { callback: [{ Method: 'POST', Url: `${receiver.origin}/done` }] });
  const isWaiting = async () => (await db`select from outbox where estab = ${estab} and state = 'waiting' and attempts > 0 and kind = 'writeback'`).length > 0;
  await until('it was tried', isWaiting);
  await db`update writeback set deadline_at = now() where estab = ${estab} and tracking_id = ${TrackingId}`;
  receiver.answer = () => 200;
  await hurry();
  const [, late] = await warningsOf(estab, 2);
  assert.match(String(late?.reason), /could not be reached for an hour/);
});

test('what is our own fault is an error, with whose work it was', async () => {
  await service.addSchool('own');
  await db`insert into lane (key, width, lasting, next_at) values ('odd', 1, false, now())`;
  await db`insert into outbox (estab, id, rp, kind, lane, payload, due_at) values ('own', 'odd', null, 'odd', 'odd', '{}', now())`;
  const [line] = await warningsOf('own');
  assert.deepEqual([line?.level, line?.kind, line?.msg], [50, 'odd', 'work failed unexpectedly; it will be tried again']);
  assert.match(JSON.stringify(line?.err), /no handler for odd/);
});
