// Covers sync() against the service itself: a full copy and then what changed, everything of one version, what a grant's
// changes do, what is told, the guard, and two runs at once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { purgeRosters } from '../../test/all-schools.ts';
import { copied, createListener, openRoster, openRosters, readActive, readCopy, type Fetching } from '../../test/roster-copy.ts';
import { deltaPackage, enrolment, smallPackage, smallSchool, user, type Row } from '../../test/small-school.ts';
import { useService, type Client } from '../../test/service.ts';
import { noteStanding } from '../../src/roster/standing.ts';
import { LeaseLost, SameIdTwice, SchoolbellError, ShrinkageHeld, sync, SyncBusy, SyncUnsettled, VersionGone, type Store, type SyncOptions } from './index.ts';
import { memoryStore } from './stores/memory.ts';

const service = await useService();
const { db } = service;
let schools = 0;

const everything = 'School,Student,Staff,Contact,StudentDemographic';
const demographics: Row[] = [{ sourcedId: 'p1', birthDate: '2014-02-03', sex: 'female' }, { sourcedId: 's1', sex: 'male' }];

/** A school of its own for each test, an application, and a copy. */
async function begin(scopes = everything, files: Parameters<typeof smallPackage>[0] = { demographics }) {
  const estab = `sync-${(schools += 1)}`;
  await service.addSchool(estab, smallPackage(files));
  const client = await service.addClient(`app-${estab}`, [estab], scopes);
  const requests: string[] = [];
  /** What a test does in the middle, by the number of the request that it comes before. */
  const before = new Map<number, () => Promise<unknown>>();
  const fetching: Fetching = async (url, init) => {
    await before.get(requests.push(url))?.();
    return fetch(url, init);
  };
  const store = memoryStore();
  const listener = createListener();
  const options = { roster: openRoster(service.url, client, estab, fetching), store, onChange: listener.onChange };
  return {
    estab,
    client,
    store,
    listener,
    requests,
    before,
    sync: (more: Partial<SyncOptions> = {}) => sync({ ...options, ...more }),
    load: (changed: Parameters<typeof smallPackage>[0], force = true) => service.load(estab, smallPackage({ demographics, ...changed }), { approve: force }),
    grant: (granted: string) => db`update authorisation set scopes = ${granted.split(',')} where estab = ${estab} and rp = ${client.rp}`,
    async assertEqual(what = '') {
      const roster = await readActive((path) => client.b(estab, path));
      assert.deepEqual(await readCopy(store), roster, what);
      assert.deepEqual(listener.replayed(), roster, `told: ${what}`);
    },
  };
}

const without = (collection: 'users' | 'enrollments', ...ids: string[]) => smallSchool[collection].filter((row) => !ids.includes(row.sourcedId ?? ''));
const renamed = (id: string, familyName: string) => smallSchool.users.map((row) => (row.sourcedId === id ? { ...row, familyName } : row));

test('first everything, then what changed, then nothing', async () => {
  const copy = await begin();
  const first = await copy.sync();
  assert.deepEqual([first.full, first.read, first.added, first.changed, first.removed], [true, 25, 25, 0, 0]);
  await copy.assertEqual();

  const users = [...renamed('p1', 'Renamed').filter((row) => row.sourcedId !== 's2'), user('p4', 'student')];
  await copy.load({ users, enrollments: without('enrollments', 'e7') });
  const next = await copy.sync();
  assert.deepEqual([next.full, next.read, next.added, next.changed, next.removed], [false, 4, 1, 1, 2], 'what changed and nothing else');
  assert.deepEqual(next.collections, { users: { added: 1, changed: 1, removed: 1 }, enrollments: { added: 0, changed: 0, removed: 1 } });
  assert.notEqual(next.version, first.version);
  await copy.assertEqual();

  const asked = copy.requests.length;
  assert.deepEqual(await copy.sync(), { version: next.version, full: false, read: 0, added: 0, changed: 0, removed: 0, collections: {} });
  assert.equal(copy.requests.length - asked, copied.length, 'one look at each collection');
});

test('what is told has both sides, comes before what refers to it, and goes after', async () => {
  const copy = await begin();
  await copy.sync();
  copy.listener.told.length = 0;
  await copy.load({
    users: [...renamed('p2', 'Renamed').filter((row) => row.sourcedId !== 's2'), user('p4', 'student')],
    enrollments: [...without('enrollments', 'e7'), enrolment('e9', 'p4', 'k1')],
  });
  await copy.sync({
    onChange: async (changes, { version }) => {
      copy.listener.onChange(changes);
      assert.match(version, /^2-/);
      for (const { collection, id, after } of changes)
        assert.deepEqual((await copy.store.records(collection)).find(({ sourcedId }) => sourcedId === id), after ?? undefined, 'in the copy already');
    },
  });
  const told = copy.listener.told.map(({ collection, id, before, after }) => [collection, id, before?.status, after?.status]);
  assert.deepEqual(told, [
    ['users', 'p2', 'active', 'active'],
    ['users', 'p4', undefined, 'active'],
    ['enrollments', 'e9', undefined, 'active'],
    ['enrollments', 'e7', 'active', undefined],
    ['users', 's2', 'active', undefined],
  ]);
  const [change] = copy.listener.told;
  assert.ok(change?.collection === 'users');
  assert.deepEqual([change.before?.familyName, change.after?.familyName], ['Family', 'Renamed']);
});

test('what the listener did not take is told again, before anything new', async () => {
  const copy = await begin();
  await assert.rejects(copy.sync({ onChange: () => Promise.reject(new Error('not now')) }), /not now/);
  await copy.load({ users: renamed('p1', 'Renamed') });
  const versions: string[] = [];
  const { version } = await copy.sync({
    onChange(changes, of) {
      versions.push(of.version);
      copy.listener.onChange(changes);
    },
  });
  assert.deepEqual(versions.map((one) => one.split('-')[0]), ['1', '2']);
  assert.equal(versions[1], version);
  await copy.assertEqual();
});

test('what the listener throws is thrown as it is, also what the client itself might throw', async () => {
  const copy = await begin();
  let calls = 0;
  const onChange = () => {
    calls += 1;
    throw new VersionGone('a walk of its own', { code: 'walk_changed' });
  };
  await assert.rejects(copy.sync({ onChange }), /a walk of its own/);
  assert.equal(calls, 1);
  await copy.sync();
  await copy.assertEqual();
});

test('who stood still before telling, and was overtaken, does not tell of what is past', async () => {
  const copy = await begin();
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  const still: Store = {
    ...store,
    async changes(most) {
      const found = await store.changes(most);
      now += 3_600_000;
      await copy.load({ users: renamed('p1', 'Renamed') });
      await copy.sync({ store });
      return found;
    },
  };
  await copy.sync({ store, onChange: undefined });
  await copy.load({ users: renamed('p1', 'Soon past') });
  await assert.rejects(copy.sync({ store: { ...still, changes: store.changes }, onChange: () => Promise.reject(new Error('not now')) }), /not now/);
  await assert.rejects(copy.sync({ store: still, onChange: () => assert.fail('it was told') }), LeaseLost);
  assert.deepEqual(copy.listener.told.map(({ after }) => (after as { familyName?: string } | null)?.familyName), ['Soon past', 'Renamed']);
});

test('everything is of one version, whatever is imported meanwhile', async () => {
  const copy = await begin();
  let imports = 0;
  const importMore = () => copy.load({ users: renamed('p1', `Name ${(imports += 1)}`), enrollments: without('enrollments', `e${imports}`) });
  for (let request = 3; request < 40; request += 6) copy.before.set(request, importMore);
  const { version } = await copy.sync({ pageSize: 3 });
  assert.ok(imports > 3, `${imports} imports`);
  const pinned = await readActive((path) => copy.client.b(copy.estab, path, { 'if-roster-version': version }));
  assert.deepEqual(await readCopy(copy.store), pinned);
  copy.before.clear();
  assert.equal((await copy.sync()).full, false);
  await copy.assertEqual();
});

test('a version that is not kept any more is begun again, a few times', async () => {
  const copy = await begin();
  const forget = async () => {
    await copy.load({ users: renamed('p1', `Name ${copy.requests.length}`) });
    await db`update roster set history_from = version where estab = ${copy.estab}`;
    await noteStanding(db, copy.estab);
  };
  copy.before.set(15, forget);
  assert.match((await copy.sync({ pageSize: 3 })).version, /^2-/);
  await copy.assertEqual();

  await copy.load({ users: renamed('p2', 'Once more') });
  for (let request = copy.requests.length; request < copy.requests.length + 200; request += 5) copy.before.set(request, forget);
  await assert.rejects(copy.sync({ pageSize: 3 }), SyncUnsettled);
  assert.deepEqual(await readCopy(copy.store), copy.listener.replayed(), 'the copy is as it was');
  copy.before.clear();
  await copy.sync();
  await copy.assertEqual();
});

const grants = [everything, 'School,Student', 'School,Staff', 'School,Student,Contact', 'StudentDemographic', 'Student,Staff,StudentDemographic', 'School'];
test('whatever is granted more or less is found, also when the roster does not move', async () => {
  const copy = await begin();
  for (const scopes of [...grants, ...grants.toReversed()]) {
    await copy.grant(scopes);
    await copy.sync();
    await copy.assertEqual(scopes);
  }
});

test('one kind of people granted for another, as many of each, is found', async () => {
  const copy = await begin('School,Student', { users: [user('p1', 'student'), user('s1', 'teacher')], enrollments: [] });
  await copy.sync();
  await copy.grant('School,Staff');
  assert.deepEqual((await copy.sync({ guard: { allow: true } })).collections.users, { added: 1, changed: 0, removed: 1 });
  await copy.assertEqual();
});

test('a grant that changes while it is read begins it again', async () => {
  for (const request of [12, 14, 16, 18, 20]) {
    const copy = await begin();
    copy.before.set(request, () => copy.grant('School,Student'));
    await copy.sync({ pageSize: 3 });
    copy.before.clear();
    await copy.assertEqual(`at request ${request}`);
  }
});

test('also where every count stays the same', async () => {
  for (let request = 10; request < 24; request += 2) {
    const enrollments = [enrolment('e1', 'p1', 'k1'), enrolment('e2', 's1', 'k1', { role: 'teacher' })];
    const copy = await begin('School,Student', { users: [user('p1', 'student'), user('s1', 'teacher')], enrollments });
    copy.before.set(request, () => copy.grant('School,Staff'));
    await copy.sync();
    copy.before.clear();
    const users = (await copy.store.records('users')).map(({ sourcedId }) => sourcedId);
    const enrolled = (await copy.store.records('enrollments')).map((one) => (one as { user?: { sourcedId: string } }).user?.sourcedId);
    assert.deepEqual(enrolled, users, `of one grant, at request ${request}`);
  }
});

test('a reference to a person comes and goes with that person’s role, although the record does not change', async () => {
  // p1 names a2, a guardian; contacts are not granted.
  const copy = await begin('School,Student,Staff');
  await copy.sync();
  const as = (role: string) => smallSchool.users.map((row) => (row.sourcedId === 'a2' ? { ...row, role } : row));
  const agents = async () => {
    const pupil = (await copy.store.records('users')).find(({ sourcedId }) => sourcedId === 'p1') as { agents?: unknown[] } | undefined;
    return pupil?.agents?.length;
  };
  assert.equal(await agents(), undefined);
  for (const [role, named] of [['teacher', 1], ['relative', undefined], ['aide', 1], ['student', 1], ['parent', undefined]] as const) {
    await copy.load({ users: as(role) });
    assert.equal((await copy.sync()).full, false, 'other collections are not read again');
    await copy.assertEqual(role);
    assert.equal(await agents(), named, role);
  }
  // Gone as a teacher, and back as a parent: neither is in the copy, but the reference was.
  await copy.load({ users: as('teacher') });
  await service.load(copy.estab, deltaPackage({ users: as('teacher').filter((row) => row.sourcedId === 'a2') }, 'tobedeleted'), { approve: true });
  await copy.sync();
  assert.equal(await agents(), 1);
  await service.load(copy.estab, deltaPackage({ users: as('parent').filter((row) => row.sourcedId === 'a2') }), { approve: true });
  await copy.sync();
  await copy.assertEqual();
  assert.equal(await agents(), undefined);
});

test('who left and was purged between two runs is noticed by the count, and only that collection is read again', async () => {
  const copy = await begin();
  await copy.sync();
  await copy.load({ enrollments: without('enrollments', 'e7', 'e8') });
  assert.ok((await purgeRosters(db, 0)) >= 2);
  const { full, read, removed } = await copy.sync();
  assert.deepEqual([full, read, removed], [false, 6, 2]);
  await copy.assertEqual();
});

test('an address that changed, or a roster that was begun anew, is read whole', async () => {
  const moved = await service.join({ PUBLIC_URL: 'https://moved.example' });
  for (const scopes of [everything, 'School', 'Staff']) {
    const copy = await begin(scopes);
    await copy.sync();
    const roster = openRoster(moved.url, copy.client, copy.estab);
    const { full, changed } = await copy.sync({ roster });
    assert.deepEqual([full, changed > 0], [true, true], scopes);
    const addresses = JSON.stringify(await readCopy(copy.store)).matchAll(/"href":"(https?:\/\/[^/]+)/g);
    assert.deepEqual([...new Set([...addresses].map(([, address]) => address))], ['https://moved.example'], scopes);
    await copy.sync();
    await copy.assertEqual(scopes);
  }
  const copy = await begin();
  await copy.sync();
  await db`update roster set id = ${randomUUID()} where estab = ${copy.estab}`;
  await noteStanding(db, copy.estab);
  assert.equal((await copy.sync()).full, true);
});

test('after some days everything is read again', async () => {
  const copy = await begin();
  const start = Date.now();
  const day = 86_400_000;
  await copy.sync({ now: () => start });
  await copy.load({ users: renamed('p1', 'Renamed') });
  assert.equal((await copy.sync({ now: () => start + 6.9 * day })).full, false);
  assert.equal((await copy.sync({ now: () => start + 7 * day })).full, true);
  assert.equal((await copy.sync({ now: () => start + 10 * day, fullEveryDays: 2 })).full, true);
  assert.equal((await copy.sync({ now: () => start + 10 * day })).read, 0);
  assert.equal((await copy.sync({ now: () => start + 2 * day })).full, true, 'the clock was wrong then, or is now');
});

test('some collections only, and others later', async () => {
  const copy = await begin();
  await copy.sync({ collections: ['users', 'orgs'] });
  assert.deepEqual((await copy.store.records('enrollments')).length, 0);
  assert.equal((await copy.store.records('users')).length, 8);
  assert.equal((await copy.sync()).full, true);
  await copy.assertEqual();
  await copy.sync({ collections: ['users', 'orgs'] });
  assert.deepEqual(await Promise.all(copied.map(async (collection) => (await copy.store.records(collection)).length)), [1, 0, 0, 0, 8, 0, 0]);
  assert.deepEqual(await readCopy(copy.store), copy.listener.replayed());
});

test('where something in between takes ETags away, changes and grants are found all the same', async () => {
  const copy = await begin();
  const roster = openRoster(service.url, copy.client, copy.estab, async (url, init) => {
    const response = await fetch(url, init);
    const headers = new Headers(response.headers);
    headers.delete('etag');
    return new Response(await response.arrayBuffer(), { status: response.status, headers });
  });
  await copy.sync({ roster });
  await copy.load({ users: renamed('p1', 'Renamed') });
  assert.deepEqual([(await copy.sync({ roster })).read, (await copy.sync({ roster })).read], [1, 0]);
  await copy.assertEqual();
  await copy.grant('School,Staff,StudentDemographic');
  await copy.sync({ roster });
  await copy.assertEqual();
});

test('a lease is renewed as long as a listener takes', async () => {
  const copy = await begin();
  let renewals = 0;
  const renewed = Promise.withResolvers<void>();
  const store: Store = {
    ...copy.store,
    async renew(holder) {
      await copy.store.renew(holder);
      renewals += 1;
      if (renewals === 3) renewed.resolve();
    },
  };
  await copy.sync({ store, leaseMs: 1000, onChange: () => renewed.promise });
  assert.ok(renewals >= 3);
});

const pupils = (many: number) => Array.from({ length: many }, (_, at) => user(`pupil${100 + at}`, 'student'));

test('a sudden shrinkage is held until it is allowed', async () => {
  const copy = await begin(everything, { users: [...smallSchool.users, ...pupils(60)] });
  await copy.sync();
  const before = await readCopy(copy.store);
  await service.load(copy.estab, smallPackage({ users: [...smallSchool.users, ...pupils(47)] }), { approve: true });
  const held = await copy.sync().then(() => assert.fail('it went through'), (error: unknown) => error);
  assert.ok(held instanceof ShrinkageHeld);
  assert.deepEqual(held.held, [{ collection: 'users', part: 'student', had: 64, gone: 13 }]);
  assert.match(held.message, /13 of 64 users \(student\)/);
  assert.deepEqual(await readCopy(copy.store), before);
  await assert.rejects(copy.sync({ guard: { allow: ['enrollments'] } }), ShrinkageHeld);
  await assert.rejects(copy.sync({ guard: { percent: 20.2 } }), ShrinkageHeld);
  await copy.sync({ guard: { percent: 20.4 } });
  await copy.assertEqual();
  // As many again, which are fewer than are watched, or allowed by name.
  await service.load(copy.estab, smallPackage({ users: [...smallSchool.users, ...pupils(30)] }), { approve: true });
  await assert.rejects(copy.sync(), ShrinkageHeld);
  await service.load(copy.estab, smallPackage({ users: [...smallSchool.users, ...pupils(47)] }), { approve: true });
  await copy.sync();
  await service.load(copy.estab, smallPackage({ users: [...smallSchool.users, ...pupils(30)] }), { approve: true });
  await copy.sync({ guard: { allow: ['users'] } });
  await service.load(copy.estab, smallPackage({ users: [...smallSchool.users, ...pupils(1)] }), { approve: true });
  await copy.sync({ guard: { least: 51 } });
  await copy.assertEqual();
});

test('a collection that comes back empty is held, one that is refused is not, and a paused authorisation empties nothing', async () => {
  const copy = await begin();
  await copy.sync();
  await service.load(copy.estab, deltaPackage({ demographics }, 'tobedeleted'), { approve: true });
  const held = await copy.sync().then(() => assert.fail('it went through'), (error: unknown) => error);
  assert.ok(held instanceof ShrinkageHeld);
  assert.deepEqual(held.held, [{ collection: 'demographics', part: '', had: 2, gone: 2 }]);
  await copy.grant('School,Student,Staff,Contact');
  await copy.sync();
  await copy.assertEqual();
  const before = await readCopy(copy.store);
  await db`update authorisation set state = 'Paused' where estab = ${copy.estab}`;
  await assert.rejects(copy.sync(), /paused|invalid/i);
  assert.deepEqual(await readCopy(copy.store), before);
  await db`update authorisation set state = 'Approved' where estab = ${copy.estab}`;
  await copy.sync();
  await copy.assertEqual();
});

test('a large collection is held also when it is refused, and a refusal by something in between removes nothing', async () => {
  const users = [...smallSchool.users, ...pupils(60)];
  const copy = await begin(everything, { users, demographics: pupils(60).map(({ sourcedId = '' }) => ({ sourcedId, sex: 'female' })) });
  const between = openRoster(service.url, copy.client, copy.estab, (url, init) =>
    url.includes('demographics') ? Promise.resolve(new Response('<h1>Forbidden</h1>', { status: 403 })) : fetch(url, init));
  await copy.sync();
  const guard = { allow: true };
  await assert.rejects(copy.sync({ roster: between, guard }), (error: unknown) => error instanceof SchoolbellError && error.status === 403);
  await copy.grant('School,Student,Staff,Contact');
  await assert.rejects(copy.sync(), ShrinkageHeld);
  assert.equal((await copy.store.records('demographics')).length, 60);
  await copy.sync({ guard });
  await copy.assertEqual();
});

test('of two runs at once one is told so; one that stood still for too long changes nothing any more', async () => {
  const copy = await begin();
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  copy.before.set(9, () => assert.rejects(copy.sync({ store }), (error: unknown) => error instanceof SyncBusy && error.until.getTime() > now));
  await copy.sync({ store });
  await copy.load({ users: renamed('p1', 'Renamed') });
  const first = await readCopy(store);
  let overtaken = 0;
  copy.before.set(copy.requests.length + 14, async () => {
    copy.before.clear();
    now += 3_600_000;
    overtaken = (await copy.sync({ store })).changed;
    await copy.load({ users: renamed('p1', 'Renamed again') });
  });
  await assert.rejects(copy.sync({ store }), LeaseLost);
  assert.equal(overtaken, 1);
  assert.notDeepEqual(await readCopy(store), first);
  await copy.sync({ store });
  assert.deepEqual(await readCopy(store), await readActive((path) => copy.client.b(copy.estab, path)));
});

test('a run that is aborted gives the lease back and leaves the copy as it was', async () => {
  const copy = await begin();
  const abort = new AbortController();
  copy.before.set(12, async () => abort.abort(new Error('enough')));
  await assert.rejects(copy.sync({ signal: abort.signal }), /enough/);
  assert.deepEqual(await copy.store.records('orgs'), []);
  await copy.sync();
  await copy.assertEqual();
});

async function beginA(client: Client) {
  const store = memoryStore();
  const requests: string[] = [];
  const fetching: Fetching = (url, init) => {
    requests.push(url);
    return fetch(url, init);
  };
  const roster = openRosters(service.url, client, fetching);
  return { store, requests, sync: (more: Partial<SyncOptions> = {}) => sync({ roster, store, ...more }) };
}
function renameIds(school: string): typeof smallSchool {
  const rename = (value: string) => value.replaceAll(/[^,]+/g, (id) => `${school}-${id}`);
  const inRow = (row: Row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, /sourcedIds?$/i.test(key) ? rename(value) : value]));
  return Object.fromEntries(Object.entries(smallSchool).map(([name, rows]) => [name, rows.map(inRow)])) as typeof smallSchool;
}

test('variant A reads everything when anything changed, of all schools, and sees schools come and go', async () => {
  const estabs = ['a-one', 'a-two', 'a-three'];
  for (const estab of estabs) await service.addSchool(estab, smallPackage(renameIds(estab)));
  const client = await service.addClient('app-a', ['a-one', 'a-two'], everything);
  const copy = await beginA(client);
  const assertEqual = async () => assert.deepEqual(await readCopy(copy.store), await readActive((path) => client.a(path)));
  const first = await copy.sync();
  assert.deepEqual([first.full, first.added], [true, 46]);
  await assertEqual();
  assert.equal((await copy.sync()).read, 0, 'nothing changed, nothing is read');
  await service.load('a-two', smallPackage({ ...renameIds('a-two'), enrollments: renameIds('a-two').enrollments.slice(1) }), { approve: true });
  assert.deepEqual((await copy.sync()).collections, { enrollments: { added: 0, changed: 0, removed: 1 } });
  await assertEqual();
  await db`insert into authorisation (estab, rp, scopes, state) select 'a-three', rp, scopes, state from authorisation where estab = 'a-one' and rp = 'app-a'`;
  assert.equal((await copy.sync()).added, 23);
  await assertEqual();
  await db`update authorisation set state = 'Paused' where estab = 'a-one' and rp = 'app-a'`;
  assert.equal((await copy.sync()).removed, 23);
  await assertEqual();
  await db`update authorisation set scopes = '{School,Student}' where estab = 'a-two' and rp = 'app-a'`;
  await copy.sync();
  await assertEqual();
});

test('two schools with the same ids cannot be one copy of variant A, until they differ', async () => {
  for (const estab of ['same-one', 'same-two']) await service.addSchool(estab, smallPackage());
  const client = await service.addClient('app-same', ['same-one', 'same-two'], everything);
  const copy = await beginA(client);
  for (let times = 0; times < 2; times += 1)
    await assert.rejects(copy.sync({ pageSize: 1 }), (error: unknown) => error instanceof SameIdTwice && error.id === 'o1' && /variant B/.test(error.message));
  assert.deepEqual(await copy.store.records('orgs'), []);
  // What was begun is of a version that is still served.
  await service.load('same-two', smallPackage(renameIds('same-two')), { approve: true });
  await copy.sync();
  assert.deepEqual(await readCopy(copy.store), await readActive((path) => client.a(path)));
});
