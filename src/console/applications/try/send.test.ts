// Sending what is tried: an answer without an end is stopped once enough of it was read, and its writer with it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import Fastify from 'fastify';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { SampleRequest } from '../../../reference/sample-request.ts';
import { createSend, shownBytes } from './send.ts';

const plain: SampleRequest = { origin: '', method: 'GET', path: '/', query: [], headers: [], credential: undefined, body: undefined, answer: 'text' };

test('of an answer that never ends the beginning is read, and whoever writes it is stopped', async () => {
  let written = 0;
  const endless = new Readable({
    read() {
      written += 1;
      this.push(Buffer.alloc(16 * 1024, 'x'));
    },
  });
  const app = Fastify();
  app.get('/', async (_request, reply) => reply.send(endless));
  const ended = once(endless, 'close');
  const answer = await createSend(app, 'http://localhost')({ request: plain, authorization: 'Bearer x', address: '127.0.0.1' });
  await ended;
  assert.deepEqual([answer.status, answer.whole, answer.bytes, answer.body.length], [200, false, undefined, shownBytes]);
  assert.ok(written < 50, `${written} pieces were made for it`);
  await app.close();
});

test('the request is what was planned: its values encoded, from whom it came, and nothing of the visitor’s own', async () => {
  const app = Fastify();
  app.post('/:id', async ({ url, headers, body, ip }, reply) => reply.header('set-cookie', 'a=b').send({ url, headers, body, ip }));
  const send = createSend(app, 'https://bell.example');
  const request: SampleRequest = {
    ...plain, method: 'POST', path: '/a%2Fb', query: [['q', 'x&y=é+']], headers: [['Accept', 'application/json']],
    body: { kind: 'json', value: { a: 1 }, contentType: 'application/json' },
  };
  const answer = await send({ request, authorization: 'Idaas t', address: '203.0.113.9' });
  const seen = JSON.parse(answer.body.toString()) as { url: string; headers: Record<string, string>; body: unknown; ip: string };
  assert.deepEqual([seen.url, seen.body, seen.ip], ['/a%2Fb?q=x%26y%3D%C3%A9%2B', { a: 1 }, '203.0.113.9']);
  assert.deepEqual(Object.keys(seen.headers).toSorted(), ['accept', 'authorization', 'content-length', 'content-type', 'host', 'user-agent']);
  assert.equal(seen.headers.host, 'bell.example');
  assert.ok(answer.headers.every(([name]) => name !== 'set-cookie'));
  for (const path of ['/a/../b', '/..', '/%2e%2e/x', '/a/./b'])
    await assert.rejects(send({ request: { ...plain, path }, authorization: '', address: '127.0.0.1' }), /another address/, path);
  await app.close();
});
