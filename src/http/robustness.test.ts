// Whatever arrives: no request, however malformed, gives a 500 or ends the process, and the next one still works.
import assert from 'node:assert/strict';
import { connect as connectSocket } from 'node:net';
import { afterEach, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { csvPackage } from '../../test/csv-package.ts';
import { byName, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { rootA, rootB, useService } from '../../test/service.ts';

const estab = 'S1';
const longId = `${'ü'.repeat(200)}${'/'.repeat(55)}`;
const service = await useService();
await service.addSchool(
  estab,
  csvPackage({
    orgs: [
      { sourcedId: 'org', name: 'Small School', type: 'school' },
      { sourcedId: 'a/b?c#d%2F', name: 'Slashes', type: 'department', parentSourcedId: 'org' },
      { sourcedId: longId, name: 'Long', type: 'department' },
      { sourcedId: '__proto__', name: 'Proto', type: 'department' },
    ],
    users: Array.from({ length: 60 }, (_, at) => ({
      sourcedId: `u${at}`, enabledUser: 'true', orgSourcedIds: 'org', role: 'student', username: `u${at}`, givenName: 'Sam', familyName: 'Ó Sé',
      'metadata.__proto__': 'x',
    })),
  }),
);
const client = await service.addClient('app', [estab]);
const [tokenA, tokenB] = [await client.tokenA(), await client.tokenB(estab)];
const port = Number(new URL(service.url).port);
const variants = await Promise.all(testedDialects.map(async (dialect) => ({ dialect, root: dialect.root, token: await dialect.token(client, estab) })));

type Answer = { status: number; head: string; body: string };

/** Longer than the server lets half a request stand. */
const quietMs = 90_000;

/** Sends bytes as they are and gives every answer until the connection ends. */
function exchange(bytes: string | Buffer, { end = false } = {}): Promise<Answer[]> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    const socket = connectSocket(port, '127.0.0.1');
    socket.setTimeout(quietMs, () => socket.destroy());
    socket.on('connect', () => (end ? socket.end(bytes) : socket.write(bytes)));
    socket.on('data', (data) => received.push(data));
    socket.on('error', () => {});
    socket.on('close', () => resolve(parseAnswers(Buffer.concat(received))));
  });
}

function parseAnswers(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const split = bytes.indexOf('\r\n\r\n', at);
    if (split < 0) break;
    const head = bytes.toString('latin1', at, split);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    at = split + 4;
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(length) && status !== 304 && status >= 200) { // Chunked, or until the end: the tests' lists are the last answer of their connection.
      answers.push({ status, head, body: bytes.toString('utf8', at) });
      break;
    }
    answers.push({ status, head, body: bytes.toString('utf8', at, at + (length || 0)) });
    at += length || 0;
  }
  return answers;
}

const request = (target: string, token: string, more = '', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n${more}\r\n`;

async function askIn(dialect: TestedDialect, path: string, more = '', method = 'GET'): Promise<Answer> {
  const { root, token } = variants.find((one) => one.dialect === dialect) ?? assert.fail();
  const answers = await exchange(Buffer.from(request(root + path, token, more, method), 'latin1'));
  assert.equal(answers.length, 1, `${method} ${path.slice(0, 200)}: ${answers.length} answers`);
  return answers[0] ?? assert.fail();
}

const askB = (path: string, more = '', method = 'GET') => askIn(byName.B, path, more, method);

function refused({ status, body }: Answer, expected: number, what: string, minor?: string): void {
  assert.equal(status, expected, `${what}: ${status} ${body.slice(0, 300)}`);
  assert.doesNotMatch(body, /select |\/src\/|node_modules|\.ts:|at Object|PostgresError/, what);
  if (minor !== undefined) assert.match(body, new RegExp(`"imsx_codeMinor(FieldValue)?":"${minor}"`), what);
}

afterEach(async () => {
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  for (const { read } of testedDialects) {
    const list = await read(client, estab, "/users?limit=1&filter=status='active'");
    assert.equal(list.status, 200);
    assert.equal(((await list.json()) as { users: unknown[] }).users.length, 1);
  }
  assert.equal(Object.keys(Object.prototype).length + Object.keys(Array.prototype).length, 0, 'a prototype was changed');
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test('filters that cannot be read, however long', async () => {
  const encoded = (text: string) => `/users?limit=1&filter=${encodeURIComponent(text)}`;
  for (const filter of [
    "'", "''''", '=', 'status', 'status=', "status='active", "status='active'x", '(((', "(status='active')", ';drop table roster', "status='a' and ",
    'and and and', '\u{1F600}', '%', '\\', '{}', '$1', "x'; --", "status='a'\u0001", 'null', 'status=$1 or 1=1',
  ]) {
    refused(await askB(encoded(filter)), 400, filter, 'invalid_filter_field');
  }
  for (const length of [1_000, 4_000]) {
    for (const filter of [
      '('.repeat(length), "'".repeat(length + 1), 'a.'.repeat(length / 2), "a='1' and ".repeat(length / 20),
      "status='active' or ".repeat(length / 15) + "status='active'",
    ])
      refused(await askB(encoded(filter)), 400, `${filter.slice(0, 20)} × ${length}`, 'invalid_filter_field');
  }
});

test('a filter up to the cap on headers is answered, beyond it is a 431', async () => {
  const filter = (length: number) => `/users?limit=1&filter=familyName='${'x'.repeat(length)}'`;
  assert.equal((await askB(filter(15_000))).status, 200);
  assert.equal((await askB(`/users?limit=1&filter=${Array.from({ length: 50 }, () => "familyName~'e'").join('%20or%20')}`)).status, 200);
  assert.equal((await askB(`/users?limit=1&filter=grades~'${'a,'.repeat(7_000)}a'`)).status, 200);
  refused(await askB(`/users?limit=1&filter=${'metadata.k='.repeat(1_200)}`), 400, 'long names');
  for (const length of [17_000, 100_000]) refused(await askB(filter(length)), 431, `a URL of ${length} bytes`);
  for (const length of [17_000, 100_000]) refused(await askB('/users?limit=1', `x-long: ${'y'.repeat(length)}\r\n`), 431, `a header of ${length} bytes`);
  refused(await askB('/users?limit=1', 'x-many: y\r\n'.repeat(9_000)), 431, 'many headers');
});

const badEncodings = [
  '%00', 'a%00b', '%', '%zz', '%4', '%C3', '%C3%28', '%C0%AF', '%E0%80%AF', '%ED%A0%80', '%ED%B0%80', '%F5%80%80%80', '%FF', '%u0041', '\xff',
  '\xc3\x28', '\xed\xa0\x80',
];

test('NUL, bad percent-encoding and bad UTF-8 in the path', async () => {
  for (const bad of badEncodings) {
    for (const path of [`/users/${bad}`, `/${bad}`, `/users${bad}`, `/schools/${bad}/students`, `/schools/org/classes/${bad}/students`]) {
      const { status, body } = await askB(path);
      assert.ok(status === 400 || status === 404, `${path}: ${status} ${body}`);
      assert.ok(status === 404 || body.includes('statusInfoSet') || body.startsWith('This is not'), `${path}: ${body}`);
    }
  }
});

test('NUL, bad percent-encoding and bad UTF-8 in the query, in names and values', async () => {
  for (const bad of badEncodings) {
    for (const query of [
      `${bad}=1`,
      `x=${bad}`,
      `filter=${bad}`,
      `filter=familyName='${bad}'`,
      `filter=metadata.${bad}='x'`,
      `sort=${bad}`,
      `sort=metadata.${bad}`,
      `fields=${bad}`,
      `limit=${bad}`,
      `offset=1${bad}`,
      `orderBy=${bad}`,
      `limit=1&${bad}`,
    ]) {
      refused(await askB(`/users?${query}`), 400, query);
      for (const dialect of [byName.A, byName['1.2']]) assert.equal((await askIn(dialect, `/users?${query}`)).status, 400, `${dialect.name}: ${query}`);
    }
  }
  for (const odd of ['&', '&&', '=', '=&=', 'x', '?', '??', '%20', '+', ';', '[]', 'a[b]=c', '#x', '%26', '%3D'])
    assert.ok([200, 400].includes((await askB(`/users?limit=1&${odd}`)).status), odd);
});

test('repeated parameters', async () => {
  const repeated = [
    'limit=1&limit=1', 'offset=0&offset=0', "filter=status='active'&filter=status='active'", 'sort=status&sort=status', 'orderBy=asc&orderBy=asc',
    'fields=status&fields=status', 'limit=1&limit=',
    `${'limit=1&'.repeat(1_000)}`,
  ];
  for (const query of repeated) refused(await askB(`/users?${query}`), 400, query.slice(0, 60));
  assert.equal((await askB('/users?limit=1&x=1&x=2')).status, 200);
  for (const bad of [
    'limit=', 'limit=0', 'limit=-1', 'limit=1.5', 'limit=1e3', 'limit=0x10', 'limit=%201', 'limit=9007199254740993',
    `limit=${'9'.repeat(400)}`,
    'offset=', 'offset=-1', 'offset=one', 'orderBy=', 'orderBy=up', 'orderBy=ASC', 'filter=', 'sort=', 'fields=', 'fields=,', 'fields=status,',
    'limit[]=1&limit=x',
  ])
    refused(await askB(`/users?${bad}`), 400, bad);
  assert.equal((await askB('/users?limit=9007199254740991&offset=9007199254740991')).status, 200);
});

test('names that every object has, and prototype pollution', async () => {
  for (const name of [
    '__proto__', 'constructor', 'hasOwnProperty', 'toString', 'valueOf', 'prototype', '__defineGetter__', 'constructor.prototype', 'length',
    'sourcedId.length', 'orgs.__proto__', 'orgs.constructor', 'userIds.toString', 'orgSourcedIds.length',
  ]) {
    refused(await askB(`/users?filter=${name}='x'`), 400, `filter ${name}`, 'invalid_filter_field');
    refused(await askB(`/users?sort=${name}`), 400, `sort ${name}`, 'invalid_sort_field');
    refused(await askB(`/users?fields=${name}`), 400, `fields ${name}`, 'invalid_selection_field');
    refused(await askB(`/users/u1?fields=sourcedId,${name}`), 400, `fields ${name} of one`, 'invalid_selection_field');
    for (const before of ['', 'roles.', 'roles.org.', 'userProfiles.credentials.']) {
      refused(await askIn(byName['1.2'], `/users?filter=${before}${name}='x'`), 400, `filter ${before}${name}`, 'invalid_filter_field');
      assert.equal((await askIn(byName['1.2'], `/users?limit=1&sort=${before}${name}`)).status, 200, `sort ${before}${name}`);
    }
    assert.equal((await askB(`/users?limit=1&filter=metadata.${name}!='x'&sort=metadata.${name}`)).status, 200, `metadata.${name}`);
    for (const query of [`${name}=1`, `${name}=1&${name}=2`, `${name}[polluted]=1`, `__proto__.polluted=1`])
      assert.equal((await askB(`/users?limit=1&${query}`)).status, 200, query);
    refused(await askB(`/${name}`), 404, `/${name}`);
    assert.equal((await askB(`/orgs/${name}`)).status, name === '__proto__' ? 200 : 404, `/orgs/${name}`);
  }
  for (const body of [
    '{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}', '{"client_id":{"__proto__":{"polluted":1}}}', '[', '"', '{',
    '[]', 'null', '1', '\u0000', '{"client_id":"a\\u0000b"}', '__proto__=1&__proto__=2', 'client_id=%00', 'client_id=%zz', 'grant_type=__proto__',
    'x'.repeat(20_000),
  ]) {
    for (const path of [...testedDialects.map(({ tokenPath }) => tokenPath), '/api/oauth/GetToken']) {
      for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'nonsense']) {
        const response = await fetch(service.url + path, { method: 'POST', headers: { 'content-type': type }, body });
        assert.ok([400, 401, 413, 415, 429].includes(response.status), `${path} ${type} ${body.slice(0, 40)}: ${response.status} ${await response.text()}`);
      }
    }
  }
});

test('ids with slashes and of 255 characters', async () => {
  for (const id of [longId, 'a/b?c#d%2F']) {
    const { status, body } = await askB(`/orgs/${encodeURIComponent(id)}`);
    assert.equal(status, 200, `${id.slice(0, 20)}: ${body}`);
    assert.equal((JSON.parse(body) as { org: { sourcedId: string } }).org.sourcedId, id);
    const [a] = await exchange(request(`${rootA}/orgs/${encodeURIComponent(id)}/`, tokenA));
    assert.equal(a?.status, 200, `variant A: ${id.slice(0, 20)}`);
  }
  for (const id of ['x'.repeat(255), 'x'.repeat(256), '%F0%9F%98%80'.repeat(127), '%2F'.repeat(255), '..%2F..%2Fetc', '%2e%2e', '*', ':id', '%25', '%2525'])
    await unknown(id);
});

test('ids that are far too long name no record', async () => {
  for (const id of ['%F0%9F%98%80'.repeat(255), 'x'.repeat(3_060), 'x'.repeat(3_061), '%2F'.repeat(3_000), 'x'.repeat(10_000)]) await unknown(id);
});

async function unknown(id: string): Promise<void> {
  for (const path of [`/orgs/${id}`, `/schools/${id}/students`]) {
    const answer = await askB(path);
    refused(answer, 404, path.slice(0, 60), 'unknown object');
    assert.ok(answer.body.length < 500, 'what was sent is not sent back');
  }
}

test('headers nobody knows', async () => {
  const whole = (await askB('/users?limit=50')).body;
  const harmless = [
    'accept-encoding: nonsense', 'accept-encoding: identity;q=0', 'accept-encoding: *;q=0', 'accept-encoding: gzip;q=abc',
    `accept-encoding: ${'gzip,'.repeat(500)}`,
    'accept: text/html', 'accept: nonsense', 'accept: */*;q=0', 'range: bytes=0-10', 'range: bytes=-5,9-2', 'range: nonsense',
    'if-none-match: nonsense', 'if-none-match: "', 'if-none-match: W/',
    `if-none-match: ${'"x",'.repeat(1_000)}`,
    'if-match: *', 'if-modified-since: yesterday', 'x-forwarded-for: ;drop', 'forwarded: for="[::"', 'cookie: \xff\xfe', 'x-raw: \xc3\x28\x80',
    'content-type: nonsense', 'content-type: ;;;', 'x-http-method-override: DELETE', 'te: trailers', 'upgrade: websocket\r\nconnection: upgrade',
    'http2-settings: x\r\nupgrade: h2c',
  ];
  for (const header of harmless) {
    const { status, body } = await askB('/users?limit=50', `${header}\r\n`);
    assert.ok(status === 200 || (status === 406 && header.startsWith('accept')), `${header.slice(0, 60)}: ${status} ${body.slice(0, 200)}`);
    if (status === 200 && !/gzip/.test(header)) assert.equal(body.length, whole.length, header.slice(0, 60));
  }
  for (const header of [
    'content-encoding: nonsense', 'content-encoding: gzip', 'content-encoding: deflate, br', 'expect: 100-continue', 'expect: nonsense',
    'content-length: 0',
  ]) {
    const [first] = (await exchange(request(`${rootB}/users?limit=1`, tokenB, `${header}\r\n`))).filter(({ status }) => status >= 200);
    assert.ok([200, 400, 415, 417].includes(first?.status ?? 0), `${header}: ${first?.status} ${first?.body}`);
  }
  for (const header of [
    '\xff\xfe', 'Bearer', 'Bearer ', 'Bearer a b', 'Basic x',
    `Bearer ${'a.'.repeat(2_000)}`,
    'Bearer eyJhbGciOiJub25lIn0.e30.',
    'Bearer __proto__',
    'Bearer null.null.null',
  ]) {
    const [answer] = await exchange(Buffer.from(`GET ${rootB}/users HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: ${header}\r\n\r\n`, 'latin1'));
    assert.equal(answer?.status, 401, `authorization: ${header.slice(0, 40)}: ${answer?.body}`);
  }
});

test('verbs nobody offers, and bodies where none belong', async () => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const more of ['', 'content-type: application/json\r\n', 'content-type: nonsense\r\n']) {
      const answer = await askB('/users', `${more}content-length: 0\r\n`, method);
      assert.equal(answer.status, 405, `${method} ${more}: ${answer.status} ${answer.body}`);
      assert.match(answer.head, /^allow: .*GET/im, method);
    }
  }
  for (const method of ['TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH', 'PURGE', 'LINK'])
    assert.ok([400, 404, 405, 501].includes((await askB('/users', '', method)).status), method);
  for (const method of ['GETT', 'get', 'G\xcbT', 'BREW', 'X'.repeat(5_000), '<script>', '__proto__'])
    refused(await askB('/users', '', method), 400, method.slice(0, 20));
  const hidden = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
  const [withBody, ...others] = await exchange(
    request(`${rootB}/users?limit=1`, tokenB, `content-type: application/json\r\ncontent-length: ${hidden.length}\r\n`) + hidden,
  );
  assert.ok([200, 400, 413, 415].includes(withBody?.status ?? 0), `${withBody?.status} ${withBody?.body}`);
  assert.equal(others.length, 0, 'the body was taken for a request');
  const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024, ' '));
  const unpacked = await fetch(`${service.url}${rootB}/auth/token`, {
    method: 'POST',
    headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' },
    body: bomb,
  });
  assert.ok([400, 401, 413, 415].includes(unpacked.status), `${unpacked.status} ${await unpacked.text()}`);
});

test('requests that are no HTTP, and attempts to hide one in another', async () => {
  const get = `GET ${rootB}/users?limit=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokenB}\r\n`;
  const hidden = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
  const smuggled = [
    'transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n', 'content-length: 5\r\ncontent-length: 6\r\n\r\n',
    'content-length: -1\r\n\r\n', 'content-length: 1e1\r\n\r\n', 'content-length: +5\r\n\r\n', 'transfer-encoding: xchunked\r\n\r\n0\r\n\r\n',
    'transfer-encoding: chunked, identity\r\n\r\n', 'transfer-encoding : chunked\r\n\r\n0\r\n\r\n', ' folded: x\r\n\r\n', 'a\0b: c\r\n\r\n',
    'x: a\0b\r\n\r\n', 'x: a\rb\r\n\r\n', ': empty\r\n\r\n', 'no colon\r\n\r\n', 'transfer-encoding: chunked\r\n\r\nzz\r\n',
    'transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n', 'transfer-encoding: chunked\r\n\r\n5;ext="\r\n',
  ];
  for (const bad of smuggled) {
    const answers = await exchange(Buffer.from(get + bad + hidden, 'latin1'), { end: true });
    assert.ok(answers.every(({ status }) => [200, 400, 413].includes(status)), `${JSON.stringify(bad)}: ${answers.map(({ status }) => status).join()}`);
    assert.ok(!answers.some(({ body }) => body === '{"status":"ok"}'), `${JSON.stringify(bad)} let the hidden request through`);
  }
  for (const bad of [
    '\r\n\r\n', '\0\0\0\0', 'GET\r\n\r\n', 'GET /nothing\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n', 'GET / HTTP/1.1 x\r\n\r\n',
    'GET  /nothing HTTP/1.1\r\nhost: x\r\n\r\n', 'GET /nothing HTTP/1.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n', 'OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET http://[ HTTP/1.1\r\nhost: x\r\n\r\n', 'GET //// HTTP/1.1\r\nhost: x\r\n\r\n', 'GET x HTTP/1.1\r\nhost: x\r\n\r\n',
    `GET http://127.0.0.1${rootB}/users HTTP/1.1\r\nhost: y\r\n\r\n`,
    `GET ${rootB}/users HTTP/1.0\r\n\r\n`,
  ]) {
    const answers = await exchange(Buffer.from(bad, 'latin1'), { end: true });
    assert.ok(answers.every(({ status }) => status >= 400 && status < 500), `${JSON.stringify(bad)}: ${answers.map(({ status }) => status).join()}`);
  }
});

test('pipelined requests are answered in order, and half a request ends', async () => {
  const paths = Array.from({ length: 20 }, (_, at) => `/users/u${at}`);
  const answers = await exchange(
    paths.map((path) => request(rootB + path, tokenB).replace('connection: close\r\n', '')).join('') + request(`${rootB}/users/u20`, tokenB),
  );
  assert.deepEqual(
    answers.map(({ body }) => (JSON.parse(body) as { user: { sourcedId: string } }).user.sourcedId),
    [...paths, '/users/u20'].map((path) => path.slice(7)),
  );
  let closed = 0;
  const open = Array.from({ length: 50 }, () =>
    connectSocket(port, '127.0.0.1')
      .on('error', () => {})
      .on('close', () => (closed += 1)),
  );
  const halves = ['', 'G', 'GET /', `GET ${rootB}/users HTTP/1.1\r\nhost: x\r\n`, request(`${rootB}/users`, tokenB, 'content-length: 10\r\n', 'POST')].map(
    (half) => exchange(half, { end: true }),
  );
  for (const answer of (await Promise.all(halves)).flat()) assert.ok(answer.status < 500, `${answer.status} ${answer.body}`);
  assert.equal((await askB('/users?limit=1')).status, 200, 'while fifty connections say nothing');
  assert.equal(closed, 0, 'half-closed connections were ended at once, not with those that were opened before and say nothing');
  for (const socket of open) socket.destroy();
});

test('800 random requests to all dialects', async () => {
  let state = 20_260_901;
  const random = (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
  const pick = <T,>(list: readonly T[]): T => list[random(list.length)] as T;
  const words = [
    'users', 'orgs', 'classes', 'students', 'schools', 'org', 'u1', 'token', 'auth', '..', '.', '', '*', ...badEncodings, 'limit', 'offset',
    'filter', 'sort', 'orderBy', 'fields', 'status', 'familyName', "='active'", '=1', '=', '&', '?', '/', '%2F', '+', "'", '%27', '~', '!=', '>',
    ' and ', '%20or%20', 'metadata.x', '__proto__', 'é', '\xff', '%F0%9F%98%80', '0', '-1', '99999999999999999999', 'asc', 'desc', ',', ';', '#',
    '"', '<', '{', '\\', '|', '^', '`', '\x7f',
  ];
  const fields = [
    'status', 'familyName', 'sourcedId', 'metadata.a', 'orgs.href', 'grades', 'role', 'roles.role', 'userIds.type', 'enabledUser', 'dateLastModified',
  ];
  const headers = [
    'accept', 'accept-encoding', 'if-none-match', 'range', 'content-encoding', 'x-forwarded-for', 'cookie', 'content-type', 'origin', 'te', 'host',
    'prefer', 'via', 'if-match', 'user-agent',
  ];
  const text = (most: number) => Array.from({ length: random(most) }, () => pick(words)).join('');
  const expected = new Set([200, 304, 400, 404, 405, 406, 413, 415, 417, 431]);
  const send = async () => {
    const { root, token } = pick(variants);
    const comparison = () => {
      const condition = () => `${pick(fields)}${pick(['=', '!=', '<', '>=', '~'])}'${text(4).replaceAll("'", "''")}'`;
      const filter = Array.from({ length: 1 + random(5) }, condition).join(pick([' and ', ' OR ']));
      return `${root}/users?limit=2&sort=${pick(fields)}&fields=${pick(['status', 'role', 'roles', 'x'])}&filter=${encodeURIComponent(filter)}`;
    };
    const target = pick([
      () => `${root}/${pick(['users', 'orgs', 'users/u1', 'enrollments'])}?${text(9)}`, () => `${root}/${text(6)}`, () => `/${text(8)}`,
      () => `${root}/users?filter=${encodeURIComponent(text(10))}&limit=2`, comparison, comparison,
    ])();
    const more = Array.from({ length: random(4) }, () => `${pick(headers)}: ${text(6).replaceAll(/[\r\n]/g, '')}\r\n`).join('');
    const method = random(10) === 0 ? pick(['HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT', 'FOO']) : 'GET';
    const bytes = Buffer.from(request(target, token, more, method), 'latin1');
    const answers = await exchange(bytes);
    const what = `${bytes.toString('latin1').replace(token, '…')}`;
    assert.ok(answers.length > 0, `no answer: ${what}`);
    // /auth/token and the other token endpoints answer 401 to a bearer token.
    for (const { status, body } of answers)
      assert.ok(status === 100 || expected.has(status) || (status === 401 && /token/i.test(target)), `${status} ${body.slice(0, 300)}\n${what}`);
  };
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const measure = () => (collectGarbage(), process.memoryUsage().heapUsed);
  for (let at = 0; at < 100; at += 10) await Promise.all(Array.from({ length: 10 }, send));
  const before = measure();
  for (let at = 0; at < 700; at += 20) await Promise.all(Array.from({ length: 20 }, send));
  const grown = (measure() - before) / 1024 ** 2;
  assert.ok(grown < 32, `memory grew by ${grown.toFixed(1)} MB`);
});
