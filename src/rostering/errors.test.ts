// Every error of the rostering API through HTTP, in both variants: status, headers, shape, and a message that says
// what was wrong and what would be right and gives nothing of the machine away. And what happens without a database.
import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { csvPackage } from '../../test/csv-package.ts';
import { freePort } from '../../test/free-port.ts';
import { rootA, rootB, useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { changeState } from '../access/authorisations.ts';
import { rotateTokenKey } from '../access/token-keys.ts';
import { connect } from '../db/connect.ts';
import { envelopeShape } from '../http/error-shape.ts';
import { healthRoutes } from '../http/health.ts';
import { createServer } from '../http/server.ts';

const estab = '9990001';
let clock = Date.now();
const rows = () =>
  csvPackage({
    orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }],
    users: ['pupil', 'teacher'].map((sourcedId) => ({
      sourcedId, enabledUser: 'true', orgSourcedIds: 'sch', role: sourcedId === 'pupil' ? 'student' : 'teacher', username: sourcedId,
      givenName: 'Ann', familyName: 'Lee',
    })),
  });
const service = await useService({}, { now: () => clock });
await service.addSchool(estab, rows());
const client = await service.addClient('app', [estab]);
/** Another one, to be struck by misfortune. */
const broken = await useService();
await broken.addSchool(estab, rows());
const brokenClient = await broken.addClient('app', [estab]);

type Variant = 'A' | 'B';
type Expected = { status: number; minor?: string; says?: readonly (RegExp | string)[] };
const roots = { A: rootA, B: rootB };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** Asserts the shape of an error and gives its message. */
async function assertError(variant: Variant, response: Response, { status, minor, says = [] }: Expected, what: string): Promise<string> {
  const text = await response.text();
  assert.equal(response.status, status, `${what}: ${text}`);
  assert.match(response.headers.get('content-type') ?? '', variant === 'A' ? /^text\/plain/ : /^application\/json/, what);
  const message = variant === 'A' ? text : statusInfo(text, minor);
  assertHarmless(message, what);
  for (const one of says) assert.ok(typeof one === 'string' ? message.includes(one) : one.test(message), `${what}: "${message}" should say ${one}`);
  return message;
}

/** Those of OneRoster 1.1 that speak of errors; 1.2 has others. */
const minors = [
  'unknown object', 'invalid data', 'unauthorized', 'forbidden', 'server_busy', 'invalid_sort_field', 'invalid_filter_field', 'invalid_selection_field',
  'invalid_blank_selection_field',
];

function statusInfo(text: string, minor: string | undefined): string {
  const body = JSON.parse(text) as { statusInfoSet: Record<string, string>[] };
  assert.deepEqual([Object.keys(body), body.statusInfoSet.length], [['statusInfoSet'], 1]);
  const { imsx_description: message = '', imsx_codeMinor: codeMinor = '', ...rest } = body.statusInfoSet[0] ?? {};
  assert.deepEqual(rest, { imsx_codeMajor: 'failure', imsx_severity: 'error' });
  assert.ok(minor === undefined ? minors.includes(codeMinor) : codeMinor === minor, codeMinor);
  return message;
}

function assertHarmless(message: string, what: string): void {
  assert.ok(message.length > 10, what);
  assert.doesNotMatch(message, /\b(select|insert|update|delete)\b.*\b(from|into|set|where)\b|relation|column|roster_|postgres|sqlstate/i, what);
  assert.doesNotMatch(message, /\.(ts|js|mjs)\b|node_modules|node:|file:|\/(work|home|root|usr|var|tmp|src)\//, what);
  assert.doesNotMatch(message, /\n\s+at |Error:|undefined|\[object/, what);
}

const field = 'favouriteColour';
const at = (text: string, part: string) => `position ${text.indexOf(part) + 1}`;
type Bad = { path: string; query: Record<string, string> | string; a: Expected; b: Expected };
const bad = (path: string, query: Bad['query'], b: Omit<Expected, 'status'>, a: Omit<Expected, 'status'> = { says: b.says ?? [] }): Bad => ({
  path, query, a: { status: 400, ...a }, b: { status: 400, ...b },
});
const badFilter = (filter: string, says: Expected['says'], aSays: Expected['says'] = says) =>
  bad('/users', { filter }, { minor: 'invalid_filter_field', says: says ?? [] }, { says: aSays ?? [] });
const joined = `status='active' and ${field}='red'`;
const numbers = ['limit', 'offset'].flatMap((name) => {
  const wrong = ['', 'ten', '1.5', '-1', '1e3', '0x10', ' 1', '１', ...(name === 'limit' ? ['0'] : [])];
  const says = [name, /whole number from [01]/];
  return [
    ...wrong.map((value) => bad('/users', { [name]: value }, { says })),
    bad('/users', `${name}=1&${name}=1`, { says: [name, /once/] }),
    bad('/enrollments', { [name]: 'ten' }, { says }),
  ];
});

const invalid: readonly Bad[] = [
  badFilter(`${field}='red'`, [field, 'position 1', 'familyName'], [field, 'position 1', 'status']),
  badFilter(joined, [field, at(joined, field), 'familyName'], ['one expression', at(joined, field), 'status']),
  badFilter("Status='active'", ['Status', 'position 1', 'status']),
  badFilter("orgs='sch'", ['orgs', 'position 1', 'orgs.sourcedId'], ['orgs', 'status']),
  badFilter('status', ['position 7', '='], ['position 7']),
  badFilter('status=active', ['position 8', /quotes/]),
  badFilter("status='active", ['position 8', /quotes/]),
  badFilter("status='active' familyName='Lee'", ['position 16', 'and']),
  badFilter("(status='active')", ['position 1', "status='active'"]),
  badFilter("='active'", ['position 1', /field/]),
  badFilter("dateLastModified>'yesterday'", ['dateLastModified', 'position 1', 'yesterday', /\d{4}-\d{2}-\d{2}/], ['dateLastModified', 'position 1', 'status']),
  bad('/users', { filter: '' }, { says: ['filter', /empty/] }),
  bad('/users', { filter: '  ' }, { says: ['filter', /empty/] }),
  bad('/users', { sort: field }, { minor: 'invalid_sort_field', says: [field, 'position 1', 'familyName'] }, { says: [field] }),
  bad('/users', { sort: '' }, { says: ['sort', /empty/] }),
  bad('/users', { orderBy: 'up' }, { says: ['orderBy', 'up', 'asc', 'desc'] }),
  bad('/users', { orderBy: '' }, { says: ['orderBy', 'asc', 'desc'] }),
  bad('/users', { sort: 'status', orderBy: 'ASCENDING' }, { says: ['orderBy', 'asc', 'desc'] }),
  bad('/users', { fields: field }, { minor: 'invalid_selection_field', says: [field, 'position 1', 'familyName'] }, { says: [field] }),
  bad('/users', { fields: `sourcedId,${field}` }, { minor: 'invalid_selection_field', says: [field, 'position 11'] }, { says: [field] }),
  bad('/users', { fields: `sourcedId, ${field}` }, { minor: 'invalid_selection_field', says: [field, 'position 12'] }, { says: [field] }),
  bad('/users/pupil', { fields: field }, { minor: 'invalid_selection_field', says: [field, 'position 1'] }, { says: [field] }),
  bad('/users', { fields: '' }, { says: ['fields', /empty/] }),
  bad('/users', { fields: 'sourcedId,,status' }, { says: ['fields', /empty/] }),
  bad('/users', 'filter=%ff', { says: [/percent-encoded UTF-8/] }),
  bad('/users', 'filter=status%3D%27a%00%27', { says: [/percent-encoded UTF-8/] }),
  ...numbers,
];
for (const { path, query, ...expected } of invalid) {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
  test(`variant A refuses ${path}?${text}`, async () => void (await assertError('A', await client.a(`${path}?${text}`), expected.a, text)));
  test(`variant B refuses ${path}?${text}`, async () => void (await assertError('B', await client.b(estab, `${path}?${text}`), expected.b, text)));
}

test('variant A takes one status expression, and no other operator or value form', async () => {
  for (const filter of ["status!='active'", "status>'a'", "status~'act'", "status='active' or status='tobedeleted'", "status='active' AND status='active'"]) {
    await assertError('A', await client.a(`/users?filter=${encodeURIComponent(filter)}`), { status: 400, says: ['position', '='] }, filter);
  }
  assert.equal((await client.a(`/users?filter=${encodeURIComponent("status='active'")}`)).status, 200);
});

test('variant A ignores the filter on enrollments entirely, and sort, orderBy and fields that are right', async () => {
  for (const query of ['filter=nonsense', 'filter=', 'filter=role%3D%27student%27', 'sort=role', 'sort=role&orderBy=desc', 'fields=role'])
    assert.equal((await client.a(`/enrollments?${query}`)).status, 200, query);
  const [plain, asked] = [await client.a('/users'), await client.a('/users?sort=username&orderBy=desc&fields=username')];
  assert.equal(await asked.text(), await plain.text());
});

const raw = (variant: Variant, path: string, headers: Record<string, string> = {}) => fetch(`${service.url}${roots[variant]}${path}`, { headers });

test('no Authorization header: 403 in variant A, 401 that asks for Bearer in variant B', async () => {
  for (const path of ['/users', '/users/pupil', '/users?limit=ten', '/enrollments', '/orgs/']) {
    await assertError('A', await raw('A', path), { status: 403, says: ['Authorization', 'Bearer'] }, path);
    const response = await raw('B', path);
    assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer\b/);
    await assertError('B', response, { status: 401, minor: 'unauthorized', says: ['Authorization', 'Bearer'] }, path);
  }
});

test('a token that does not hold: 400 in variant A, 401 in variant B', async () => {
  const fetchToken = async (body: object) =>
    (
      (await (
        await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      ).json()) as { token: string }
    ).token;
  const tokens = { A: await client.tokenA(), B: await client.tokenB(estab) };
  const sts = {
    school: await fetchToken({ estab, relyingParty: 'app', password: client.schoolSecrets[estab] }),
    management: await fetchToken({ relyingParty: 'app', password: client.managementSecret }),
  };
  const [header, , signature] = tokens.B.split('.');
  const forged = `${header}.${Buffer.from(JSON.stringify({ sub: 'app', aud: 'rostering-b', estab, exp: 9_999_999_999 })).toString('base64url')}.${signature}`;
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${tokens.B.split('.')[1]}.`;
  for (const variant of ['A', 'B'] as const) {
    const token = tokens[variant];
    const malformed = ['x', token.slice(0, -8), `${token.slice(0, -8)}AAAAAAAA`, forged, unsigned, `${token} ${token}`];
    const ofAnotherKind = [tokens[variant === 'A' ? 'B' : 'A'], sts.school, sts.management];
    for (const authorization of ['', 'Bearer', `Basic ${token}`, token, ...[...malformed, ...ofAnotherKind].map((one) => `Bearer ${one}`)]) {
      const response = await raw(variant, '/users', { authorization });
      if (variant === 'B') assert.match(response.headers.get('www-authenticate') ?? '', /^Bearer\b/, authorization);
      await assertError(
        variant, response, variant === 'A' ? { status: 400, says: [/token/i] } : { status: 401, minor: 'unauthorized', says: [/token/i] },
        authorization,
      );
    }
  }
  clock += 3_600_000;
  try {
    for (const variant of ['A', 'B'] as const)
      await assertError(
        variant,
        await raw(variant, '/users', bearer(tokens[variant])),
        { status: variant === 'A' ? 400 : 401, says: [/expired/, /new/] },
        'expired',
      );
  } finally {
    clock -= 3_600_000;
  }
});

test('a missing scope and a paused or revoked authorisation: 400 in variant A, 403 forbidden in variant B', async () => {
  const narrow = await service.addClient('narrow', [estab], 'School');
  await assertError('A', await narrow.a('/users'), { status: 400, says: ['Student', 'Staff', 'Contact'] }, 'scope');
  await assertError('B', await narrow.b(estab, '/users'), { status: 403, minor: 'forbidden', says: ['Student', 'Staff', 'Contact'] }, 'scope');
  await assertError('B', await narrow.b(estab, '/demographics'), { status: 403, minor: 'forbidden', says: ['StudentDemographic'] }, 'scope');
  for (const to of ['Paused', 'Revoked'] as const) {
    const one = await service.addClient(to, [estab]);
    const tokens = { a: bearer(await one.tokenA()), b: bearer(await one.tokenB(estab)) };
    await changeState(service.db, { rp: to, estab, from: ['Approved'], to });
    await assertError('A', await raw('A', '/users', tokens.a), { status: 400, says: [new RegExp(to, 'i')] }, to);
    await assertError('B', await raw('B', '/users', tokens.b), { status: 403, minor: 'forbidden', says: [new RegExp(to, 'i')] }, to);
  }
});

test('no such record: 404, also where the id is long, odd or of another type', async () => {
  const ids = ['nobody', 'x'.repeat(255), '😀'.repeat(127), 'a%2Fb', '%00', "'%20or%20'1'%3D'1", 'PUPIL', 'pupil%20'];
  for (const id of ids) {
    const encoded = id.includes('%') ? id : encodeURIComponent(id);
    await assertError('A', await client.a(`/users/${encoded}`), { status: 404, says: [/no such record/] }, id);
    await assertError('B', await client.b(estab, `/users/${encoded}`), { status: 404, minor: 'unknown object', says: [/no such record/] }, id);
  }
  for (const path of [
    '/orgs/pupil', '/students/teacher', '/teachers/pupil', '/schools/nowhere/classes', '/schools/sch/classes/none/students', '/users/nobody/classes',
  ])
    await assertError('B', await client.b(estab, path), { status: 404, minor: 'unknown object' }, path);
});

const nowhere = {
  A: ['', '/nothing', '/demographics', '/schools', '/users/pupil/classes', '/users/pupil/extra/parts', '/tokens', '/auth/token'],
  B: ['', '/nothing', '/resources', '/users/pupil/extra', '/token', '/auth', '/auth/tokens'],
};
for (const variant of ['A', 'B'] as const) {
  for (const path of nowhere[variant]) {
    test(`variant ${variant} has nothing at ${roots[variant]}${path}`, async () => {
      await assertError(variant, await raw(variant, path), variant === 'A' ? { status: 404 } : { status: 404, minor: 'unknown object' }, path);
    });
  }
}

test('other addresses that are not there, and paths that cannot be read', async () => {
  await assertError('A', await client.a('/users/%ff'), { status: 400, says: [/UTF-8/] }, 'path that is not UTF-8');
  await assertError('B', await client.b(estab, '/users/%ff'), { status: 400, says: [/UTF-8/] }, 'path that is not UTF-8');
  for (const path of ['/api/v1/nothing', '/api', '/nothing', '/nothing/']) {
    const response = await fetch(service.url + path);
    assert.equal(response.status, 404, path);
    const envelope = (await response.json()) as { ExceptionMessage: string };
    assert.deepEqual(Object.keys(envelope).toSorted(), ['ExceptionMessage', 'ExceptionType', 'InnerException', 'Message'], path);
    assertHarmless(envelope.ExceptionMessage, path);
  }
});

test('other verbs: 405 with Allow', async () => {
  for (const variant of ['A', 'B'] as const) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      for (const path of ['/users', '/users/', '/users/pupil', '/orgs/sch']) {
        const response = await fetch(`${service.url}${roots[variant]}${path}`, {
          method,
          ...(method === 'OPTIONS' ? {} : { body: '{' }),
          headers: { 'content-type': 'application/json' },
        });
        assert.equal(response.headers.get('allow'), 'GET, HEAD');
        await assertError(variant, response, { status: 405, says: ['GET'] }, `${method} ${path}`);
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

const readBroken = (path: string, token: string) => fetch(broken.url + path, { headers: bearer(token), signal: AbortSignal.timeout(60_000) });
type Tokens = { a: string; b: string };
const freshTokens = async (): Promise<Tokens> => ({ a: await brokenClient.tokenA(), b: await brokenClient.tokenB(estab) });

async function assertBroken({ a, b }: Tokens, path: string): Promise<void> {
  await assertError('A', await readBroken(rootA + path, a), { status: 400, says: [/server/] }, `A ${path}`);
  await assertError('B', await readBroken(rootB + path, b), { status: 500, minor: 'server_busy', says: [/server/] }, `B ${path}`);
}

async function assertAway({ a, b }: Tokens, path: string): Promise<void> {
  for (const [variant, address, token, status] of [['A', rootA + path, a, 400], ['B', rootB + path, b, 503]] as const) {
    const response = await readBroken(address, token);
    assert.equal(response.headers.get('retry-after'), '5');
    await assertError(variant, response, { status, says: [/cannot reach its data/, /try again/i] }, `${variant} ${path}`);
  }
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
  for (const path of [`${rootA}/token`, `${rootB}/auth/token`]) {
    const response = await post(path, '', { authorization: `Basic ${Buffer.from(`app|${estab}:secret`).toString('base64')}` });
    assert.equal(response.status, status);
    const { error, error_description: message } = (await response.json()) as Record<string, string>;
    assert.equal(error, wanted);
    assertHarmless(message ?? '', path);
  }
  const response = await post('/api/oauth/GetToken', JSON.stringify({ relyingParty: 'app', password: 'x' }), { 'content-type': 'application/json' });
  assert.equal(response.status, status);
  const { ExceptionMessage: message, ...envelope } = (await response.json()) as Record<string, string | null>;
  assert.deepEqual(envelope, { token: null, expires: null, Message: null, ExceptionType: type, InnerException: null });
  assertHarmless(message ?? '', 'GetToken');
}

const paths = ['/users?limit=10', '/users', '/users/pupil', "/users?limit=5000&filter=status%3D'active'", "/users?limit=10&filter=status%3D'active'"];
for (const path of paths) {
  test(`anything unexpected on ${path}: 400 in variant A, 500 in variant B, and nothing lasting`, async () => {
    const tokens = await freshTokens();
    for (const table of ['roster_user', 'authorisation']) await without(table, () => assertBroken(tokens, path));
    for (const [root, token] of [[rootA, tokens.a], [rootB, tokens.b]] as const) assert.equal((await readBroken(root + path, token)).status, 200);
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
  const struck = Array.from({ length: 5 }, () => readBroken(`${rootB}/users`, tokens.b));
  await until('one waits', async () => {
    const waiting = await broken.db`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return waiting.length > 0;
  });
  await withoutDatabase(async () => {
    for (const response of struck) assert.ok([200, 503].includes((await response).status), 'served in the last moment, or failed');
    for (let times = 1; times <= 12; times += 1) assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503], `time ${times}`);
  });
  assert.equal(await status('/readyz'), 200);
});

test('without a database everything says so, and all is well when it is back', async () => {
  const tokens = await freshTokens();
  assert.equal((await readBroken(`${rootB}/users`, tokens.b)).status, 200);
  await withoutDatabase(async () => {
    await assertAway(tokens, '/users');
    assertHarmless(await (await fetch(`${broken.url}/readyz`)).text(), '/readyz');
    await assertTokens({ status: 503, error: 'temporarily_unavailable', type: 'unavailable' });
  });
  assert.equal((await readBroken(`${rootB}/users`, tokens.b)).status, 200);
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
