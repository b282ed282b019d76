// Lists through files and past them: whatever is asked, in every dialect and scope, a process with files answers byte for byte what one
// without answers, also after merges, of earlier versions, and while merges happen; and the ledger counts the same.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { byName, offers, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { loadSource, madeUpSource, person, role, type Given, type GivenRole } from '../../test/made-up-source.ts';
import { readAnswer, type RawAnswer } from '../../test/read-answer.ts';
import { useService, type Client } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { policies } from '../db/policies.ts';
import { parseListName } from '../roster/list-folder.ts';

const estab = '9990001';
const second = '9990002';
const service = await useService();
const { db } = service;
const otherDir = mkdtempSync(join(tmpdir(), 'schoolbell-past-'));
after(() => rmSync(otherDir, { recursive: true, force: true }));
const past = await service.join({ LIST_CACHE_MB: '0', DATA_DIR: otherDir });

const seed = Math.floor(Math.random() * 2 ** 32);
let state = seed;
const below = (limit: number) => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};
const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;

/** Ids of several scripts and lengths, some of which JSON escapes; what a person is depends on the number alone. */
const beginnings = ['A', 'a', 'z"\\', 'é', '\u{1d4b3}'];
const idOf = (at: number) => `${beginnings[Math.floor(at / 250)] ?? '~'}${String(at).padStart(4, '0')}${at % 97 === 0 ? 'x'.repeat(140) : ''}`;
const kindsOfRoles: readonly (readonly GivenRole[])[] = [
  [role('student', 'org')], [role('parent', 'org')], [role('student', 'org')], [role('teacher', 'org')],
  [role('student', 'org'), role('parent', 'org', 'secondary')],
  [role('parent', 'org'), role('teacher', 'org', 'secondary')], [role('aide', 'org')],
];
const rolesAt = (at: number) => kindsOfRoles[at % kindsOfRoles.length] ?? [];
const user = (at: number, more: Partial<Given> & { roles?: readonly GivenRole[] } = {}): Given => ({
  ...person(idOf(at), more.roles ?? rolesAt(at), { agents: at > 0 && at % 3 === 0 ? [idOf(at - 1), idOf(at - 2)] : undefined, givenName: `Given ${at} "€"` }),
  ...more,
});
const enrolment = (at: number, more: Partial<Given> = {}): Given => ({
  sourcedId: `e${String(at).padStart(5, '0')}`, user: idOf(at % 1100), role: rolesAt(at % 1100)[0]?.role === 'teacher' ? 'teacher' : 'student',
  class: `k${at % 40}`, school: 'org', ...more,
});
const range = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));
const theSchool = {
  orgs: [{ sourcedId: 'org', name: 'School', type: 'school' }],
  academicSessions: [{ sourcedId: 'aut', title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-20', schoolYear: '2027' }],
  courses: [{ sourcedId: 'crs', title: 'Maths', org: 'org' }],
  classes: range(40, (at) => ({ sourcedId: `k${at}`, title: `Class ${at}`, course: 'crs', classType: 'scheduled', school: 'org', terms: ['aut'] })),
  users: range(1100, (at) => user(at, at % 11 === 5 ? { status: 'tobedeleted' } : {})),
  enrollments: range(1500, (at) => enrolment(at)),
  demographics: range(120, (at) => ({ sourcedId: idOf(at * 7), sex: 'female' })),
};
await service.addSchool(estab);
assert.equal((await loadSource(service, estab, madeUpSource(theSchool))).outcome, 'done');

const scopes = [undefined, 'School,Student', 'School,Staff,Contact'] as const;
const clients = await Promise.all(scopes.map((given, at) => service.addClient(`app${at}`, [estab], given)));
const [everyone = assert.fail()] = clients;

/** Where one path is asked, by whom. */
type Asked = { dialect: TestedDialect; token: string; path: string };
const tokens = new Map<string, string>();
async function tokenOf(dialect: TestedDialect, client: Client): Promise<string> {
  const key = `${dialect.name} ${client.rp}`;
  const token = tokens.get(key) ?? (await dialect.token(client, estab));
  tokens.set(key, token);
  return token;
}

const active = "/users?filter=status='active'";
/** People in every dialect and scope; of the rest each in some. */
const pathsOf = (dialect: number, client: number): string[] => [
  '/users',
  ...(dialect === client ? ['/enrollments', active] : []),
  ...(client === 0 ? [['/classes'], ['/students', '/demographics'], ['/teachers', "/users?filter=status='tobedeleted'"]][dialect] ?? [] : []),
];
const questions: Asked[] = [];
for (const [at, dialect] of testedDialects.entries()) {
  for (const [of, client] of clients.entries()) {
    for (const path of pathsOf(at, of)) {
      assert.ok(offers(dialect, path));
      questions.push({ dialect, token: await tokenOf(dialect, client), path });
    }
  }
}

const withQuery = (path: string, query: string) => (query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`);
const ask = ({ dialect, token, path }: Asked, query = '', headers: Record<string, string> = {}, url = service.url): Promise<RawAnswer> =>
  readAnswer(`${url}${dialect.root}${withQuery(path, query)}`, { authorization: `Bearer ${token}`, ...headers });

const telling = ['x-total-count', 'link', 'etag', 'x-roster-version', 'vary', 'cache-control', 'content-type'];

/** Asked of both processes. Gives the answer, and whether the one with files asked the database for records. */
async function assertSame(asked: Asked, query = '', headers: Record<string, string> = {}): Promise<RawAnswer & { fromFile: boolean }> {
  let through: RawAnswer | undefined;
  const statements = await heardRows(async () => (through = await ask(asked, query, headers)));
  const beside = await ask(asked, query, headers, past.url);
  const where = `${asked.dialect.name} ${asked.path} ${query} ${JSON.stringify(headers)}, seed ${seed}`;
  if (!through) assert.fail(where);
  assert.equal(through.fault, undefined, where);
  assert.equal(through.status, beside.status, `${where}: ${through.body.toString().slice(0, 200)}`);
  for (const name of telling) assert.equal(through.headers[name], beside.headers[name], `${name} of ${where}`);
  const stated = through.headers['content-length'];
  if (stated !== undefined) assert.equal(Number(stated), through.body.length, where);
  assert.ok(through.body.equals(beside.body), `the bytes of ${where}`);
  return { ...through, fromFile: statements === 0 };
}

/** How many statements read records of a roster. */
async function heardRows(work: () => Promise<unknown>): Promise<number> {
  let rows = 0;
  const heard = async (pool: string, inner: () => Promise<unknown>) => {
    const heardThere = await heardStatements(inner, pool);
    rows += heardThere.filter((text) => text.includes('.head')).length;
  };
  await heard(policies.reads.name, () => heard(policies.lists.name, () => heard(policies.searches.name, work)));
  return rows;
}

const isFromFile = async (asked: Asked, query = 'limit=1') => (await heardRows(() => ask(asked, query))) === 0;
const waitForFile = (asked: Asked) => until(`a file of ${asked.dialect.name} ${asked.path}`, () => isFromFile(asked));
const listFiles = () => readdirSync(join(service.dataDir, 'lists')).flatMap((name) => parseListName(name) ?? []);

const fieldsOf = (path: string) => (path.startsWith('/users') ? 'sourcedId,familyName,agents' : 'sourcedId');
function queriesOf({ path }: Asked, total: number): string[] {
  const page = () => `limit=${1 + below(120)}&offset=${below(total + 20)}`;
  const long = [`limit=1000&offset=${below(total)}`, `limit=${1001 + below(500)}&offset=${below(total)}`, `offset=${below(total)}`, ''];
  return [page(), page(), `${page()}&fields=${fieldsOf(path)}`, pick(long), pick(long)];
}

async function assertAllSame(some: readonly Asked[], headers: Record<string, string> = {}): Promise<void> {
  for (const asked of some) {
    const { headers: first, fromFile } = await assertSame(asked, 'limit=2', headers);
    assert.ok(fromFile || first['x-total-count'] === '0', `${asked.dialect.name} ${asked.path} comes from its file`);
    for (const query of queriesOf(asked, Number(first['x-total-count']))) await assertSame(asked, query, headers);
  }
}

test('before there is a file, and through it: the same bytes, totals, links and tags in every dialect and scope', async () => {
  for (const asked of questions.filter((_, at) => at % 5 === 0)) await assertSame(asked, 'limit=3&offset=7');
  for (const asked of questions) await waitForFile(asked);
  assert.ok(listFiles().length >= 15, 'different views are different files');
  await assertAllSame(questions);
});

test('a whole list states its length when it comes from a file, and the first whole read makes one', async () => {
  const client = await service.addClient('whole', [estab], 'School,Staff');
  const asked: Asked = { dialect: byName['1.2'], token: await client.token12(estab), path: '/users' };
  assert.equal((await ask(asked)).headers['content-length'], undefined);
  const again = await assertSame(asked);
  assert.ok(again.fromFile);
  assert.equal(Number(again.headers['content-length']), again.body.length);
  assert.equal((await ask(asked, '', { 'accept-encoding': 'gzip' })).fault, undefined);
});

test('a status that is empty or unknown is not no status', async () => {
  for (const asked of questions.filter(({ path }, at) => path === '/users' && at % 2 === 0)) {
    for (const filter of ["status=''", "status='ACTIVE'"]) {
      const some = await assertSame(asked, `filter=${encodeURIComponent(filter)}&limit=3`);
      const all = await assertSame(asked, 'limit=3');
      assert.deepEqual([some, all].map(({ headers }) => headers['x-total-count'] === '0'), [filter === "status=''", false], filter);
    }
  }
});

test('who has an answer already is told so, whether it came from a file or not', async () => {
  for (const query of ['limit=5&offset=3', 'limit=2000', '']) {
    const asked = pick(questions);
    const { headers } = await assertSame(asked, query);
    const same = await assertSame(asked, query, { 'if-none-match': headers.etag ?? '' });
    assert.deepEqual([same.status, same.body.length], [304, 0]);
    assert.equal((await assertSame(asked, query, { 'if-none-match': '*' })).status, 304);
    assert.equal((await assertSame(asked, query, { 'if-none-match': '"other"' })).status, 200);
  }
});

/** People and enrolments that are changed, added, taken away and given other roles, at both ends and in the middle. */
const changes: readonly (() => Parameters<typeof madeUpSource>[0])[] = [
  () => ({ users: [...[0, 600, 1099].map((at) => user(at, { givenName: 'Changed' })), user(601, { status: 'tobedeleted' })] }),
  () => ({
    users: ['!first', `${idOf(500)}-`, '\u{10ffff}last'].map((sourcedId) => ({ ...user(2), sourcedId })),
    enrollments: range(30, (at) => enrolment(1500 + at)),
  }),
  () => ({ users: [user(3, { roles: [role('student', 'org')] }), user(7, { roles: [role('parent', 'org')] }), user(4, { roles: [role('teacher', 'org')] })] }),
  () => ({
    users: range(50, (at) => user(at * 20, { givenName: `Again ${at}` })),
    enrollments: range(100, (at) => enrolment(at * 15, at % 2 ? { status: 'tobedeleted' } : { role: 'aide' })),
  }),
];

test('after each merge the next file is made from the one before, and the list is what it is without', async () => {
  for (const [turn, merge] of changes.entries()) {
    const [{ version = 0 } = {}] = await db<{ version: number }[]>`select version from roster where estab = ${estab}`;
    assert.equal((await loadSource(service, estab, madeUpSource(merge(), 'delta'))).outcome, 'done');
    // Of all who see everybody, one page is enough for a file: it is made from the one before.
    const carriedOn = questions.filter(({ path, token }) => tokens.get(`B ${everyone.rp}`) === token && path === '/users');
    for (const asked of carriedOn) {
      await assertSame(asked, 'limit=2');
      await until('it is carried on', () => listFiles().some((list) => list.version === version + 1));
    }
    // Roles change what records of others are seen: after that merge all are asked.
    const some = questions.filter((_, at) => at % changes.length === turn || turn === 2);
    for (const asked of some) await waitForFile(asked);
    await assertAllSame(some);
  }
});

test('what was changed since an instant is a list too: another instant between the same versions finds its file', async () => {
  const instants = await db<{ at: Date }[]>`select instant as at from roster_version where estab = ${estab} order by version`;
  const asked = questions.filter(({ dialect, path }) => dialect.name !== 'A' && path === '/users');
  const since = (at: number, operator: string, more: number) =>
    `filter=${encodeURIComponent(`dateLastModified${operator}'${new Date((instants.at(at)?.at.getTime() ?? 0) + more).toISOString()}'`)}`;
  for (const [turn, one] of asked.entries()) {
    for (const [operator, at] of [['>', -2], ['>=', -2], ['<', -2], ['!=', -1], ['>', -1]] as const) {
      const total = Number((await assertSame(one, `${since(at, operator, 0)}&limit=3&offset=1`)).headers['x-total-count']);
      if (turn === 0) assert.equal(total === 0, operator === '>' && at === -1, `${operator} ${at}: ${total}`);
      await assertSame(one, since(at, operator, 0));
    }
    await assertSame(one, `${since(-2, '>', 0)}&limit=5`);
    // An instant that nobody asked for, a moment later and still before the next version.
    assert.ok((await assertSame(one, `${since(-2, '>', 1)}&limit=4`)).fromFile, 'another instant');
    const both = await assertSame(one, `filter=${encodeURIComponent("dateLastModified>'2001-01-01' and status='active'")}&limit=4`);
    assert.ok(!both.fromFile, 'a filter by more than that is asked of the database');
  }
});

test('an earlier version is read from its file while that is there, and without it the same', async () => {
  const some = questions.filter(({ path }) => path === '/enrollments' || path === active);
  for (const asked of some) await waitForFile(asked);
  const versions = (await ask(some[0] ?? assert.fail(), 'limit=1')).headers['x-roster-version'] ?? '';
  const newest = { users: [user(9, { givenName: 'Newest' })], enrollments: [enrolment(9, { status: 'tobedeleted' })] };
  await loadSource(service, estab, madeUpSource(newest, 'delta'));
  for (const asked of some) {
    const pinned = await assertSame(asked, 'limit=7&offset=3', { 'if-roster-version': versions });
    assert.equal(pinned.headers['x-roster-version'], versions);
    assert.ok(pinned.fromFile, `${asked.dialect.name} ${asked.path} of then comes from its file`);
    assert.ok((await assertSame(asked, `limit=9&offset=40&rosterVersion=${versions}`)).fromFile);
    const whole = await assertSame(asked, '', { 'if-roster-version': versions });
    assert.ok(whole.fromFile && whole.headers['content-length'] !== undefined);
  }
  const folder = join(service.dataDir, 'lists');
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  const joined = await service.join();
  for (const asked of some) {
    for (const query of ['limit=7&offset=3', 'limit=1500&offset=11', '']) {
      const answers = await Promise.all([joined.url, past.url].map((url) => ask(asked, query, { 'if-roster-version': versions }, url)));
      assert.ok(answers[0]?.body.equals(answers[1]?.body ?? Buffer.alloc(0)), `${asked.dialect.name} ${asked.path} ${query}`);
      assert.deepEqual(telling.map((header) => answers[0]?.headers[header]), telling.map((header) => answers[1]?.headers[header]));
    }
  }
});

test('while merges happen between pages and within whole lists, each answer is of one version and a walk has no gap and no repeat', async () => {
  const asked = questions.find(({ dialect, path }) => dialect.name === '1.2' && path === '/users') ?? assert.fail();
  await waitForFile(asked);
  const givenNames = (body: Buffer) => (JSON.parse(body.toString()) as { users: { sourcedId: string; givenName: string }[] }).users;
  const merges = { goOn: true, done: 0 };
  const merging = (async () => {
    for (let turn = 0; merges.goOn; turn += 1, merges.done += 1)
      await loadSource(service, estab, madeUpSource({ users: [0, 400, 800, 1099].map((at) => user(at, { givenName: `Turn ${turn}` })) }, 'delta'));
  })();
  try {
    const wanted = [0, 400, 800, 1099].map(idOf);
    const assertOneVersion = (users: ReturnType<typeof givenNames>) => {
      const names = new Set(users.filter(({ sourcedId }) => wanted.includes(sourcedId)).map(({ givenName }) => givenName));
      assert.ok(names.size <= 1 || [...names].every((name) => !name.startsWith('Turn')), [...names].join());
    };
    while (merges.done < 4) {
      const seen: ReturnType<typeof givenNames> = [];
      let next: string | undefined = `${service.url}${asked.dialect.root}/users?limit=250`;
      while (next !== undefined) {
        const before = merges.done;
        if (seen.length === 500) await until('another merge', () => merges.done > before);
        const page: RawAnswer = await readAnswer(next, { authorization: `Bearer ${asked.token}` });
        assert.equal(page.status, 200, page.body.toString());
        seen.push(...givenNames(page.body));
        next = /<([^>]*)>; rel="next"/.exec(page.headers.link ?? '')?.[1];
      }
      assert.equal(new Set(seen.map(({ sourcedId }) => sourcedId)).size, seen.length, 'no repeat');
      assertOneVersion(seen);
      const whole = await ask(asked);
      assert.equal(whole.status, 200);
      assert.equal(seen.length, Number(whole.headers['x-total-count']), 'no gap');
      assertOneVersion(givenNames(whole.body));
    }
  } finally {
    merges.goOn = false;
    await merging;
  }
});

test('several schools under one token: each part from its file, from rows or mixed, at any offset', async () => {
  await service.addSchool(second);
  await loadSource(service, second, madeUpSource({ ...theSchool, users: range(300, (at) => user(at)), enrollments: [], demographics: [] }));
  const third = '9990003';
  await service.addSchool(third);
  await loadSource(service, third, madeUpSource({ ...theSchool, users: range(20, (at) => user(at)), enrollments: [], demographics: [] }));
  const client = await service.addClient('several', [estab, second, third]);
  for (const [dialect, token] of [[byName.A, await client.tokenA()], [byName['1.2'], await client.token12()]] as const) {
    const asked: Asked = { dialect, token, path: '/users' };
    const { headers } = await assertSame(asked, 'limit=10&offset=1300');
    const total = Number(headers['x-total-count']);
    const queries = () => ['', ...range(6, () => `limit=${1 + below(400)}&offset=${below(total + 5)}`), `limit=${total}&offset=5`];
    for (const query of queries()) await assertSame(asked, query);
    await until('all parts have files', () => isFromFile(asked, `limit=1000&offset=${total - 500}`));
    for (const query of queries()) await assertSame(asked, query);
  }
});

test('the ledger counts the same through files and past them, of pages, whole lists and lists that were given up', async () => {
  const counted = async (rp: string) => {
    const [row] = await db<{ requests: number; records: number; fields: string[] }[]>`
      select requests::int, records::int, fields from disclosure where rp = ${rp}`;
    return { requests: row?.requests ?? 0, records: row?.records ?? 0, fields: row?.fields.toSorted() };
  };
  const sums: unknown[] = [];
  for (const [at, url] of [service.url, past.url].entries()) {
    const client = await service.addClient(`ledger${at}`, [estab]);
    const asked: Asked = { dialect: byName.B, token: await client.tokenB(estab), path: '/enrollments' };
    if (at === 0) await waitForFile({ ...asked, token: await tokenOf(byName.B, everyone) });
    for (const query of ['limit=10&offset=5', 'limit=100&offset=1450', 'limit=1200&offset=1', '', 'limit=5&fields=sourcedId', 'limit=3&offset=99999'])
      assert.equal((await ask(asked, query, {}, url)).status, 200);
    const tag = (await ask(asked, 'limit=4', {}, url)).headers.etag ?? '';
    await ask(asked, 'limit=4', { 'if-none-match': tag }, url);
    await ask(asked, '', { 'if-none-match': '*' }, url);
    await until('the ledger is written', async () => (await counted(client.rp)).requests >= 6, () => counted(client.rp));
    sums.push(await counted(client.rp));
  }
  assert.deepEqual(sums[0], sums[1]);
});
