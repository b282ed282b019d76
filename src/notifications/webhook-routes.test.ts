// /api/v1/Webhook through HTTP: registering in both forms, listing, removing and testing, one registration per
// application, establishment and database, and every refusal with its reason, all in the one envelope.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService, type Client } from '../../test/service.ts';
import { authorise, changeState, rotateSchoolSecret } from '../access/authorisations.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const estab = '9990001';
const other = '9990002';
await service.addSchool(estab);
await service.addSchool(other);
const root = '/api/v1/Webhook';
const hook = 'http://127.0.0.1:4001/hook?school=1';

type Webhook = { Id: string; Estab: string; RelyingParty: string; DatabaseName: string; Url: string; Method: string; Created: string; Updated: string };
type Answer = {
  Webhook?: Webhook[];
  DeliveryId?: string;
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
  InnerException: string | null;
};
type Asked = { status: number; headers: Headers; answer: Answer; webhook: Webhook };
type Request = { method?: string; path?: string; body?: unknown; headers?: Record<string, string> };

async function getToken(client: Client, at: string | undefined = estab): Promise<string> {
  const response = await fetch(`${service.url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(
      at === '' ? { relyingParty: client.rp, password: client.managementSecret } : { estab: at, relyingParty: client.rp, password: client.schoolSecrets[at] },
    ),
  });
  return ((await response.json()) as { token: string }).token;
}

async function send({ method = 'POST', path = root, body, headers = {} }: Request): Promise<Asked> {
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...sent,
  });
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const answer = (await response.json()) as Answer;
  for (const field of ['Message', 'ExceptionType', 'ExceptionMessage', 'InnerException'])
    assert.ok(field in answer, `${field} is in the answer to ${method} ${path}`);
  const fine = response.status < 300;
  assert.equal(answer.ExceptionMessage === null, fine, `${response.status} ${answer.ExceptionMessage}`);
  assert.equal(answer.ExceptionType === null, fine);
  return { status: response.status, headers: response.headers, answer, webhook: answer.Webhook?.[0] ?? ({} as Webhook) };
}

let applications = 0;
/** A new application with its school token, so that tests do not meet. */
async function newCaller(scopes?: string, estabs: readonly string[] = [estab]) {
  const client = await service.addClient(`app${(applications += 1)}`, estabs, scopes);
  const token = await getToken(client);
  const call = (request: Request = {}) => send({ ...request, headers: { authorization: `Idaas ${token}`, ...request.headers } });
  const list = async () => (await call({ method: 'GET' })).answer.Webhook ?? [];
  const register = (url = hook, more: object = {}) => call({ body: { url, DatabaseName: 'SchoolData', ...more } });
  return { client, rp: client.rp, token, call, list, register };
}

// ---- Registering --------------------------------------------------------------------------------------------------

test('POST registers with 201 and shows the whole registration', async () => {
  const { rp, register, list } = await newCaller();
  const before = Date.now() - 1000;
  const { status, answer, webhook } = await register();
  assert.equal(status, 201);
  assert.deepEqual(Object.keys(answer).toSorted(), ['ExceptionMessage', 'ExceptionType', 'InnerException', 'Message', 'Webhook']);
  assert.equal(answer.Message, null);
  const { Id, Created, Updated, ...rest } = webhook;
  assert.deepEqual(rest, { Estab: estab, RelyingParty: rp, DatabaseName: 'SchoolData', Url: hook, Method: 'GET' });
  assert.match(Id, /^[0-9a-f-]{36}$/);
  assert.equal(Created, Updated);
  assert.ok(Date.parse(Created) >= before && Created.endsWith('Z'), Created);
  assert.deepEqual(await list(), [webhook]);
});

test('registering again replaces with 200: the same id, never two', async () => {
  const { register, list, call } = await newCaller();
  const first = (await register()).webhook;
  const { status, webhook } = await register('http://127.0.0.1:4002/other', { Method: 'post' });
  assert.equal(status, 200);
  assert.deepEqual([webhook.Id, webhook.Url, webhook.Method, webhook.Created], [first.Id, 'http://127.0.0.1:4002/other', 'POST', first.Created]);
  assert.ok(webhook.Updated > first.Updated);
  assert.equal((await call({ method: 'GET', path: `${root}?url=${encodeURIComponent(hook)}&DatabaseName=SchoolData` })).status, 200);
  assert.deepEqual((await list()).map(({ Id, Url, Method }) => [Id, Url, Method]), [[first.Id, hook, 'GET']]);
});

test('twenty registrations at once end as one', async () => {
  const { register, list } = await newCaller();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => register(`http://127.0.0.1:4001/${at}`)));
  assert.ok(answers.every(({ status }) => status === 200 || status === 201));
  assert.equal(new Set(answers.map(({ webhook }) => webhook.Id)).size, 1);
  assert.equal((await list()).length, 1);
});

test('the GET form registers, its url decoded once', async () => {
  const { call, list } = await newCaller();
  const url = `http://127.0.0.1:4001/h?a='1'&b=%7C%zz&c=x+y&c=&%20`;
  const { status, webhook } = await call({ method: 'GET', path: `${root}?url=${encodeURIComponent(url)}&DatabaseName=SchoolData&Method=POST` });
  assert.deepEqual([status, webhook.Url, webhook.Method], [201, url, 'POST']);
  assert.deepEqual((await list()).map(({ Url }) => Url), [url]);
});

test('keys and the name of the database are taken in any case; a trailing slash is the same path', async () => {
  for (const names of [['url', 'DatabaseName', 'Method'], ['URL', 'DATABASENAME', 'METHOD'], ['Url', 'databaseName', 'method']]) {
    const { call } = await newCaller();
    const values = [hook, 'schooldata', 'get'];
    const posted = await call({ path: `${root}/`, body: Object.fromEntries(names.map((name, at) => [name, values[at]])) });
    assert.deepEqual([posted.status, posted.webhook.DatabaseName, posted.webhook.Method], [201, 'SchoolData', 'GET'], names.join());
    const got = await call({ method: 'GET', path: `${root}?${new URLSearchParams(Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])))}` });
    assert.equal(got.status, 200, names.join());
  }
});

test('the token may come as Bearer as well', async () => {
  const { token } = await newCaller();
  for (const scheme of ['Idaas', 'idaas', 'Bearer', 'bearer'])
    assert.equal((await send({ method: 'GET', headers: { authorization: `${scheme} ${token}` } })).status, 200, scheme);
});

test('a URL whose name does not resolve now is accepted, and Message says so', async () => {
  const { register, list } = await newCaller();
  // A label of 64 characters cannot be a name, so nobody is asked.
  const name = `${'n'.repeat(64)}.example`;
  const { status, answer } = await register(`https://${name}/hook`);
  assert.equal(status, 201);
  assert.match(answer.Message ?? '', /does not resolve/);
  assert.ok((answer.Message ?? '').includes(name));
  assert.equal((await list()).length, 1);
});

// ---- Removing and testing -----------------------------------------------------------------------------------------

test('DELETE removes, once; registering afterwards is new', async () => {
  const { call, list, register } = await newCaller();
  const { webhook } = await register();
  const path = `${root}/${webhook.Id}`;
  assert.equal((await call({ method: 'DELETE', path })).status, 200);
  assert.deepEqual(await list(), []);
  assert.equal((await call({ method: 'DELETE', path })).status, 404);
  assert.equal((await call({ path: `${path}/Test` })).status, 404);
  assert.equal((await register()).status, 201);
});

test('Test enqueues one event of the registration and names it', async () => {
  const { call, register } = await newCaller();
  const { webhook } = await register(hook, { Method: 'POST' });
  const { status, answer } = await call({ path: `${root}/${webhook.Id}/Test` });
  assert.equal(status, 202);
  const [row, ...more] = await db<
    { id: string; payload: { url: string; method: string }; state: string }[]
  >`select id, payload, state from outbox where lane = ${`webhook ${webhook.Id}`}`;
  assert.equal(more.length, 0);
  assert.deepEqual([row?.id, row?.state, row?.payload.url, row?.payload.method], [answer.DeliveryId, 'waiting', hook, 'POST']);
});

test('ids of another application, another school and no registration are the same 404', async () => {
  const owner = await newCaller(undefined, [estab, other]);
  const { webhook } = await owner.register();
  const stranger = await newCaller();
  const elsewhere = await getToken(owner.client, other);
  const messages = new Set<string | null>();
  for (const [authorization, id] of [
    [`Idaas ${stranger.token}`, webhook.Id],
    [`Idaas ${elsewhere}`, webhook.Id],
    [`Idaas ${owner.token}`, '00000000-0000-4000-8000-000000000000'],
    [`Idaas ${owner.token}`, "x' or 1=1"],
  ] as const) {
    for (const [method, path] of [
      ['DELETE', ''],
      ['POST', '/Test'],
    ] as const) {
      const { status, answer } = await send({ method, path: `${root}/${encodeURIComponent(id)}${path}`, headers: { authorization } });
      assert.equal(status, 404);
      messages.add(answer.ExceptionMessage);
    }
  }
  assert.equal(messages.size, 1);
  assert.equal((await owner.list()).length, 1);
  assert.deepEqual(await stranger.list(), []);
  assert.deepEqual((await send({ method: 'GET', headers: { authorization: `Idaas ${elsewhere}` } })).answer.Webhook, []);
});

// ---- Refusals -----------------------------------------------------------------------------------------------------

test('401 without a token, with a broken one and with one of another kind', async () => {
  const { client, token } = await newCaller();
  const tokens = [
    undefined, '', 'Idaas', 'Idaas x',
    `Basic ${token}`,
    `Idaas ${token.slice(0, -4)}AAAA`,
    `Idaas ${await getToken(client, '')}`,
    `Bearer ${await client.tokenA()}`,
    `Bearer ${await client.tokenB(estab)}`,
  ];
  for (const authorization of tokens) {
    for (const [method, path] of [['POST', root], ['GET', root], ['DELETE', `${root}/x`], ['POST', `${root}/x/Test`]] as const) {
      const body = path === root && method === 'POST' ? { url: hook, DatabaseName: 'SchoolData' } : undefined;
      const { status, headers } = await send({ method, path, body, headers: authorization === undefined ? {} : { authorization } });
      assert.equal(status, 401, `${method} ${path} with ${authorization}`);
      assert.match(headers.get('www-authenticate') ?? '', /Bearer/);
    }
  }
  assert.equal((await db`select from webhook where rp = ${client.rp}`).length, 0);
});

test('pause, revoke, a new secret and narrowed scopes take effect on the next call', async () => {
  const { rp, call, register } = await newCaller('School:optional,Identity');
  assert.equal((await register()).status, 201);
  await changeState(db, { rp, estab, from: ['Approved'], to: 'Paused' });
  for (const { status, answer } of [await register(), await call({ method: 'GET' })]) {
    assert.equal(status, 403);
    assert.match(answer.ExceptionMessage ?? '', /paused/);
  }
  await changeState(db, { rp, estab, from: ['Paused'], to: 'Approved' });
  await authorise(db, { rp, estab, scopes: 'Identity' });
  assert.equal((await register()).status, 403);
  await rotateSchoolSecret(db, rp, estab);
  assert.equal((await register()).status, 401);
});

test('403 when no granted scope opens the database, naming those that would', async () => {
  const { register, list } = await newCaller('Identity,Attendance');
  const { status, answer } = await register();
  assert.equal(status, 403);
  assert.match(answer.ExceptionMessage ?? '', /SchoolData.*School.*Student/);
  assert.deepEqual(await list(), []);
  assert.equal((await (await newCaller('Contact')).register()).status, 201, 'one scope is enough');
});

const refusals: readonly [name: string, body: unknown, reason: RegExp][] = [
  ['no url', { DatabaseName: 'SchoolData' }, /url/],
  ['an empty url', { url: '', DatabaseName: 'SchoolData' }, /url/],
  ['a url that is no string', { url: 5, DatabaseName: 'SchoolData' }, /url.*string/],
  ['no database', { url: hook }, /DatabaseName.*SchoolData/],
  ['an unknown database', { url: hook, DatabaseName: 'Payroll' }, /Payroll.*SchoolData/],
  ['another method', { url: hook, DatabaseName: 'SchoolData', Method: 'PUT' }, /Method.*GET or POST/],
  ['a list', [{ url: hook }], /object/],
  ['null', 'null', /object/],
  ['no JSON', '{"url":', /./],
];
const blocked: readonly [url: string, reason: RegExp][] = [
  ['http://10.1.2.3/hook', /10\.1\.2\.3.*private.*OUTBOUND_ALLOW/],
  ['http://169.254.169.254/latest/meta-data', /169\.254\.169\.254.*link local/],
  ['http://[::1]/hook', /::1.*loopback/],
  ['http://[::ffff:10.0.0.1]/hook', /10\.0\.0\.1.*private/],
  ['http://[::127.0.0.1]/hook', /::7f00:1.*not a public address/],
  ['http://0x0a000001/hook', /10\.0\.0\.1.*private/],
  ['ftp://127.0.0.1/hook', /http:\/\/ or https:\/\//],
  ['hook', /http:\/\/ or https:\/\//],
  ['http://user:secret@127.0.0.1:4001/', /user name or password/],
  ['http://127.0.0.1:22/', /[Pp]ort 22/],
  ['http://127.0.0.1:4001/a b', /ASCII/],
  ['http://127.0.0.1:4001/é', /ASCII/],
  ['http://127.0.0.1:4001/\r\nx: y', /ASCII/],
  ['http:///path', /host/],
  [`http://127.0.0.1:4001/${'x'.repeat(4096)}`, /4096/],
];
const all = [...refusals, ...blocked.map(([url, reason]) => [`the url ${url.slice(0, 60)}`, { url, DatabaseName: 'SchoolData' }, reason] as const)];

test('400 says why: what is missing, unknown, unusable or blocked', async () => {
  const { call, list } = await newCaller();
  for (const [name, body, reason] of all) {
    const { status, answer } = await call({ body });
    assert.equal(status, 400, name);
    assert.match(answer.ExceptionMessage ?? '', reason, name);
    assert.doesNotMatch(answer.ExceptionMessage ?? '', /secret@/, 'a password is not repeated');
  }
  for (const [url, reason] of blocked) {
    const { status, answer } = await call({ method: 'GET', path: `${root}?DatabaseName=SchoolData&url=${encodeURIComponent(url)}` });
    assert.equal(status, 400, url);
    assert.match(answer.ExceptionMessage ?? '', reason, url);
  }
  for (const query of [
    'url=http://127.0.0.1:4001/',
    'DatabaseName=SchoolData',
    `url=${hook}&url=${hook}&DatabaseName=SchoolData`,
    'url=%zz&DatabaseName=SchoolData',
  ])
    assert.equal((await call({ method: 'GET', path: `${root}?${query}` })).status, 400, query);
  assert.deepEqual(await list(), []);
});

test('a GET form whose url was not encoded is refused, and says what to do', async () => {
  const { call, list } = await newCaller();
  for (const query of [`url=${hook}&b=2&DatabaseName=SchoolData`, `DatabaseName=SchoolData&url=${hook}&school=2`, 'b=2']) {
    const { status, answer } = await call({ method: 'GET', path: `${root}?${query}` });
    assert.equal(status, 400, query);
    assert.match(answer.ExceptionMessage ?? '', /"(b|school)" is not a parameter.*percent-encode.*%26/, query);
  }
  assert.deepEqual(await list(), []);
});

test('HEAD of the GET form registers nothing and changes nothing', async () => {
  const { token, register, list } = await newCaller();
  const head = async (url: string) =>
    (
      await fetch(`${service.url}${root}?url=${encodeURIComponent(url)}&DatabaseName=SchoolData`, {
        method: 'HEAD',
        headers: { authorization: `Idaas ${token}` },
      })
    ).status;
  assert.equal(await head(hook), 200);
  assert.deepEqual(await list(), []);
  const { webhook } = await register();
  assert.equal(await head('http://127.0.0.1:4001/other'), 200);
  assert.deepEqual(await list(), [webhook]);
});

test('a refused replacement leaves the registration as it was', async () => {
  const { register, list } = await newCaller();
  const { webhook } = await register();
  assert.equal((await register('http://10.0.0.1/')).status, 400);
  assert.deepEqual(await list(), [webhook]);
});

test('405 names what the address takes, before anything else is judged', async () => {
  for (const [method, path, allow] of [
    ['PUT', root, 'GET, POST, HEAD'],
    ['DELETE', root, 'GET, POST, HEAD'],
    ['PUT', `${root}/x`, 'GET, DELETE, HEAD'],
    ['POST', `${root}/x`, 'GET, DELETE, HEAD'],
    ['GET', `${root}/x/Test`, 'POST'],
    ['DELETE', `${root}/x/Test`, 'POST'],
  ] as const) {
    const { status, headers } = await send({ method, path });
    assert.equal(status, 405, `${method} ${path}`);
    assert.equal(headers.get('allow'), allow);
  }
});

test('415 for a body that is not JSON', async () => {
  const { call } = await newCaller();
  for (const type of ['application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'text/plain']) {
    assert.equal((await call({ body: `url=${encodeURIComponent(hook)}&DatabaseName=SchoolData`, headers: { 'content-type': type } })).status, 415, type);
  }
});
