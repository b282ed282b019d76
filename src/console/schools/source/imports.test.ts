// A school's imports in the console: packages that an operator uploads, the list, reports with what somebody else wrote in
// them, and what is held, decided on by an admin and by nobody else.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { readToEnd, useConsole, type AtConsole } from '../../../../test/console.ts';
import { hiddenIn, zip } from '../../../../test/onboarding.ts';
import { smallPackage, smallSchool, user } from '../../../../test/small-school.ts';
import { until } from '../../../../test/until.ts';
import { saveSource } from '../../../collection/change-source.ts';
import { emptyReport } from '../../../collection/import-report.ts';
import { listCollections } from '../../../collection/list-collections.ts';
import { listTroubledSchools } from '../../../collection/troubled-schools.ts';
import { countDay } from '../../../outbox/tally.ts';

const { service, enter } = await useConsole();
const { db, url, seal } = service;
await service.work();
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
let count = 0;
let estab = '';
let school = '';

beforeEach(async () => {
  estab = `I${(count += 1)}`;
  school = `/console/schools/${estab}`;
  await service.addSchool(estab);
});

const many = <T>(number: number, make: (at: number) => T) => Array.from({ length: number }, (_, at) => make(at));
const pupils = (number: number) =>
  smallPackage({ users: [...smallSchool.users, ...many(number, (at) => user(`x${at}`, 'student', { givenName: '<i>Pupil', familyName: `x${at}` }))] });
const faulty = () => smallPackage({ users: [...smallSchool.users, ...many(3, (at) => user(`w${at}`, '<script>alert(1)</script>')), user('=1+1', 'wizard')] });
const records = async () =>
  (await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`)[0]?.count;
const runs = () => db<{ id: string; outcome: string; decision: string | null }[]>`
  select id, outcome, decision from import_run where estab = ${estab} order by finished_at desc`;
const uploads = async () => (await db`select from upload where estab = ${estab}`).length;
const idle = async () => (await db`select from component_database where estab = ${estab} and refreshing_since is not null`).length === 0;
const looks = async (action: string) => (await db`select from audit_event where estab = ${estab} and action = ${action}`).length;
const noted = async () => (await db`select actor, outcome, detail from audit_event where estab = ${estab} and action = 'import' order by number`)
  .map(({ actor, outcome, detail }) => [`${actor} ${outcome}`, detail]);
const rowsIn = (text: string, id: string) =>
  [...(new RegExp(`id="${id}"[\\s\\S]*?</table>`).exec(text)?.[0] ?? '').matchAll(/<tr role="row">(<td[\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    row.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ').trim());

async function upload(who: AtConsole, bytes: Uint8Array, ticked: readonly string[] = []): Promise<{ status: number; location: string | null; text: string }> {
  const form = new FormData();
  for (const name of ticked) form.append(name, 'yes');
  form.append('package', new Blob([Uint8Array.from(bytes)]), 'package.zip');
  const path = `${school}/source/upload/send?token=${encodeURIComponent(who.token)}`;
  const response = await fetch(`${url}${path}`, { method: 'POST', headers: { cookie: who.cookie, accept: 'text/html' }, body: form, redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location'), text: await response.text() };
}

async function uploaded(bytes: Uint8Array, ticked: readonly string[] = []): Promise<void> {
  const before = (await runs()).length;
  const answer = await upload(admin, bytes, ticked);
  assert.deepEqual([answer.status, answer.location], [303, `${school}/source?done=schools-estab-source-upload-send`], answer.text);
  await until('the report', async () => (await runs()).length > before && (await idle()));
}

async function hold(from = 160, to = 20): Promise<string> {
  await service.load(estab, pupils(from));
  await uploaded(await zip(pupils(to)));
  return (await admin.get(`${school}/held`)).text;
}

// ---- Packages -----------------------------------------------------------------------------------------------------

test('an operator uploads a package, which is taken over; a viewer does not, nor anybody without the token', async () => {
  const form = await admin.get(`${school}/source/upload`);
  assert.match(form.text, new RegExp(`action="${school}/source/upload/send\\?token=[^"]+" enctype="multipart/form-data"`));
  assert.doesNotMatch((await viewer.get(`${school}/source/upload`)).text, /type="file"/);
  const bytes = await zip(smallPackage());
  assert.equal((await upload({ ...admin, token: 'wrong' }, bytes)).status, 403);
  assert.equal((await upload(viewer, bytes)).status, 403);
  assert.equal((await upload({ ...admin, cookie: '' }, bytes)).location, '/console/sign-in');
  assert.deepEqual([await uploads(), (await runs()).length], [0, 0]);
  await uploaded(bytes);
  assert.equal(await records(), 8);
  assert.deepEqual(await noted(), [['viewer refused', {}], ['admin done', {}]]);
});

test('no file, an empty one and one for a school that is read from elsewhere are refused on the page', async () => {
  for (const answer of [await admin.post(`${school}/source/upload/send`), await upload(admin, Buffer.alloc(0))]) {
    assert.equal(answer.status, 400);
    assert.match(answer.text, /id="problem"[\s\S]*zip[\s\S]*id="upload"/);
  }
  // Without a collection of it, which would keep the worker busy.
  await db`update establishment set connector = 'demo' where estab = ${estab}`;
  const refused = await upload(admin, await zip(smallPackage()));
  assert.equal(refused.status, 409);
  assert.match(refused.text, /id="problem"[\s\S]*comes through demo/);
  assert.equal(await uploads(), 0);
});

test('what breaks a rule refuses everything, or is left out where the operator says so', async () => {
  await uploaded(await zip(faulty()));
  assert.deepEqual([(await runs())[0]?.outcome, await records()], ['refused', 0]);
  await uploaded(await zip(faulty()), ['partial']);
  assert.deepEqual([(await runs())[0]?.outcome, await records()], ['done', 8]);
  const text = (await admin.get(`${school}/imports/${(await runs())[0]?.id}`)).text;
  assert.match(text, /were to be left out[\s\S]*made version 1/);
  assert.deepEqual(await noted(), [['admin done', {}], ['admin done', { partial: true }]]);
});

test('packages take the place of a provider only where that is said', async () => {
  const setup = { kind: 'oneroster', url: 'https://mis.example/ims/oneroster/v1p1', tokenUrl: undefined, clientId: 'i', clientSecret: 's' } as const;
  await db.begin(async (tx) => {
    await saveSource(tx, seal, estab, setup);
    // Nobody is there to be asked, which would keep the worker waiting.
    await tx`update outbox set state = 'cancelled', settled_at = now() where estab = ${estab}`;
    await tx`update component_database set refreshing_since = null where estab = ${estab}`;
  });
  const bytes = await zip(smallPackage());
  assert.equal((await upload(admin, bytes)).status, 409);
  assert.match((await upload(admin, Buffer.from('a letter'), ['change'])).text, /the provider stays connected: The package: is a text/);
  await uploaded(bytes, ['change']);
  assert.equal((await db`select connector from establishment where estab = ${estab}`)[0]?.connector, 'csv');
  await uploaded(bytes, ['partial', 'change']);
  const change = { inPlaceOfProvider: true };
  assert.deepEqual((await noted()).map(([, detail]) => detail), [{}, change, change, { partial: true, ...change }]);
});

// ---- Reports ------------------------------------------------------------------------------------------------------

test('imports are listed by key, each with its report; what stands in a file is text', async () => {
  assert.match((await admin.get(`${school}/imports`)).text, /Nothing was imported yet[\s\S]*Upload a package/);
  await service.load(estab, smallPackage());
  const report = await service.load(estab, faulty());
  assert.equal(report.outcome, 'refused');
  const list = (await admin.get(`${school}/imports`)).text;
  const rows = rowsIn(list, 'runs');
  assert.match(rows[0] ?? '', /By the operator Refused 0 0 0 4 4 – (?:[\d.]+ s|\d+ ms)$/);
  assert.match(rows[1] ?? '', /By the operator Imported 23 0 0 0 0 1 (?:[\d.]+ s|\d+ ms)$/);
  const [refused] = await runs();
  const path = `${school}/imports/${refused?.id}`;
  const text = (await admin.get(path)).text;
  assert.doesNotMatch(text, /<script>alert/);
  assert.match(text, /&#60;script&#62;alert\(1\)/);
  assert.match(text, /id="problems"[\s\S]*role[\s\S]*>4<[\s\S]*line 10/);
  assert.match(text, /id="by-collection"[\s\S]*People/);
  assert.match(text, new RegExp(`href="${path}/problems\\.csv" download`));
  const csv = await admin.get(`${path}/problems.csv`);
  assert.deepEqual([csv.status, csv.headers.get('content-type'), csv.headers.get('x-content-type-options')], [200, 'text/csv; charset=utf-8', 'nosniff']);
  assert.match(csv.headers.get('content-disposition') ?? '', /^attachment; filename="problems-I\d+-/);
  assert.equal(csv.text.split('\r\n').length, 6);
  assert.equal((await viewer.get(`${path}/problems.csv`)).status, 200);
  assert.deepEqual([await looks('look at import'), await looks('download problems of import')], [1, 2]);
  // Of another school, of none, and what is no id at all.
  await service.addSchool(`${estab}-other`);
  const own = ['nonsense', '%25%2F', '%F0%9F%94%94'].map((id) => `${school}/imports/${id}`);
  for (const wrong of [`/console/schools/${estab}-other/imports/${refused?.id}`, ...own])
    for (const end of ['', '/problems.csv']) assert.equal((await admin.get(`${wrong}${end}`)).status, 404, wrong);
});

test('the second page of imports begins behind the first', async () => {
  await db`
    insert into import_run (estab, started_at, finished_at, outcome, version, report, kind)
    select ${estab}, now() - make_interval(hours => n), now(), 'unchanged', 1, ${db.json(emptyReport(estab))}, 'upload' from generate_series(1, 60) n`;
  const idsIn = (text: string) => [...text.matchAll(/\/imports\/([\da-f-]{36})"/g)].map(([, id]) => id);
  const first = (await admin.get(`${school}/imports`)).text;
  const [, next = ''] = /href="([^"]*before=[^"]*)" rel="next"/.exec(first) ?? [];
  const second = (await admin.get(next)).text;
  const all = [...idsIn(first), ...idsIn(second)];
  assert.deepEqual([idsIn(first).length, idsIn(second).length, new Set(all).size], [50, 10, 60]);
  assert.equal(/rel="next"/.test(second), false);
  assert.equal(idsIn((await admin.get(`${school}/imports?before=nonsense`)).text).length, 50);
});

// ---- What is held -------------------------------------------------------------------------------------------------

test('what is held says why and who would go, all of them, by page, by kind and by search', async () => {
  assert.match((await admin.get(`${school}/held`)).text, /No import waits for approval/);
  const warned = async () => /class="caution"[^]*?href="[^"]*\/held"/.test((await admin.get(`${school}/source/upload`)).text);
  assert.equal(await warned(), false);
  const text = await hold();
  assert.equal(await warned(), true, 'whoever uploads another package is told that it takes the place of this one');
  assert.match(text, /id="held-message"><strong>140 of 164 student users \(85\.4 %\) would be deleted\./);
  assert.match(text, new RegExp(`id="leaving"[^]*<a href="${school}/roster/users/x100"><bdi>&#60;i&#62;Pupil x100`));
  assert.equal(rowsIn(text, 'leaving').length, 50);
  assert.match(rowsIn(text, 'leaving')[0] ?? '', /^&#60;i&#62;Pupil x100 x100$/);
  const pages = (await readToEnd(admin, `${school}/held`)).map((page) => rowsIn(page, 'leaving'));
  const seen = pages.flat();
  // Also those whose names are not kept with the import.
  assert.deepEqual([pages.length, seen.length, new Set(seen).size, seen.every((row) => row.includes('Pupil'))], [3, 140, 140, true]);
  const searched = async (q: string) => rowsIn((await admin.get(`${school}/held?of=users%2Fstudent&q=${encodeURIComponent(q)}`)).text, 'leaving').length;
  assert.deepEqual([await searched('PUPIL x15'), await searched('x99'), await searched('%'), await searched("o'_"), await searched('x1')], [10, 1, 0, 0, 50]);
  assert.equal(rowsIn((await admin.get(`${school}/held?of=nonsense%2F`)).text, 'leaving').length, 50);
  for (const wrong of ['q=%00', 'after=%00', 'q=%5C', 'after=%FF', 'of=%00']) assert.ok((await admin.get(`${school}/held?${wrong}`)).status < 500, wrong);
  assert.match((await admin.get(`${school}/source`)).text, /id="held-notice"[\s\S]*140 of 164[\s\S]*See what would be deleted, and decide/);
  assert.match((await admin.get(`${school}/imports/${(await runs())[0]?.id}`)).text, /It waits for approval/);
  assert.ok((await looks('look at held import')) > 5);
});

test('among very many is sought a part at a time, and what would go was counted when it was held', async () => {
  await hold(60, 5);
  const [run] = await runs();
  await db`insert into import_loss (estab, import, collection, sourced_id, role)
    select ${estab}, ${run?.id ?? ''}, 'users', 'a' || lpad(n::text, 5, '0'), 'student' from generate_series(1, 5500) n`;
  const at = `${school}/held?of=users%2Fstudent`;
  const first = (await admin.get(`${at}&q=pupil`)).text;
  assert.match(first, /No such record among those that were searched so far/);
  assert.match(first, /55 students/, 'as it was held');
  const next = /href="([^"]*after=a05000)" rel="next"/.exec(first)?.[1]?.replaceAll('&#38;', '&') ?? assert.fail('there is more');
  const second = (await admin.get(next)).text;
  assert.equal(rowsIn(second, 'leaving').length, 50);
  assert.match((await admin.get(`${at}&q=nobody&after=a05000`)).text, /No such record/);
});

test('what follows from either decision is said: of a package that it is dropped, of a collection that it is read again', async () => {
  const said = (text: string) => text.replaceAll(/\s+/g, ' ');
  const packed = said(await hold(60, 5));
  assert.match(packed, /If you approve it,[^.]* deleted\.[^]*If you discard it,[^.]* deleted/);
  assert.doesNotMatch(packed, /read again/);
  for (const verb of ['approve', 'discard']) assert.match(packed, new RegExp(`<form[^>]*/held/${verb}"[^>]*>(?:(?!</form>).)*<button[^>]*>${verb}`, 'i'));
  await db`update import_run set kind = 'provider' where estab = ${estab} and outcome = 'held'`;
  const collected = said((await admin.get(`${school}/held`)).text);
  assert.match(collected, /If you approve it,[^.]* deleted\.[^.]*read again[^]*If you discard it,[^.]*read again/);
  assert.doesNotMatch(collected, /upload is deleted/);
});

test('the work of a package that is held or refused says so, leads to the decision and the report, and offers no try that cannot be', async () => {
  const workOf = async () => {
    const open = () => db`select from outbox where estab = ${estab} and kind = 'collect' and state in ('waiting', 'running')`;
    await until('it is settled', async () => (await open()).length === 0);
    return (await db<{ id: string }[]>`select id from outbox where estab = ${estab} and kind = 'collect' order by seq desc limit 1`)[0]?.id ?? assert.fail();
  };
  const state = (text: string) => /<dt>State<\/dt><dd>(.*?)<\/dd>/.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '').trim();
  await hold(60, 5);
  const [work, held] = [await workOf(), (await runs())[0]?.id];
  const page = (await admin.get(`/console/work/${work}`)).text;
  assert.equal(state(page), 'Waits for approval');
  assert.match(page, new RegExp(`href="${school}/held"[\\s\\S]*href="${school}/imports/${held}"`));
  assert.doesNotMatch(page, /id="retry"/);
  assert.match((await admin.post(`/console/work/${work}/retry`)).text, /goes on when somebody approves it/);
  const [listedWork = ''] = rowsIn((await admin.get(`/console/work?kind=collect&estab=${estab}`)).text, 'work');
  assert.match(listedWork, / Waits for approval .* See what would be deleted, and decide/);
  const listed = async () => rowsIn((await admin.get(`${school}/source`)).text, 'collections');
  assert.match((await listed())[0] ?? '', / Waits for approval /);
  await admin.post(`${school}/held/approve`, { import: held ?? '' });
  await until('it is merged', async () => (await records()) === 13 && (await idle()));
  const after = (await admin.get(`/console/work/${work}`)).text;
  assert.equal(state(after), 'Approved');
  assert.doesNotMatch(after, new RegExp(`id="retry"|href="${school}/held"`));
  assert.match((await listed())[1] ?? '', / Approved /);

  await uploaded(await zip(faulty()));
  const refused = (await admin.get(`/console/work/${await workOf()}`)).text;
  assert.equal(state(refused), 'Refused');
  assert.match(refused, new RegExp(`href="${school}/imports/${(await runs())[0]?.id}"`));
  assert.doesNotMatch(refused, new RegExp(`id="retry"|href="${school}/held"`));
  assert.match((await listed())[0] ?? '', / Refused /);
});

test('that a package was received is not said above its refusal', async () => {
  await uploaded(await zip(faulty()));
  const after = `${school}/source?done=schools-estab-source-upload-send`;
  assert.doesNotMatch((await admin.get(after)).text, /id="notice"/);
  await db`update component_database set refreshing_since = now() where estab = ${estab}`;
  assert.match((await admin.get(after)).text, /id="notice"[^>]*><p>The upload was received/);
});

test('an import that waits, or was discarded, is no failed work: not in the lists, the counts or the metrics', async () => {
  const settled = async () => (await countDay(db)).settled.find(({ kind, state }) => kind === 'collect' && state === 'failed')?.value ?? 0;
  const before = await settled();
  const seen = hiddenIn(await hold(60, 5)).import ?? '';
  await until('its work has ended', async () => (await db`select from outbox where estab = ${estab} and state in ('waiting', 'running')`).length === 0);
  const failures = async () => ({
    rows: (await db`select from outbox where estab = ${estab} and state = 'failed'`).length,
    listed: rowsIn((await admin.get(`/console/work?state=failed&estab=${estab}`)).text, 'work').length,
    said: / Failed /.test(rowsIn((await admin.get(`${school}/source`)).text, 'collections')[0] ?? ''),
    collections: (await listCollections(db, estab, { most: 5 })).filter(({ state }) => state === 'failed').length,
    settled: (await settled()) - before,
  });
  const none = { rows: 0, listed: 0, said: false, collections: 0, settled: 0 };
  const ending = async () => (await listCollections(db, estab, { most: 1 }))[0]?.ending;
  assert.deepEqual(await failures(), none);
  assert.deepEqual({ ...(await ending()) }, { import: seen, outcome: 'held', decision: null });
  await admin.post(`${school}/held/discard`, { import: seen });
  assert.deepEqual(await failures(), none);
  assert.equal((await ending())?.decision, 'discarded');
});

test('a first import that was discarded leaves a school without data, and not one that fails', async () => {
  await uploaded(await zip(smallPackage({ users: [], enrollments: [] })));
  const [held] = await runs();
  assert.equal(held?.outcome, 'held');
  const status = async () => (await db`select status from component_database where estab = ${estab} and name = 'SchoolData'`)[0]?.status as string;
  const troubled = async () => (await listTroubledSchools(db, 500)).filter((one) => one.estab === estab).map(({ trouble }) => trouble);
  assert.deepEqual([await status(), await troubled()], ['Paused', ['held']]);
  assert.equal((await admin.post(`${school}/held/discard`, { import: held?.id ?? '' })).status, 303);
  assert.deepEqual([await status(), await troubled()], ['NoData', []]);
  assert.doesNotMatch((await admin.get(school)).text, /badge bad/);
});

test('an admin approves what was seen, and only that; a viewer decides nothing', async () => {
  const text = await hold(60, 5);
  const seen = hiddenIn(text).import ?? '';
  const told = await viewer.get(`${school}/held`);
  assert.doesNotMatch(told.text, /approve-held|discard-held/);
  assert.match(told.text, /An admin or the school decides/);
  assert.equal((await viewer.post(`${school}/held/approve`, { import: seen })).status, 403);
  for (const other of ['', 'another']) {
    const refused = await admin.post(`${school}/held/approve`, { import: other });
    assert.equal(refused.status, 409);
    assert.match(refused.text, /id="problem"[\s\S]*The import that waits for approval is[\s\S]*id="approve-held"/);
  }
  assert.equal(await records(), 68);
  assert.equal((await admin.post(`${school}/held/approve`, { import: seen })).location, `${school}/source?done=schools-estab-held-approve`);
  await until('it is merged', async () => (await records()) === 13 && (await idle()));
  const [made] = await runs();
  const approved = (await admin.get(`${school}/imports/${seen}`)).text;
  assert.match(approved, new RegExp(`<dt>Decision</dt><dd>approved by <bdi>admin</bdi>[^]*<a href="${school}/imports/${made?.id}">the import of`));
  assert.match((await admin.get(`${school}/imports/${made?.id}`)).text, new RegExp(`<a href="${school}/imports/${seen}">as it was held before`));
  const again = await admin.post(`${school}/held/approve`, { import: seen });
  assert.deepEqual([again.status, /No import of \S+ waits for approval/.test(again.text)], [409, true]);
  const decided = await db`select actor, outcome, subject from audit_event where estab = ${estab} and action = 'import approve' order by number`;
  assert.deepEqual(decided.map(({ actor, outcome }) => `${actor} ${outcome}`), [
    'viewer refused', 'admin refused', 'admin refused', 'admin done', 'admin refused',
  ]);
  assert.equal(decided[3]?.subject, seen);
});

test('what is discarded is dropped, and what was there stays', async () => {
  const seen = hiddenIn(await hold(60, 5)).import ?? '';
  assert.equal((await admin.post(`${school}/held/discard`, { import: 'another' })).status, 409);
  assert.equal((await admin.post(`${school}/held/discard`, { import: seen })).location, `${school}/source?done=schools-estab-held-discard`);
  assert.deepEqual([await records(), await uploads(), (await runs())[0]?.decision], [68, 0, 'discarded']);
  assert.match((await admin.get(`${school}/imports/${seen}`)).text, /Decision<\/dt><dd>discarded/);
});
