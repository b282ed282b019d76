// Every request has an end: a route that does not answer in time is answered for, and what has begun to leave is left alone.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import { NobodyWaits, whileAwaited } from './deadline.ts';
import { awayMessage, envelopeShape } from './error-shape.ts';
import { createServer } from './server.ts';
import { sendRead, slowReaderLimit } from './slow-reader.ts';

const app = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
const soon = { config: { longestMs: 200 } };
const never = Promise.withResolvers<void>();
const late = Promise.withResolvers<Readable>();

let begun = () => {};
const silent = () => {
  begun();
  return new Promise(() => {});
};

app.get('/silent', soon, silent);
app.get('/forgotten', silent);
app.post('/silent', soon, silent);
app.post('/unconfirmed', () => Promise.reject(new DatabaseUnavailable('unknown', 'the database did not confirm what was to be written')));
app.post('/away', () => Promise.reject(new DatabaseUnavailable('away', 'the database cannot be reached')));
app.get('/long', { config: { longestMs: 700 } }, async (_request, reply) => sendRead(reply, Readable.from(slowly(), { objectMode: false }), slowReaderLimit));
app.get('/late', soon, async (_request, reply) => {
  await never.promise;
  const body = Readable.from(slowly(), { objectMode: false });
  late.resolve(body);
  return sendRead(reply, body, slowReaderLimit);
});

async function* slowly(): AsyncGenerator<string> {
  for (let at = 0; at < 10; at += 1) {
    yield `${at}`;
    await pause(100);
  }
}

test('who wanted something changed is told whether it may have been, and who only read is not', async () => {
  const messageOf = async (method: 'GET' | 'POST', url: string) =>
    (JSON.parse((await app.inject({ method, url })).body) as { ExceptionMessage: string }).ExceptionMessage;
  for (const url of ['/silent', '/unconfirmed']) assert.match(await messageOf('POST', url), /may have been done, or not\. Look before you do it again/, url);
  assert.deepEqual([await messageOf('POST', '/away'), await messageOf('GET', '/silent')], [awayMessage, awayMessage]);
});

for (const [path, longestMs] of [['/silent', 200], ['/forgotten', 14_500]] as const) {
  test(`${path}, which never answers: 503 with Retry-After after ${longestMs} ms, and not before`, async (context) => {
    await app.ready();
    const asked = Promise.withResolvers<void>();
    begun = asked.resolve;
    const { setTimeout: start } = globalThis;
    const ends: (() => void)[] = [];
    context.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
      if (ms === longestMs) ends.push(run);
      return start(ms === longestMs ? () => {} : run, ms === longestMs ? 0 : ms);
    });
    let answered = false;
    const answer = app.inject(path).finally(() => (answered = true));
    await asked.promise;
    await new Promise(setImmediate);
    assert.deepEqual([answered, ends.length], [false, 1]);
    ends[0]?.();
    const { statusCode, headers, body } = await answer;
    assert.deepEqual([statusCode, headers['retry-after'], (JSON.parse(body) as { ExceptionType: string }).ExceptionType], [503, '5', 'unavailable']);
  });
}

test('an answer that has begun in time is read to its end', async () => {
  const { statusCode, body } = await app.inject('/long');
  assert.deepEqual([statusCode, body], [200, '0123456789']);
});

test('what a route wanted to send after that is closed, not left open', async () => {
  assert.equal((await app.inject('/late')).statusCode, 503);
  never.resolve();
  const body = await late.promise;
  if (!body.destroyed) await once(body, 'close');
});

test('what is done in many steps ends when the answer has gone out, if only that it took too long', async () => {
  const told = Promise.withResolvers<unknown>();
  const own = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
  after(() => own.close());
  own.get('/steps', soon, async (_request, reply) => {
    const over = whileAwaited(reply);
    over.addEventListener('abort', () => told.resolve(over.reason));
    return new Promise(() => {});
  });
  assert.equal((await own.inject('/steps')).statusCode, 503);
  assert.ok((await told.promise) instanceof NobodyWaits);
});

test('a request that does not arrive in time is cut off; one of a route that takes longer is not', async (context) => {
  const slow = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
  after(() => slow.close());
  const arrived = new Map<string, () => void>();
  const connections: Socket[] = [];
  slow.server.on('connection', (socket: Socket) => connections.push(socket));
  slow.addHook('onRequest', async (request) => arrived.get(request.url)?.());
  slow.post('/ordinary', async () => 'read');
  slow.post('/upload', { config: { longestMs: 600_000 } }, async () => 'read');
  await slow.listen({ host: '127.0.0.1', port: 0 });
  assert.ok(slow.server.requestTimeout > 600_000 && slow.server.headersTimeout === 30_000);
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const { port } = slow.server.address() as AddressInfo;
  const half = async (path: string) => {
    const begun = Promise.withResolvers<void>();
    arrived.set(path, begun.resolve);
    // Such a client keeps its side of the connection open until it has sent everything.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a"`);
    await begun.promise;
    return socket;
  };
  const [ordinary, upload] = [await half('/ordinary'), await half('/upload')];
  const said = once(ordinary, 'data');
  context.mock.timers.tick(14_500);
  assert.match(String(await said), /^HTTP\/1\.1 408 [^]*\nconnection: close\r/i);
  await once(ordinary, 'end');
  assert.equal(connections[0]?.destroyed, false, 'a sender may still read the response');
  context.mock.timers.tick(2_000);
  assert.deepEqual(connections.map(({ destroyed }) => destroyed), [true, false]);
  const answer = once(upload, 'data');
  upload.end(':1}');
  assert.match(String(await answer), /^HTTP\/1\.1 200 /);
});

for (const [what, code, status] of [
  ['a request that is no HTTP', 'HPE_INVALID_METHOD', 400],
  ['a request whose headers are too large', 'HPE_HEADER_OVERFLOW', 431],
  ['a request whose headers do not arrive in time', 'ERR_HTTP_REQUEST_TIMEOUT', 408],
] as const) {
  test(`${what}: ${status}, and the connection closes, also if the client keeps its side open`, async (context) => {
    const own = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
    after(() => own.close());
    await own.listen({ host: '127.0.0.1', port: 0 });
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const client = connect({ port: (own.server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    const [connection] = (await once(own.server, 'connection')) as [Socket];
    client.write('GET / HTTP/1.1\r\nhost');
    const said = once(client, 'data');
    own.server.emit('clientError', Object.assign(new Error('from the parser'), { code }), connection);
    assert.match(String(await said), new RegExp(`^HTTP/1\\.1 ${status} [^]*\nconnection: close\r`));
    await once(client, 'end');
    context.mock.timers.tick(2_000);
    assert.equal(connection.destroyed, true);
    client.destroy();
  });
}

test('a request that was injected is not cut off, long after its answer', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const given = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
  given.post('/ordinary', async () => 'read');
  const { statusCode } = await given.inject({ method: 'POST', url: '/ordinary', payload: { a: 1 } });
  assert.equal(statusCode, 200);
  context.mock.timers.tick(60_000);
  context.mock.timers.reset();
  await given.close();
});
