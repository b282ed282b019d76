// Covers what a drill judges by: answers that are none of those promised are faults, and a refusal without a gap is seen.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { AskBook, kinds } from './ask-book.ts';
import { countRepetitions } from './receiver.ts';

const server = createServer((request, response) => {
  const [, status, retry] = (request.url ?? '').split('/');
  if (status === 'reset') return void request.socket.destroy();
  if (status === 'half') return void response.writeHead(200, { 'content-length': '10' }).write('half', () => request.socket.destroy());
  const answer = () => response.writeHead(Number(status), retry === 'retry' ? { 'retry-after': '5' } : {}).end('words');
  return void (retry === 'late' ? setTimeout(answer, 100) : answer());
}).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const url = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;

test('a service that answers 500, hangs up, is late or says no in another way has faults', async () => {
  const during = async (path: string, kind = kinds.page) => {
    const book = new AskBook(() => {});
    book.openGap();
    await book.ask(kind, url(path));
    return [book.faults.length, book.refusals()];
  };
  assert.deepEqual(await during('200'), [0, 0]);
  assert.deepEqual(await during('503/retry'), [0, 1]);
  assert.deepEqual(await during('half'), [0, 1]);
  assert.deepEqual(await during('400/retry', kinds.pageA), [0, 1]);
  for (const path of ['500', '500/retry', '503', '400/retry', '404', 'reset']) assert.equal((await during(path))[0], 1, path);
  assert.equal((await during('503/retry', kinds.pageA))[0], 1);
  assert.equal((await during('200/late', { ...kinds.page, longestMs: 50 }))[0], 1);
});

test('a refusal belongs to a gap that its request touched', async () => {
  const book = new AskBook(() => {});
  book.openGap().to = performance.now() - 1;
  for (const path of ['503/retry', 'half', '200']) await book.ask(kinds.page, url(path));
  book.openGap();
  await book.ask(kinds.page, url('503/retry'));
  assert.deepEqual([book.strays.length, book.faults], [2, []]);
});

test('repeated calls are counted by the kill that they came after', () => {
  const delivery = (id: string, ...at: number[]) => ({ id, path: '/', body: '', at });
  const gaps = [{ from: 10 }, { from: 20 }];
  assert.deepEqual(countRepetitions([delivery('a', 5, 12), delivery('b', 11), delivery('c', 12, 21, 22), delivery('d', 1, 2)], gaps), {
    total: 4, perGap: [1, 2], most: 2, without: 1,
  });
});
