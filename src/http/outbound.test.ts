// The outgoing call against receivers that misbehave in every way a receiver can: what comes back, in which words, how
// soon and at what cost, which bytes leave, which addresses are touched, and what is left behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { hasSubscribers } from 'node:diagnostics_channel';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { until } from '../../test/until.ts';
import { parseAllowList } from './address-guard.ts';
import { createOutbound, type ErrorClass, type OutboundCall, type OutboundResult } from './outbound.ts';
import type { ResolveName } from './resolve-name.ts';

/** Nothing that answers comes near these, however slow the machine. */
const limits = { connectMs: 60_000, totalMs: 60_000, readBytes: 64 * 1024, keptBytes: 16 * 1024 };
/** For receivers whose answer never ends; those that say something first must have said it by then. */
const shortLimits = { ...limits, totalMs: 3_000 };

type Answer = (socket: Socket) => void;
type Receiver = { url: string; port: number; sockets: Socket[]; requests: Buffer[] };

/** A TCP server that answers each request, once it is in or already at its head, with whatever bytes it likes. */
async function receive(t: TestContext, answer: Answer, early = false): Promise<Receiver> {
  const received: Receiver = { url: '', port: 0, sockets: [], requests: [] };
  const server = net.createServer((socket) => {
    let request = Buffer.alloc(0);
    received.sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      request = Buffer.concat([request, data]);
      const [head = '', length = '0'] = /^[^]*?\r\n\r\n/.exec(request.toString('latin1'))?.[0].split(/content-length: (\d+)/) ?? [];
      if (head === '' || (!early && request.length < request.indexOf('\r\n\r\n') + 4 + Number(length))) return;
      received.requests.push(request);
      request = Buffer.alloc(0);
      if (early) socket.removeAllListeners('data').pause();
      answer(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  received.port = (server.address() as AddressInfo).port;
  received.url = `http://127.0.0.1:${received.port}/hook`;
  t.after(() => server.close() && received.sockets.map((socket) => socket.destroy()));
  return received;
}

function open(t: TestContext, allow = ['127.0.0.0/8'], given = limits, resolve?: ResolveName) {
  const outbound = createOutbound(parseAllowList(allow), given, resolve);
  t.after(() => outbound.close());
  return { ...outbound, call: (url: string, call: Partial<OutboundCall> = {}) => send(outbound.call, url, call) };
}
const send = (call: (call: OutboundCall) => Promise<OutboundResult>, url: string, { headers = {}, ...rest }: Partial<OutboundCall> = {}) =>
  call({ method: 'GET', url, body: null, ...rest, headers: { 'webhook-id': randomUUID(), ...headers } });

const http = (status: string, headers = '', body: string | Buffer = '') =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${headers}`),
    Buffer.from(`${/content-length|transfer-encoding/i.test(headers) ? '' : `content-length: ${body.length}\r\n`}\r\n`),
    Buffer.from(body),
  ]);
const writes =
  (...parts: (string | Buffer)[]): Answer =>
  (socket) =>
    parts.forEach((part) => socket.write(part));
const ends =
  (part: string | Buffer): Answer =>
  (socket) =>
    socket.end(part);
/** Writes the piece again and again, as long as anyone listens. */
const repeats = (head: string | Buffer, piece: string, everyMs: number): Answer => (socket) => {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once('close', () => clearInterval(timer)).write(head);
};
const resets = (head: string | Buffer): Answer => (socket) => void socket.write(head, () => setTimeout(() => socket.resetAndDestroy(), 20));
const endless = (bytes: number): Answer => (socket) => {
  const more = () => {
    while (!socket.destroyed && socket.bytesWritten < bytes && socket.write('x'.repeat(64 * 1024)));
  };
  socket.on('drain', more).write(http('200 OK', bytes === Infinity ? 'transfer-encoding: identity\r\nconnection: close\r\n' : `content-length: ${bytes}\r\n`));
  more();
};
const ok = writes(http('200 OK'));
const bomb = gzipSync(Buffer.alloc(48 * 1024 * 1024));
const noText = Buffer.from([0, 0xff, 0xfe, 0x80, 0xc0, 0, 0xed, 0xa0, 0x80]);

type Expected = { status?: number; error?: ErrorClass; message?: RegExp; response?: string | Buffer };
const receivers: [behaviour: string, answer: Answer, expected: Expected][] = [
  ...['200 OK', '201 Created', '202 Accepted', '204 No Content', '299 Odd'].map((status): [string, Answer, Expected] => [
    status,
    writes(http(status)),
    { status: Number.parseInt(status) },
  ]),
  ...[300, 301, 302, 303, 304, 307, 308].map((status): [string, Answer, Expected] => [
    `${status}`,
    writes(http(`${status} Moved`, 'location: /elsewhere\r\n')),
    { status },
  ]),
  ...[400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504, 599].map((status): [string, Answer, Expected] => [
    `${status}`,
    writes(http(`${status} No`, 'retry-after: 120\r\n', 'why')),
    { status, response: 'why' },
  ]),
  ['closes at once', ends(''), { error: 'connection_reset', message: /closed/ }],
  ['resets before the headers', (socket) => socket.resetAndDestroy(), { error: 'connection_reset', message: /ECONNRESET|reset/ }],
  ['resets within the headers', resets('HTTP/1.1 200 OK\r\nx: '), { error: 'connection_reset', message: /ECONNRESET|reset/ }],
  ['resets after the headers', resets(http('200 OK', 'content-length: 9\r\n')), { status: 200, error: 'connection_reset', message: /ECONNRESET|reset/ }],
  [
    'resets within the body',
    resets(http('200 OK', 'content-length: 9\r\n', 'half')),
    { status: 200, error: 'connection_reset', message: /ECONNRESET|reset/, response: 'half' },
  ],
  ['takes the request and never answers', () => {}, { error: 'timeout', message: /no complete answer within 3 s/ }],
  ['sends slow headers', repeats('HTTP/1.1 200 OK\r\n', 'x', 20), { error: 'timeout', message: /within 3 s/ }],
  ['drips its body', repeats(http('200 OK', 'content-length: 99999\r\n'), 'x', 20), { status: 200, error: 'timeout', message: /within 3 s/ }],
  [
    'promises more than it sends',
    ends(http('200 OK', 'content-length: 9\r\n', 'half')),
    { status: 200, error: 'connection_reset', message: /closed|length/i, response: 'half' },
  ],
  ['sends more than it promises', writes(http('200 OK', 'content-length: 4\r\n', 'half and more')), { status: 200, response: 'half' }],
  ['sends a length that is no number', writes(http('200 OK', 'content-length: nine\r\n')), { error: 'protocol_error', message: /content-length/i }],
  [
    'sends garbage for chunks',
    writes(http('200 OK', 'transfer-encoding: chunked\r\n', 'zz\r\nbody\r\n')),
    { status: 200, error: 'protocol_error', message: /chunk/i },
  ],
  [
    'ends within a chunk',
    ends(http('200 OK', 'transfer-encoding: chunked\r\n', '9\r\nhalf')),
    { status: 200, error: 'connection_reset', message: /closed/, response: 'half' },
  ],
  [
    'storms with 1xx and then answers',
    writes('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(2_000), http('200 OK', '', 'ok')),
    { status: 200, response: 'ok' },
  ],
  ['storms with 1xx and nothing else', repeats('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 5), { error: 'timeout' }],
  ['says 100 unasked', writes('HTTP/1.1 100 Continue\r\n\r\n', http('200 OK')), { error: 'protocol_error' }],
  ['switches protocols unasked', writes('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'), { error: 'protocol_error' }],
  ['sends 204 with a body', writes('HTTP/1.1 204 No Content\r\n\r\nbody'), { status: 204, response: '' }],
  ['sends 204 with a length and a body', writes(http('204 No Content', '', 'body')), { status: 204, error: 'protocol_error', message: /length/, response: '' }],
  ['speaks HTTP/0.9', ends('<html>hello</html>'), { error: 'protocol_error', message: /HTTP/ }],
  ['sends 100 KB of headers', writes(http('200 OK', `x: ${'y'.repeat(100_000)}\r\n`)), { error: 'protocol_error', message: /header/i }],
  ['sends a NUL in a header', writes(http('200 OK', 'x: a\0b\r\n')), { error: 'protocol_error', message: /header/i }],
  ['sends a body that is no text', writes(http('200 OK', '', noText)), { status: 200, response: noText }],
  ['sends a body without an end mark', ends(http('200 OK', 'transfer-encoding: identity\r\nconnection: close\r\n', 'all')), { status: 200, response: 'all' }],
  ['answers before the request is in', writes(http('200 OK', '', 'early')), { status: 200, response: 'early' }],
  ['sends a gzip bomb', writes(http('200 OK', 'content-encoding: gzip\r\n', bomb)), { status: 200, response: bomb.subarray(0, limits.keptBytes) }],
  ['sends just what is read', writes(http('200 OK', '', 'x'.repeat(limits.readBytes))), { status: 200, response: 'x'.repeat(limits.keptBytes) }],
  [
    'sends one byte too much',
    writes(http('200 OK', '', 'x'.repeat(limits.readBytes + 1))),
    { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) },
  ],
  ['sends 128 MB', endless(128 * 1024 * 1024), { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) }],
  ['sends without end', endless(Infinity), { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) }],
];

suite('a receiver that', { concurrency: 4 }, () => {
  for (const [behaviour, answer, expected] of receivers) {
    test(behaviour, { timeout: 60_000 }, async (t) => {
      const given = expected.error === 'timeout' ? shortLimits : limits;
      const early = behaviour.includes('before the request');
      const [outbound, receiver] = [open(t, undefined, given), await receive(t, answer, early)];
      const body = early ? randomBytes(8 * 1024 * 1024) : Buffer.from('{"a":1}');
      const { status, error, response, address, timings } = await outbound.call(receiver.url, { method: 'POST', body });
      assert.deepEqual({ status, class: error?.class }, { status: expected.status, class: expected.error }, error?.message);
      if (expected.message) assert.match(error?.message ?? '', expected.message);
      if (expected.response !== undefined) assert.deepEqual(response.toString('latin1'), Buffer.from(expected.response).toString('latin1'));
      assert.equal(address, '127.0.0.1');
      const { dns = NaN, connect = NaN, firstByte, total } = timings;
      assert.ok(dns >= 0 && connect >= 0 && total >= connect, JSON.stringify(timings));
      assert.equal(firstByte === undefined, status === undefined, JSON.stringify(timings));
      assert.equal(error?.class === 'timeout', total >= given.totalMs - 20, JSON.stringify(timings));
      assert.equal(receiver.requests.length, 1, 'it was called once');
      assert.ok(Number(receiver.sockets[0]?.bytesWritten) < 16 * 1024 * 1024, `it could write ${receiver.sockets[0]?.bytesWritten} bytes`);
    });
  }
});

test('headers of the answer come back in lower case, repeated ones joined', async (t) => {
  const receiver = await receive(t, writes(http('429 Slow', 'Retry-After: 120.6\r\nX-Two: a\r\nx-two: b\r\n__proto__: c\r\n')));
  const { headers } = await open(t).call(receiver.url);
  assert.deepEqual([headers['retry-after'], headers['x-two'], Object.getPrototypeOf(headers)], ['120.6', 'a,b', Object.prototype]);
});

test('a redirect is never followed', async (t) => {
  const [outbound, target] = [open(t), await receive(t, ok)];
  for (const status of [301, 302, 303, 307, 308])
    for (const location of [target.url, `//127.0.0.1:${target.port}/`, 'file:///etc/passwd', 'http://169.254.169.254/latest/', 'http://[::1]/', '/hook']) {
      const receiver = await receive(t, writes(http(`${status} Moved`, `location: ${location}\r\nrefresh: 0; url=${target.url}\r\n`)));
      const result = await outbound.call(receiver.url);
      assert.deepEqual([result.status, result.headers.location, result.error, receiver.requests.length], [status, location, undefined, 1]);
    }
  assert.equal(target.sockets.length, 0);
});

test('a closed port is said to refuse', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1');
  const { port } = await once(server, 'listening').then(() => server.address() as AddressInfo);
  await once(server.close(), 'close');
  const { status, error } = await open(t).call(`http://127.0.0.1:${port}/`);
  assert.deepEqual([status, error?.class], [undefined, 'connection_refused']);
  assert.match(error?.message ?? '', new RegExp(`127\\.0\\.0\\.1:${port}`));
});

suite('a connection that is kept open', () => {
  test('serves the next call, which then has no connect time but an address', async (t) => {
    const [outbound, receiver] = [open(t), await receive(t, ok)];
    await outbound.call(receiver.url);
    await pause(20);
    const { timings, address } = await outbound.call(receiver.url);
    assert.deepEqual([receiver.sockets.length, timings.dns, timings.connect, address], [1, undefined, undefined, '127.0.0.1']);
  });
  test('and was closed while idle, or with each answer, costs no call', async (t) => {
    for (const answer of [
      ends(http('200 OK', 'connection: close\r\n')),
      (socket: Socket) => void socket.write(http('200 OK'), () => setTimeout(() => socket.destroy(), 10)),
    ]) {
      const [outbound, receiver] = [open(t), await receive(t, answer)];
      for (const turn of [1, 2, 3, 4]) {
        assert.deepEqual([(await outbound.call(receiver.url)).status, receiver.sockets.length], [200, turn]);
        await until('it is closed', () => receiver.sockets.every((socket) => socket.destroyed));
        await pause(60);
      }
    }
  });
  test('and is closed as the next request arrives makes that one connection_reset, and spoils no other', async (t) => {
    const outbound = open(t);
    const receiver = await receive(t, (socket) => (receiver.requests.length === 2 ? socket.resetAndDestroy() : socket.write(http('200 OK'))));
    const results = [await outbound.call(receiver.url), await outbound.call(receiver.url), await outbound.call(receiver.url)];
    assert.deepEqual(results.map(({ status, error }) => status ?? error?.class), [200, 'connection_reset', 200]);
  });
  test('is not used again after an answer that was cut off', async (t) => {
    const outbound = open(t);
    const receiver = await receive(t, (socket) => (receiver.requests.length === 1 ? endless(Infinity)(socket) : socket.write(http('200 OK', '', 'mine'))));
    await outbound.call(receiver.url);
    assert.equal((await outbound.call(receiver.url)).response.toString(), 'mine');
  });
});

test('a receiver that hangs delays no call to another', async (t) => {
  const outbound = open(t);
  const [hanging, well] = [await receive(t, () => {}), await receive(t, ok)];
  let ended = 0;
  const hung = Array.from({ length: 40 }, () => outbound.call(hanging.url).finally(() => (ended += 1)));
  for (const { status } of await Promise.all(Array.from({ length: 40 }, () => outbound.call(well.url)))) assert.equal(status, 200);
  assert.equal(ended, 0, 'the others were done first');
  assert.ok(hanging.sockets.length <= 16, `${hanging.sockets.length} connections to one host`);
  await outbound.close();
  for (const { error } of await Promise.all(hung)) assert.equal(error?.class, 'network_error');
});

test('a call that finds every connection in use ends when its time is over, and is never sent', async (t) => {
  const receiver = await receive(t, () => {});
  const outbound = open(t);
  const first = Array.from({ length: 16 }, () => outbound.call(receiver.url));
  await until('each has a connection', () => receiver.requests.length === 16);
  const { error, timings } = await outbound.call(receiver.url, { totalMs: 50 });
  assert.deepEqual([error?.class, timings.firstByte, timings.total < 30_000], ['timeout', undefined, true]);
  for (const socket of receiver.sockets) socket.write(http('200 OK'));
  assert.deepEqual(new Set((await Promise.all(first)).map(({ status }) => status)), new Set([200]));
  // Whatever was to follow on those connections has done so by now.
  assert.equal((await outbound.call(receiver.url, { totalMs: 200 })).error?.class, 'timeout');
  assert.equal(receiver.requests.length, 17);
});

suite('on the wire', () => {
  const headers = { 'webhook-signature': 'v1,a b', 'user-agent': 'Schoolbell/1' };
  const paths = ["/x?q='a'", '/x?q="a"|b', '/x?q=%zz&%', '/x?a+b%20c', '/x?a=&b&=c&&a=2&a=1', '/x?', '/x?a&', '//x/../y/./z', '/x?<>^`{}[]\\', '?only', ''];
  for (const path of paths) {
    test(`GET ${path || '(nothing)'} leaves byte for byte, with the headers given and no others that matter`, async (t) => {
      const receiver = await receive(t, ok);
      await open(t).call(`http://127.0.0.1:${receiver.port}${path}#fragment`, { headers: { 'webhook-id': 'an-id', ...headers } });
      const [line, ...sent] = receiver.requests[0]?.toString('latin1').split('\r\n') ?? [];
      assert.equal(line, `GET ${path.startsWith('/') ? '' : '/'}${path} HTTP/1.1`);
      assert.deepEqual(sent.toSorted(), [
        '', '', 'accept-encoding: identity', 'connection: keep-alive',
        `host: 127.0.0.1:${receiver.port}`,
        'user-agent: Schoolbell/1',
        'webhook-id: an-id',
        'webhook-signature: v1,a b',
      ]);
    });
  }
  for (const body of ['{"a":"é"}', 'a=%C3%A9+b&c=&c=%26', noText, randomBytes(300_000)].map((body) => Buffer.from(body))) {
    test(`a POST of ${body.length} bytes leaves byte for byte`, async (t) => {
      const receiver = await receive(t, ok);
      await open(t).call(receiver.url, { method: 'POST', body, headers: { 'content-type': 'x/y' } });
      const all = receiver.requests[0] ?? Buffer.alloc(0);
      const head = all.subarray(0, all.indexOf('\r\n\r\n')).toString().split('\r\n');
      assert.ok(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(body));
      assert.deepEqual(head.map((line) => line.split(':')[0]).toSorted(), [
        'POST /hook HTTP/1.1', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'webhook-id',
      ]);
    });
  }
});

suite('names', () => {
  const says = (addresses: string[] | NodeJS.ErrnoException): ResolveName => async () => {
    if (!Array.isArray(addresses)) throw addresses;
    return addresses.map((address) => ({ address, family: net.isIP(address) }));
  };
  const fault = (code: string) => Object.assign(new Error(`getaddrinfo ${code} hook.example`), { code });
  const outcomes: [what: string, answer: string[] | NodeJS.ErrnoException, error: ErrorClass, message: RegExp][] = [
    ['loopback', ['127.0.0.1'], 'blocked_address', /127\.0\.0\.1 is a loopback address/],
    ['the metadata service', ['169.254.169.254'], 'blocked_address', /169\.254\.169\.254 is a link local address/],
    ['a private address among public ones', ['93.184.215.14', '10.0.0.1'], 'blocked_address', /10\.0\.0\.1 is a private address/],
    ['a mapped address', ['::ffff:127.0.0.1'], 'blocked_address', /127\.0\.0\.1 is a loopback address/],
    ['an IPv6 address that is local', ['fd00:ec2::254'], 'blocked_address', /unique local/],
    ['nothing (NXDOMAIN)', fault('ENOTFOUND'), 'dns_error', /ENOTFOUND hook\.example/],
    ['nothing (no answer)', fault('EAI_AGAIN'), 'dns_error', /EAI_AGAIN hook\.example/],
    ['nothing (SERVFAIL)', fault('EAI_FAIL'), 'dns_error', /EAI_FAIL/],
  ];
  for (const [what, answer, error, message] of outcomes) {
    test(`one that resolves to ${what} is ${error}, and nothing is touched`, async (t) => {
      const receiver = await receive(t, ok);
      const result = await open(t, [], limits, says(answer)).call(`http://hook.example:${receiver.port}/`);
      assert.deepEqual([result.status, result.error?.class, receiver.sockets.length], [undefined, error, 0], result.error?.message);
      assert.match(result.error?.message ?? '', message);
    });
  }
  test('one is resolved once per connection, and called by its name', async (t) => {
    const receiver = await receive(t, ok);
    const lookup = t.mock.fn(says(['127.0.0.1']));
    const { status, address, timings } = await open(t, undefined, limits, lookup).call(`http://hook.example:${receiver.port}/`);
    assert.deepEqual([status, address, lookup.mock.callCount(), Number(timings.dns) > 0], [200, '127.0.0.1', 1, true]);
    assert.match(receiver.requests[0]?.toString() ?? '', new RegExp(`\r\nhost: hook\\.example:${receiver.port}\r\n`));
  });
  test('the real resolver: localhost is blocked, an impossible name does not resolve', async (t) => {
    const [outbound, receiver] = [open(t, []), await receive(t, ok)];
    const results = await Promise.all([`http://localhost:${receiver.port}/`, `http://${'a'.repeat(64)}.example/`].map((url) => outbound.call(url)));
    assert.deepEqual([results.map(({ error }) => error?.class), receiver.sockets.length], [['blocked_address', 'dns_error'], 0]);
  });
});

test('a literal that is not open is blocked before anything is touched', async (t) => {
  const [outbound, receiver] = [open(t, []), await receive(t, ok)];
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0', '[::1]', '[::ffff:7f00:1]', '[::7f00:1]'])
    assert.equal((await outbound.call(`http://${host}:${receiver.port}/`)).error?.class, 'blocked_address', host);
  for (const url of ['file:///etc/passwd', `http://a@127.0.0.1:${receiver.port}/`, 'http://127.0.0.1:22/'])
    assert.equal((await outbound.call(url)).error?.class, 'invalid_url', url);
  assert.equal(receiver.sockets.length, 0);
});

// The system turns 0.0.0.0 into loopback, so that the address asked for and the address reached differ.
test('the address that was reached is checked again: no byte is sent to one that is not open', async (t) => {
  const receiver = await receive(t, ok);
  const { status, error } = await open(t, ['0.0.0.0']).call(`http://0.0.0.0:${receiver.port}/`);
  assert.deepEqual([status, error?.class, receiver.requests.length], [undefined, 'blocked_address', 0]);
  assert.match(error?.message ?? '', /127\.0\.0\.1 is a loopback address/);
});

test('a proxy named in the environment is not used', async (t) => {
  const [proxy, receiver] = [await receive(t, writes(http('502 Proxy'))), await receive(t, ok)];
  const script = `const { createOutbound } = await import(process.argv[1]); const { parseAllowList } = await import(process.argv[2]);
    const outbound = createOutbound(parseAllowList(['127.0.0.1']));
    const { status } = await outbound.call({ method: 'GET', url: process.argv[3], headers: {}, body: null });
    await outbound.close(); process.exitCode = status === 200 ? 0 : 9;`;
  const proxied = Object.fromEntries(
    ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, `http://127.0.0.1:${proxy.port}`]),
  );
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, import.meta.resolve('./outbound.ts'), import.meta.resolve('./address-guard.ts'), receiver.url],
    { env: { ...process.env, ...proxied, NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' }, stdio: 'inherit' },
  );
  assert.deepEqual([await once(child, 'exit').then(([code]) => code as number), proxy.sockets.length, receiver.requests.length], [0, 0, 1]);
});

test('close() ends what is under way and leaves no socket, timer or listener', { timeout: 60_000 }, async (t) => {
  const [well, hanging] = [await receive(t, ok), await receive(t, () => {})];
  const outbound = createOutbound(parseAllowList(['127.0.0.1']), { ...limits, totalMs: 60_000 });
  await Promise.all(Array.from({ length: 8 }, () => send(outbound.call, well.url)));
  const hung = send(outbound.call, hanging.url);
  while (hanging.requests.length === 0) await pause(5);
  await outbound.close();
  assert.equal((await hung).error?.class, 'network_error');
  assert.equal((await send(outbound.call, well.url)).error?.class, 'network_error', 'a later call is refused');
  await until('all are closed', () => [...well.sockets, ...hanging.sockets].every((socket) => socket.destroyed || socket.readableEnded));
  assert.equal(hasSubscribers('undici:client:sendHeaders'), false);
  assert.equal(process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length, 0);
});
