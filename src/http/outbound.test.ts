// The outgoing call against receivers that misbehave in every way a receiver can: what comes back, in which words, how
// soon and at what cost, which bytes leave, which addresses are touched, and what is left behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { hasSubscribers } from 'node:diagnostics_channel';
import dns from 'node:dns';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { parseAllowList } from './address-guard.ts';
import { createOutbound, type ErrorClass, type OutboundCall, type OutboundResult } from './outbound.ts';

const limits = { connectMs: 300, totalMs: 400, readBytes: 64 * 1024, keptBytes: 16 * 1024 };
/** Far above what a loaded machine adds, far below waiting for a limit that did not hold. */
const slackMs = 1_500;

type Answer = (socket: Socket, request: string) => void;
type Receiver = { url: string; port: number; sockets: Socket[]; requests: Buffer[] };

/** A TCP server that answers each request, once its head is in, with whatever bytes it likes. */
async function receive(t: TestContext, answer: Answer, host = '127.0.0.1'): Promise<Receiver> {
  const received: Receiver = { url: '', port: 0, sockets: [], requests: [] };
  const server = net.createServer((socket) => {
    let request = Buffer.alloc(0);
    received.sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      const isNew = !request.includes('\r\n\r\n');
      request = Buffer.concat([request, data]);
      if (!isNew || !request.includes('\r\n\r\n')) return;
      setImmediate(() => {
        received.requests.push(request);
        const text = request.toString('latin1');
        request = Buffer.alloc(0);
        answer(socket, text);
      });
    });
  });
  await once(server.listen(0, host), 'listening');
  received.port = (server.address() as AddressInfo).port;
  received.url = `http://${host}:${received.port}/hook`;
  t.after(() => {
    for (const socket of received.sockets) socket.destroy();
    server.close();
  });
  return received;
}

function open(t: TestContext, allow = ['127.0.0.0/8'], given = limits) {
  const outbound = createOutbound(parseAllowList(allow), given);
  t.after(() => outbound.close());
  return { ...outbound, call: (url: string, call: Partial<OutboundCall> = {}) => send(outbound.call, url, call) };
}
const send = (call: (call: OutboundCall) => Promise<OutboundResult>, url: string, { id = randomUUID(), headers = {}, ...rest }: Partial<OutboundCall> = {}) => call({ id, method: 'GET', url, body: null, ...rest, headers: { 'webhook-id': id, ...headers } });

const http = (status: string, headers = '', body: string | Buffer = '') => Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${headers}`), Buffer.from(`${/content-length|transfer-encoding/i.test(headers) ? '' : `content-length: ${body.length}\r\n`}\r\n`), Buffer.from(body)]);
const writes = (...parts: (string | Buffer)[]): Answer => (socket) => socket.write(Buffer.concat(parts.map((part) => Buffer.from(part))));
const ends = (...parts: (string | Buffer)[]): Answer => (socket) => socket.end(Buffer.concat(parts.map((part) => Buffer.from(part))));
/** Writes the piece again and again, as long as anyone listens. */
const repeats = (head: string | Buffer, piece: string, everyMs: number): Answer => (socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once('close', () => clearInterval(timer));
};
const resets = (head: string | Buffer = ''): Answer => (socket) => {
  if (head.length === 0) socket.resetAndDestroy();
  else socket.write(head, () => setTimeout(() => socket.resetAndDestroy(), 20));
};
const endless = (bytes: number): Answer => (socket) => {
  const piece = Buffer.alloc(64 * 1024, 'x');
  const more = () => {
    while (!socket.destroyed && socket.bytesWritten < bytes && socket.write(piece));
  };
  socket.write(http('200 OK', bytes === Infinity ? 'transfer-encoding: identity\r\nconnection: close\r\n' : `content-length: ${bytes}\r\n`));
  socket.on('drain', more);
  more();
};
const bomb = gzipSync(Buffer.alloc(48 * 1024 * 1024));
const noText = Buffer.from([0, 0xff, 0xfe, 0x80, 0xc0, 0, 0xed, 0xa0, 0x80]);

type Expected = { status?: number; error?: ErrorClass; message?: RegExp; response?: string | Buffer };
const receivers: [behaviour: string, answer: Answer, expected: Expected][] = [
  ...['200 OK', '201 Created', '202 Accepted', '204 No Content', '299 Odd'].map((status): [string, Answer, Expected] => [status, writes(http(status)), { status: Number.parseInt(status) }]),
  ...[300, 301, 302, 303, 304, 307, 308].map((status): [string, Answer, Expected] => [`${status}`, writes(http(`${status} Moved`, 'location: /elsewhere\r\n')), { status }]),
  ...[400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504, 599].map((status): [string, Answer, Expected] => [`${status}`, writes(http(`${status} No`, 'retry-after: 120\r\n', 'why')), { status, response: 'why' }]),
  ['closes at once', ends(''), { error: 'connection_reset', message: /closed/ }],
  ['resets before the headers', resets(), { error: 'connection_reset', message: /ECONNRESET|reset/ }],
  ['resets within the headers', resets('HTTP/1.1 200 OK\r\nx: '), { error: 'connection_reset', message: /ECONNRESET|reset/ }],
  ['resets after the headers', resets(http('200 OK', 'content-length: 9\r\n')), { status: 200, error: 'connection_reset', message: /ECONNRESET|reset/ }],
  ['resets within the body', resets(http('200 OK', 'content-length: 9\r\n', 'half')), { status: 200, error: 'connection_reset', message: /ECONNRESET|reset/, response: 'half' }],
  ['takes the request and never answers', () => {}, { error: 'timeout', message: /no complete answer within 0\.4 s/ }],
  ['sends slow headers', repeats('HTTP/1.1 200 OK\r\n', 'x', 20), { error: 'timeout', message: /within 0\.4 s/ }],
  ['drips its body', repeats(http('200 OK', 'content-length: 99999\r\n'), 'x', 20), { status: 200, error: 'timeout', message: /within 0\.4 s/ }],
  ['promises more than it sends', ends(http('200 OK', 'content-length: 9\r\n', 'half')), { status: 200, error: 'connection_reset', message: /closed|length/i, response: 'half' }],
  ['sends more than it promises', writes(http('200 OK', 'content-length: 4\r\n', 'half and more')), { status: 200, response: 'half' }],
  ['sends a length that is no number', writes(http('200 OK', 'content-length: nine\r\n')), { error: 'protocol_error', message: /content-length/i }],
  ['sends two lengths', writes(http('200 OK', 'content-length: 4\r\ncontent-length: 9\r\n', 'half')), { error: 'protocol_error', message: /content-length/i }],
  ['sends garbage for chunks', writes(http('200 OK', 'transfer-encoding: chunked\r\n', 'zz\r\nbody\r\n')), { status: 200, error: 'protocol_error', message: /chunk/i }],
  ['ends within a chunk', ends(http('200 OK', 'transfer-encoding: chunked\r\n', '9\r\nhalf')), { status: 200, error: 'connection_reset', message: /closed/, response: 'half' }],
  ['storms with 1xx and then answers', writes('HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'.repeat(2_000), http('200 OK', '', 'ok')), { status: 200, response: 'ok' }],
  ['storms with 1xx and nothing else', repeats('', 'HTTP/1.1 103 Early Hints\r\n\r\n', 5), { error: 'timeout' }],
  ['says 100 unasked', writes('HTTP/1.1 100 Continue\r\n\r\n', http('200 OK')), { error: 'protocol_error' }],
  ['switches protocols unasked', writes('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'), { error: 'protocol_error' }],
  ['sends 204 with a body', writes(http('204 No Content', '', 'body')), { status: 204, response: '' }],
  ['speaks HTTP/0.9', ends('<html>hello</html>'), { error: 'protocol_error', message: /HTTP/ }],
  ['speaks another protocol', ends('SSH-2.0-OpenSSH_9.2\r\n'), { error: 'protocol_error', message: /HTTP/ }],
  ['sends 100 KB of headers', writes(http('200 OK', `x: ${'y'.repeat(100_000)}\r\n`)), { error: 'protocol_error', message: /header/i }],
  ['sends 5,000 headers', writes(http('200 OK', 'x-same: y\r\n'.repeat(5_000))), { error: 'protocol_error', message: /header/i }],
  ['sends a NUL in a header', writes(http('200 OK', 'x: a\0b\r\n')), { error: 'protocol_error', message: /header/i }],
  ['sends a body that is no text', writes(http('200 OK', '', noText)), { status: 200, response: noText }],
  ['sends a body without an end mark', ends(http('200 OK', 'transfer-encoding: identity\r\nconnection: close\r\n', 'all')), { status: 200, response: 'all' }],
  ['answers before the request is in', writes(http('200 OK', '', 'early')), { status: 200, response: 'early' }],
  ['sends a gzip bomb', writes(http('200 OK', 'content-encoding: gzip\r\n', bomb)), { status: 200, response: bomb.subarray(0, limits.keptBytes) }],
  ['sends just what is read', writes(http('200 OK', '', 'x'.repeat(limits.readBytes))), { status: 200, response: 'x'.repeat(limits.keptBytes) }],
  ['sends one byte too much', writes(http('200 OK', '', 'x'.repeat(limits.readBytes + 1))), { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) }],
  ['sends 128 MB', endless(128 * 1024 * 1024), { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) }],
  ['sends without end', endless(Infinity), { status: 200, error: 'body_too_large', message: /larger/, response: 'x'.repeat(limits.keptBytes) }],
];

suite('a receiver that', () => {
  for (const [behaviour, answer, expected] of receivers) {
    test(behaviour, async (t) => {
      const [outbound, receiver] = [open(t), await receive(t, answer)];
      const body = behaviour.includes('before the request') ? randomBytes(8 * 1024 * 1024) : Buffer.from('{"a":1}');
      const { status, error, response, address, timings } = await outbound.call(receiver.url, { method: 'POST', body });
      assert.deepEqual({ status, class: error?.class }, { status: expected.status, class: expected.error }, error?.message);
      if (expected.message) assert.match(error?.message ?? '', expected.message);
      if (expected.response !== undefined) assert.deepEqual(response.toString('latin1'), Buffer.from(expected.response).toString('latin1'));
      assert.ok(response.length <= limits.keptBytes);
      assert.equal(address, '127.0.0.1');
      const { dns = NaN, connect = NaN, firstByte, total } = timings;
      assert.ok(dns >= 0 && connect >= 0 && total >= connect && total < limits.totalMs + slackMs, JSON.stringify(timings));
      assert.equal(firstByte === undefined, status === undefined);
      if (expected.error === 'timeout') assert.ok(total >= limits.totalMs - 20, `${total} ms`);
      assert.equal(receiver.requests.length, 1, 'it was called once');
      const sent = receiver.sockets[0]?.bytesWritten ?? 0;
      assert.ok(sent < 16 * 1024 * 1024, `the receiver could write ${sent} bytes`);
    });
  }
});

test('headers of the answer come back in lower case, repeated ones joined', async (t) => {
  const receiver = await receive(t, writes(http('429 Slow', 'Retry-After: 120.6\r\nX-Two: a\r\nx-two: b\r\n__proto__: c\r\n')));
  const { headers } = await open(t).call(receiver.url);
  assert.deepEqual([headers['retry-after'], headers['x-two'], Object.getPrototypeOf(headers)], ['120.6', 'a,b', Object.prototype]);
});

test('a redirect is never followed', async (t) => {
  const [outbound, target] = [open(t), await receive(t, writes(http('200 OK')))];
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of [target.url, `//127.0.0.1:${target.port}/`, 'file:///etc/passwd', 'http://169.254.169.254/latest/', 'http://[::1]/', '/hook']) {
      const receiver = await receive(t, writes(http(`${status} Moved`, `location: ${location}\r\nrefresh: 0; url=${target.url}\r\n`)));
      const result = await outbound.call(receiver.url);
      assert.deepEqual([result.status, result.headers.location, result.error, receiver.requests.length], [status, location, undefined, 1]);
    }
  }
  assert.equal(target.sockets.length, 0);
});

test('refused, and a port that is closed later, are said so', async (t) => {
  const server = await once(net.createServer().listen(0, '127.0.0.1'), 'listening').then(() => net.createServer());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  const { status, error } = await open(t).call(`http://127.0.0.1:${port}/`);
  assert.deepEqual([status, error?.class], [undefined, 'connection_refused']);
  assert.match(error?.message ?? '', new RegExp(`127\\.0\\.0\\.1:${port}`));
});

suite('a connection that is kept open', () => {
  test('serves the next call, which then has no connect time but an address', async (t) => {
    const [outbound, receiver] = [open(t), await receive(t, writes(http('200 OK')))];
    await outbound.call(receiver.url);
    const { timings, address } = await outbound.call(receiver.url);
    assert.deepEqual([receiver.sockets.length, timings.dns, timings.connect, address], [1, undefined, undefined, '127.0.0.1']);
  });

  test('and was closed while idle costs no call', async (t) => {
    const [outbound, receiver] = [open(t), await receive(t, (socket) => void socket.write(http('200 OK'), () => setTimeout(() => socket.destroy(), 10)))];
    for (let turn = 1; turn <= 4; turn += 1) {
      assert.equal((await outbound.call(receiver.url)).status, 200);
      await pause(60);
      assert.equal(receiver.sockets.length, turn);
    }
  });

  test('and is closed as the next request arrives makes that one connection_reset, and spoils no other', async (t) => {
    const outbound = open(t);
    const receiver = await receive(t, (socket) => (receiver.requests.length === 2 ? socket.resetAndDestroy() : socket.write(http('200 OK'))));
    const results = [await outbound.call(receiver.url), await outbound.call(receiver.url), await outbound.call(receiver.url)];
    assert.deepEqual(results.map(({ status, error }) => status ?? error?.class), [200, 'connection_reset', 200]);
  });

  test('is not used again after an answer that was cut off or was not HTTP', async (t) => {
    const outbound = open(t);
    const receiver = await receive(t, (socket) => (receiver.requests.length === 1 ? endless(Infinity)(socket, '') : socket.write(http('200 OK', '', 'mine'))));
    await outbound.call(receiver.url);
    assert.equal((await outbound.call(receiver.url)).response.toString(), 'mine');
    assert.equal(receiver.sockets.length, 2);
  });

  test('is not needed: a receiver may close each time', async (t) => {
    const [outbound, receiver] = [open(t), await receive(t, ends(http('200 OK', 'connection: close\r\n')))];
    const results = await Promise.all(Array.from({ length: 20 }, () => outbound.call(receiver.url)));
    assert.deepEqual(new Set(results.map(({ status }) => status)), new Set([200]));
  });
});

test('a receiver that hangs delays no call to another', async (t) => {
  const outbound = open(t, undefined, { ...limits, totalMs: 1_000 });
  const [hanging, well] = [await receive(t, () => {}), await receive(t, writes(http('200 OK')))];
  const hung = Array.from({ length: 40 }, () => outbound.call(hanging.url));
  const started = performance.now();
  const results = await Promise.all(Array.from({ length: 40 }, () => outbound.call(well.url)));
  assert.ok(performance.now() - started < 900, 'the others were done first');
  assert.deepEqual(new Set(results.map(({ status }) => status)), new Set([200]));
  assert.deepEqual(new Set((await Promise.all(hung)).map(({ error }) => error?.class)), new Set(['timeout']));
  assert.ok(hanging.sockets.length <= 16, `${hanging.sockets.length} connections to one host`);
});

suite('on the wire', () => {
  const paths = ["/x?q='a'", '/x?q="a"|b', '/x?q=%zz&%', '/x?a+b%20c', '/x?a=&b&=c&&a=2&a=1', '/x?', '/x?a&', '//x/../y/./z', '/x?<>^`{}[]\\', '?only', ''];
  for (const path of paths) {
    test(`GET ${path || '(nothing)'} leaves byte for byte`, async (t) => {
      const receiver = await receive(t, writes(http('200 OK')));
      await open(t).call(`http://127.0.0.1:${receiver.port}${path}#fragment`, { id: 'an-id', headers: { 'webhook-signature': 'v1,a b', 'user-agent': 'Schoolbell/1' } });
      const [line, ...headers] = receiver.requests[0]?.toString('latin1').split('\r\n') ?? [];
      assert.equal(line, `GET ${path.startsWith('/') ? '' : '/'}${path} HTTP/1.1`);
      assert.deepEqual(headers.toSorted(), ['', '', 'accept-encoding: identity', 'connection: keep-alive', `host: 127.0.0.1:${receiver.port}`, 'user-agent: Schoolbell/1', 'webhook-id: an-id', 'webhook-signature: v1,a b']);
    });
  }

  for (const body of ['{"a":"é"}', 'a=%C3%A9+b&c=&c=%26', noText, randomBytes(300_000)].map((body) => Buffer.from(body))) {
    test(`a POST of ${body.length} bytes leaves byte for byte`, async (t) => {
      const whole = Promise.withResolvers<void>();
      const receiver = await receive(t, () => {});
      const [calling, socket] = [open(t).call(receiver.url, { method: 'POST', body, headers: { 'content-type': 'x/y' } }), Promise.withResolvers<Buffer>()];
      const pieces: Buffer[] = [];
      while (receiver.sockets.length === 0) await pause(1);
      receiver.sockets[0]?.on('data', (data: Buffer) => {
        pieces.push(data);
        const all = Buffer.concat(pieces);
        if (all.length - all.indexOf('\r\n\r\n') - 4 < body.length) return;
        receiver.sockets[0]?.write(http('200 OK'));
        socket.resolve(all);
        whole.resolve();
      });
      const [result, all] = await Promise.all([calling, socket.promise, whole.promise]);
      const head = all.subarray(0, all.indexOf('\r\n\r\n')).toString().split('\r\n');
      assert.equal(result.status, 200);
      assert.ok(all.subarray(all.indexOf('\r\n\r\n') + 4).equals(body));
      assert.deepEqual(head.map((line) => line.split(':')[0]).toSorted(), ['POST /hook HTTP/1.1', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host', 'webhook-id']);
    });
  }
});
