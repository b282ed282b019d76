// Covers the retention table: it names every table, docs/what-is-kept.md says the same, each row's end comes when it says; and a
// pupil, a teacher and a parent for whom every feature was used are found nowhere when they have been gone long enough.
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { forgetOverAge, purgeRosters } from '../test/all-schools.ts';
import { csvPackage } from '../test/csv-package.ts';
import { useReceiver } from '../test/delivery.ts';
import { earlier } from '../test/earlier.ts';
import { findWords, listTables, passDays } from '../test/find-words.ts';
import { basic, openForm, registrationLink, sessionCookie, signIn } from '../test/identity.ts';
import { zip } from '../test/onboarding.ts';
import { testSecretKey, useService } from '../test/service.ts';
import { attendanceCsv, enrolment, smallSchool, user, type Row } from '../test/small-school.ts';
import { until } from '../test/until.ts';
import { addApplication } from './access/applications.ts';
import { audited, noteLook } from './access/audit-trail.ts';
import { authorise } from './access/authorisations.ts';
import { createPseudonym } from './access/pseudonym.ts';
import { removeMarksFiles } from './collection/connectors/csv/forget-marks-files.ts';
import { exampleDay } from './collection/connectors/demo/named-in-reference.ts';
import { exportRoster } from './collection/export.ts';
import { removeRoster } from './collection/remove.ts';
import { historyTable } from './collection/history.ts';
import { takeUpload } from './collection/uploads.ts';
import type { Fragment } from './db/connect.ts';
import { SchoolbellError } from './errors.ts';
import { allResources } from './roster/collections.ts';
import { createForgetPeople, forgetFiles, forgetInOnePlace } from './forget.ts';
import { renderRetention } from './describe-retention.ts';
import { keptDays } from './kept.ts';
import { retention } from './retention.ts';
import { readRoster } from './rostering/read-roster.ts';
import { undoWriteback } from './schooldata/undo-writeback.ts';

// As in the demo, what receivers on loopback addresses answer is kept.
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8', DEMO: 'on' }, { now: () => Date.parse('2026-10-14T15:00:00Z') });
const { db, url, dataDir } = service;
const config = { purgeAfterDays: 90, dataDir };
const purge = () => purgeRosters(db, config.purgeAfterDays, createForgetPeople(createPseudonym([testSecretKey])));

test('every table of the database has its row, and no row a table that is not there', async () => {
  // What is noted of a spread database is there as long as it is one.
  const tables = (await listTables(db)).filter((table) => table !== 'distribution');
  assert.deepEqual(retention.flatMap(({ where }) => where).toSorted(), tables);
});

test('docs/what-is-kept.md has the table as it is in the code', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/what-is-kept.md'), 'utf8');
  assert.ok(page.includes(`\n${renderRetention()}\n`), `docs/what-is-kept.md must have this table:\n${renderRetention()}`);
});

test('what names people is kept no longer than PURGE_AFTER_DAYS', () => {
  assert.deepEqual(
    [keptDays(30, true, config), keptDays(30, true, { purgeAfterDays: 7 }), keptDays(365, false, { purgeAfterDays: 7 }), keptDays('purge', true, config)],
    [30, 7, 365, 90],
  );
});

test('each kind ends when the table says, and not before', async () => {
  const estab = 'ends';
  await service.addSchool(estab);
  await service.addClient('ends-app', [estab]);
  await db`insert into login (estab, presence_id, username) values (${estab}, 'p-1', 'one')`;
  await db`insert into lane (key, width, lasting) values ('ends', 1, false)`;
  const uuid = (young: boolean) => `00000000-0000-4000-8000-00000000000${young ? 1 : 0}`;
  await db`insert into console_account (id, sign_in_name, name, role, created_by) values (${uuid(true)}, 'ends', 'Ends', 'viewer', 'test')`;
  await db`insert into inbox (id, rp, name, key, sealed_key) values (${uuid(true)}, 'ends-app', 'Ends', 'ends', '')`;
  type Case = [table: string, insert: (at: Fragment, young: boolean) => Fragment];
  const cases: Case[] = [
    // First: those of links, sessions and imports are noted here as well.
    ['import_end', (at, young) => db`(estab, id, started_at, finished_at, outcome) values (${estab}, ${uuid(young)}, ${at}, ${at}, 'refused')`],
    ['attendance_history', (at, young) => db`(estab, date, session, student_id, version, at)
      values (${estab}, current_date, 'AM', 's', ${young ? 2 : 1}, ${at})`],
    ['writeback', (at, young) => db`(estab, tracking_id, rp, status, partial, request_hash, callbacks, deadline_at, completed_at)
      values (${estab}, ${uuid(young)}, 'ends-app', 'Completed', false, '', '[]', ${at}, ${at})`],
    ['availability_wait', (at) => db`(estab, rp, endpoint, databases, callback_url, deadline_at, next_check_at, done_at)
      values (${estab}, 'ends-app', 'Students', '{}', 'http://a.example', ${at}, ${at}, ${at})`],
    ['demo_mark', (at) => db`(estab, date, session, student_id)
      select ${estab}, case at when ${exampleDay} then at - 1 else at end, 'AM', 's' from (select (${at})::date as at)`],
    ['demo_write', (at, young) => db`(estab, tracking_id, answer, written_at) values (${estab}, ${uuid(young)}, '[]', ${at})`],
    ['outbox', (at, young) => db`(estab, id, kind, lane, payload, due_at, state, settled_at)
      values (${estab}, ${`ends-${young}`}, 'call', 'ends', '{}', ${at}, 'done', ${at})`],
    ['import_run', (at, young) =>
      db`(estab, id, started_at, finished_at, outcome, version, report, kind)
        values (${estab}, ${uuid(young)}, ${at}, ${at}, 'refused', 0, '{}', 'upload')`],
    ['upload', (at) => db`(estab, created_at) values (${estab}, ${at})`],
    ['upload_receipt', (at, young) => db`(estab, id, by_job, taken_at) values (${estab}, ${uuid(young)}, true, ${at})`],
    ['upload_token', (at) => db`(estab, made_by, ended_at, ended_by) values (${estab}, 'school', ${at}, 'school')`],
    ['identity_audit', (at) => db`(estab, at, operation, outcome) values (${estab}, ${at}, 'SignIn', 'done')`],
    ['invitation', (at) => db`(estab, rp, state, required_scopes, optional_scopes, school_name, contact_email, invited_by, decided_at)
      values (${estab}, 'ends-app', 'Declined', '{}', '{}', '', '', 'operator', ${at})`],
    ['disclosure', (at) => db`(estab, rp, day, collection, requests, records, fields) values (${estab}, 'ends-app', (${at})::date, 'users', 1, 1, '{}')`],
    ['application_secret', (at) => db`(rp, kind, hash, valid_until) values ('ends-app', 'signing', '', ${at})`],
    ['school_secret', (at) => db`(estab, rp, hash, valid_until) values (${estab}, 'ends-app', '', ${at})`],
    ['login_session', (at, young) => db`(hash, estab, presence_id, expires_at) values (${Buffer.from([Number(young)])}, ${estab}, 'p-1', ${at})`],
    ['registration_link', (at, young) => db`(hash, estab, presence_id, expires_at) values (${Buffer.from([Number(young)])}, ${estab}, 'p-1', ${at})`],
    ['oidc_record', (at, young) => db`(model, id, payload, expires_at) values ('ends', ${String(young)}, '{}', ${at})`],
    ['school_link', (at, young) => db`(hash, estab, expires_at) values (${Buffer.from([Number(young)])}, ${estab}, ${at})`],
    ['school_session', (at, young) => db`(hash, estab, expires_at) values (${Buffer.from([Number(young)])}, ${estab}, ${at})`],
    ['request_line', (at) => db`(at, rp, estab, method, path, status, ms, request_id) values (${at}, 'ends-app', ${estab}, 'GET', '/api', 200, 1, 'ends')`],
    ['request_hour', (at) => db`(hour, rp, requests, refused, failed, records, ms) values (${at}, 'ends-app', 1, 0, 0, 0, 1)`],
    ['delivery_hour', (at) => db`(hour, rp, delivered, failed, tries, failed_tries) values (${at}, 'ends-app', 1, 0, 1, 0)`],
    ['audit_event', (at) => db`(estab, at, actor, via, action) values (${estab}, ${at}, 'ends', 'console', 'ends')`],
    ['console_link', (at, young) => db`(hash, account, expires_at) values (${Buffer.from([Number(young)])}, ${uuid(true)}, ${at})`],
    ['console_session', (at, young) =>
      db`(hash, account, proven, address, expires_at) values (${Buffer.from([Number(young)])}, ${uuid(true)}, true, '', ${at})`],
    ['wrong_try', (at) => db`(client, address, tried_at) values ('ends', '', ${at})`],
    ['request_count', (at) => db`(credential, minute, count) values ('ends', ${at}, 1)`],
    ['roster_version_set', (at, young) => db`(name, versions, noted_at) values (${String(young)}, '{}', ${at})`],
    ['sandbox_fault', (at, young) => db`(rp, kind, mode, until) values ('ends-app', ${young ? 'events' : 'tokens'}, 'never', ${at})`],
    ['inbox_call', (at) => db`(inbox, received_at, method, verdict, answer, bytes, head, body)
      values (${uuid(true)}, ${at}, 'POST', 'none', '200', 0, '', '')`],
    ['backup_run', (at) => db`(plan, why, file, host, started_at, gone_at) values (${uuid(true)}, 'plan', '', '', ${at}, ${at})`],
    ['service_process', (at, young) => db`(tag, version, role, host, migration, seen_at) values (${String(young)}, '0', 'all', '', 1, ${at})`],
    ['provider_key', (at) => db`(sealed, trusted_until) values ('', ${at})`],
  ];
  const swept = retention.filter(({ ends }) => ends.forget ?? ends.forgetAt).flatMap(({ where }) => where);
  const elsewhere = [
    'outbox_attempt', 'lane', 'writeback_mark', 'upload_piece', 'import_fault', 'roster_version', 'attendance_version', 'token_key', 'outbox_tally',
    'console_developer',
    ...allResources.map(historyTable),
  ];
  assert.deepEqual(swept.filter((table) => !elsewhere.includes(table)).toSorted(), cases.map(([table]) => table).toSorted());
  const ownOf = (table: string) => retention.find(({ where }) => where.includes(table))?.ends;
  const count = async (table: string) => Number((await db`select count(*) as count from ${db(table)}`)[0]?.count);
  const counted = new Map<string, number>();
  for (const [table, insert] of cases) {
    const ends = ownOf(table);
    counted.set(table, await count(table));
    for (const young of [true, false]) {
      const at = ends && 'days' in ends
        ? db`now() - make_interval(days => ${keptDays(ends.days, ends.namesPeople, config) + (young ? -1 : 1)})`
        : db`now() + make_interval(mins => ${young ? 5 : -15})`;
      await db`insert into ${db(table)} ${insert(at, young)}`;
    }
  }
  await forgetOverAge(db, config);
  for (const [table] of cases) assert.equal(await count(table), (counted.get(table) ?? 0) + 1, table);
  await db`delete from provider_key where sealed = ''`;
  await db`delete from upload where estab = ${estab}`;
});

test('an upload that nobody approved is dropped, and the status says so', async () => {
  for (const [estab, given, status] of [['had', rosterOf([]), 'OK'], ['had-not', undefined, 'NoData']] as const) {
    await service.addSchool(estab, given);
    await db`
      insert into component_database (estab, name, status) values (${estab}, 'SchoolData', 'Paused')
      on conflict (estab, name) do update set status = excluded.status`;
    await db`insert into upload (estab, created_at) values (${estab}, now() - interval '31 days')`;
    await forgetOverAge(db, config);
    const [database] = await db`select status, message from component_database where estab = ${estab}`;
    assert.equal(database?.status, status);
    assert.match(String(database?.message), /held for 30 days and not approved; it was dropped/);
    assert.equal((await db`select from upload where estab = ${estab}`).length, 0);
  }
});

test('versions that nothing is dated by go, and what is left reads as before', async () => {
  const estab = 'versions';
  const title = (at: number) => [{ sourcedId: 'c1', title: `Course ${at}`, orgSourcedId: 'o1' }];
  await service.addSchool(estab, csvPackage({ ...smallSchool, courses: title(1) }, { raw: { 'attendance.csv': attendanceCsv('p1,2026-10-13,AM,/,,') } }));
  const client = await service.addClient('versions-app', [estab]);
  for (const at of [2, 3, 4])
    await service.load(estab, csvPackage({ courses: title(at) }, { raw: { 'attendance.csv': attendanceCsv(`p1,2026-10-13,AM,L,${at},`) } }));
  const versions = async (table: string) =>
    (await db`select version from ${db(table)} where estab = ${estab} order by version`).map((row) => row.version as number);
  const read = async (path: string) => (await client.b(estab, path)).text();
  const paths = ['/courses', '/users', '/classes/k1'];
  const shown = await Promise.all(paths.map(read));
  assert.deepEqual([await versions('roster_version'), await versions('attendance_version')], [[1, 2, 3, 4], [1, 2, 3, 4]]);
  await db`update roster_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab} and version < 4`;
  await db`update attendance_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab} and version < 3`;
  await forgetOverAge(db, config);
  // What version 3 said was replaced just now, and is still in the history.
  assert.deepEqual([await versions('roster_version'), await versions('attendance_version')], [[1, 3, 4], [3, 4]]);
  // Another process, which has read nothing before.
  const other = await service.join();
  const token = await client.tokenB(estab);
  for (const [at, path] of paths.entries()) {
    const answer = await (await fetch(`${other.url}/ims/oneroster/v1p1${path}`, { headers: { authorization: `Bearer ${token}` } })).text();
    const dated = (text: string) => text.replaceAll(/"dateLastModified":"([^"]*)"/g, (_, instant: string) => (instant === '' ? 'none' : 'dated'));
    assert.equal(dated(answer), dated(shown[at] ?? ''), path);
    assert.ok(!dated(answer).includes('none'));
  }
  const [course] = await db<{ stamp: string }[]>`select stamp from roster_version where estab = ${estab} and version = 4`;
  assert.match(await read('/courses'), new RegExp(`"dateLastModified":"${course?.stamp}"`));
  assert.equal((await service.load(estab, csvPackage({ courses: title(5) }))).version, 5);
});

/** Since the purge. Whichever schools have their turn in this hour. */
async function passAnHour(): Promise<void> {
  for (const table of ['roster', 'roster_standing', ...allResources.map(historyTable)])
    await db`update ${db(table)} set purged_at = (purged_at at time zone 'UTC' - interval '61 minutes') at time zone 'UTC' where purged_at is not null`;
  await forgetInOnePlace(db, config);
}

/** Letters that make no word. */
const word = (length = 12) => Array.from({ length }, () => 'bcdfghjklmnpqrstvwxz'[randomInt(20)]).join('');
type Person = Row & { sourcedId: string; username: string };
const made = (role: string, more: Row = {}): Person => {
  const [sourcedId, username] = [`${role}-${word()}`, word()];
  const texts = { givenName: word(), familyName: word(), identifier: word(), phone: word(), sms: word(), 'metadata.note': word() };
  return { ...user(sourcedId, role, { ...texts, email: `${word()}@home.example`, ...more }), sourcedId, username };
};
const parent = made('parent');
const pupil = made('student', { agentSourcedIds: parent.sourcedId });
const teacher = made('teacher');
const leaving = [parent, pupil, teacher];
const staying = { pupil: made('student'), teacher: made('teacher') };
const notes = { imported: word(), written: word(), replaced: word(), late: word() };
const presenceOf = (estab: string, id: string) =>
  `p-${createHash('sha256').update(`${estab}\u001f${id}`).digest('hex').slice(0, 24)}`;
const estabs = ['books', 'demo'] as const;
const valuesOf = (people: readonly Row[]) =>
  people.flatMap((one) => [
    ...['sourcedId', 'username', 'givenName', 'familyName', 'email', 'identifier', 'phone', 'sms', 'metadata.note'].map((name) => one[name] ?? ''),
    ...estabs.map((estab) => presenceOf(estab, one.sourcedId ?? '')),
  ]);
const theirs = [...valuesOf(leaving), ...Object.values(notes)];
const others = valuesOf([staying.pupil, staying.teacher]);

const many = Array.from({ length: 60 }, (_, at) => user(`f${at}`, 'student'));
const rosterOf = (people: readonly Row[], more: { marks?: string[]; pupils?: number; shared?: Person } = {}) =>
  csvPackage(
    {
      ...smallSchool,
      users: [...smallSchool.users, ...many.slice(0, more.pupils ?? 60), ...people],
      enrollments: [
        ...smallSchool.enrollments,
        ...(more.shared ? [enrolment('shared', more.shared.sourcedId, 'k1')] : []),
        ...people.filter(({ role }) => role !== 'parent').map((one) => enrolment(`e-${one.sourcedId}`, one.sourcedId ?? '', 'g1', { role: one.role ?? '' })),
      ],
      demographics: people.filter(({ role }) => role === 'student').map(({ sourcedId = '' }) => ({ sourcedId, sex: 'female', cityOfBirth: word() })),
    },
    more.marks ? { raw: { 'attendance.csv': attendanceCsv(...more.marks) } } : {},
  );
const [before, after] = [[...leaving, staying.pupil, staying.teacher], [staying.pupil, staying.teacher]];

const receiver = await useReceiver((arrival, response) => {
  // One that says again what it was told.
  response.writeHead(200, { 'x-said': arrival.url }).end(arrival.body);
});

test('who left long ago is found nowhere, although every feature was used for them', async (t) => {
  await service.work();
  const marks = [`${pupil.sourcedId},2026-10-13,AM,/,,${notes.imported}`];
  for (const estab of estabs) await service.addSchool(estab, rosterOf(before, { marks, shared: pupil }));
  await db`update establishment set connector = 'demo' where estab = 'demo'`;
  await db`insert into connector_setting (estab, settings) values ('demo', '{}') on conflict (estab) do update set settings = '{}'`;
  const client = await service.addClient('app', estabs);
  const signOn = await addApplication(db, service.seal, {
    rp: 'signon', name: 'Sign-on', callbackUrl: 'http://127.0.0.1:9/', scopes: 'School,Identity', redirectUris: ['http://127.0.0.1:9/cb'],
  });
  await authorise(db, { rp: 'signon', estab: 'books' });

  for (const estab of estabs) await useSchool(estab);
  await useLogins();
  // They leave; what was written about them afterwards is younger than all the ends.
  for (const estab of estabs) {
    assert.equal((await service.load(estab, rosterOf(after), { approve: true })).outcome, 'done');
    await db`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
  }
  const [left] = await db<{ at: Date }[]>`select clock_timestamp() as at`;
  const late: Record<string, string> = {};
  for (const estab of estabs) late[estab] = await useLate(estab);
  await settled();

  const found = await findWords(db, dataDir, theirs);
  const expected = [
    'roster_user.given_name', 'roster_user.record', 'roster_user.agent_ids', 'roster_enrollment.user_id', 'roster_demographics.sourced_id',
    'roster_touch.sourced_id', 'attendance_mark.student_id', 'attendance_mark.notes', 'attendance_history.student_id', 'attendance_history.previous_notes',
    'writeback_mark.student_id', 'writeback_mark.notes', 'writeback_mark.message', 'writeback.callbacks', 'writeback.idempotency_key',
    'outbox.payload', 'outbox.body', 'outbox_attempt.detail', 'outbox_attempt.response', 'availability_wait.callback_url', 'import_run.report',
    'import_fault.value',
    'login.username', 'login_session.presence_id', 'oidc_record.payload', 'identity_audit.presence_id', 'audit_event.subject', 'demo_mark.student_id',
    'demo_mark.notes',
    'file writeback', 'file lists', 'roster_user_history.record',
  ];
  assert.deepEqual(expected.filter((place) => !found.has(place)), [], `the words were found in ${[...found.keys()].join(', ')}`);
  assert.equal((await db`select from upload`).length, 0, 'a package with their names was held until another import took its place');

  // Until they left 91 days have passed, since then none.
  await passDays(db, 91, left?.at ?? new Date());
  for (const name of globSync('writeback/*/*.csv', { cwd: dataDir })) {
    const path = join(dataDir, name);
    if (statSync(path).mtime < (left?.at ?? new Date())) utimesSync(path, new Date(), new Date(Date.now() - 91 * 86_400_000));
  }
  await t.test('of what is over age alone, only what came after they left is there', async () => {
    await forgetOverAge(db, config);
    assert.ok((await findWords(db, dataDir, theirs)).has('outbox.body'));
  });
  const untouched = await findWords(db, dataDir, others);
  assert.ok(untouched.has('login.username') && untouched.has('roster_user.given_name') && untouched.has('writeback_mark.student_id'));

  assert.ok((await purge()) > 0);
  await forgetOverAge(db, config);
  await forgetFiles(db, config);
  // For an hour, whoever reads page by page still finds them in the history, and nowhere else.
  const walked = [...(await findWords(db, dataDir, theirs)).keys()];
  assert.deepEqual([walked.length > 0, walked.filter((place) => !/^roster_\w+_history\./.test(place))], [true, []]);
  await passAnHour();
  assert.deepEqual([...(await findWords(db, dataDir, theirs))], []);
  assert.equal((await db`select from upload`).length, 0);
  const kept = await findWords(db, dataDir, others);
  // Files of lists are copies, of which some went.
  const lasting = (places: Map<string, unknown>) => [...places.keys()].filter((place) => place !== 'file lists').toSorted();
  assert.deepEqual(lasting(kept), lasting(untouched));

  // What stays still answers, about nobody.
  for (const estab of estabs) {
    const answer = await client.s(estab, `Writeback/${late[estab]}`);
    assert.equal(answer.status, 200);
    const { Total, Written, Marks } = (await answer.json()) as { Total: number; Written: number; Marks: { StudentId: string; Result: string }[] };
    assert.deepEqual([Total, Written, Marks[1]?.StudentId], [2, 2, staying.pupil.sourcedId]);
    assert.match(Marks[0]?.StudentId ?? '', /^gone-[0-9a-f]{32}$/);
    const users = (await (await client.b(estab, '/users')).json()) as { users: { sourcedId: string; dateLastModified: string }[] };
    assert.equal(users.users.length, smallSchool.users.length + many.length + after.length);
    assert.ok(users.users.every(({ dateLastModified }) => /^\d{4}-/.test(dateLastModified)));
    const [database] = await db`select row_count as count, (select count(*)::int from attendance_mark where estab = ${estab} and mark is not null) as marks
      from component_database where estab = ${estab} and name = 'Attendance'`;
    assert.equal(database?.count, database?.marks);
  }

  /** Everything that an application may do with a school's people. */
  async function useSchool(estab: string): Promise<void> {
    for (const DatabaseName of ['SchoolData', 'Attendance']) {
      const wanted = { url: `${receiver.origin}/changed?${estab}`, DatabaseName };
      const registered = await client.s(estab, 'Webhook', { method: 'POST', body: JSON.stringify(wanted) });
      assert.equal(registered.status, 201, await registered.text());
    }
    const renamed = before.map((one) => (one === pupil ? { ...pupil, middleName: word() } : one));
    const changed = await service.load(estab, rosterOf(renamed, { marks: [`${pupil.sourcedId},2026-10-13,AM,L,7,${notes.replaced}`] }));
    assert.equal(changed.outcome, 'done', JSON.stringify(changed.problems));
    for (const path of ['/users', `/users/${pupil.sourcedId}`, `/users?filter=familyName='${pupil.familyName}'`, '/demographics', '/enrollments'])
      assert.equal((await client.b(estab, path)).status, 200, path);
    for (const path of ['Students', 'Staff', 'Contacts', 'Groups', `AttendanceForDate?date=2026-10-13&id=${pupil.sourcedId}`])
      assert.equal((await client.s(estab, path)).status, 200, path);
    const callback = encodeURIComponent(`${receiver.origin}/ready?who=${pupil.sourcedId}`);
    assert.equal((await client.s(estab, `Students?callbackUrl=${callback}`)).status, 202);

    const done = await write(estab, [mark(pupil, { Notes: notes.written }), mark(staying.pupil)]);
    await write(estab, [mark(pupil), mark(pupil), { ...mark(pupil), Session: 'PM', Mark: 'C' }], pupil, '?mode=partial');
    if (estab === 'demo') await db`update connector_setting set settings = '{"mode": "rejecting"}' where estab = 'demo'`;
    const third = await write(estab, [{ ...mark(pupil), Mark: 'N' }]);
    if (estab === 'demo') await db`update connector_setting set settings = '{"mode": "normal"}' where estab = 'demo'`;
    await refuse(estab);
    const { trackingId } = await undoWriteback(db, estab === 'demo' ? done : third);
    await ended(estab, trackingId);

    // Reports that name them: a value that is wrong, and a loss that is held; the package itself is kept with the latter.
    const wrong = await service.load(estab, rosterOf([{ ...pupil, enabledUser: pupil.familyName ?? '' }, ...before.slice(1)]));
    assert.equal(wrong.outcome, 'refused');
    if (estab === 'books') {
      await takeUpload(db, estab, bytesOf(await zip(rosterOf(before, { pupils: 10 }))), { dataDir: service.dataDir });
      await until('the upload is held', async () => (await db`select from component_database where estab = ${estab} and status = 'Paused'`).length > 0);
    }
    const folder = await mkdtemp(join(tmpdir(), 'schoolbell-retention-'));
    await exportRoster(await readRoster(db, estab), join(folder, 'roster.zip'));
    await rm(folder, { recursive: true });
  }

  /** Logins of the pupil, the teacher and somebody who stays, with everything that comes of them. */
  async function useLogins(): Promise<void> {
    const school = basic('app|books', client.schoolSecrets.books ?? '');
    const ask = async (path: string, method = 'POST') => {
      const response = await fetch(`${url}/api/v1/Identity/${path}`, { method, headers: { authorization: school } });
      assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`);
      return response;
    };
    await ask('GetUsers', 'GET');
    for (const one of [pupil, teacher, staying.teacher]) {
      await ask(`CreateLogin?OrgId=books&PresenceId=${presenceOf('books', one.sourcedId)}`);
      const [mail] = await db<{ body: Buffer }[]>`select body from outbox where kind = 'mail' and payload ->> 'to' = ${one.email ?? ''}`;
      const link = new URL(registrationLink((JSON.parse(mail?.body.toString('utf8') ?? '') as { text: string }).text));
      const form = await openForm(url, link.pathname);
      assert.ok((await form.post({ password: 'seven green lanterns', repeated: 'seven green lanterns' })).status < 400);
      await ask(`ResetPassword?username=${one.username}&password=eight%20green%20lanterns`);
      assert.equal((await signIn(url, 'books', one.username, 'wrong')).status, 401);
      const signedIn = await signIn(url, 'books', one.username, 'eight green lanterns');
      assert.notEqual(sessionCookie(signedIn), '');
      await singleSignOn(one.username);
    }
    const operator = { name: 'somebody', via: 'console', from: '127.0.0.1' } as const;
    for (const one of [pupil, staying.pupil])
      for (const subject of [one.sourcedId, `users/${one.sourcedId}`, `demographics/${one.sourcedId}`])
        await noteLook(db, operator, { action: 'look at record', estab: 'books', subject });
    const refuse = () => Promise.reject(new SchoolbellError('not_found', `books has no record "${pupil.sourcedId}" among its classes`));
    const looked = { action: 'roster show', estab: 'books', subject: pupil.sourcedId };
    await audited(db, { ...operator, via: 'command line' }, looked, refuse).catch(() => {});
    await noteLook(db, operator, { action: 'look at mail', estab: 'books', subject: 'a mail', detail: { to: pupil.email?.toUpperCase() } });
    const text = encodeURIComponent(`${pupil.givenName} ${pupil.familyName}`);
    const code = await fetch(`${url}/api/v1/Identity/GenerateQRCode?text=${text}`, { headers: { authorization: basic('app', client.managementSecret) } });
    assert.equal(code.status, 200);
  }

  async function singleSignOn(username: string): Promise<void> {
    const verifier = randomBytes(32).toString('base64url');
    const asked = new URLSearchParams({
      client_id: signOn.clientId, redirect_uri: 'http://127.0.0.1:9/cb', response_type: 'code', scope: 'openid profile email', login_hint: username,
      state: 's', nonce: 'n', code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
    });
    const begun = await fetch(`${url}/oidc/auth?${asked}`, { redirect: 'manual' });
    const cookies = begun.headers.getSetCookie().map((one) => one.split(';', 1)[0] ?? '');
    const form = await openForm(url, new URL(begun.headers.get('location') ?? '', url).pathname, cookies);
    let at = await form.post({ estab: 'books', username, password: 'eight green lanterns' });
    for (let step = 0; step < 3 && !at.headers.get('location')?.startsWith('http://127.0.0.1:9/cb'); step += 1)
      at = await fetch(new URL(at.headers.get('location') ?? '', url), { headers: { cookie: form.cookie }, redirect: 'manual' });
    const code = new URL(at.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const exchanged = await fetch(`${url}/oidc/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code', code, redirect_uri: 'http://127.0.0.1:9/cb', code_verifier: verifier, client_id: signOn.clientId,
        client_secret: signOn.clientSecret,
      }),
    });
    assert.equal(exchanged.status, 200, await exchanged.clone().text());
  }

  /** After they left: a mark for a day on which they were there, and a report that names them. */
  async function useLate(estab: string): Promise<string> {
    const day = { Date: '2026-10-12' };
    const trackingId = await write(estab, [mark(pupil, { ...day, Notes: notes.late }), mark(staying.pupil, day)]);
    await write(estab, [mark(staying.pupil, { ...day, Session: 'PM', Mark: '\\' })], staying.pupil);
    const callback = encodeURIComponent(`${receiver.origin}/ready?who=${pupil.sourcedId}`);
    assert.equal((await client.s(estab, `Students?callbackUrl=${callback}`)).status, 202);
    await refuse(estab);
    // Somebody else's from now on.
    assert.equal((await service.load(estab, rosterOf(after, { shared: staying.pupil }))).outcome, 'done');
    const twice = [`${pupil.sourcedId},2026-10-13,AM,/,,`, `${pupil.sourcedId},2026-10-13,AM,/,,`];
    assert.equal((await service.load(estab, rosterOf(after, { marks: twice }))).outcome, 'refused');
    return trackingId;
  }

  /** The key and the address name whom it is about, as applications' may. */
  async function write(estab: string, marks: object[], { sourcedId }: Row = pupil, query = ''): Promise<string> {
    const callback = [{ Method: 'POST', Url: `${receiver.origin}/outcome?who=${sourcedId}` }];
    const response = await client.s(estab, `School/${estab}/Attendance${query}`, {
      method: 'POST',
      headers: { 'idempotency-key': `${sourcedId}-${word()}` },
      body: JSON.stringify({ Marks: marks, callback }),
    });
    const answer = (await response.json()) as { TrackingId: string };
    assert.equal(response.status, 202, JSON.stringify(answer));
    await ended(estab, answer.TrackingId);
    return answer.TrackingId;
  }

  /** Marks that are refused at once, with faults that quote whose they are. */
  async function refuse(estab: string): Promise<void> {
    const callback = { Method: 'POST', Url: `${receiver.origin}/refused?who=${pupil.sourcedId}` };
    const body = JSON.stringify({ Marks: [mark(pupil, { Date: '2026-10-12' }), mark(pupil, { Date: '2026-10-12', Notes: notes.written })], callback });
    assert.equal((await client.s(estab, `School/${estab}/Attendance`, { method: 'POST', body })).status, 400);
  }

  async function ended(estab: string, trackingId: string): Promise<void> {
    await until(`${trackingId} has ended`, async () => {
      const [row] = await db`select from writeback where estab = ${estab} and tracking_id = ${trackingId} and status <> 'Pending'`;
      return row !== undefined;
    });
  }

  async function settled(): Promise<void> {
    await until('everything was sent', async () => {
      await db`update outbox set due_at = now() where state = 'waiting'`;
      await db`update lane set next_at = now() where next_at is not null`;
      await db`select pg_notify('schoolbell_outbox', '')`;
      return (await db`select from outbox where state in ('waiting', 'running') and kind = 'call' and payload ->> 'event' <> 'authentication'`).length === 0;
    });
  }
});

const mark = ({ sourcedId }: Row, more: object = {}) => ({ StudentId: sourcedId, MarkType: 'S', Date: '2026-10-13', Session: 'AM', Mark: 'I', ...more });

async function* bytesOf(buffer: Buffer): AsyncGenerator<Buffer> {
  yield buffer;
}

test('a mark that waits for its MIS when its pupil is purged is not written, and the outcome says so', async () => {
  const estab = 'waiting';
  await service.addSchool(estab, rosterOf(before));
  await db`update establishment set connector = 'demo' where estab = ${estab}`;
  await db`insert into connector_setting (estab, settings) values (${estab}, '{"mode": "offline"}')`;
  const client = await service.addClient('waiting-app', [estab]);
  const body = { Marks: [mark(pupil, { Notes: notes.late }), mark(staying.pupil)], callback: { Method: 'POST', Url: `${receiver.origin}/waited` } };
  const taken = await client.s(estab, `School/${estab}/Attendance`, { method: 'POST', body: JSON.stringify(body) });
  const { TrackingId } = (await taken.json()) as { TrackingId: string };
  await until('it was tried', async () => (await db`select from writeback where estab = ${estab} and attempts > 0`).length > 0);
  await service.load(estab, rosterOf(after), { approve: true });
  await db`update roster_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab}`;
  assert.ok((await purge()) > 0);
  await db`update connector_setting set settings = '{"mode": "normal"}' where estab = ${estab}`;
  type Outcome = { Status: string; Marks: { StudentId: string; Result: string; Code: string | null }[] };
  const read = async () => (await (await client.s(estab, `Writeback/${TrackingId}`)).json()) as Outcome;
  await until('it has ended', async () => {
    await db`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
    await db`update lane set next_at = now(), open_until = null where key in (select lane from outbox where estab = ${estab} and state = 'waiting')`;
    await db`select pg_notify('schoolbell_outbox', '')`;
    return (await read()).Status !== 'Pending';
  });
  const { Status, Marks } = await read();
  assert.equal(Status, 'Completed');
  assert.deepEqual(Marks.map(({ Result, Code }) => [Result, Code]), [['Failed', 'UnknownStudent'], ['Written', null]]);
  await passAnHour();
  assert.deepEqual([...(await findWords(db, dataDir, theirs))], []);
});

test('a school that is removed leaves nobody', async () => {
  for (const { estab } of await db<{ estab: string }[]>`select estab from establishment`) {
    await removeRoster(db, estab);
    await removeMarksFiles(dataDir, estab);
  }
  await forgetFiles(db, config);
  await passDays(db, 1, new Date());
  await forgetOverAge(db, config);
  assert.deepEqual([...(await findWords(db, dataDir, others))], []);
});

test('files of a data directory that has none are no trouble, and what lies in the spool goes', async () => {
  await forgetFiles(db, { dataDir: join(dataDir, 'nowhere'), purgeAfterDays: 1 });
  mkdirSync(join(dataDir, 'spool'), { recursive: true });
  writeFileSync(join(dataDir, 'spool', 'left'), 'what a process left that was killed');
  await forgetFiles(db, { dataDir, purgeAfterDays: 1 });
  assert.deepEqual(readdirSync(join(dataDir, 'spool')), []);
  assert.deepEqual((await readdir(dataDir)).includes('nowhere'), false);
});
