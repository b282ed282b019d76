// Every error of the rostering API through HTTP, in every dialect: status, headers, shape, and a message that says
// what was wrong and what would be right and gives nothing of the machine away. And what happens without a database.
import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { csvPackage } from '../../test/csv-package.ts';
import { useDatabaseClock } from '../../test/database-clock.ts';
import { createValidate, readDocuments } from '../../test/described.ts';
import { byName, offers, testedDialects, type Fault, type TestedDialect } from '../../test/dialects.ts';
import { freePort } from '../../test/free-port.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { rootB, useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { changeState } from '../access/authorisations.ts';
import { rotateTokenKey } from '../access/token-keys.ts';
import { connect } from '../db/connect.ts';
import { envelopeShape } from '../http/error-shape.ts';
import { healthRoutes } from '../http/health.ts';
import { createServer } from '../http/server.ts';

const estab = '9990001';
const { database, clock } = await useDatabaseClock();
const rows = () =>
  csvPackage({
    orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }],
    users: ['pupil', 'teacher'].map((sourcedId) => ({
      sourcedId, enabledUser: 'true', orgSourcedIds: 'sch', role: sourcedId === 'pupil' ? 'student' : 'teacher', username: sourcedId,
      givenName: 'Ann', familyName: 'Lee',
    })),
  });
// What is broken is broken in the database: no list is to come out of a file.
const service = await useService({ LIST_CACHE_MB: '0' }, { database });
await service.addSchool(estab, rows());
const client = await service.addClient('app', [estab]);
/** Another one, to be struck by misfortune. */
const broken = await useService({ LIST_CACHE_MB: '0' });
await broken.addSchool(estab, rows());
const brokenClient = await broken.addClient('app', [estab]);

type Says = readonly (RegExp | string)[];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const documents = await readDocuments(service.app);
const validators = new Map(testedDialects.map(({ name, surface }) => [name, createValidate(documents[surface])]));

/** Asserts that a dialect refuses it as it should, and what it says. */
async function assertError(dialect: TestedDialect, response: Response, fault: Fault, says: Says, what: string): Promise<void> {
  const text = await response.text();
  const refusal = dialect.errors[fault] ?? assert.fail(`${what} is nothing wrong in ${dialect.name}`);
  assert.equal(response.status, refusal.status, `${dialect.name} ${what}: ${text}`);
  assert.match(response.headers.get('content-type') ?? '', dialect.errorType, what);
  const { message, minor } = dialect.readError(text);
  assert.equal(minor, refusal.minor, `${dialect.name} ${what}`);
  if (dialect.errorSchema) assert.deepEqual(validators.get(dialect.name)?.(dialect.errorSchema, JSON.parse(text)), [], `${dialect.name} ${what}`);
  if (dialect.name !== 'A' && response.status === 401) assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer\b/, what);
  assertHarmless(message, what);
  for (const one of says) assert.ok(typeof one === 'string' ? message.includes(one) : one.test(message), `${what}: "${message}" should say ${one}`);
}

function assertHarmless(message: string, what: string): void {
  assert.ok(message.length > 10, what);
  assert.doesNotMatch(message, /\b(select|insert|update|delete)\b.*\b(from|into|set|where)\b|relation|column|roster_|postgres|sqlstate/i, what);
  assert.doesNotMatch(message, /\.(ts|js|mjs)\b|node_modules|node:|file:|\/(work|home|root|usr|var|tmp|src)\//, what);
  assert.doesNotMatch(message, /\n\s+at |Error:|undefined|\[object/, what);
}

const field = 'favouriteColour';
const at = (text: string, part: string) => `position ${text.indexOf(part) + 1}`;
/** saysA: what is said where only a status can be filtered by. */
type Bad = { path: string; query: Record<string, string> | string; fault: Fault; says: Says; saysA: Says };
const bad = (path: string, query: Bad['query'], says: Says, fault: Fault = 'request', saysA: Says = says): Bad => ({ path, query, fault, says, saysA });
const badFilter = (filter: string, says: Says, saysA: Says = says) => bad('/users', { filter }, says, 'filter', saysA);
const joined = `status='active' and ${field}='red'`;
const numbers = ['limit', 'offset'].flatMap((name) => {
  const wrong = ['', 'ten', '1.5', '-1', '1e3', '0x10', ' 1', '１', ...(name === 'limit' ? ['0'] : [])];
  const says = [name, /whole number from [01]/];
  return [
    ...wrong.map((value) => bad('/users', { [name]: value }, says)),
    bad('/users', `${name}=1&${name}=1`, [name, /once/]),
    bad('/enrollments', { [name]: 'ten' }, says),
  ];
});

const invalid: readonly Bad[] = [
  badFilter(`${field}='red'`, [field, 'position 1', 'familyName'], [field, 'position 1', 'status']),
  badFilter(joined, [field, at(joined, field), 'familyName'], ['one expression', at(joined, field), 'status']),
  badFilter("Status='active'", ['Status', 'position 1', 'status']),
  badFilter("agents='sch'", ['agents', 'position 1', 'agents.sourcedId'], ['agents', 'status']),
  badFilter('status', ['position 7', '='], ['position 7']),
  badFilter('status=active', ['position 8', /quotes/]),
  badFilter("status='active", ['position 8', /quotes/]),
  badFilter("status='active' familyName='Lee'", ['position 16', 'and']),
  badFilter("(status='active')", ['position 1', "status='active'"]),
  badFilter("='active'", ['position 1', /field/]),
  badFilter("dateLastModified>'yesterday'", ['dateLastModified', 'position 1', 'yesterday', /\d{4}-\d{2}-\d{2}/], ['dateLastModified', 'position 1', 'status']),
  bad('/users', { filter: '' }, ['filter', /empty/], 'blankFilter'),
  bad('/users', { filter: '  ' }, ['filter', /empty/], 'blankFilter'),
  bad('/users', { sort: field }, [field, 'position 1', 'familyName'], 'sort', [field]),
  bad('/users', { sort: '' }, ['sort', /empty/], 'sort'),
  bad('/users', { orderBy: 'up' }, ['orderBy', 'up', 'asc', 'desc']),
  bad('/users', { orderBy: '' }, ['orderBy', 'asc', 'desc']),
  bad('/users', { sort: 'status', orderBy: 'ASCENDING' }, ['orderBy', 'asc', 'desc']),
  bad('/users', { fields: field }, [field, 'position 1', 'familyName'], 'selection', [field]),
  bad('/users', { fields: `sourcedId,${field}` }, [field, 'position 11'], 'selection', [field]),
  bad('/users', { fields: `sourcedId, ${field}` }, [field, 'position 12'], 'selection', [field]),
  bad('/users/pupil', { fields: field }, [field, 'position 1'], 'selection', [field]),
  bad('/users', { fields: '' }, ['fields', /empty/], 'blankSelection'),
  bad('/users', { fields: 'sourcedId,,status' }, ['fields', /empty/], 'blankSelection'),
  bad('/users', 'filter=%ff', [/percent-encoded UTF-8/]),
  bad('/users', 'filter=status%3D%27a%00%27', [/percent-encoded UTF-8/]),
  ...numbers,
];
for (const dialect of testedDialects) {
  for (const { path, query, fault, says, saysA } of invalid) {
    const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
    const ask = () => dialect.read(client, estab, `${path}?${text}`);
    if (dialect.errors[fault])
      test(`${dialect.name} refuses ${path}?${text}`, async () => assertError(dialect, await ask(), fault, dialect.asksFreely ? says : saysA, text));
    else
      test(`${dialect.name} takes ${path}?${text} as if it were not there`, async () => {
        const [asked, plain] = [await ask(), await dialect.read(client, estab, path)];
        assert.deepEqual([asked.status, await asked.text()], [200, await plain.text()]);
      });
  }
}

test('variant A takes one status expression, and no other operator or value form', async () => {
  for (const filter of ["status!='active'", "status>'a'", "status~'act'", "status='active' or status='tobedeleted'", "status='active' AND status='active'"]) {
    await assertError(byName.A, await client.a(`/users?filter=${encodeURIComponent(filter)}`), 'filter', ['position', '='], filter);
  }
  assert.equal((await client.a(`/users?filter=${encodeURIComponent("status='active'")}`)).status, 200);
});

test('variant A ignores the filter on enrollments entirely, and sort, orderBy and fields that are right', async () => {
  for (const query of ['filter=nonsense', 'filter=', 'filter=role%3D%27student%27', 'sort=role', 'sort=role&orderBy=desc', 'fields=role'])
    assert.equal((await client.a(`/enrollments?${query}`)).status, 200, query);
  const [plain, asked] = [await client.a('/users'), await client.a('/users?sort=username&orderBy=desc&fields=username')];
  assert.equal(await asked.text(), await plain.text());
});

const raw = ({ root }: TestedDialect, path: string, headers: Record<string, string> = {}) => fetch(`${service.url}${root}${path}`, { headers });

test('no Authorization header: 403 in variant A, elsewhere 401 that asks for Bearer', async () => {
  for (const path of ['/users', '/users/pupil', '/users?limit=ten', '/enrollments', '/orgs/'])
    for (const dialect of testedDialects) await assertError(dialect, await raw(dialect, path), 'missingToken', ['Authorization', 'Bearer'], path);
});

test('a token that does not hold: 400 in variant A, elsewhere 401', async () => {
  const fetchToken = async (body: object) =>
    (
      (await (
        await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      ).json()) as { token: string }
    ).token;
  const tokens = await Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: await dialect.token(client, estab) })));
  const sts = [
    await fetchToken({ estab, relyingParty: 'app', password: client.schoolSecrets[estab] }),
    await fetchToken({ relyingParty: 'app', password: client.managementSecret }),
  ];
  for (const { dialect, token } of tokens) {
    const [header, payload = '', signature] = token.split('.');
    const claims = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), exp: 9_999_999_999 };
    const forged = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`;
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const malformed = ['x', token.slice(0, -8), `${token.slice(0, -8)}AAAAAAAA`, forged, unsigned, `${token} ${token}`];
    const ofAnotherKind = [...tokens.filter((one) => one.dialect !== dialect).map((one) => one.token), ...sts];
    for (const authorization of ['', 'Bearer', `Basic ${token}`, token, ...[...malformed, ...ofAnotherKind].map((one) => `Bearer ${one}`)])
      await assertError(dialect, await raw(dialect, '/users', { authorization }), 'invalidToken', [/token/i], authorization);
  }
  await clock.setAhead(3_600_000);
  try {
    for (const { dialect, token } of tokens)
      await assertError(dialect, await raw(dialect, '/users', bearer(token)), 'invalidToken', [/expired/, /new/], 'expired');
  } finally {
    await clock.setAhead(0);
  }
});

test('a missing scope and a paused or revoked authorisation: 400 in variant A, elsewhere 403 forbidden', async () => {
  const narrow = await service.addClient('narrow', [estab], 'School');
  for (const dialect of testedDialects) {
    const read = (path: string) => dialect.read(narrow, estab, path);
    await assertError(dialect, await read('/users'), 'forbidden', ['Student', 'Staff', 'Contact'], 'scope');
    if (offers(dialect, '/demographics')) await assertError(dialect, await read('/demographics'), 'forbidden', ['StudentDemographic'], 'scope');
  }
  for (const to of ['Paused', 'Revoked'] as const) {
    const one = await service.addClient(to, [estab]);
    const tokens = await Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: bearer(await dialect.token(one, estab)) })));
    await changeState(service.db, { rp: to, estab, from: ['Approved'], to });
    for (const { dialect, token } of tokens) await assertError(dialect, await raw(dialect, '/users', token), 'forbidden', [new RegExp(to, 'i')], to);
  }
});

test('a version that is not kept: 412', async () => {
  for (const dialect of testedDialects)
    for (const path of ['/users', '/users?limit=1', '/users/pupil', '/orgs'])
      await assertError(dialect, await dialect.read(client, estab, path, { 'if-roster-version': '7-00000000' }), 'gone', [/not kept/, /Begin again/], path);
});

test('no such record: 404, also where the id is long, odd or of another type', async () => {
  const ids = ['nobody', 'x'.repeat(255), '😀'.repeat(127), 'a%2Fb', '%00', "'%20or%20'1'%3D'1", 'PUPIL', 'pupil%20'];
  const elsewhere = [
    '/orgs/pupil', '/students/teacher', '/teachers/pupil', '/schools/nowhere/classes', '/schools/sch/classes/none/students', '/users/nobody/classes',
  ];
  for (const dialect of testedDialects) {
    for (const id of ids) {
      const encoded = id.includes('%') ? id : encodeURIComponent(id);
      await assertError(dialect, await dialect.read(client, estab, `/users/${encoded}`), 'notFound', [/no such record/], id);
    }
    for (const path of elsewhere) await assertError(dialect, await dialect.read(client, estab, path), 'notFound', [], path);
  }
});

const nowhere = {
  A: ['', '/nothing', '/demographics', '/schools', '/users/pupil/classes', '/users/pupil/extra/parts', '/tokens', '/auth/token'],
  B: ['', '/nothing', '/resources', '/users/pupil/extra', '/token', '/auth', '/auth/tokens'],
  '1.2': ['', '/nothing', '/resources', '/users/pupil/extra', '/users/pupil/roles', '/roles', '/userProfiles', '/auth/token', '/tokens'],
};
for (const dialect of testedDialects) {
  for (const path of nowhere[dialect.name])
    test(`${dialect.name} has nothing at ${dialect.root}${path}`, async () => assertError(dialect, await raw(dialect, path), 'notFound', [], path));
}

test('other addresses that are not there, and paths that cannot be read', async () => {
  for (const dialect of testedDialects)
    await assertError(dialect, await dialect.read(client, estab, '/users/%ff'), 'request', [/UTF-8/], 'path that is not UTF-8');
  for (const path of ['/api/v1/nothing', '/api', '/nothing', '/nothing/']) {
    const response = await fetch(service.url + path);
    assert.equal(response.status, 404, path);
    const envelope = (await response.json()) as { ExceptionMessage: string };
    assert.deepEqual(Object.keys(envelope).toSorted(), ['ExceptionMessage', 'ExceptionType', 'InnerException', 'Message'], path);
    assertHarmless(envelope.ExceptionMessage, path);
  }
});

test('other verbs: 405 with Allow', async () => {
  for (const dialect of testedDialects) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['/users', '/users/', '/users/pupil', '/orgs/sch']) {
        const response = await fetch(`${service.url}${dialect.root}${path}`, {
          method,
          ...(method === 'OPTIONS' ? {} : { body: '{' }),
          headers: { 'content-type': 'application/json' },
        });
        assert.equal(response.headers.get('allow'), 'GET, HEAD');
        await assertError(dialect, response, 'verb', ['GET'], `${method} ${path}`);
      }
    }
  }
  for (const path of ['/healthz', '/readyz', '/.well-known/jwks.json'])
    assert.equal((await fetch(service.url + path, { method: 'POST' })).headers.get('allow'), 'GET, HEAD');
});

test('TRACE is another verb too', async () => {
  const { statusCode, headers } = await new Promise<IncomingMessage>((resolve, reject) =>
    httpRequest(`${service.url}${rootB}/users`, { method: 'TRACE' }, (response) => resolve(response.resume()))
      .once('error', reject)
      .end(),
  );
  assert.deepEqual([statusCode, headers.allow], [405, 'GET, HEAD']);
});

type Tokens = { dialect: TestedDialect; token: string }[];
const readBroken = ({ root }: TestedDialect, path: string, token: string) =>
  fetch(broken.url + root + path, { headers: bearer(token), signal: AbortSignal.timeout(60_000) });
const freshTokens = (): Promise<Tokens> => Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: await dialect.token(brokenClient, estab) })));

async function assertBroken(tokens: Tokens, path: string): Promise<void> {
  for (const { dialect, token } of tokens) await assertError(dialect, await readBroken(dialect, path, token), 'unexpected', [/server/], path);
}

async function assertAway(tokens: Tokens, path: string): Promise<void> {
  for (const { dialect, token } of tokens) {
    const response = await readBroken(dialect, path, token);
    assert.equal(response.headers.get('retry-after'), '5');
    await assertError(dialect, response, 'away', [/cannot reach its data/, /try again/i], path);
  }
}

async function assertServed(tokens: Tokens, path: string): Promise<void> {
  for (const { dialect, token } of tokens) assert.equal((await readBroken(dialect, path, token)).status, 200, `${dialect.name} ${path}`);
}

/** While a table is away. */
async function without(table: string, ask: () => Promise<void>, { db } = broken): Promise<void> {
  await db`alter table ${db(table)} rename to away`;
  try {
    await ask();
  } finally {
    await db`alter table away rename to ${db(table)}`;
  }
}

async function assertTokens({ status, error: wanted, type }: { status: number; error: string; type: string }): Promise<void> {
  const post = (path: string, body: string, headers: Record<string, string>) =>
    fetch(broken.url + path, { method: 'POST', headers, body, signal: AbortSignal.timeout(60_000) });
  for (const { name, tokenPath: path } of testedDialects) {
    const response = await post(path, '', { authorization: `Basic ${Buffer.from(`app|${estab}:secret`).toString('base64')}` });
    const text = await response.text();
    assertHarmless(text, path);
    assert.doesNotMatch(text, /may have been done/, path);
    if (name === 'A') {
      assert.deepEqual([response.status, response.headers.get('content-type')], [400, 'text/plain; charset=utf-8']);
      if (type === 'unavailable') assert.equal(response.headers.get('retry-after'), '5');
    } else {
      assert.equal(response.status, status);
      assert.equal((JSON.parse(text) as { error: string }).error, wanted);
    }
  }
  const response = await post('/api/oauth/GetToken', JSON.stringify({ relyingParty: 'app', password: 'x' }), { 'content-type': 'application/json' });
  assert.equal(response.status, status);
  const { ExceptionMessage: message, ...envelope } = (await response.json()) as Record<string, string | null>;
  assert.deepEqual(envelope, { token: null, expires: null, Message: null, ExceptionType: type, InnerException: null });
  assertHarmless(message ?? '', 'GetToken');
  assert.doesNotMatch(message ?? '', /may have been done/, 'GetToken');
}

const paths = ['/users?limit=10', '/users', '/users/pupil', "/users?limit=5000&filter=status%3D'active'", "/users?limit=10&filter=status%3D'active'"];
for (const path of paths) {
  test(`anything unexpected on ${path}: 400 in variant A, elsewhere 500, and nothing lasting`, async () => {
    const tokens = await freshTokens();
    for (const table of ['roster_user', 'authorisation']) await without(table, () => assertBroken(tokens, path));
    await assertServed(tokens, path);
  });
}

test('a token that cannot be checked is no invalid token', async () => {
  await broken.db.begin((tx) => rotateTokenKey(tx, broken.seal, { now: false }));
  const tokens = await freshTokens();
  await without('token_key', () => assertBroken(tokens, '/orgs'));
});

test('anything unexpected at the token endpoints: 500, each in its shape', () =>
  without('wrong_try', () => assertTokens({ status: 500, error: 'server_error', type: 'unexpected' })));

const status = async (path: string) => (await fetch(broken.url + path, { signal: AbortSignal.timeout(60_000) })).status;

/** While the database takes no connections. */
async function withoutDatabase(ask: () => Promise<void>): Promise<void> {
  const connection = await broken.db.reserve();
  try {
    await connection`update pg_database set datallowconn = false where datname = current_database()`;
    await connection`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
    await ask();
  } finally {
    await connection`update pg_database set datallowconn = true where datname = current_database()`;
    connection.release();
  }
}

test('/readyz says whether the database is migrated, /healthz that the process is alive', async () => {
  assert.deepEqual([await status('/healthz'), await status('/readyz'), await status('/readyz/')], [200, 200, 200]);
  await without('migration', async () => assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]));
  await broken.db`update migration set version = version + 1000`;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
  await broken.db`update migration set version = version - 1000`;
  assert.equal(await status('/readyz'), 200);
});

test('a database that goes in the middle of requests fails them and keeps none waiting', async () => {
  const tokens = await freshTokens();
  const holding = await broken.db.reserve();
  await holding`begin`;
  await holding`lock table authorisation in access exclusive mode`;
  const struck = Array.from({ length: 2 }, () => tokens.map(({ dialect, token }) => readBroken(dialect, '/users', token))).flat();
  await until('one waits', async () => {
    const waiting = await lockWaits(broken.db);
    return waiting.length > 0;
  });
  await withoutDatabase(async () => {
    for (const [at, response] of struck.entries())
      assert.ok([200, tokens[at % tokens.length]?.dialect.errors.away?.status].includes((await response).status), 'served in the last moment, or failed');
    for (let times = 1; times <= 12; times += 1) assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503], `time ${times}`);
  });
  assert.equal(await status('/readyz'), 200);
});

test('a connection that is lost under a request for a token: the response does not say that something may have been done', async () => {
  const holding = await broken.db.reserve();
  await holding`begin`;
  await holding`lock table wrong_try in access exclusive mode`;
  let asked = false;
  const asking = assertTokens({ status: 503, error: 'temporarily_unavailable', type: 'unavailable' }).finally(() => (asked = true));
  try {
    await until('every request has lost its connection', async () => {
      await broken.db`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and wait_event_type = 'Lock'`;
      return asked;
    });
  } finally {
    await holding`rollback`;
    holding.release();
  }
  await asking;
});

test('without a database everything says so, and all is well when it is back', async () => {
  const tokens = await freshTokens();
  await assertServed(tokens, '/users');
  await withoutDatabase(async () => {
    await assertAway(tokens, '/users');
    assertHarmless(await (await fetch(`${broken.url}/readyz`)).text(), '/readyz');
    await assertTokens({ status: 503, error: 'temporarily_unavailable', type: 'unavailable' });
  });
  await assertServed(tokens, '/users');
});

test('/readyz answers at once for as long as nothing listens where the database should be', async (t) => {
  const [away, app] = [
    connect(`postgres://nobody@127.0.0.1:${await freePort()}/none`, { max: 10, name: 'away' }),
    createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape }),
  ];
  t.after(() => away.end({ timeout: 0 }));
  healthRoutes(app, away);
  for (let times = 1; times <= 20; times += 1) {
    const answer = await Promise.race([app.inject('/readyz'), setTimeout(5_000, undefined, { ref: false })]);
    assert.equal(answer?.statusCode, 503, `time ${times}`);
  }
});
