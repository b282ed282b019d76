// Versions of a roster as readers see them: one answer is of one version, tags and dates change exactly with the data,
// what left stays readable; and what HTTP adds to it: 304, gzip, HEAD.
import assert from 'node:assert/strict';
import { get, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { asking, byName, offers, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';

const service = await useService({}, { slowReader: { bytesPerSecond: 64 * 1024, seconds: 600 } });

type Files = Record<string, Rows>;
type RosterRecord = Readonly<Record<string, unknown>> & { sourcedId: string; status: string; dateLastModified: string };

const person = (sourcedId: string, more: Readonly<Record<string, string>> = {}) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'school', role: 'student', username: sourcedId, givenName: 'Given', familyName: sourcedId, ...more,
});
const people = (count: number, more: Readonly<Record<string, string>> = {}): Rows =>
  Array.from({ length: count }, (_, at) => person(`p${String(at).padStart(4, '0')}`, more));

const files = (users: Rows): Files => ({
  orgs: [{ sourcedId: 'trust', name: 'Trust', type: 'district' }, { sourcedId: 'school', name: 'School', type: 'school', parentSourcedId: 'trust' }],
  academicSessions: [{ sourcedId: 'year', title: 'Year', type: 'schoolYear', startDate: '2026-09-01', endDate: '2027-09-01', schoolYear: '2027' }],
  courses: [{ sourcedId: 'course', title: 'Course', orgSourcedId: 'school' }],
  classes: [{ sourcedId: 'class', title: 'Class', courseSourcedId: 'course', classType: 'scheduled', schoolSourcedId: 'school', termSourcedIds: 'year' }],
  users,
  enrollments: users
    .slice(0, 10)
    .map(({ sourcedId = '' }) => ({
      sourcedId: `e-${sourcedId}`, classSourcedId: 'class', schoolSourcedId: 'school', userSourcedId: sourcedId, role: 'student',
    })),
});

/** A school of its own for each test, with a client that reads in every dialect, and in variant B where they do not differ. */
async function openSchool(estab: string, given: Files) {
  const load = (changed: Files, options: Parameters<typeof service.load>[2] = {}) => service.load(estab, csvPackage(changed), options);
  assert.equal((await service.addSchool(estab, csvPackage(given)))?.outcome, 'done');
  const client = await service.addClient(`app-${estab}`, [estab]);
  const readIn = (dialect: TestedDialect, path: string, headers?: Record<string, string>) => dialect.read(client, estab, path, headers);
  const first = async <T>(response: Response) => Object.values((await response.json()) as Record<string, T>)[0];
  const records = async (path: string, dialect = byName.B) => (await first<RosterRecord[]>(await readIn(dialect, path))) ?? [];
  const one = async (path: string, dialect = byName.B) => first<RosterRecord>(await readIn(dialect, path));
  const read = (path: string, headers?: Record<string, string>) => readIn(byName.B, path, headers);
  return { load, client, readIn, read, records, one, tokenOf: (dialect: TestedDialect) => dialect.token(client, estab) };
}

const versionOf = (response: Response) => response.headers.get('x-roster-version') ?? '';
const etagOf = (response: Response) => response.headers.get('etag') ?? '';

test('every page names the same version until the roster changes', async () => {
  const given = files(people(25));
  const { load, readIn } = await openSchool('pages', given);
  const paths = [
    '/users?limit=10', '/users?limit=10&offset=10', '/users?limit=10&offset=20', '/users', '/users/p0003', '/orgs', '/classes?limit=1',
    '/enrollments',
  ];
  const readAll = async () => {
    const answers = (await Promise.all(testedDialects.map((dialect) => Promise.all(paths.map((path) => readIn(dialect, path)))))).flat();
    const versions = new Set(answers.map(versionOf));
    assert.equal(versions.size, 1);
    return { version: [...versions].join(), tags: answers.map(etagOf), bodies: await Promise.all(answers.map((answer) => answer.text())) };
  };
  const before = await readAll();
  assert.notEqual(before.version, '');

  const again = await load({ ...given, users: given.users?.toReversed() ?? [] });
  assert.deepEqual([again.outcome, again.added, again.changed, again.removed], ['unchanged', 0, 0, 0]);
  assert.deepEqual(await readAll(), before, 'equal data changes nothing, dateLastModified included');

  assert.equal((await load({ users: [...people(24), person('p0024', { phone: '1' })] })).changed, 1);
  const after = await readAll();
  assert.notEqual(after.version, before.version);
  assert.ok(after.tags.every((tag) => !before.tags.includes(tag)));
  for (const dialect of asking) assert.equal(versionOf(await readIn(dialect, '/terms')), after.version);
});

test('an answer that the caller has already is a 304 without a body, until the roster changes', async () => {
  const given = files(people(25));
  const { load, readIn } = await openSchool('etags', given);
  const paths = ['/users', '/users?limit=5', '/users/p0003', '/schools/school/students', '/users?sort=familyName&limit=5'];
  const asked = testedDialects.flatMap((dialect) =>
    paths
      .filter((path) => offers(dialect, path))
      .map((path) => [(one: string, headers?: Record<string, string>) => readIn(dialect, one, headers), path] as const),
  );
  for (const [ask, path] of asked) {
    const first = await ask(path);
    const tag = etagOf(first);
    assert.match(tag, /^W\/"[^"]+"$/, 'weak: gzip gives other bytes');
    for (const known of [tag, tag.slice(2), `"other", ${tag}`, `W/"a,b",${tag}, "c"`, '*', ' * ']) {
      const response = await ask(path, { 'if-none-match': known });
      assert.equal(response.status, 304, `${path} ${known}`);
      assert.equal(await response.text(), '');
      assert.deepEqual([etagOf(response), versionOf(response)], [tag, versionOf(first)]);
    }
    for (const unknown of ['"other"', 'W/"other", "another"', `"${tag}"`]) assert.equal((await ask(path, { 'if-none-match': unknown })).status, 200, unknown);
  }
  const tags = await Promise.all(asked.map(async ([ask, path]) => etagOf(await ask(path))));
  await load(given);
  for (const [at, [ask, path]] of asked.entries()) assert.equal((await ask(path, { 'if-none-match': tags[at] ?? '' })).status, 304, 'equal data');
  await load({ users: people(26) });
  for (const [at, [ask, path]] of asked.entries()) {
    const response = await ask(path, { 'if-none-match': tags[at] ?? '' });
    assert.equal(response.status, 200, 'after a change');
    assert.notEqual(etagOf(response), tags[at]);
  }
});

test('another question, dialect or scope has another tag', async () => {
  const { readIn } = await openSchool(
    'questions',
    files([...people(5), person('t1', { role: 'teacher' }), person('c1', { role: 'parent', agentSourcedIds: 'p0001' })]),
  );
  const scoped = async (name: string, scopes: string) => {
    const client = await service.addClient(name, ['questions'], scopes);
    return Promise.all(asking.map(async (dialect) => etagOf(await dialect.read(client, 'questions', '/users'))));
  };
  const paths = [
    '/users', '/users?limit=5', '/users?limit=5&offset=1', '/users?offset=1', "/users?filter=status%3D'active'", '/users?sort=givenName',
    '/users?sort=givenName&orderBy=desc', '/users?fields=sourcedId', '/users/p0001', '/users/p0002', '/students', '/students/p0001', '/orgs',
    '/classes/class/students',
  ];
  const tags = [
    ...(await Promise.all(asking.flatMap((dialect) => paths.map(async (path) => etagOf(await readIn(dialect, path)))))),
    etagOf(await readIn(byName.A, '/users')),
    ...(await scoped('students-only', 'Student')), ...(await scoped('contacts-too', 'Student,Contact')),
  ];
  assert.equal(new Set(tags).size, asking.length * (paths.length + 2) + 1);
});

test('If-None-Match: * does not hide that a record is not there', async () => {
  const { readIn } = await openSchool('missing', files(people(2)));
  for (const path of ['/users/nobody', '/teachers/p0001', '/schools/nowhere/classes', '/classes/none/students?limit=5'])
    for (const dialect of testedDialects) assert.equal((await readIn(dialect, path, { 'if-none-match': '*' })).status, 404, `${dialect.name} ${path}`);
});

test('a list that is read slowly while an import commits is of the old version, entirely', async () => {
  // 15 MB: more than the buffers between the database and a reader that has stopped can take.
  const filler = 'x'.repeat(3000);
  const old = people(5000, { middleName: 'old', 'metadata.filler': filler });
  const { load, read, tokenOf } = await openSchool('slow', files(old));
  // That in which a record is put together while it is read.
  const dialect = byName['1.2'];
  const token = await tokenOf(dialect);
  const oldVersion = versionOf(await read('/orgs'));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${service.url}${dialect.root}/users`, { headers: { authorization: `Bearer ${token}` } }, resolve).on('error', reject);
  });
  assert.deepEqual([response.headers['x-roster-version'], response.headers['x-total-count']], [oldVersion, '5000']);
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    if (text === '') {
      // Leaves 500 out, changes 4,000, adds 100.
      const report = await load({ users: [...old.slice(0, 500), ...people(5100, { middleName: 'new' }).slice(1000)] }, { approve: true });
      assert.deepEqual([report.added, report.changed, report.removed], [100, 4000, 500]);
      const [open] =
        await service.db`select from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and xact_start is not null`;
      assert.ok(open, 'the list is still being read');
    }
    text += chunk;
  }
  const users = (JSON.parse(text) as { users: RosterRecord[] }).users;
  assert.equal(users.length, 5000);
  assert.ok(users.every((user, at) => user.sourcedId === old[at]?.sourcedId && user.middleName === 'old' && user.status === 'active'));
  assert.equal(new Set(users.map((user) => user.dateLastModified)).size, 1);
  assert.notEqual(versionOf(await read('/orgs')), oldVersion);
  assert.equal((await read('/users?limit=1')).headers.get('x-total-count'), '5100');
});

test('no answer mixes versions while imports commit', async () => {
  const size = (generation: number) => 1200 + 5 * generation;
  const generationFiles = (generation: number) => files(people(size(generation), { middleName: `g${generation}` }));
  const { load, read, readIn } = await openSchool('moving', generationFiles(0));
  /** What follows the number tells rosters apart, not versions. */
  const numberOf = (version: string) => version.split('-', 1)[0] ?? '';
  const generations = new Map([[numberOf(versionOf(await read('/orgs'))), 0]]);
  const questions: [string, (size: number) => number, number?][] = [
    ['/users?limit=100&offset=1100', (all) => all, 1100],
    ['/users?limit=1150&offset=20', (all) => all, 20],
    ['/users', (all) => all, 0],
    ["/users?limit=50&filter=status%3D'active'", (all) => all, 0],
    ['/schools/school/students?limit=90&offset=1150', (all) => all, 1150],
    ['/classes/class/students', () => 10, 0],
    ['/users/p1199', () => 1],
  ];
  const seen: { path: string; status: number; version: string; total: string | null; text: string }[] = [];
  const arrived = new AbortController();
  const poll = async (from: number) => {
    for (let at = from; !arrived.signal.aborted; at += 1) {
      const [path] = questions[at % questions.length] ?? ['/users'];
      // The two polls ask each question in different dialects, and later the other way round.
      const response = await readIn(asking[(at + from + Math.floor(at / questions.length)) % asking.length] ?? byName.B, path);
      seen.push({ path, status: response.status, version: versionOf(response), total: response.headers.get('x-total-count'), text: await response.text() });
    }
  };
  const polls = [0, 3].map(poll);
  for (let generation = 1; generation <= 4; generation += 1) {
    generations.set(String((await load(generationFiles(generation))).version), generation);
    await setTimeout(50);
  }
  arrived.abort();
  await Promise.all(polls);

  assert.equal(generations.size, 5);
  assert.ok(new Set(seen.map(({ version }) => version)).size >= 3, 'the readers saw the roster move');
  for (const { path, status, version, total, text } of seen) {
    assert.equal(status, 200, `${path} ${text.slice(0, 200)}`);
    const generation = generations.get(numberOf(version)) ?? -1;
    const [, count = () => 0, offset] = questions.find(([one]) => one === path) ?? [];
    const body = Object.values(JSON.parse(text) as Record<string, RosterRecord | RosterRecord[]>).flat();
    assert.deepEqual([...new Set(body.map((record) => record.middleName))], [`g${generation}`], path);
    assert.equal(new Set(body.map((record) => record.dateLastModified)).size, 1);
    if (offset === undefined) continue;
    const expected = count(size(generation));
    const limit = Number(/limit=(\d+)/.exec(path)?.[1] ?? expected);
    assert.deepEqual([total, body.length], [String(expected), Math.min(limit, expected - offset)], path);
  }
});

test('dateLastModified is one instant per merge, later than the last, for what it changed and nothing else', async () => {
  const given = files(people(12));
  const { load, records } = await openSchool('dates', given);
  const readDates = async () =>
    new Map(
      (await Promise.all(['orgs', 'academicSessions', 'courses', 'classes', 'users', 'enrollments'].map((collection) => records(`/${collection}`))))
        .flat()
        .map((record) => [record.sourcedId, record.dateLastModified]),
    );
  const before = await readDates();
  const [first = ''] = new Set(before.values());
  assert.deepEqual([...new Set(before.values())], [first]);
  assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  // A new department changes its parent too: the parent shows its children.
  const changed = {
    ...given, orgs: [...(given.orgs ?? []), { sourcedId: 'dep', name: 'Department', type: 'department', parentSourcedId: 'school' }],
    users: [person('p0000', { email: 'p@school.example' }), ...people(12).slice(1, 11)],
    classes: (given.classes ?? []).map((one) => ({ ...one, location: 'R1' })), enrollments: given.enrollments ?? [],
  };
  // Taken last: who reads deltas since a time at which the import was already under way must not miss it.
  let underWay = '';
  const slow = csvPackage(changed);
  for (const file of slow.files.values()) {
    const { open } = file;
    file.open = () => setTimeout(5, (underWay = new Date().toISOString())).then(open);
  }
  assert.equal((await service.load('dates', slow)).outcome, 'done');
  const after = await readDates();
  const second = after.get('p0000') ?? '';
  assert.ok(second > first && second > underWay && second <= new Date().toISOString(), second);
  const moved = ['p0000', 'p0011', 'class', 'dep', 'school'];
  for (const [sourcedId, date] of after) assert.equal(date, moved.includes(sourcedId) ? second : first, sourcedId);
  for (const dialect of asking) {
    const delta = async (collection: string) =>
      (await records(`/${collection}?filter=${encodeURIComponent(`dateLastModified>'${first}'`)}`, dialect)).map((record) => record.sourcedId);
    assert.deepEqual(
      [await delta('orgs'), await delta('users'), await delta('classes'), await delta('enrollments')],
      [['dep', 'school'], ['p0000', 'p0011'], ['class'], []],
      dialect.name,
    );
    assert.equal((await records('/users', dialect)).find(({ sourcedId }) => sourcedId === 'p0000')?.dateLastModified, second, dialect.name);
  }

  let last = second;
  for (let round = 0; round < 5; round += 1) {
    await load({ users: [person('p0001', { phone: String(round) })] }, { approve: true });
    const next = (await readDates()).get('p0001') ?? '';
    assert.ok(next > last, `${next} is later than ${last}`);
    last = next;
  }
});

test('a record that left turns tobedeleted, stays readable in full, and comes back under its id', async () => {
  const full = person('p0001', {
    middleName: 'M', email: 'm@school.example', phone: '1', userIds: '{LDAP:m}', grades: '09', identifier: 'I1', agentSourcedIds: 'p0000',
    'metadata.house': 'Red',
  });
  const given = files([...people(1), full]);
  const { load, one, records } = await openSchool('leavers', given);
  const inEach = <T>(ask: (dialect: TestedDialect) => Promise<T>) => Promise.all(asking.map(ask));
  const read = () =>
    inEach(async (dialect) => {
      const { dateLastModified = '', ...content } = (await one('/users/p0001', dialect)) ?? {};
      return { at: dateLastModified, content };
    });
  const came = await read();

  assert.equal((await load({ users: people(1), enrollments: (given.enrollments ?? []).slice(0, 1) })).removed, 2);
  const went = await read();
  await inEach(async (dialect) => {
    const idsOf = async (path: string) => (await records(path, dialect)).map(({ sourcedId, status }) => [sourcedId, status]);
    assert.deepEqual(await idsOf('/users'), [['p0000', 'active'], ['p0001', 'tobedeleted']], dialect.name);
    assert.deepEqual(await idsOf("/students?filter=status%3D'tobedeleted'"), [['p0001', 'tobedeleted']], dialect.name);
    assert.deepEqual(await idsOf('/classes/class/students'), [['p0000', 'active']], 'no active enrolment, no member');
  });
  assert.equal((await load({ users: people(1) })).outcome, 'unchanged', 'it leaves only once');

  assert.equal((await load(given)).outcome, 'done');
  const returned = await read();
  for (const [at, { content, at: first }] of came.entries()) {
    assert.ok('sourcedId' in content);
    assert.deepEqual([went[at]?.content, returned[at]?.content], [{ ...content, status: 'tobedeleted' }, content]);
    assert.ok((went[at]?.at ?? '') > first && (returned[at]?.at ?? '') > (went[at]?.at ?? ''));
  }
  assert.equal((await one('/enrollments/e-p0001'))?.status, 'active');
});

type Raw = { status: number | undefined; headers: IncomingHttpHeaders; body: Buffer };

/** fetch would decode the body and hide the header. */
function ask(root: string, token: string, method: string, path: string, headers: Record<string, string> = {}): Promise<Raw> {
  return new Promise((resolve, reject) => {
    request(`${service.url}${root}${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }));
    }).on('error', reject).end();
  });
}

test('gzip or zstd comes when it is asked for, and nothing else is ever used', async () => {
  const { tokenOf } = await openSchool('gzip', files(people(2500, { 'metadata.note': 'Ünïcode' })));
  for (const [at, path] of ['/users?limit=100', '/users?limit=2000', '/users'].entries()) {
    const dialect = testedDialects[at] ?? assert.fail();
    const [{ root }, token] = [dialect, await tokenOf(dialect)];
    const plain = await ask(root, token, 'GET', path);
    assert.equal(plain.headers['content-encoding'], undefined);
    for (const [accepted, encoding] of [
      ['gzip', 'gzip'], ['GZIP', 'gzip'], ['br, gzip;q=0.5', 'gzip'], ['gzip, deflate, br, zstd', 'zstd'], ['zstd', 'zstd'], ['gzip, zstd;q=0.9', 'gzip'],
    ] as const) {
      const zipped = await ask(root, token, 'GET', path, { 'accept-encoding': accepted });
      assert.equal(zipped.headers['content-encoding'], encoding, accepted);
      assert.match(String(zipped.headers.vary), /accept-encoding/i);
      assert.ok(zipped.body.length < plain.body.length / 4);
      assert.ok((encoding === 'gzip' ? gunzipSync : zstdDecompressSync)(zipped.body).equals(plain.body));
      for (const name of ['etag', 'x-total-count', 'x-roster-version', 'link', 'content-type']) assert.equal(zipped.headers[name], plain.headers[name], name);
    }
    for (const accepted of ['br', 'deflate', 'identity', 'nonsense', '', 'gzip;q=0', 'zstd;q=0, br;q=1, gzip;q=0']) {
      const answer = await ask(root, token, 'GET', path, { 'accept-encoding': accepted });
      assert.deepEqual([answer.status, answer.headers['content-encoding']], [200, undefined], accepted);
      assert.ok(answer.body.equals(plain.body));
    }
  }
});

const { tokenOf: headTokenOf } = await openSchool('head', files(people(1100)));
const headTokens = await Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: await headTokenOf(dialect) })));
/** What the connection decides, and what may be unknown until a body is made (RFC 9110, 9.3.2). */
const volatile = [
  'date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'content-encoding', 'vary', 'x-request-id', 'ratelimit-remaining',
  'ratelimit-reset',
];

for (const [kind, paths, headers] of [
  ['a page, a record and what is refused', ['/users?limit=10', '/users/p0003', '/users/nobody', '/users?limit=0', '/schools/nowhere/classes'], {}],
  ['a whole list and a long page', ['/users', '/users?limit=1001', '/schools/school/students'], {}],
  ['an answer that would be gzipped', ['/users?limit=100', '/users'], { 'accept-encoding': 'gzip' }],
  ['an answer that the caller knows', ['/users?limit=10', '/users'], { 'if-none-match': '*' }],
] as const)
  test(`HEAD of ${kind} has the headers of GET and no body`, async () => {
    await assertHeadIsGet(paths, headers);
  });

/** Gives what was answered, by dialect. */
async function assertHeadIsGet(paths: readonly string[], headers: Record<string, string>, tokens = headTokens): Promise<string[]> {
  const statuses: string[] = [];
  for (const path of paths) {
    for (const { dialect: { name, root }, token } of tokens) {
      const [got, head] = [await ask(root, token, 'GET', path, headers), await ask(root, token, 'HEAD', path, headers)];
      assert.deepEqual([head.status, head.body.length], [got.status, 0], `${name} ${path}`);
      // Left out, a length is unknown; a wrong one is never right (RFC 9110, 8.6).
      if (head.headers['content-length'] !== undefined) assert.equal(Number(head.headers['content-length']), got.body.length, `${path}: content-length`);
      const steady = (all: IncomingHttpHeaders) => Object.fromEntries(Object.entries(all).filter(([header]) => !volatile.includes(header)));
      assert.deepEqual(steady(head.headers), steady(got.headers), `${name} ${path}`);
      statuses.push(`${name} ${got.status}`);
    }
  }
  return statuses;
}

// Last, because it breaks the database that the tests of this file share.
test('an answer that fails before its first byte is a plain error, also for those who asked for gzip', async () => {
  const { tokenOf } = await openSchool('failing', files(people(2)));
  const tokens = await Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: await tokenOf(dialect) })));
  await service.db`alter table roster_user rename column late to late_gone`;
  for (const path of ['/users', '/users?limit=5', '/users?limit=2000']) {
    for (const { dialect, token } of tokens) {
      const { status, headers, body } = await ask(dialect.root, token, 'GET', path, { 'accept-encoding': 'gzip' });
      assert.equal(status, dialect.errors.unexpected?.status);
      const readable = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      const { message, minor } = dialect.readError(readable.toString());
      assert.deepEqual([minor, message.length > 10], [dialect.errors.unexpected?.minor, true]);
      for (const name of ['etag', 'x-roster-version', 'x-total-count', 'link']) assert.equal(headers[name], undefined, `${dialect.name} ${path}: ${name}`);
    }
  }
});
