// A handler may go on after the deadline has answered for it. Its result is ignored, and the log never shows a query string.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { connect, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type { FastifyReply } from 'fastify';
import { keepLog, warning } from '../../test/log-lines.ts';
import { until } from '../../test/until.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import { envelopeShape } from './error-shape.ts';
import { createServer } from './server.ts';

const log = keepLog();
const app = createServer({ logLevel: 'debug', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
after(() => app.close());
const soon = { config: { longestMs: 50 } };
const secret = 'text=WIFI%3Apassword';

/** Each is run when the deadline has answered. */
const lateEnds: Record<string, (reply: FastifyReply) => unknown> = {
  'returns a value': () => ({ done: true }),
  'returns a stream': () => Readable.from(['late']),
  'sends a value itself': (reply) => reply.code(202).send({ done: true }),
  'sends and returns nothing': (reply) => void reply.send('late'),
  'fails because the database is away': () => Promise.reject(new DatabaseUnavailable('away', 'the database cannot be reached')),
  'fails with an error of the code': () => Promise.reject(new TypeError('no such property')),
};

for (const [index, [what, end]] of Object.entries(lateEnds).entries()) {
  for (const method of ['GET', 'POST'] as const) {
    const path = `/late/${index}/${method}`;
    const answered = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    app.route({
      method,
      url: path,
      ...soon,
      handler: async (_request, reply) => {
        await answered.promise;
        try {
          return await end(reply);
        } finally {
          setImmediate(ended.resolve);
        }
      },
    });
    test(`${method}: a handler that ${what} after the deadline is ignored`, async () => {
      const before = log.lines().length;
      const { statusCode } = await app.inject({ method, url: `${path}?${secret}`, payload: {} });
      assert.equal(statusCode, 503);
      answered.resolve();
      await ended.promise;
      await new Promise(setImmediate);
      const lines = log.lines().slice(before);
      assert.deepEqual(lines.filter(({ msg, level }) => level >= warning && msg !== 'the database does not answer'), []);
      assert.equal(JSON.stringify(lines).includes('WIFI'), false, 'the query string is in the log');
    });
  }
}

test('a handler that fails while the answer of the deadline is being sent is ignored', async () => {
  const before = log.lines().length;
  const sending = Promise.withResolvers<void>();
  const slow = createServer({ logLevel: 'debug', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
  slow.addHook('onSend', async () => {
    sending.resolve();
    await new Promise(setImmediate);
  });
  slow.get('/late', soon, async () => {
    await sending.promise;
    return { done: true };
  });
  const { statusCode, json } = await slow.inject(`/late?${secret}`);
  await slow.close();
  assert.deepEqual([statusCode, (json() as { ExceptionType: string }).ExceptionType], [503, 'unavailable']);
  const lines = log.lines().slice(before);
  assert.deepEqual(lines.filter(({ msg, level }) => level >= warning && msg !== 'the database does not answer'), []);
});

test('an error whose message quotes a URL is logged without its query string', () => {
  const before = log.lines().length;
  const cause = new Error('GET https://app.example/x?code=7d1: 404');
  app.log.error({ err: new Error(`no reply to "/api/v1/Identity/GenerateQRCode?${secret}" (GET). Why?`, { cause }) }, 'failed');
  const [line] = log.lines().slice(before) as unknown as [{ err: { message: string; stack: string; cause: { message: string } } }];
  assert.equal(line.err.message, 'no reply to "/api/v1/Identity/GenerateQRCode?…" (GET). Why?');
  assert.equal(line.err.cause.message, 'GET https://app.example/x?… 404');
  assert.equal(JSON.stringify(line).includes('WIFI') || JSON.stringify(line).includes('7d1'), false);
});

test('a body that was announced and does not arrive is a 408, logged as the fault of the caller', async () => {
  const before = log.lines().length;
  const server = createServer({ logLevel: 'info', logTo: log, trustProxy: [], shapeFor: () => envelopeShape });
  after(() => server.close());
  server.post('/slow', soon, async () => 'read');
  await server.listen({ host: '127.0.0.1', port: 0 });
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (bytes) => received.push(bytes));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write('POST /slow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"a');
  await closed;
  const answer = Buffer.concat(received).toString();
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.match(answer, /"ExceptionType":"request_timeout"/);
  assert.match(answer, /^connection: close$/im);
  await until('the request is logged', () => log.lines().slice(before).some(({ msg }) => msg === 'request'));
  const lines = log.lines().slice(before);
  assert.deepEqual(lines.filter(({ level }) => level >= warning), []);
  assert.deepEqual(lines.filter(({ msg }) => msg === 'request').map(({ status, refusedAs }) => [status, refusedAs]), [[408, 'request_timeout']]);
});

test('a handler has its whole time, however long its body took to arrive', async (context) => {
  const server = createServer({ logLevel: 'silent', trustProxy: [], shapeFor: () => envelopeShape });
  after(() => server.close());
  const arrived = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  server.addHook('onRequest', async () => arrived.resolve());
  server.post('/slow', async () => {
    begun.resolve();
    await finish.promise;
    return 'read';
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
  const answer = once(socket, 'data');
  socket.write('POST /slow HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a"');
  await arrived.promise;
  context.mock.timers.tick(10_000);
  socket.write(':1}');
  await begun.promise;
  context.mock.timers.tick(10_000);
  finish.resolve();
  assert.match(String(await answer), /^HTTP\/1\.1 200 /);
  socket.destroy();
});
