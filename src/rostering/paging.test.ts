// Pages: put together they are the whole list, byte for byte, whatever the limit, filter, sort, scope or dialect; the
// total is that of the whole; links lead through all of it.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { asking, byName, ofSeveralSchools, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client } from '../../test/service.ts';

const demo = '9990001';
const small = '8881001';
const largest = '9007199254740991';

const service = await useService();
await service.addSchool(demo, demoPackage());
await service.addSchool(small, join(import.meta.dirname, '../../test/fixtures/small-school'));
const client = await service.addClient('app', [demo]);
const smallClient = await service.addClient('small', [small]);

type Read = (path: string) => Promise<Response>;
/** Unzipping would only cost time here. */
const plain = { 'accept-encoding': 'identity' };
const readsOf = (dialect: TestedDialect, of: Client = client, estab = demo): Read => (path) => dialect.read(of, estab, path, plain);
const a = readsOf(byName.A);

type Listed = { inner: string; total: number; link: string | null };
type Parameters = Record<string, string>;
type RosterRecord = Readonly<Record<string, unknown>> & { sourcedId: string };

/** The records between the brackets of the answer, and what the headers say. */
async function list(read: Read, path: string, parameters: Parameters = {}): Promise<Listed> {
  const query = new URLSearchParams(parameters).toString();
  const response = await read(query === '' ? path : `${path}?${query}`);
  const text = await response.text();
  assert.equal(response.status, 200, text.slice(0, 300));
  assert.match(response.headers.get('x-total-count') ?? '', /^\d+$/);
  return { inner: text.slice(text.indexOf('[') + 1, -2), total: Number(response.headers.get('x-total-count')), link: response.headers.get('link') };
}

const recordsOf = ({ inner }: Pick<Listed, 'inner'>) => JSON.parse(`[${inner}]`) as RosterRecord[];
const idsOf = (listed: Pick<Listed, 'inner'>) => recordsOf(listed).map((record) => record.sourcedId);
const byCodePoint = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Compares the list without limit with walks by offset that end at the first short page, as those of consumers do. */
async function checkWalks(read: Read, path: string, limits: readonly number[], parameters: Parameters = {}): Promise<Listed> {
  const whole = await list(read, path, parameters);
  assert.equal(whole.link, null, 'a whole list has no links');
  const ids = idsOf(whole);
  assert.equal(ids.length, whole.total);
  assert.equal(new Set(ids).size, ids.length, 'each record once');
  for (const limit of limits) {
    const pages: string[] = [];
    for (let offset = 0, size = limit; size === limit; offset += limit) {
      const page = await list(read, path, { ...parameters, limit: String(limit), offset: String(offset) });
      size = page.inner.split('{"sourcedId":"').length - 1;
      assert.equal(size, Math.max(0, Math.min(limit, whole.total - offset)), `${path} limit ${limit} offset ${offset}`);
      assert.equal(page.total, whole.total);
      if (size > 0) pages.push(page.inner);
    }
    // Not assert.equal: its difference of two megabytes would take minutes.
    assert.ok(pages.join(',') === whole.inner, `${path} ${JSON.stringify(parameters)}: the pages of ${limit} are the whole list`);
  }
  return whole;
}

/** One walk in each dialect, and each of these limits in one: where pages begin is the same in all. */
const collectionWalks: Record<string, number[]> = {
  orgs: [1, 5, 12, 13],
  academicSessions: [1, 7, 14],
  courses: [7, 148, 1001], classes: [100, 500, 999], users: [100, 1001, 99_999], enrollments: [1000, 1001, 5000],
};

for (const [at, dialect] of testedDialects.entries()) {
  for (const [collection, limits] of Object.entries(collectionWalks)) {
    test(`${dialect.name}: pages of ${collection} are the whole list, in code point order`, async () => {
      const ids = idsOf(await checkWalks(readsOf(dialect), `/${collection}`, limits.filter((_, index) => index % testedDialects.length === at)));
      assert.ok(ids.length >= 12);
      assert.deepEqual(ids, ids.toSorted(byCodePoint));
    });
  }
}

for (const dialect of asking) test(`${dialect.name}: pages of the other lists are the whole list`, async () => {
  const school = '/schools/org-9990001';
  const walks: Record<string, number[]> = {
    '/demographics': [100, 1210, 5000], '/students': [100, 1001], '/teachers': [7, 69], '/terms': [1], '/gradingPeriods': [4],
    [`${school}/courses`]: [100], [`${school}/enrollments`]: [1000, 5000], [`${school}/students`]: [250], [`${school}/terms`]: [2],
    '/terms/ses-2027-aut/classes': [99], '/courses/crs-27-07-rg/classes': [1],
  };
  for (const [path, limits] of Object.entries(walks)) assert.ok((await checkWalks(readsOf(dialect), path, limits)).total > 0, path);
});

/** Each question of a long list in the next of the dialects that take them all. */
const inTurn = (at: number): TestedDialect => asking[at % asking.length] ?? assert.fail();

test('filters and sorts keep pages whole', async () => {
  // What the service remembers of the same pages in the default order must not show in these.
  for (const [at, limit] of [999, 1000].entries()) await checkWalks(readsOf(inTurn(at)), '/users', [limit]);
  const walks: [string, number, Parameters][] = [
    ['/users', 100, { filter: "role='student'", sort: 'familyName' }],
    ['/users', 100, { filter: "roles.role='student'", sort: 'roles.org.sourcedId' }],
    ['/users', 999, { sort: 'familyName', orderBy: 'desc' }],
    ['/users', 1000, { sort: 'agents.sourcedId', orderBy: 'desc' }],
    ['/users', 100, { filter: "familyName~'''' or givenName>='t'" }],
    ['/users', 1000, { filter: "dateLastModified>'2000-01-01' and status!='tobedeleted'", sort: 'dateLastModified', orderBy: 'desc' }],
    ['/enrollments', 5000, { sort: 'role', orderBy: 'desc' }],
    ['/enrollments', 1000, { filter: "role='teacher'", sort: 'class.sourcedId' }],
    ['/enrollments', 100, { filter: "status='tobedeleted'", sort: 'endDate', orderBy: 'desc' }],
    ['/classes', 100, { filter: "classType='homeroom'", fields: 'sourcedId,title', sort: 'location' }],
    ['/schools/org-9990001/students', 500, { filter: "metadata.house~'a'", sort: 'metadata.house' }],
  ];
  for (const [at, [path, limit, parameters]] of walks.entries()) {
    const dialect = inTurn(at);
    const { total } = await checkWalks(readsOf(dialect), path, [limit], parameters);
    assert.ok(total > 10, `${dialect.name} ${path} ${JSON.stringify(parameters)} finds ${total}`);
  }
});

/** The field's text in a record, or undefined when it is missing. */
const fieldOf = (name: string) => (record: RosterRecord) =>
  name.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], record) as string | undefined;

test('a sort is by code point, missing values last both ways, ties by sourcedId', async () => {
  const sorts: [string, string][] = [
    ['/users', 'middleName'],
    ['/users', 'metadata.house'],
    ['/enrollments', 'endDate'],
    ['/classes', 'location'],
    ['/academicSessions', 'parent.sourcedId'],
    ['/demographics', 'countryOfBirthCode'],
  ];
  for (const [at, [path, field]] of sorts.entries()) {
    const value = fieldOf(field);
    for (const [way, orderBy] of ['asc', 'desc'].entries()) {
      const records = recordsOf(await checkWalks(readsOf(inTurn(at + way)), path, [7000], { sort: field, orderBy }));
      const expected = records.toSorted((one, other) => {
        const [first, second] = [value(one), value(other)];
        if (first === undefined || second === undefined || first === second)
          return Number(first === undefined) - Number(second === undefined) || byCodePoint(one.sourcedId, other.sourcedId);
        return (orderBy === 'asc' ? 1 : -1) * byCodePoint(first, second);
      });
      assert.deepEqual(records.map((record) => record.sourcedId), expected.map((record) => record.sourcedId), `${path} ${field} ${orderBy}`);
    }
  }
});

test('variant A: status filters page whole, sort and fields change nothing, enrollments ignore any filter', async () => {
  for (const status of ['active', 'tobedeleted']) {
    const whole = await checkWalks(a, '/users', [status === 'active' ? 1000 : 4], { filter: `status='${status}'` });
    assert.ok(recordsOf(whole).every((record) => record.status === status));
    assert.equal(whole.total, status === 'active' ? 2947 - 15 : 15);
  }
  assert.equal((await list(a, '/classes', { sort: 'title', orderBy: 'desc', fields: 'title' })).inner, (await list(a, '/classes')).inner);
  const enrollments = await checkWalks(a, '/enrollments', [10_000], { filter: "status='tobedeleted'" });
  assert.equal(enrollments.total, 14_903);
});

test('an offset past the end gives an empty list with the true total', async () => {
  const { A, B } = byName;
  const later = byName['1.2'];
  for (const [dialects, path, total] of [
    [testedDialects, '/users', 2947],
    [[B], '/enrollments', 14_903],
    [[later], '/schools/org-9990001/teachers', 69],
    [[A, B], "/users?filter=status%3D'tobedeleted'", 15],
    [[later], '/users?sort=familyName', 2947],
  ] as const) {
    for (const [at, offset] of [total, total + 1, 1_000_000, largest].entries()) {
      for (const [turn, limit] of ['', '&limit=1', '&limit=1000', '&limit=1001', `&limit=${largest}`].entries()) {
        const read = readsOf(dialects[(at + turn) % dialects.length] ?? A);
        const response = await read(`${path}${path.includes('?') ? '&' : '?'}offset=${offset}${limit}`);
        assert.equal(response.status, 200);
        assert.match(await response.text(), /^\{"\w+":\[\]\}$/);
        assert.equal(response.headers.get('x-total-count'), String(total));
      }
    }
  }
});

test('the largest limit gives everything; an offset without a limit gives the rest', async () => {
  for (const [at, dialect] of testedDialects.entries()) {
    const read = readsOf(dialect);
    const whole = await list(read, '/users');
    assert.equal((await list(read, '/users', { limit: largest })).inner, whole.inner);
    const records = idsOf(whole);
    for (const offset of [at + 1, 1000 * at, 2946]) assert.deepEqual(idsOf(await list(read, '/users', { offset: String(offset) })), records.slice(offset));
    assert.deepEqual(idsOf(await list(read, '/users', { offset: '2234', limit: largest })), records.slice(2234));
  }
});

test('totals under narrowed scopes count what the scopes open', async () => {
  const staff = await service.addClient('staff-only', [demo], 'School,Staff');
  const everyone = recordsOf(await list(readsOf(byName.B), '/users'));
  const staffIds = new Set(
    everyone.filter((user) => ['teacher', 'administrator', 'aide', 'proctor'].includes(String(user.role))).map((user) => user.sourcedId),
  );
  const enrollments = recordsOf(await list(readsOf(byName.B), '/enrollments')).filter(({ user }) => staffIds.has((user as RosterRecord).sourcedId));
  const cases: [string, Parameters, number][] = [
    ['/users', {}, 93],
    ['/users', { filter: "status='active'" }, everyone.filter((user) => staffIds.has(user.sourcedId) && user.status === 'active').length],
    ['/users', { filter: "familyName>='m'" }, everyone.filter((user) => staffIds.has(user.sourcedId) && String(user.familyName).toLowerCase() >= 'm').length],
    ['/teachers', {}, 69],
    ['/enrollments', {}, enrollments.length],
    ['/enrollments', { filter: "status='tobedeleted'" }, enrollments.filter((one) => one.status === 'tobedeleted').length],
    ['/schools/org-9990001/enrollments', {}, enrollments.length],
    ['/classes', {}, 586],
  ];
  for (const dialect of asking) {
    for (const [path, parameters, total] of cases)
      assert.equal((await checkWalks(readsOf(dialect, staff), path, [400], parameters)).total, total, `${dialect.name} ${path} ${JSON.stringify(parameters)}`);
    assert.equal((await readsOf(dialect, staff)('/students')).status, 403, 'a list of which the scopes open nothing is refused');
  }
});

const linksOf = (header: string | null) =>
  Object.fromEntries([...(header ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, address = '', rel = '']) => [rel, new URL(address)]));

/** Like any client: an absolute address, with its own token. */
const follow = (token: string, address: string) => fetch(address, { headers: { authorization: `Bearer ${token}` } });

test('following next from the first page visits everything, and the other links lead where they say', async () => {
  const odd = { limit: '300', filter: "familyName~'o' or familyName='O''Neil, \"Jr\"'", fields: 'sourcedId,familyName', sort: 'familyName', orderBy: 'desc' };
  const cases: [TestedDialect, string, Parameters, of?: Client, estab?: string][] = [
    [byName.A, '/classes', { limit: '100', filter: "status='active'" }],
    [byName.B, '/orgs', { limit: '4' }],
    [byName['1.2'], '/users', { limit: '1001' }],
    [byName.B, '/users', odd],
    [byName['1.2'], '/users', odd],
    [byName.B, `/schools/${encodeURIComponent('sch/north@ashdown')}/courses`, { limit: '2', 'x,"y\'': 'é,"\' &=+' }, smallClient, small],
    [byName['1.2'], `/schools/${encodeURIComponent('sch/north@ashdown')}/courses`, { limit: '2', 'x,"y\'': 'é,"\' &=+' }, smallClient, small],
  ];
  for (const [dialect, path, parameters, of = client, estab = demo] of cases) {
    const { root } = dialect;
    const token = await dialect.token(of, estab);
    const { limit = '', ...others } = parameters;
    const first = `${service.url}${root}${path}?${new URLSearchParams(parameters).toString()}`;
    const whole = await list((where) => follow(token, where), `${service.url}${root}${path}`, others);
    const visited: string[] = [];
    let next: URL | undefined = new URL(first);
    for (let offset = 0; next; offset += Number(limit)) {
      const response = await follow(token, next.href);
      const text = await response.text();
      visited.push(text.slice(text.indexOf('[') + 1, -2));
      const header = response.headers.get('link') ?? '';
      for (const [, address = ''] of header.matchAll(/<([^>]*)>/g)) assert.ok(!/[,'" ]/.test(address), `nothing that readers split at: ${address}`);
      assert.ok(/^<[^>]*>; rel="\w+"(, <[^>]*>; rel="\w+")*$/.test(header), header);
      const links = linksOf(header);
      const last = Math.floor((whole.total - 1) / Number(limit)) * Number(limit);
      const expected = { first: 0, ...(offset > 0 ? { prev: offset - Number(limit) } : {}), ...(offset < last ? { next: offset + Number(limit) } : {}), last };
      assert.deepEqual(Object.fromEntries(Object.entries(links).map(([rel, { searchParams }]) => [rel, Number(searchParams.get('offset'))])), expected);
      for (const [rel, { origin, pathname, searchParams }] of Object.entries(links)) {
        assert.equal(`${origin}${pathname}`, `${service.url}${root}${path}`);
        const wish = rel === 'first' ? {} : { rosterVersion: response.headers.get('x-roster-version') };
        assert.deepEqual(Object.fromEntries([...searchParams].filter(([name]) => name !== 'offset')), { ...parameters, ...wish });
      }
      next = links.next;
    }
    assert.ok(visited.length > 1);
    assert.ok(visited.join(',') === whole.inner, path);
  }
});

test('links hold the public address, whatever host was asked for', async () => {
  for (const dialect of testedDialects) {
    const headers = { host: 'elsewhere.example', authorization: `Bearer ${await dialect.token(client, demo)}` };
    const link = await new Promise<string>((resolve, reject) => {
      request(`${service.url}${dialect.root}/orgs?limit=5`, { headers }, (response) => {
        response.resume();
        resolve(String(response.headers.link));
      }).on('error', reject).end();
    });
    const origins = Object.values(linksOf(link)).map(({ origin }) => origin);
    assert.deepEqual([origins.length > 1, [...new Set(origins)]], [true, [service.url]], dialect.name);
  }
});

// A school of 3,600 people in whom the kinds and states are bunched, so that every thousandth key, from which deep
// offsets count, has few or none of a kind before it. Ids of several scripts: code point order is not that of UTF-16.
const crowd = ['7770001', '7770002'] as const;
const kinds = ['parent', 'student', 'teacher', 'aide', 'guardian', 'student'];
const starts = ['A', 'Z', 'a', 'z', '\u00e9', '\uff5a', '\u{1d4b3}'];
const people = Array.from({ length: 3600 }, (_, at) => ({
  sourcedId: `${starts[Math.floor(at / 520)] ?? ''}${String(at).padStart(4, '0')}`,
  role: at < 1300 ? 'parent' : at >= 2600 && at < 2900 ? 'student' : (kinds[(at * 7) % 6] ?? ''),
  status: at % 9 === 0 || (at >= 1900 && at < 2400) ? 'tobedeleted' : 'active',
}));
const rolesOf: Record<string, string[]> = { Student: ['student'], Staff: ['teacher', 'aide'], Contact: ['parent', 'guardian'] };

const crowdPackage = (givenName: string) => {
  const users: Rows = people.map(({ sourcedId, role, status }) => ({
    sourcedId, role, status, enabledUser: 'true', orgSourcedIds: 'org', username: sourcedId, givenName, familyName: 'Many',
  }));
  return csvPackage({ orgs: [{ sourcedId: 'org', name: 'Crowd', type: 'school' }], users: users.toReversed() });
};
await service.addSchool(crowd[0], crowdPackage('First'));
await service.addSchool(crowd[1], crowdPackage('Second'));

const offsets = (total: number) =>
  [...new Set([0, 999, 1000, 1001, 1300, 2399, 3000, total - 1, total, Math.floor(total * 0.55)])].filter((offset) => offset >= 0);

for (const scopes of ['Staff', 'Student,Staff', 'Student,Staff,Contact']) {
  test(`deep offsets count only what ${scopes} and the status open`, async () => {
    const reader = await service.addClient(`crowd-${scopes.replaceAll(',', '-')}`, [crowd[0]], `School,${scopes}`);
    const opened = people.filter(({ role }) => scopes.split(',').some((scope) => rolesOf[scope]?.includes(role)));
    const lists: [TestedDialect, string, (role: string) => boolean][] = testedDialects.map((dialect) => [dialect, '/users', () => true]);
    if (scopes.includes('Staff')) for (const dialect of asking) lists.push([dialect, '/teachers', (role) => role === 'teacher']);
    for (const [turn, [dialect, path, isListed]] of lists.entries()) {
      const read = readsOf(dialect, reader, crowd[0]);
      for (const status of [undefined, 'active', 'tobedeleted']) {
        const filter: Parameters = status === undefined ? {} : { filter: `status='${status}'` };
        const expected = opened
          .filter((person) => isListed(person.role) && (status === undefined || person.status === status))
          .map(({ sourcedId }) => sourcedId)
          .sort(byCodePoint);
        assert.deepEqual(idsOf(await list(read, path, filter)), expected);
        // Of each offset two thirds of the dialects: the same would be counted in all.
        for (const offset of offsets(expected.length).filter((_, at) => (at + turn) % 3 > 0)) {
          const limit = offset % 2 === 0 ? 3 : offset % 3 === 0 ? 1500 : 40;
          for (const at of [offset, offset + limit]) {
            const page = await list(read, path, { ...filter, limit: String(limit), offset: String(at) });
            assert.deepEqual(idsOf(page), expected.slice(at, at + limit), `${dialect.name} ${path} ${status} offset ${at}`);
            assert.equal(page.total, expected.length);
          }
        }
      }
    }
  });
}

test('a page over two schools with the same ids lists one school after the other', async () => {
  const both = await service.addClient('both', crowd, 'School,Student,Staff,Contact');
  const ids = people.map(({ sourcedId }) => sourcedId).sort(byCodePoint);
  const expected = ['First', 'Second'].flatMap((name) => ids.map((id) => `${id} ${name}`));
  const shown = (listed: Listed) => recordsOf(listed).map((user) => `${user.sourcedId} ${String(user.givenName)}`);
  for (const [turn, dialect] of ofSeveralSchools.entries()) {
    const read: Read = (path) => dialect.readAll(both, path, plain);
    assert.deepEqual(shown(await list(read, '/users')), expected);
    for (const offset of offsets(7200).filter((_, at) => at % 2 === turn)) {
      for (const at of [offset, offset + 7])
        assert.deepEqual(shown(await list(read, '/users', { limit: '7', offset: String(at) })), expected.slice(at, at + 7));
    }
    const last = String(7199 * turn);
    assert.deepEqual(shown(await list(read, '/users', { limit: largest, offset: last })), expected.slice(Number(last)));
    assert.equal((await list(read, '/users', { limit: largest, offset: largest })).inner, '');
    assert.equal(
      (await list(read, '/users', { limit: '2', filter: "status='tobedeleted'" })).total,
      2 * people.filter(({ status }) => status === 'tobedeleted').length,
    );
  }
});
