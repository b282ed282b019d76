// Covers reading of earlier versions: for random sequences of imports every version that is kept reads back exactly as it
// was, in pages of any size, filtered and nested, in every process; and what happens to versions that are not kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgetHistory, forgetPurgedHistory } from '../collection/history.ts';
import { purgeRosters } from '../../test/all-schools.ts';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { asking, byName, ofSeveralSchools, type TestedDialect } from '../../test/dialects.ts';
import { earlier } from '../../test/earlier.ts';
import { useService } from '../../test/service.ts';
import { noteStanding } from '../roster/standing.ts';
import { forgetVersionNames } from './pin.ts';

const service = await useService();
const { db } = service;
const other = await service.join();

/** Repeatable, and told when a test fails. */
function createRandom(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return { next, below: (limit: number) => Math.floor(next() * limit), pick: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T };
}
type Random = ReturnType<typeof createRandom>;

type ById = Map<string, Record<string, string>>;
type School = { parts: Set<string>; users: ById; classes: ById; enrollments: ById };

const base: Record<string, Rows> = {
  orgs: [{ sourcedId: 'trust', name: 'Trust', type: 'district' }, { sourcedId: 'school', name: 'School', type: 'school', parentSourcedId: 'trust' }],
  academicSessions: [{ sourcedId: 'term', title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2026-12-20', schoolYear: '2027' }],
  courses: [{ sourcedId: 'course', title: 'Course', orgSourcedId: 'school' }],
};

function change({ parts, users, classes, enrollments }: School, random: Random): void {
  if (!parts.delete(`part${random.below(3)}`)) parts.add(`part${random.below(3)}`);
  for (let changes = 4 + random.below(12); changes > 0; changes -= 1) {
    const id = `p${random.below(24)}`;
    const known = users.get(id);
    if (known && random.next() < 0.3) {
      users.delete(id);
      for (const [key, { userSourcedId }] of enrollments) if (userSourcedId === id) enrollments.delete(key);
      for (const one of users.values()) if (one.agentSourcedIds === id) one.agentSourcedIds = '';
    } else {
      const agent = random.pick(['', ...[...users.keys()].filter((one) => one !== id)]);
      users.set(id, {
        sourcedId: id, enabledUser: 'true', orgSourcedIds: 'school', role: random.pick(['student', 'student', 'teacher', 'parent', 'aide']), username: id,
        givenName: random.pick(['Ada', 'Bea', 'Cyd']), familyName: `F${random.below(9)}`, agentSourcedIds: agent,
      });
    }
    const klass = `k${random.below(6)}`;
    classes.set(klass, {
      sourcedId: klass, title: `Class ${random.below(4)}`, courseSourcedId: 'course', classType: random.pick(['scheduled', 'homeroom']),
      schoolSourcedId: 'school', termSourcedIds: 'term',
    });
    const member = random.pick([...users.keys()]);
    const key = `e${random.below(50)}`;
    if (member === undefined || random.next() < 0.2) enrollments.delete(key);
    else
      enrollments.set(key, {
        sourcedId: key, classSourcedId: random.pick([...classes.keys()]), schoolSourcedId: 'school', userSourcedId: member,
        role: users.get(member)?.role === 'teacher' ? 'teacher' : 'student',
      });
  }
}

const rowsOf = ({ parts, users, classes, enrollments }: School): Record<string, Rows> => ({
  ...base,
  orgs: [...(base.orgs ?? []), ...[...parts].map((id) => ({ sourcedId: id, name: id, type: 'department', parentSourcedId: 'school' }))],
  classes: [...classes.values()], users: [...users.values()], enrollments: [...enrollments.values()],
});

const lists = [
  '/orgs', '/users', '/students', '/teachers', '/classes', '/enrollments', "/users?filter=status='active'", "/users?filter=familyName='F1' or givenName~'b'",
  '/users?sort=familyName&orderBy=desc', "/enrollments?filter=user.sourcedId!='p1'", "/users?filter=agents.sourcedId='p2'", '/classes/k1/students',
  '/schools/school/teachers', '/schools/school/courses', '/schools/school/terms', '/terms/term/classes', '/schools/school/classes/k2/enrollments',
];
const answersOfOne = ['/orgs/school', '/users/p1', '/classes/k1', '/enrollments/e3', '/users/p1/classes', '/students/p2/classes'];

type Read = (path: string, headers?: Record<string, string>) => Promise<Response>;
const inner = (text: string) => text.slice(text.indexOf('[') + 1, -2);

/** What each question answers, and how it is counted. */
async function copy(read: Read): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  for (const path of [...lists, ...answersOfOne]) {
    const response = await read(path);
    answers.set(path, `${response.status} ${response.headers.get('x-total-count')} ${response.status === 200 ? await response.text() : ''}`);
  }
  return answers;
}

/** The whole list again, from pages of this size. */
async function inPages(read: Read, path: string, limit: number): Promise<string> {
  const parts: string[] = [];
  for (let offset = 0; ; offset += limit) {
    const response = await read(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}&offset=${offset}`);
    if (response.status !== 200) return `${response.status} ${response.headers.get('x-total-count')} `;
    const text = await response.text();
    parts.push(inner(text));
    if (offset + limit >= Number(response.headers.get('x-total-count')))
      return `200 ${response.headers.get('x-total-count')} ${text.slice(0, text.indexOf('[') + 1)}${parts.filter(Boolean).join(',')}]}`;
  }
}

/** What is seen in which dialect. */
const views: readonly (readonly [scopes: string | undefined, dialect: TestedDialect])[] = [
  [undefined, byName.B], [undefined, byName['1.2']], ['School,Student', byName['1.2']], ['School,Staff,Contact', byName.B],
];

test('for random sequences of imports, every version reads back exactly as it was, in pages of any size and in every process', async (context) => {
  const seed = Math.floor(Math.random() * 2 ** 32);
  context.diagnostic(`seed ${seed}`);
  const random = createRandom(seed);
  const estab = 'random';
  const school: School = { parts: new Set(), users: new Map(), classes: new Map(), enrollments: new Map() };
  change(school, random);
  assert.equal((await service.addSchool(estab, csvPackage(rowsOf(school))))?.outcome, 'done');
  const clients = await Promise.all(views.map(([scopes], at) => service.addClient(`app-random-${at}`, [estab], scopes)));
  const kept: { version: string; answers: Map<string, string> }[][] = [];
  const remember = async () => {
    const states = [];
    for (const [at, [, dialect]] of views.entries()) {
      const read: Read = (path, headers) => dialect.read(clients[at] ?? assert.fail(), estab, path, headers);
      states.push({ version: (await read('/orgs')).headers.get('x-roster-version') ?? '', answers: await copy(read) });
    }
    kept.push(states);
  };
  await remember();
  for (let imports = 0; imports < 4; imports += 1) {
    change(school, random);
    const report = await service.load(estab, csvPackage(rowsOf(school)), { approve: true });
    assert.notEqual(report.outcome, 'refused', JSON.stringify(report.problems));
    if (report.outcome === 'done') await remember();
  }
  for (const states of kept) {
    for (const [at, { version, answers }] of states.entries()) {
      const [scopes, dialect] = views[at] ?? assert.fail();
      const token = await dialect.token(clients[at] ?? assert.fail(), estab);
      const read = (url: string): Read => (path, headers = {}) =>
        fetch(url + dialect.root + path, { headers: { authorization: `Bearer ${token}`, 'if-roster-version': version, ...headers } });
      // The other process has not answered any of it before.
      const there = await copy(read(other.url));
      const about = `${dialect.name}, version ${version}, seed ${seed}, scopes ${scopes}`;
      for (const [path, expected] of answers) assert.equal(there.get(path), expected, `${path}: ${about}`);
      for (let tries = 0; tries < 3; tries += 1) {
        const path = random.pick(lists);
        const limit = 1 + random.below(20);
        assert.equal(await inPages(read(random.pick([service.url, other.url])), path, limit), answers.get(path), `${path} by ${limit}: ${about}`);
      }
    }
  }
});

/** Two schools under one token, each imported twice. */
async function openTwo(name: string, dialect: (typeof ofSeveralSchools)[number] = ofSeveralSchools[0] ?? assert.fail()) {
  const school = (letter: string, family: string): School => ({
    parts: new Set(),
    users: new Map(
      [1, 2, 3].map((at) => [
        `${letter}${at}`,
        {
          sourcedId: `${letter}${at}`, enabledUser: 'true', orgSourcedIds: 'school', role: 'student', username: `${letter}${at}`, givenName: 'Given',
          familyName: family, agentSourcedIds: '',
        },
      ]),
    ),
    classes: new Map(),
    enrollments: new Map(),
  });
  const estabs = [`${name}-a`, `${name}-b`] as const;
  for (const estab of estabs) assert.equal((await service.addSchool(estab, csvPackage(rowsOf(school(estab.at(-1) ?? '', 'Old')))))?.outcome, 'done');
  const client = await service.addClient(`app-${name}`, estabs);
  return {
    estabs,
    client,
    read: ((path, headers) => dialect.readAll(client, path, headers)) as Read,
    token: () => dialect.tokenOfAll(client),
    renew: (estab: string, family: string) => service.load(estab, csvPackage(rowsOf(school(estab.at(-1) ?? '', family)))),
  };
}

const familiesOf = async (response: Response) =>
  ((await response.json()) as { users: { familyName: string }[] }).users.map((user) => user.familyName);
const nextOf = (response: Response) => /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page');

const ofLinks = 'several schools are named together; a walk by links stays at what it began with, and the first link begins anew';
for (const dialect of ofSeveralSchools) test(`${dialect.name}: ${ofLinks}`, async () => {
  const { estabs, read, renew, token: tokenOf } = await openTwo(`both-${dialect.name}`, dialect);
  const first = await read('/users?limit=2');
  const version = first.headers.get('x-roster-version') ?? '';
  assert.equal(first.headers.get('vary')?.toLowerCase().includes('if-roster-version'), true);
  assert.deepEqual(await familiesOf(first), ['Old', 'Old']);
  await renew(estabs[1], 'New');
  const token = await tokenOf();
  const walk = async (url: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const second = await walk(nextOf(first));
  assert.deepEqual([await familiesOf(second), second.headers.get('x-roster-version')], [['Old', 'Old'], version]);
  assert.deepEqual(await familiesOf(await walk(nextOf(second))), ['Old', 'Old']);
  const begun = /<([^>]*)>; rel="first"/.exec(second.headers.get('link') ?? '')?.[1] ?? '';
  assert.equal(begun.includes('rosterVersion'), false);
  const anew = await walk(begun);
  assert.notEqual(anew.headers.get('x-roster-version'), version);
  assert.deepEqual(await familiesOf(await read('/users')), ['Old', 'Old', 'Old', 'New', 'New', 'New']);
  const elsewhere = await fetch(`${other.url}${dialect.root}/users`, { headers: { authorization: `Bearer ${token}`, 'if-roster-version': version } });
  assert.deepEqual(await familiesOf(elsewhere), Array.from({ length: 6 }, () => 'Old'));
});

for (const dialect of ofSeveralSchools) test(`${dialect.name}: what the caller may see is judged now`, async () => {
  const { estabs, read, renew, client } = await openTwo(`judged-${dialect.name}`, dialect);
  const version = (await read('/users')).headers.get('x-roster-version') ?? '';
  await renew(estabs[0], 'New');
  const pinned = () => read('/users', { 'if-roster-version': version });
  assert.equal((await familiesOf(await pinned())).length, 6);
  await db`update authorisation set state = 'Revoked' where estab = ${estabs[1]} and rp = ${client.rp}`;
  assert.deepEqual(await familiesOf(await pinned()), ['Old', 'Old', 'Old']);
  await db`update authorisation set scopes = '{School}' where estab = ${estabs[0]} and rp = ${client.rp}`;
  assert.equal((await pinned()).status, dialect.errors.forbidden?.status);
});

const ofGone = 'a version that is not kept is 412 before any 304, a wish for it is served as it stands';
for (const dialect of ofSeveralSchools) test(`${dialect.name}: ${ofGone}`, async () => {
  const { estabs, read, renew } = await openTwo(`gone-${dialect.name}`, dialect);
  const before = await read('/users?limit=2');
  const [version, tag] = [before.headers.get('x-roster-version') ?? '', before.headers.get('etag') ?? ''];
  assert.equal((await read('/users?limit=2', { 'if-roster-version': version, 'if-none-match': tag })).status, 304);
  await renew(estabs[0], 'New');
  assert.equal((await read('/users?limit=2', { 'if-roster-version': version, 'if-none-match': tag })).status, 304);
  // Within the hour everything is kept, however little is asked for.
  for (const estab of estabs) await forgetHistory(db, estab, 0);
  assert.deepEqual(await familiesOf(await read('/users?limit=2', { 'if-roster-version': version })), ['Old', 'Old']);
  await db`update roster_version set instant = ${earlier(db, 'instant', '2 days')} where estab = ${estabs[0]}`;
  for (const estab of estabs) await forgetHistory(db, estab, 1);
  const gone = await read('/users?limit=2', { 'if-roster-version': version, 'if-none-match': tag });
  assert.deepEqual([gone.status, gone.headers.get('vary')?.includes('if-roster-version')], [412, true]);
  const { message, minor } = dialect.readError(await gone.text());
  assert.deepEqual([/is not kept/.test(message), minor], [true, dialect.errors.gone?.minor]);
  assert.deepEqual(await familiesOf(await read(`/users?limit=2&rosterVersion=${version}`)), ['New', 'New']);
  for (const nonsense of ['', 'x', '1-00000000', '999999999-00000000', 'A'.repeat(22), `${version},${version}`])
    assert.equal((await read('/users', { 'if-roster-version': nonsense })).status, 412, nonsense);
  assert.equal((await read('/users?rosterVersion=a&rosterVersion=b')).status, 400);
  const [{ left = -1 } = {}] = await db<{ left: number }[]>`select count(*)::int as left from roster_user_history where estab = ${estabs[0]}`;
  assert.equal(left, 0);
});

test('names of several schools at once are forgotten after a day, and those of one need no keeping', async () => {
  const { estabs, read, renew, client } = await openTwo('names');
  const version = (await read('/users')).headers.get('x-roster-version') ?? '';
  const single = (await client.b(estabs[0], '/users')).headers.get('x-roster-version') ?? '';
  await renew(estabs[0], 'New');
  await db`update roster_version_set set noted_at = noted_at - interval '25 hours'`;
  await forgetVersionNames(db, 1);
  assert.equal((await read('/users', { 'if-roster-version': version })).status, 412);
  // Its name is the same in all of them.
  for (const dialect of asking)
    assert.deepEqual(await familiesOf(await dialect.read(client, estabs[0], '/users', { 'if-roster-version': single })), ['Old', 'Old', 'Old'], dialect.name);
});

test('a merge that kept nothing, as an older release makes one, is not looked behind', async () => {
  const { estabs, renew, client } = await openTwo('unkept');
  const version = async () => (await client.b(estabs[0], '/users')).headers.get('x-roster-version') ?? '';
  const first = await version();
  await renew(estabs[0], 'Second');
  const second = await version();
  await db.begin(async (tx) => {
    await tx`update roster_user set version = 3, family_name = 'Third', record = replace(record, 'Second', 'Third') where estab = ${estabs[0]}`;
    await tx`update roster set version = 3 where estab = ${estabs[0]}`;
    await tx`insert into roster_version (estab, version, instant, stamp) values (${estabs[0]}, 3, now(), '2026-01-01T00:00:00.000Z')`;
    await noteStanding(tx, estabs[0]);
  });
  const status = async (at: string) => (await client.b(estabs[0], '/users', { 'if-roster-version': at })).status;
  assert.deepEqual([await status(first), await status(second), await status(await version())], [412, 412, 200]);
  const third = await version();
  await renew(estabs[0], 'Fourth');
  assert.deepEqual([await status(first), await status(second), await status(third)], [412, 412, 200]);
  assert.deepEqual(await familiesOf(await client.b(estabs[0], '/users', { 'if-roster-version': third })), ['Third', 'Third', 'Third']);
});

test('a purge is looked behind for an hour, and then what was purged is nowhere', async () => {
  const { estabs, client } = await openTwo('purged');
  const [estab] = estabs;
  const stays = { sourcedId: 'a1', enabledUser: 'true', orgSourcedIds: 'school', role: 'student', username: 'a1', givenName: 'Given', familyName: 'Old' };
  await service.load(estab, csvPackage({ ...base, users: [stays] }), { approve: true });
  const version = (await client.b(estab, '/users')).headers.get('x-roster-version') ?? '';
  await db`update roster_version set instant = ${earlier(db, 'instant', '100 days')} where estab = ${estab}`;
  assert.equal(await purgeRosters(db, 90), 2);
  for (const { read } of asking) {
    const response = await read(client, estab, '/users', { 'if-roster-version': version });
    assert.deepEqual([response.headers.get('x-total-count'), (await familiesOf(response)).length], ['3', 3]);
  }
  await db`update roster_user_history set purged_at = ${earlier(db, 'purged_at', '2 hours')} where estab = ${estab}`;
  await db`update roster set purged_at = ${earlier(db, 'purged_at', '2 hours')} where estab = ${estab}`;
  await db`update roster set history_from = 0 where estab = ${estab}`;
  await noteStanding(db, estab);
  await forgetPurgedHistory(db);
  for (const { read } of asking)
    assert.equal((await read(client, estab, '/users', { 'if-roster-version': version })).status, 412, 'exactly as it was, or not at all');
  const [{ left = -1 } = {}] = await db<
    { left: number }[]
  >`select count(*)::int as left from roster_user_history where estab = ${estab} and sourced_id <> 'a1'`;
  assert.equal(left, 0);
});
