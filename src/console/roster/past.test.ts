// What became of a record, and the marks of a pupil, on the console and by the commands that ask the same functions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../../test/commands.ts';
import { useConsole } from '../../../test/console.ts';
import { testSecretKey } from '../../../test/service.ts';
import { attendanceCsv, deltaPackage, smallPackage, smallSchool, user } from '../../../test/small-school.ts';

const estab = '3805131';
const { service, enter } = await useConsole();
const { db } = service;
const { json, schoolbell, assertFails } = useCommands({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
const px = (familyName: string) => user('px', 'student', { familyName });
const marks = ['px,2026-10-13,AM,/,,', 'px,2026-10-13,PM,L,7,<b>bus</b>', 'px,2026-08-31,AM,X,,', 'p1,2026-10-13,AM,I,,'];
await service.addSchool(estab, smallPackage({ users: [...smallSchool.users, px('First')] }, { raw: { 'attendance.csv': attendanceCsv(...marks) } }));
await service.addClient('app', [estab], 'School,Student');
const admin = await enter();
const read = async (rest: string) => {
  const { status, text } = await admin.get(`/console/schools/${estab}/roster/${rest}`);
  assert.equal(status, 200, rest);
  return text;
};

test('version by version, field by field, a page at a time', async () => {
  for (let at = 2; at <= 25; at += 1) await service.load(estab, deltaPackage({ users: [px(`Name ${at}`)] }));
  const first = await read('users/px/history');
  assert.equal(first.match(/<section class="card" id="version-/g)?.length, 20);
  assert.match(first, /Version 25[^]*it stands[^]*users\.csv, line 2[^]*<code>familyName<\/code>[^]*<bdi>Name 24<\/bdi>[^]*<bdi>Name 25<\/bdi>/);
  assert.ok(!first.includes('<code>givenName</code>'), 'only what changed');
  const next = /<a href="([^"]+)" rel="next"/.exec(first)?.[1] ?? '';
  assert.match(next, /\/history\?before=6$/);
  const last = (await admin.get(next)).text;
  assert.equal(last.match(/<section class="card" id="version-/g)?.length, 5);
  assert.match(last, /id="version-2"[^]*<bdi>First<\/bdi>[^]*id="version-1"[^]*How it stood/);
  assert.ok(!last.includes('rel="next"'));
  for (const before of ['x', '-1', '0', '99999999999']) await read(`users/px/history?before=${before}`);
  const states = await json<{ from: number; changes?: { field: string; before: unknown; after: unknown }[] }[]>(
    `history --estab ${estab} --collection users`, 'px');
  assert.deepEqual(states.length, 25);
  assert.deepEqual(states[0]?.changes, [{ field: 'familyName', before: 'Name 24', after: 'Name 25' }]);
  assert.equal(states.at(-1)?.changes, undefined);
});

test('when it was first seen is told as long as it is known', async () => {
  await service.load(estab, smallPackage({ users: [...smallSchool.users, px('Name 25'), user('late', 'student')] }));
  assert.match(await read('users/late'), /First seen<\/dt><dd><time[^]*version 26<\/dd>/);
  assert.match(await read('users/px'), /First seen<\/dt><dd><time[^]*version 1<\/dd>/);
  await db`update roster set history_from = 3 where estab = ${estab}`;
  assert.match(await read('users/px'), /before what is kept of the history/);
  assert.match(await read('users/late'), /First seen<\/dt><dd><time[^]*version 26<\/dd>/);
});

test('marks by month, with what they mean, notes as text, and the months that have some', async () => {
  const text = await read('users/px/attendance');
  assert.match(text, /<h2>October 2026<\/h2>/);
  assert.match(text, /13 Oct 2026[^]*Morning[^]*Present in the morning[^]*Afternoon[^]*Late, before the register closed[^]*>7<[^]*&#60;b&#62;bus/);
  assert.match(text, /href="[^"]*\?month=2026-08">Earlier: August 2026/);
  assert.ok(!text.includes('Illness') && !text.includes('>Later'), "not another pupil's");
  const august = await read('users/px/attendance?month=2026-08');
  assert.match(august, /31 Aug 2026[^]*Not of compulsory school age[^]*/);
  assert.match(august, /Later: October 2026/);
  assert.match(await read('users/px/attendance?month=2026-09'), /There are no marks in September 2026[^]*/);
  for (const month of ['0000-01', '2026-13', 'x', '2026-10-13', '9999-12'])
    assert.match(await read(`users/px/attendance?month=${month}`), /<h2>October 2026/, month);
  assert.match(await read('users/p3/attendance'), /There are no marks of this pupil/);
  await db`insert into attendance_mark (estab, date, session, student_id, mark, version) values (${estab}, '2019-03-04', 'AM', 'p3', '/', 1)`;
  const old = await read('users/p3/attendance');
  assert.match(old, /<h2>March 2019<\/h2>[^]*4 Mar 2019/, 'however long ago');
  assert.ok(!old.includes('>Later') && !old.includes('>Earlier'));
  assert.match(await read('classes/k1/attendance'), /Only pupils have marks/);
});

test('a mark that an application wrote back says whose it is, and what stood there before', async () => {
  const tracking = '6f1d2a50-0000-4000-8000-000000000001';
  await db`insert into attendance_version (estab, version, instant) values (${estab}, 100, now())`;
  await db`update attendance_mark set mark = 'I', version = 100 where estab = ${estab} and student_id = 'px' and date = '2026-10-13' and session = 'AM'`;
  await db`insert into attendance_history (estab, date, session, student_id, version, rp, tracking_id, reason, mark, previous_mark)
    values (${estab}, '2026-10-13', 'AM', 'px', 100, 'app', ${tracking}, 'undo', 'I', '/')`;
  const text = await read('users/px/attendance');
  assert.match(text, new RegExp(`Illness[^]*Before[^]*<code>/</code>[^]*/console/applications/app"><bdi>Application app</bdi>[^]*undo[^]*${tracking}`));
  const { marks } = await json<{ marks: { date: string; by: { rp: string } | null; earlier: { mark: string }[] }[] }>(`roster marks --estab ${estab}`, 'px');
  assert.deepEqual(marks.map(({ date, by, earlier }) => [date, by?.rp ?? null, earlier.map(({ mark }) => mark)]), [
    ['2026-10-13', 'app', ['/']], ['2026-10-13', null, []],
  ]);
});

test('the commands find and show the same', async () => {
  const { records } = await json<{ records: { sourcedId: string }[] }>(`roster find --estab ${estab}`, 'name', '25');
  assert.deepEqual(records.map(({ sourcedId }) => sourcedId), ['px']);
  const { out } = await schoolbell(`roster find --estab ${estab} --kind class 7x`);
  assert.match(out, /^NAME +KIND +ROLE +STATUS +COLLECTION +ID\n7x\/Ma1 +Class +Teaching group/);
  assert.match((await schoolbell(`roster find --estab ${estab} nothing`)).out, /nothing begins like that/);
  assert.match((await schoolbell(`roster find --estab ${estab} --kind class --after 1.classes.k1 7`)).out, /there are no more/);
  await assertFails(/--kind "people": must be one of student, /, `roster find --estab ${estab} --kind people x`);
  const shown = await schoolbell(`roster show --estab ${estab} --collection users p1`);
  assert.match(shown.out, /givenName +Given p1[^]*enrolments: 7A \(classes g1\)[^]*named-by: Given a1 Family \(a1\)[^]*app: The application sees this record/);
  const seen = await schoolbell(`roster show --estab ${estab} --collection users --as app a1`);
  assert.match(seen.out, /^app: Approved; scopes School, Student[^]*Variant A: Hidden: [^]* this is one of contacts[^]*Contact would open it/);
  const whole = await json<{ dialects: { dialect: string; record: { givenName: string } }[]; related: { name: string }[] }>(
    `roster show --estab ${estab} --collection users`, 'p1');
  assert.deepEqual(whole.dialects.map(({ dialect, record }) => [dialect, record.givenName]), ['A', 'B', '1.2'].map((name) => [name, 'Given p1']));
  await assertFails(/no record "nobody" among its users/, `roster show --estab ${estab} --collection users nobody`);
  await assertFails(/has not authorised none/, `roster show --estab ${estab} --collection users --as none p1`);
  await assertFails(/--month "2026": not a month/, `roster marks --estab ${estab} --month 2026 px`);
});
