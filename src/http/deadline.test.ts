// Every request has an end: a route that does not answer in time is answered for, and what has begun to leave is left alone.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { envelopeShape } from './error-shape.ts';
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
app.get('/long', soon, async (_request, reply) => sendRead(reply, Readable.from(slowly(), { objectMode: false }), slowReaderLimit));
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

for (const [path, longestMs] of [['/silent', 200], ['/forgotten', 14_500]] as const) {
  test(`${path}, which never answers: 503 with Retry-After after ${longestMs} ms, and not before`, { timeout: 30_000 }, async (context) => {
    await app.ready();
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const asked = Promise.withResolvers<void>();
    begun = asked.resolve;
    let answered = false;
    const answer = app.inject(path).finally(() => (answered = true));
    await asked.promise;
    context.mock.timers.tick(longestMs - 1);
    await new Promise(setImmediate);
    assert.equal(answered, false);
    context.mock.timers.tick(1);
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
