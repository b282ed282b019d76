// Covers reading rosters with the client, against the service itself: both variants, every list and nested list, filters, one
// version over all pages although imports commit in between, and that nothing short is ever taken for whole.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { forgetHistory } from '../../src/collection/history.ts';
import { operations } from '../../src/rostering/operations.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { earlier } from '../../test/earlier.ts';
import { useService } from '../../test/service.ts';
import { createClient, SchoolbellError, VersionGone, type Base, type Page } from './index.ts';

const service = await useService();
const fixture = join(import.meta.dirname, '../../test/fixtures/small-school');
await service.addSchool('N1', fixture);
await service.addSchool('N2', fixture);
const one = await service.addClient('reader', ['N1']);

type Change = (url: string, init: RequestInit) => Promise<Response>;
/** Of a client: more than any of these needs, so that a walk without end fails. */
const mostCalls = 2_000;
function open(fetching: Change = fetch, rp = 'reader') {
  let calls = 0;
  const counted: Change = (url, init) => {
    calls += 1;
    if (calls > mostCalls) throw new Error('it calls without end');
    return fetching(url, init);
  };
  return createClient({ url: service.url, rp, fetch: counted });
}
const schoolOf = (fetching?: Change) => open(fetching).school({ estab: 'N1', secret: one.schoolSecrets.N1 ?? '' }).roster;
const rosterB = schoolOf();
const rosterA = open().roster({ clientId: one.clientId, clientSecret: one.clientSecret });

async function all<T>(records: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const record of records) found.push(record);
  return found;
}

const idsOf = async (records: AsyncIterable<{ sourcedId: string }>) => (await all(records)).map(({ sourcedId }) => sourcedId);
const plain = async (path: string) => (await (await one.b('N1', path)).json()) as Record<string, Base[]>;

test('every list of both variants, in pages of any size, is what the API gives', async () => {
  for (const { path, collection } of operations.filter(({ single, parents }) => !single && !parents)) {
    const list = path.slice(1) as 'users';
    const expected = (await plain(path))[collection];
    for (const pageSize of [1, 2, 1000]) assert.deepEqual(await all(rosterB.list(list, { pageSize })), expected, `${list} by ${pageSize}`);
  }
  const offered = ['academicSessions', 'classes', 'courses', 'enrollments', 'orgs', 'users'] as const;
  for (const list of offered) {
    const expected = ((await (await one.a(`/${list}`)).json()) as Record<string, Base[]>)[list];
    assert.deepEqual(await all(rosterA.list(list, { pageSize: 3 })), expected, list);
  }
});

test('lists of a school, class, term, course or person, whatever their ids look like', async () => {
  const school = 'sch/north@ashdown';
  const nested = {
    [`/schools/${encodeURIComponent(school)}/classes`]: rosterB.list('classes', { of: { school } }),
    [`/schools/${encodeURIComponent(school)}/courses`]: rosterB.list('courses', { of: { school } }),
    [`/schools/${encodeURIComponent(school)}/terms`]: rosterB.list('terms', { of: { school } }),
    '/classes/9A%2FMa1%40north/students': rosterB.list('students', { of: { class: '9A/Ma1@north' } }),
    '/schools/sch%2Fnorth%40ashdown/classes/9A%2FMa1%40north/enrollments': rosterB.list('enrollments', { of: { class: '9A/Ma1@north', school } }),
    '/terms/T1-27/classes': rosterB.list('classes', { of: { term: 'T1-27' } }),
    '/courses/crs-maths-09/classes': rosterB.list('classes', { of: { course: 'crs-maths-09' } }),
    '/students/stu%2F001%40north/classes': rosterB.list('classes', { of: { student: 'stu/001@north' } }),
    '/teachers/tch-1/classes': rosterB.list('classes', { of: { teacher: 'tch-1' } }),
    '/users/stu-002/classes': rosterB.list('classes', { of: { user: 'stu-002' } }),
  };
  for (const [path, list] of Object.entries(nested)) assert.deepEqual(await all<Base>(list), Object.values(await plain(path))[0], path);
  await assert.rejects(all(rosterB.list('students', { of: { school: 'nowhere' } })), { name: 'SchoolbellError', status: 404, code: 'unknown object' });
});

test('filters are built by type: quotes are doubled, dates are instants, and binds tighter than or', async () => {
  assert.deepEqual(await idsOf(rosterB.list('users', { filter: (where) => where('familyName').is("O'Brien").and('role').is('student') })), ['stu/001@north']);
  assert.deepEqual(
    await idsOf(rosterB.list('users', { filter: (where) => where('role').is('guardian').or('givenName').contains('zo').and('status').is('active') })),
    ['par-2', 'stu/001@north'],
  );
  const [user] = await all(rosterB.list('users', { pageSize: 1 }));
  const since = new Date(user?.dateLastModified ?? '');
  const total = (await rosterB.count('users')).total;
  assert.equal((await rosterB.count('users', { filter: (where) => where('dateLastModified').atLeast(since) })).total, total);
  assert.equal((await rosterB.count('users', { filter: (where) => where('dateLastModified').above(since) })).total, 0);
  const red = rosterB.count('users', { filter: (where) => where('metadata.house').is('Red').and('orgs.sourcedId').contains('sch/north@ashdown') });
  assert.equal((await red).total, 1);
  assert.equal((await rosterB.count('users', { filter: "status!='active'" })).total, 2);
  assert.deepEqual(await idsOf(rosterA.list('users', { filter: (where) => where('status').is('tobedeleted') })), ['stu-004', 'tch-9']);
  // What the types refuse is refused as well where there are none.
  await assert.rejects(
    // @ts-expect-error -- variant A filters by status alone
    all(rosterA.list('users', { filter: (where) => where('role').is('student') })),
    { status: 400, message: /only status can be filtered by/ },
  );
  // @ts-expect-error -- and ignores any filter of enrolments
  await assert.rejects(all(rosterA.list('enrollments', { filter: (where) => where('status').is('active') })), { code: 'unsupported' });
  // @ts-expect-error -- and sorts nothing
  await assert.rejects(all(rosterA.list('users', { sort: 'familyName' })), { code: 'unsupported', message: /would ignore "sort"/ });
  // @ts-expect-error -- in no direction either
  await assert.rejects(all(rosterA.list('users', { orderBy: 'desc' })), { code: 'unsupported', message: /would ignore "orderBy"/ });
  await assert.rejects(rosterA.raw.get('users', 'stu-002', { fields: ['givenName'] }), { code: 'unsupported', message: /would ignore "fields"/ });
  // Without types, an id that is missing would otherwise be the whole list.
  for (const parents of [{ school: undefined }, { clas: '9A/Ma1@north' }, { toString: 'x' }])
    await assert.rejects(all(rosterB.list('students', { of: parents as never })), { code: 'invalid_request', message: /must be one of school,class/ });
  // @ts-expect-error -- a word that is none
  await assert.rejects(all(rosterB.list('users', { filter: (where) => where('shoeSize').is('42') })), { code: 'invalid_filter_field' });
  // @ts-expect-error -- users are of no school here
  await assert.rejects(all(rosterB.list('users', { of: { school: 'sch-south' } })), { status: 404 });
});

test('sorted, and only the fields that are asked for', async () => {
  const found = await all(rosterB.list('students', { sort: 'familyName', orderBy: 'desc', fields: ['familyName', 'sourcedId'], pageSize: 2 }));
  assert.deepEqual(found.map(({ familyName }) => familyName), ["O'Brien", 'Núñez, Jr.', 'Moved', 'Dupont']);
  assert.deepEqual(Object.keys(found[0] ?? {}).toSorted(), ['familyName', 'sourcedId']);
  // @ts-expect-error -- was not asked for
  assert.equal(found[0]?.givenName, undefined);
});

test('one record by its id, and none', async () => {
  assert.equal((await rosterB.get('users', 'stu/001@north'))?.givenName, 'Zoë');
  assert.deepEqual(await rosterB.get('students', 'stu-002', { fields: ['givenName'] }), { givenName: 'José "Pepe"' });
  assert.equal((await rosterA.get('classes', '9A/Ma1@north'))?.title, '9A/Ma1');
  assert.equal((await rosterB.get('demographics', 'stu-002'))?.sex, 'male');
  for (const { raw } of [rosterA, rosterB]) assert.equal(await raw.get('users', 'nobody'), undefined);
  assert.equal(await rosterB.get('teachers', 'stu-002'), undefined, 'a pupil is no teacher');
  // These would be other addresses: that of the list, or of what lies above it.
  for (const id of ['', '.', '..']) await assert.rejects(rosterB.get('users', id), { code: 'invalid_request' });
  const proxy = schoolOf(async (url, init) => (url.includes('/users/') ? new Response('<h1>Not found</h1>', { status: 404 }) : fetch(url, init)));
  await assert.rejects(proxy.get('users', 'stu-002'), { status: 404, code: 'http_404' }, 'a 404 of something in between says nothing of the record');
});

const people = (names: readonly string[], givenName = 'Given') =>
  csvPackage({
    orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
    users: names.map((name) => ({
      sourcedId: name, enabledUser: 'true', orgSourcedIds: 'o1', role: 'student', username: name, givenName, familyName: 'Family',
    })),
  });
const names = ['a', 'b', 'c', 'd', 'e', 'f'];

test('imports that commit during a walk are not seen by it, in either variant', async () => {
  await service.addSchool('P1', people(names, 'Before'));
  const application = await service.addClient('walker', ['P1']);
  const client = open(fetch, 'walker');
  const readers = [client.school({ estab: 'P1', secret: application.schoolSecrets.P1 ?? '' }).roster.raw, client.roster(application).raw];
  for (const [at, reader] of readers.entries()) {
    const before = at === 0 ? 'Before' : 'After 0';
    const walk = reader.pages('users', { pageSize: 2 });
    const pages: Page<Base & { givenName?: string }>[] = [];
    for await (const page of walk) {
      pages.push(page);
      if (pages.length === 1) await service.load('P1', people(['0', ...names.slice(1), 'g'], `After ${at}`), { approve: true });
    }
    const records = pages.flatMap((page) => page.records);
    assert.deepEqual(new Set(records.filter(({ status }) => status === 'active').map(({ givenName }) => givenName)), new Set([before]));
    assert.equal(new Set(pages.map(({ version }) => version)).size, 1);
    assert.deepEqual(pages.map(({ offset, total }) => [offset, total === records.length]), pages.map((_, page) => [2 * page, true]));
    const now = await reader.count('users');
    assert.notEqual(now.version, pages[0]?.version);
    // What is left of a walk can be read later, of the same version.
    const version = pages[0]?.version;
    assert.deepEqual((await all(reader.pages('users', { version, offset: 4, pageSize: 5 }))).flatMap((page) => page.records), records.slice(4));
    assert.deepEqual(await reader.count('users', { version }), { total: records.length, version });
    assert.deepEqual(await reader.get('users', 'a', { version }), records.find(({ sourcedId }) => sourcedId === 'a'));
    await service.load('P1', people(names, 'After 0'), { approve: true });
  }
});

test('a version that is no longer kept ends the walk by name', async () => {
  await service.addSchool('G1', people(names));
  const { schoolSecrets, ...application } = await service.addClient('late', ['G1']);
  const client = open(fetch, 'late');
  for (const { variant, raw } of [client.school({ estab: 'G1', secret: schoolSecrets.G1 ?? '' }).roster, client.roster(application)]) {
    const walk = raw.pages('users', { pageSize: 4 });
    const first = await walk.next();
    await service.load('G1', people(names, `Given ${variant}`));
    await service.db`update roster_version set instant = ${earlier(service.db, 'instant', '40 days')} where estab = 'G1'`;
    await forgetHistory(service.db, 'G1', 0);
    const isGone = (error: unknown) => error instanceof VersionGone && error instanceof SchoolbellError && error.status === 412 && error.requestId !== '';
    await assert.rejects(walk.next(), isGone);
    await assert.rejects(raw.get('users', 'a', { version: (first.value as Page<Base>).version }), VersionGone);
    assert.equal((await raw.pages('users').next()).value?.records.length, 6, 'and another begins');
  }
});

test('a grant that is narrowed in the middle of a walk ends it', async () => {
  const walk = rosterB.pages('users', { pageSize: 5 });
  await walk.next();
  await service.db`update authorisation set scopes = array_remove(scopes, 'Contact') where estab = 'N1' and rp = 'reader'`;
  await assert.rejects(walk.next(), (error) => error instanceof VersionGone && /held 12 records and then 9/.test(error.message));
  await service.db`update authorisation set scopes = array_append(scopes, 'Contact') where estab = 'N1' and rp = 'reader'`;
});

test('what is cut off, short or of another version is an error, never a list', async () => {
  const tamper = (change: (text: string) => string, headers: (given: Headers) => void = () => {}) =>
    schoolOf(async (url, init) => {
      const answer = await fetch(url, init);
      if (!url.includes('/users')) return answer;
      const kept = new Headers(answer.headers);
      kept.delete('content-length');
      kept.delete('content-encoding');
      headers(kept);
      return new Response(change(await answer.text()), { status: answer.status, headers: kept });
    });
  const whole = (text: string) => text;
  await assert.rejects(all(tamper((text) => text.slice(0, -20)).list('users')), { code: 'unreadable' });
  await assert.rejects(all(tamper((text) => JSON.stringify({ users: (JSON.parse(text) as { users: unknown[] }).users.slice(1) })).list('users')), {
    code: 'incomplete', message: /gave 11 records from 0 on where 12 of 12 were due/,
  });
  await assert.rejects(all(tamper(() => '{}').list('users')), { code: 'unreadable' });
  await assert.rejects(all(tamper(whole, (headers) => headers.delete('x-total-count')).list('users')), { code: 'incomplete' });
  await assert.rejects(all(tamper(whole, (headers) => headers.delete('x-roster-version')).list('users')), { code: 'incomplete' });
  await assert.rejects(all(tamper(whole, (headers) => headers.set('x-roster-version', String(Math.random()))).list('users', { pageSize: 5 })), VersionGone);
});
