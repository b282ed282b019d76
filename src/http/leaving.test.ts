// How a server takes its leave, over real connections: who is still answered and how, when it ends, and what becomes of answers that are
// under way.
import assert from 'node:assert/strict';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { envelopeShape } from './error-shape.ts';
import { healthRoutes } from './health.ts';
import { createLeaving, type LeavingLimits } from './leaving.ts';
import { createServer } from './server.ts';

const { db } = await useDatabase();
const quick: LeavingLimits = { quietMs: 400, longestDrainMs: 1_500, unusedMs: 60_000, graceMs: 400, longestEndMs: 1_000, longestMs: 60_000 };
const endless = () => Readable.from((async function* pieces() {
  for (;;) yield 'x'.repeat(64 * 1024);
})());

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function listen(limits: Partial<LeavingLimits> = {}) {
  const leaving = createLeaving({ ...quick, ...limits });
  const app = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape, leaving });
  const held = Promise.withResolvers<void>();
  let asked = 0;
  healthRoutes(app, db, leaving.isLeaving);
  app.get('/page', async () => ({ page: true }));
  app.get('/slow', async () => {
    asked += 1;
    await held.promise;
    return { slow: true };
  });
  app.get('/list', (_request, reply) => reply.send(endless()));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  closing.push(() => app.close(), () => agent.destroy(), () => held.resolve());
  const open = (path: string, how: { agent: Agent | false } = { agent }) =>
    new Promise<IncomingMessage>((resolve, reject) => get({ host: '127.0.0.1', port, path, ...how }, resolve).once('error', reject));
  const ask = async (path: string, how?: { agent: Agent | false }) => {
    const response = await open(path, how);
    const pieces = (await response.toArray()) as Buffer[];
    return [response.statusCode, response.headers.connection, Buffer.concat(pieces).toString()] as const;
  };
  return { app, leaving, port, agent, ask, open, release: () => held.resolve(), asked: () => asked };
}

async function timed(work: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

test('not ready at once, but everybody is answered and told to close, on a kept connection too, until nobody has asked for a while', async () => {
  const { leaving, ask } = await listen();
  assert.deepEqual(await ask('/readyz', { agent: false }), [200, 'close', '{"status":"ok"}']);
  assert.deepEqual(await ask('/page'), [200, 'keep-alive', '{"page":true}']);
  const drained = timed(leaving.drain());
  assert.deepEqual(await ask('/readyz', { agent: false }), [503, 'close', '{"status":"the process is about to end"}']);
  await pause(200);
  assert.deepEqual(await ask('/page'), [200, 'close', '{"page":true}'], 'on the connection of the first');
  assert.deepEqual(await ask('/page'), [200, 'close', '{"page":true}'], 'on a new one');
  const tookMs = await drained;
  assert.ok(tookMs > 590 && tookMs < 1_450, `${tookMs} ms: as long as nobody may ask, after the last who did`);
});

test('whoever goes on asking is answered for so long and no longer', async () => {
  const { leaving, ask } = await listen();
  const over = new AbortController();
  await ask('/page');
  const drained = timed(leaving.drain()).finally(() => over.abort());
  while (!over.signal.aborted) assert.equal((await ask('/page'))[0], 200);
  const tookMs = await drained;
  assert.ok(tookMs > 1_490 && tookMs < 2_500, `${tookMs} ms`);
});

test('where nobody asks but whether it is alive, it is over at once; who looks whether it is ready is about to ask', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const { leaving, ask } = await listen();
    await ask(path);
    assert.equal((await timed(leaving.drain())) > quick.quietMs - 50, path === '/readyz', path);
  }
});

test('what comes on a connection that was taken before it stopped to listen is answered, and nobody else is kept waiting', async () => {
  const { app, leaving, port } = await listen();
  const [late, never] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all([late, never].map((socket) => new Promise((resolve) => socket.on('error', () => {}).once('connect', resolve))));
  await leaving.drain();
  const closed = timed(app.close());
  while (app.server.listening) await pause(1);
  late.write('GET /page HTTP/1.1\r\nhost: x\r\n\r\n');
  const answer = await new Promise((resolve) => late.once('data', resolve).once('close', () => resolve('nothing')));
  assert.match(String(answer), /^HTTP\/1.1 200 [^]*connection: close[^]*"page":true/i);
  assert.ok((await closed) < 900, 'one without a request is cut');
});

test('so it is where somebody asked long ago, unless they have kept their connection', async () => {
  for (const kept of [false, true]) {
    const { leaving, ask } = await listen({ unusedMs: 50 });
    await ask('/page', kept ? undefined : { agent: false });
    await pause(100);
    assert.equal((await timed(leaving.drain())) > 300, kept);
  }
});

test('an answer that was under way at the word says that its connection closes', async () => {
  const { leaving, ask, release, asked } = await listen();
  const answer = ask('/slow');
  await until('it has come', () => asked() === 1);
  const drained = leaving.drain();
  release();
  assert.deepEqual(await answer, [200, 'close', '{"slow":true}']);
  await drained;
});

test('who asks several times without waiting has all answers; the last says that the connection closes', async () => {
  const { leaving, port, release, asked } = await listen();
  const socket = connect(port, '127.0.0.1');
  const received = socket.toArray() as Promise<Buffer[]>;
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
  socket.write(request('/slow') + request('/slow'));
  await until('both have come', () => asked() === 2);
  const drained = leaving.drain();
  socket.write(request('/page'));
  await pause(50);
  release();
  const answers = Buffer.concat(await received).toString();
  assert.deepEqual(answers.match(/^connection: [a-z-]+|"slow"|"page"/gim)?.map((one) => one.toLowerCase()), [
    'connection: keep-alive', '"slow"', 'connection: keep-alive', '"slow"', 'connection: close', '"page"',
  ]);
  await drained;
});

test('what is still being read a while after the end is cut by a reset, not ended', async () => {
  const { app, port, leaving } = await listen();
  // Of HTTP/1.0, where the end of the connection would be the end of the list.
  const reader = connect(port, '127.0.0.1');
  const ended = new Promise<string>((resolve) => {
    reader.once('end', () => resolve('whole')).once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });
  reader.write('GET /list HTTP/1.0\r\n\r\n');
  await new Promise((resolve) => reader.once('data', resolve));
  await leaving.drain();
  const closed = timed(app.close());
  reader.resume();
  assert.equal(await ended, 'ECONNRESET');
  assert.ok((await closed) < 2_000);
});
