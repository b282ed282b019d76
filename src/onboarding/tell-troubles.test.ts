// Who is told when a collection is held, refused or failing for a day, and when it is well again: against a real mail server,
// each once, however often it is looked at or tried.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { beforeEach, test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { withoutNodeOf } from '../../test/node-away.ts';
import { hiddenIn, useOnboarding, zip } from '../../test/onboarding.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { makeUploadToken } from '../access/upload-tokens.ts';
import { requestCollection } from '../collection/component-databases.ts';
import { readConfig } from '../config.ts';
import { tellingOf, tellTroubles } from './tell-troubles.ts';

const onboarding = await useOnboarding();
const { db, service, url, mail, run, arrived } = onboarding;
await service.work();
const operator = 'schoolbell@trust.example';
const telling = { publicUrl: url, operator };
let count = 0;
let estab = '';
let office = '';

beforeEach(async () => {
  estab = `T${(count += 1)}`;
  office = `office@${estab}.example`;
  await service.addSchool(estab);
});

const pupils = (number: number) =>
  smallPackage({
    users: [
      ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student')), user('p1', 'student'), user('p2', 'student'), user('p3', 'student'),
      user('p9', 'student'), user('s1', 'teacher'), user('s2', 'aide'),
    ],
  });
const written = async () => (await onboarding.mailsOf(estab)).map(({ to, subject }) => `${to}: ${subject}`);
const sent = (to: string) => mail.mails.filter((one) => one.to[0]?.toLowerCase() === to.toLowerCase() && one.raw.includes(estab));
/** Looked at once more, nothing more is told. */
async function toldOnly(...expected: string[]): Promise<void> {
  await tellTroubles(db, telling, { estab });
  await arrived('the mails', async () => (await written()).length >= expected.length, written);
  await Promise.all([tellTroubles(db, telling), tellTroubles(db, telling, { estab }), tellTroubles(db, telling, { estab })]);
  assert.deepEqual(await written(), expected);
}
const both = (subject: string) => [`${office}: ${subject}`, `${operator}: ${subject} (${estab})`];
const heldSubject = () => `An import of School ${estab} waits for approval`;
const failingSubject = () => `The data of School ${estab} has not been collected for a day`;
const wellSubject = () => `The data of School ${estab} is collected again`;
const settled = (status: string, name = 'SchoolData') =>
  arrived(
    `${name} is ${status}`,
    async () =>
      (await db`select from component_database where estab = ${estab} and name = ${name} and status = ${status} and refreshing_since is null`).length === 1,
    () => db`select * from component_database where estab = ${estab}`,
  );
const aDayPasses = () => db`update component_database set failing_since = ${earlier(db, 'failing_since', '25 hours')} where estab = ${estab}`;

async function put(token: string, bytes: Uint8Array): Promise<string> {
  const response = await fetch(`${url}/api/v1/School/${estab}/Roster`, {
    method: 'PUT', headers: { authorization: `Bearer ${token}` }, body: Uint8Array.from(bytes),
  });
  const body = (await response.json()) as { ImportId: string };
  assert.equal(response.status, 202, JSON.stringify(body));
  const ended = async () =>
    (await db`select from upload_receipt where estab = ${estab} and id = ${body.ImportId} and run is not null`).length === 1 &&
    (await db`select from component_database where estab = ${estab} and refreshing_since is not null`).length === 0;
  await arrived('it is imported', ended);
  return body.ImportId;
}

test('a held collection is told once, with what would go and where to decide; approved, all is well again', async () => {
  await service.load(estab, pupils(60));
  const visitor = await onboarding.signIn(estab);
  await visitor.upload(await zip(pupils(10)));
  await settled('Paused');
  await toldOnly(...both(heldSubject()));
  await arrived('both arrive', () => sent(office).length === 1 && sent(operator).length === 1);
  const [toSchool] = sent(office);
  assert.match(toSchool?.text ?? '', /waits for approval: 50 of 64 student users \(78\.1 %\) would be deleted\.[\s\S]*Nothing has been changed\. Applications/);
  assert.ok(toSchool?.text.includes(`${url}/school\r\n`) || toSchool?.text.includes(`${url}/school\n`), toSchool?.text);
  assert.match(sent(operator)[0]?.text ?? '', new RegExp(`import approve --estab ${estab}[\\s\\S]*The school was told at office@${estab}`));
  // Read again and held again: the same trouble.
  await visitor.upload(await zip(pupils(9)));
  await arrived('held again', async () => (await db`select from import_run where estab = ${estab} and outcome = 'held'`).length === 2);
  await settled('Paused');
  await toldOnly(...both(heldSubject()));
  await visitor.post('/school/source/approve', hiddenIn(await visitor.text('/school/source')));
  await settled('OK');
  await toldOnly(...both(heldSubject()), ...both(wellSubject()));
  await arrived('that arrives too', () => sent(office).length === 2);
  assert.match(sent(office)[1]?.text ?? '', /School, people and classes: collected on \d+ \w+ \d{4}[^\n]*\.[\s\S]*Nothing needs to be done/);
});

test('what is held and then dropped waits no more, and the mail does not say that it was collected', async () => {
  await service.load(estab, pupils(60));
  await (await onboarding.signIn(estab)).upload(await zip(pupils(10)));
  await settled('Paused');
  await toldOnly(...both(heldSubject()));
  await db`update component_database set status = 'OK', message = 'dropped' where estab = ${estab}`;
  await toldOnly(...both(heldSubject()), ...both(`No import of School ${estab} waits for a decision any more`));
});

test('the package of a job that is refused is told with its faults, but not their values; the next ones are not; and then it is well', async () => {
  const token = await makeUploadToken(db, estab, 'school');
  await put(token, await zip(smallPackage()));
  const wrong = await zip(smallPackage({ users: [user('p1', 'wizard'), ...Array.from({ length: 30 }, (_, at) => user(`w${at}`, `sorcerer${at}`))] }));
  await put(token, wrong);
  await arrived('told', async () => (await written()).length === 2, written);
  const [subject = ''] = await written();
  assert.match(subject, new RegExp(`^${office}: The package of School ${estab} was refused: \\d+ problems$`));
  await arrived('it arrives', () => sent(office).length === 1);
  const { text } = sent(office)[0] ?? assert.fail();
  assert.match(text, /– users\.csv, line 2, role: .*/);
  assert.match(text, /And \d+ more problems; the page shows them, with the values\./);
  assert.ok(!text.includes('sorcerer'), text);
  await put(token, wrong);
  await (await onboarding.signIn(estab)).upload(wrong);
  await arrived('refused thrice', async () => (await db`select from import_run where estab = ${estab} and outcome = 'refused'`).length === 3);
  assert.equal(await tellTroubles(db, telling, { estab }), 0);
  assert.equal((await written()).length, 2);
  await put(token, await zip(smallPackage({ users: [...smallSchool.users, user('x0', 'student')] })));
  await arrived('well again', async () => (await written()).length === 4, written);
  assert.deepEqual((await written()).slice(2), both(wellSubject()));
  // A new trouble is a new mail.
  await put(token, wrong);
  await arrived('told again', async () => (await written()).length === 6, written);
});

test('what a person uploads and sees refused is not written to them as well', async () => {
  await (await onboarding.signIn(estab)).upload(Buffer.from('no zip at all'));
  await arrived('it is refused', async () => (await db`select from import_run where estab = ${estab}`).length === 1);
  await arrived('and over', async () => (await db`select from component_database where estab = ${estab} and refreshing_since is null`).length === 1);
  await aDayPasses();
  await toldOnly();
});

test('a source that fails is told of after a day, once for all its databases, and again when all of them are well', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  const fill = async () => {
    for (const { name, open } of smallPackage({}, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } }).files.values())
      writeFileSync(join(folder, name), await buffer(await open()));
  };
  await fill();
  estab = `${estab}-folder`;
  office = `office@${estab}.example`;
  await run('school add', { estab, name: `School ${estab}`, email: office, connector: 'csv', folder });
  await settled('OK');
  await settled('OK', 'Attendance');
  rmSync(join(folder, 'manifest.csv'));
  writeFileSync(join(folder, 'attendance.csv'), 'nonsense\n');
  const collect = async () => {
    for (const name of ['Attendance', 'SchoolData'] as const) await db.begin((tx) => requestCollection(tx, estab, name));
  };
  const failed = async () => {
    const are = async () => (await db`select from component_database where estab = ${estab} and status = 'Error' and refreshing_since is null`).length === 2;
    await arrived('both have failed', are);
  };
  await collect();
  await failed();
  const [since] = await db<{ at: Date }[]>`select max(failing_since) as at from component_database where estab = ${estab}`;
  const later = (hours: number) => new Date(Number(since?.at) + hours * 3_600_000);
  assert.equal(await tellTroubles(db, telling, { estab, at: later(23) }), 0);
  await collect();
  await failed();
  assert.equal(await tellTroubles(db, telling, { estab, at: later(25) }), 1, 'trying again does not begin anew');
  await aDayPasses();
  await toldOnly(...both(failingSubject()));
  await arrived('it is sent', () => sent(office).length === 1);
  assert.match(sent(office)[0]?.text ?? '', /School, people and classes: collecting has failed every time[\s\S]*Attendance: collecting has failed every time/);
  await fill();
  await db.begin((tx) => requestCollection(tx, estab, 'SchoolData'));
  await settled('OK');
  await toldOnly(...both(failingSubject()));
  await db.begin((tx) => requestCollection(tx, estab, 'Attendance'));
  await settled('OK', 'Attendance');
  await toldOnly(...both(failingSubject()), ...both(wellSubject()));
});

test('a school that was never connected, and one that nobody vouches for, get no mail', async () => {
  await db`
    insert into component_database (estab, name, status, message, failing_since)
    values (${estab}, 'SchoolData', 'Error', 'no', now() - interval '3 days')`;
  await toldOnly();
  await db`update establishment set connector = 'demo', confirmed_at = null where estab = ${estab}`;
  await toldOnly(`${operator}: ${failingSubject()} (${estab})`);
});

test('without mail there is no operator to write to, and a school is told all the same', async () => {
  const quiet = await useService();
  await quiet.addSchool('q1', pupils(60));
  await quiet.db`update component_database set status = 'Paused', message = 'waits for approval: much would be deleted' where estab = 'q1'`;
  assert.equal(await tellTroubles(quiet.db, tellingOf(readConfig({}))), 1);
  assert.deepEqual(await quiet.db`select payload ->> 'to' as to from outbox where kind = 'mail'`, [{ to: 'office@q1.example' }]);
});

test('one school that cannot be had keeps none of the others from being told', async () => {
  const quiet = await useService();
  for (const one of ['q-a', 'q-b', 'q-c']) await quiet.addSchool(one, pupils(60));
  await quiet.db`update component_database set status = 'Paused', message = 'waits for approval: much would be deleted' where name = 'SchoolData'`;
  await assert.rejects(tellTroubles(withoutNodeOf(quiet.db, 'q-b'), telling), (error: AggregateError) => {
    assert.deepEqual(error.errors.map((one: Error) => one.message), ['q-b could not be told how its data stands']);
    return true;
  });
  const told = await quiet.db<{ estab: string }[]>`select distinct estab from outbox where kind = 'mail' order by estab`;
  assert.deepEqual(told.map((one) => one.estab), ['q-a', 'q-c']);
});

test('the operator is the address that mails come from', () => {
  const told = (from: string) => tellingOf({ publicUrl: url, mail: { smtpUrl: 'smtp://x', from } }).operator;
  for (const from of ['Schoolbell <bell@trust.example>', 'bell@trust.example', '"Bell <1>" <bell@trust.example> '])
    assert.equal(told(from), 'bell@trust.example');
});

test('a school that has no mail to give, or whose mail is refused, changes nothing of what is told', async () => {
  mail.refuse = { code: 550, message: 'no such mailbox' };
  try {
    await service.load(estab, pupils(60));
    await db`update component_database set status = 'Paused' where estab = ${estab}`;
    await toldOnly(...both(heldSubject()));
    await arrived('both are refused', async () => (await onboarding.mailsOf(estab)).every(({ state }) => state === 'failed'));
    await toldOnly(...both(heldSubject()));
  } finally {
    mail.refuse = undefined;
  }
});
