// Covers what the sandbox does to the demo school, collected as in life: its MIS, its clock, and what happens in it; that ids and references
// stay whole, that a reset takes everything back, and that another school and a service without a demo feel nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { collectDatabase } from '../collection/collect.ts';
import { databaseNames, type DatabaseName } from '../collection/connector.ts';
import { openConnector, setConnector, type ConnectorParts } from '../collection/connector-settings.ts';
import type { MarkRow } from '../collection/mark.ts';
import { Problems } from '../collection/problem.ts';
import { createOutbound } from '../http/outbound.ts';
import { controls } from './controls.ts';
import { useControl } from './steer.ts';

/** A Tuesday in term. */
const now = Date.parse('2026-11-17T10:00:00Z');
const service = await useService({ DEMO: 'on' }, { now: () => now });
const { db, seal, databaseUrl, dataDir } = service;
const estab = '9990001';
const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir, DEMO: 'on' };
const { json, schoolbell, assertFails } = useCommands(settings);
await service.addSchool(estab);
await service.addSchool('csv1', smallPackage());
await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'demo' }));
const made = await json<Record<string, string>>('sandbox application --name Rehearsal');
const rp = made.rp ?? '';
const parts = { db, mis: db, seal, outbound: createOutbound([]), dataDir, sandbox: true, now: () => now };
/** As the worker does what was asked for. */
async function collect() {
  const asked = await db`select from outbox where estab = ${estab} and kind = 'collect' and state = 'waiting' and payload ->> 'database' = 'SchoolData'`;
  await db`delete from outbox where estab = ${estab} and kind = 'collect'`;
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  const trouble = await collectDatabase(parts, estab, 'SchoolData', { force: false, full: true, shrinkLimitPercent: 20 });
  return { asked: asked.length > 0, trouble };
}
/** What the MIS hands over. */
async function marks(given: ConnectorParts): Promise<MarkRow[]> {
  const found: MarkRow[] = [];
  const connector = (await openConnector(given, estab)) ?? assert.fail();
  for await (const batch of connector.readMarks?.(new Problems()) ?? assert.fail()) found.push(...batch);
  return found;
}
type Counts = Record<'users' | 'gone' | 'classes' | 'enrolments' | 'version', number>;
async function count(): Promise<Counts> {
  const [counts] = await db<Counts[]>`
    select (select count(*) from roster_user where estab = ${estab} and status = 'active')::int as users,
      (select count(*) from roster_user where estab = ${estab} and status = 'tobedeleted')::int as gone,
      (select count(*) from roster_class where estab = ${estab} and status = 'active')::int as classes,
      (select count(*) from roster_enrollment where estab = ${estab} and status = 'active')::int as enrolments,
      (select version from roster where estab = ${estab})::int as version`;
  return counts ?? assert.fail();
}
const findUser = (id = '') => db`select status, kind from roster_user where estab = ${estab} and sourced_id = ${id}`;
type School = {
  Mis: string; Clock: string; AheadSeconds: number; Happenings: { Kind: string; Of: string }[]; Collecting: boolean;
  Held: { Import: string; Message: string } | null;
};
const headers = { 'content-type': 'application/json' };
const body = JSON.stringify({ relyingParty: rp, password: made.managementSecret });
const { token } = (await (await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers, body })).json()) as { token: string };
const post = (name: string, given: object) =>
  fetch(`${service.url}/api/sandbox/${name}`, { method: 'POST', headers: { ...headers, authorization: `Idaas ${token}` }, body: JSON.stringify(given) });
/** How the school stands then. */
async function steer(name: string, given: object = {}): Promise<School> {
  const answer = await post(name, given);
  assert.equal(answer.status, 200, await answer.clone().text());
  return ((await answer.json()) as { Sandbox: { Schools: School[] } }).Sandbox.Schools[0] ?? assert.fail();
}
assert.equal((await collect()).trouble, undefined);
const drawn = await count();

test('an application to rehearse with is made in one step, and reads the demo school', async () => {
  assert.match(rp, /^rehearsal-[0-9a-f]{6}\.demo$/);
  assert.deepEqual(Object.keys(made), ['rp', 'clientId', 'clientSecret', 'managementSecret', 'signingSecret', 'estab', 'schoolSecret']);
  const basic = `Basic ${Buffer.from(`${rp}|${estab}:${made.schoolSecret}`).toString('base64')}`;
  const granted = await fetch(`${service.url}/ims/oneroster/v1p1/auth/token`, { method: 'POST', headers: { authorization: basic } });
  const { access_token: token } = (await granted.json()) as { access_token: string };
  const answer = await fetch(`${service.url}/ims/oneroster/v1p1/students?limit=1`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(((await answer.json()) as { users: object[] }).users.length, 1);
  await assertFails(/--name "": must have 1 to 60 characters, and has 0/, 'sandbox application --name', '');
  await assertFails(/--name "x{60}…": must have 1 to 60 characters, and has 300/, 'sandbox application --name', 'x'.repeat(300));
  await assertFails(/csv1 is no demo school/, 'sandbox application --name x --estab csv1');
});

test('there are so many of them and no more, also when two are made at once; one that fails leaves nothing', async () => {
  const known = (await db`select from application where demo`).length;
  await db`
    insert into application (rp, name, callback_url, redirect_uris, required_scopes, optional_scopes, client_id, demo)
    select 'many-' || n, 'Many', 'http://127.0.0.1/', '{}', '{}', '{}', 'many-' || n, true from generate_series(1, ${99 - known}::int) n`;
  await db`alter table school_secret add constraint not_now check (rp <> 'half-made') not valid`;
  await assertFails(/not_now/, 'sandbox application --name x --rp half-made');
  await db`alter table school_secret drop constraint not_now`;
  assert.equal((await db`select from application where rp = 'half-made'`).length, 0);
  const outcomes = await db.begin(async (tx) => {
    await tx`lock table application in share row exclusive mode`;
    const both = Promise.allSettled(['one', 'two'].map((name) => json(`sandbox application --name ${name}`)));
    const waiting = () => lockWaits(db);
    await until('both have counted, or wait until they may', async () => (await waiting()).length === 2);
    return { both };
  });
  assert.deepEqual((await outcomes.both).map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  assert.equal((await db`select from application where demo`).length, 100);
  await assertFails(/there are 100 applications of the demo already/, 'sandbox application --name three');
  await db`delete from application where rp like 'many-%'`;
});

test('a joiner, a leaver and a split class are collected at once, and a reset takes them back', async () => {
  const elsewhere = await db`select sourced_id, version, status from roster_user where estab = 'csv1' order by 1`;
  const [joined, ...others] = (await steer('joiner')).Happenings;
  assert.deepEqual([joined?.Kind, others], ['joiner', []]);
  assert.equal((await findUser(joined?.Of)).length, 0);
  const leaver = (await steer('leaver')).Happenings[1]?.Of ?? '';
  assert.deepEqual(await collect(), { asked: true, trouble: undefined });
  const [gone] = await db<{ status: string }[]>`select status from roster_user where estab = ${estab} and sourced_id = ${leaver}`;
  const { users, version } = await count();
  assert.deepEqual([...(await findUser(joined?.Of))], [{ status: 'active', kind: 'student' }], 'whoever joined is found by what was said');
  const [kept] = await db<{ of: string }[]>`select settings -> 'happenings' -> 0 ->> 'of' as of from connector_setting where estab = ${estab}`;
  assert.equal(kept?.of, '60', 'as an earlier version keeps and reads it');
  assert.deepEqual([gone?.status, users, version], ['tobedeleted', drawn.users + 1, drawn.version + 1], 'a pupil and a parent came, a pupil left');

  const split = (await steer('class-split')).Happenings[2]?.Of ?? '';
  const pupilsOf = async () => (await db<{ id: string; users: string[] }[]>`
    select e.class_id as id, array_agg(e.user_id order by e.user_id) as users from roster_enrollment e
    where e.estab = ${estab} and e.status = 'active' and e.role = 'student' group by 1`).map(({ id, users }) => [id, users] as const);
  const before = new Map(await pupilsOf());
  assert.deepEqual(await collect(), { asked: true, trouble: undefined });
  const after = new Map(await pupilsOf());
  const [young = ''] = [...after.keys()].filter((id) => !before.has(id));
  assert.deepEqual([...(after.get(split) ?? []), ...(after.get(young) ?? [])].sort(), [...(before.get(split) ?? [])].sort());
  assert.ok((after.get(split)?.length ?? 0) >= 2 && (after.get(young)?.length ?? 0) >= 2);
  const [teacher] = await db`select from roster_enrollment where estab = ${estab} and status = 'active' and class_id = ${young} and role = 'teacher'`;
  assert.ok(teacher, 'somebody teaches it');
  assert.equal((await count()).classes, drawn.classes + 1);
  assert.deepEqual((await steer('reset')).Happenings, []);
  assert.deepEqual(await collect(), { asked: true, trouble: undefined });
  const { version: _, gone: __, ...back } = await count();
  assert.deepEqual(back, { users: drawn.users, classes: drawn.classes, enrolments: drawn.enrolments });
  assert.deepEqual(await db`select sourced_id, version, status from roster_user where estab = 'csv1' order by 1`, elsewhere);
});

test('the clock of the school is moved by name, by date and by a duration, and the school is that of its day', async () => {
  const moveClock = async (given: object) => (await steer('clock', given)).Clock.slice(0, 16);
  assert.equal(await moveClock({ To: 'start-of-term' }), '2027-01-04T10:00');
  assert.deepEqual(await collect(), { asked: true, trouble: undefined });
  assert.notDeepEqual(await count(), drawn);
  assert.equal((await marks(parts)).map(({ date }) => date).sort().at(-1), '2027-01-04');
  assert.equal(await moveClock({ To: 'end-of-term' }), '2027-03-25T15:30');
  assert.equal(await moveClock({ By: '7d' }), '2027-04-01T15:30');
  assert.equal(await moveClock({ To: '2027-02-02' }), '2027-02-02T10:00');
  assert.equal(await moveClock({ By: '-7d' }), '2027-01-26T10:00');
  assert.equal(await moveClock({ To: '2028-02-29T12:00:00+01:00' }), '2028-02-29T11:00');
  assert.equal(await moveClock({ To: 'Now' }), '2026-11-17T10:00');
  assert.equal(await moveClock({ To: 'Start-of-term' }), '2027-01-04T10:00');
  assert.equal((await steer('clock', { To: 'now' })).AheadSeconds, 0);
  for (const [words, given] of [
    [/give either To or By/, {}],
    [/give either To or By/, { To: 'now', By: '7d' }],
    [/\\"2027-02-30\\": must be start-of-term.*a day of the calendar/, { To: '2027-02-30' }],
    [/\\"2027-02-29T10:00:00Z\\": must be/, { To: '2027-02-29T10:00:00Z' }],
    [/\\"2027-02-01T24:00:00Z\\": must be/, { To: '2027-02-01T24:00:00Z' }],
    [/\\"soon\\": must be start-of-term/, { To: 'soon' }],
    [/\\"7w\\": must be/, { By: '7w' }],
    [/has a calendar from 2026-09-01 until before 2030-09-01/, { To: '2031-01-01' }],
  ] as const) {
    const refused = await post('clock', given);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), words);
  }
  await assertFails(/give either --to or --by/, `sandbox clock --rp ${rp}`);
  await steer('reset');
});

test('the MIS is away, breaks off in the middle, and is well again by itself; nothing half-read is taken', async () => {
  const before = await count();
  assert.equal((await steer('mis', { Mode: 'offline', Minutes: 5 })).Mis, 'offline');
  await assert.rejects(collect(), /cannot be reached/);
  assert.equal((await steer('mis', { Mode: 'half-written' })).Mis, 'half-written');
  const { asked, trouble } = await collect();
  assert.ok(asked && trouble, 'it is refused');
  assert.deepEqual(await count(), before);
  const [report] = await db<{ outcome: string }[]>`select outcome from import_run where estab = ${estab} order by started_at desc limit 1`;
  assert.equal(report?.outcome, 'refused', trouble.message);
  await assert.rejects(marks(parts), /stopped in the middle of the registers/);
  assert.ok((await marks({ ...parts, sandbox: false })).length > 10_000, 'without a demo it is as ever');
  await steer('mis', { Mode: 'offline', Minutes: 5 });
  await assert.rejects(marks(parts), /cannot be reached/);
  assert.ok((await marks({ ...parts, now: () => now + 5 * 60_000 })).length > 10_000, 'it is over');
  await json('demo mode offline');
  const shown = async () => (await json<{ Schools: School[] }>(`sandbox show --rp ${rp}`)).Schools[0]?.Mis;
  assert.equal(await shown(), 'offline', 'it is the same switch');
  assert.equal((await steer('reset')).Mis, 'normal');
  assert.equal(await shown(), 'normal');
});

test('what the summer takes is held, as in life, or asked for so that it is let through', async () => {
  const before = await count();
  const moved = await steer('clock', { To: 'summer-roll-over' });
  assert.deepEqual([moved.Clock.slice(0, 16), moved.Collecting, moved.Held], ['2027-09-01T10:00', true, null]);
  const { asked, trouble } = await collect();
  assert.deepEqual([asked, trouble?.held], [true, true]);
  const standing = (await json<{ Schools: School[] }>(`sandbox show --rp ${rp}`)).Schools[0];
  assert.deepEqual([standing?.Collecting, standing?.Held?.Import], [false, trouble?.report]);
  assert.match(standing?.Held?.Message ?? '', /would be deleted; nothing of it was imported\. Approve it .+ or repeat the last step with force/);
  assert.match((await schoolbell(`sandbox show --rp ${rp}`)).out, /an import of .+ waits for approval: .+ nothing of it was imported/);
  assert.deepEqual(await count(), before);
  assert.equal((await steer('clock', { By: '0m', Force: true })).Clock.slice(0, 16), '2027-09-01T10:00');
  await steer('clock', { To: '2027-09-02', Force: true });
  const [asking] = await db<{ force: boolean }[]>`
    select (payload ->> 'force')::boolean as force from outbox where estab = ${estab} and payload ->> 'database' = 'SchoolData' and state = 'waiting'`;
  assert.equal(asking?.force, true);
  const dates = (await marks(parts)).map(({ date }) => date);
  assert.equal(dates.sort().at(-1), '2027-09-02');
});

test('a reset takes back the registers of days that have not come, as any mark is taken back, and nothing else', async () => {
  const given = JSON.stringify({ relyingParty: rp, estab, password: made.schoolSecret });
  const school = (await (await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers, body: given })).json()) as { token: string };
  type Answer = { AttendanceForDate: object[]; Deleted?: string[]; meta: object };
  const read = async (query: string) => {
    const answer = await fetch(`${service.url}/api/v1/AttendanceForDate?${query}`, { headers: { authorization: `Idaas ${school.token}` } });
    assert.equal(answer.status, 200, await answer.clone().text());
    return (await answer.json()) as Answer;
  };
  const collectAll = async (names: readonly DatabaseName[] = databaseNames) => {
    await db`delete from outbox where estab = ${estab} and kind = 'collect'`;
    await db`update component_database set refreshing_since = null where estab = ${estab}`;
    for (const name of names)
      assert.equal(await collectDatabase(parts, estab, name, { force: true, full: true, shrinkLimitPercent: 20 }), undefined);
  };
  /** How many marks each register has. */
  const shown = async () => Object.fromEntries((await db<{ register: string; many: number }[]>`
    select date || ' ' || session as register, count(*)::int as many from attendance_mark where estab = ${estab} and mark is not null
    group by 1 order by 1`).map(({ register, many }) => [register, many]));
  const versions = async () => (await db`select from attendance_version where estab = ${estab}`).length;
  const rowCount = async () => (await db<{ many: number }[]>`
    select row_count::int as many from component_database where estab = ${estab} and name = 'Attendance'`)[0]?.many;
  await steer('reset');
  await collectAll();
  const before = await shown();
  assert.equal(Object.keys(before).at(-1), '2026-11-17 AM');

  await steer('clock', { To: 'summer-roll-over', Force: true });
  await collectAll();
  const ahead = await read('date=2027-09-01');
  assert.ok(ahead.AttendanceForDate.length > 500);
  const since = new Date(Date.now() - 1).toISOString();
  const known = await versions();
  await steer('reset');
  await collectAll();
  assert.deepEqual([(await read('date=2027-09-01')).AttendanceForDate, await shown()], [[], before]);
  assert.deepEqual([await versions(), await rowCount()], [known + 1, Object.values(before).reduce((sum, many) => sum + many, 0)]);
  const told = await read(`date=2027-09-01&updatedSince=${since}`);
  assert.match(JSON.stringify(told), /2027-09-01\.AM/, 'whoever keeps a copy learns of it');
  await collectAll(['Attendance']);
  assert.equal(await versions(), known + 1, 'once');

  await steer('clock', { By: '5h' });
  await collectAll(['Attendance']);
  assert.ok((await shown())['2026-11-17 PM'], 'the afternoon has been marked');
  await steer('reset');
  await collectAll(['Attendance']);
  assert.deepEqual(Object.keys(await shown()), Object.keys(before));
  await steer('clock', { By: '-5d' });
  await collectAll(['Attendance']);
  assert.ok((await shown())['2026-11-17 AM'], 'what was real stays, also where the clock is set back');
  await steer('reset');
});

test('a school that was given another source since it was looked up is left as it is', async () => {
  const readSource = () => db`select settings from connector_setting where estab = 'csv1'`;
  await db.begin((tx) => setConnector(tx, seal, 'csv1', { kind: 'csv', folder: '/srv/csv1' }));
  const before = [...(await readSource())];
  const find = (name: string) => controls.find((control) => control.name === name) ?? assert.fail();
  const whom = { rp, estabs: ['csv1'] };
  await useControl(db, find('reset'), whom, {}, now);
  await assert.rejects(useControl(db, find('clock'), whom, { to: '2027-01-04' }, now), /no demo school authorises/);
  assert.deepEqual([...(await readSource())], before);
});
