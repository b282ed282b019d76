// A search needs no credentials, so it must stay cheap: the index is built before the first request, the work of a query is
// bounded, and the searches of one address are limited.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService } from '../../test/service.ts';
import { createSearchIndex, search } from './search.ts';

const { app, join } = await useService();

/** Milliseconds of processor time, which a busy machine does not prolong. */
async function measure(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const searchFrom = (remoteAddress: string, query: string) => app.inject({ url: `/docs/search?q=${encodeURIComponent(query)}`, remoteAddress });

test('no request builds the index, and no query takes longer than a part of building it', async () => {
  const first = await measure(() => searchFrom('198.51.100.1', 'zebra'));
  // The yardstick is a start that describes every route, as building the index does.
  const start = await measure(async () => (await join()).app.inject('/openapi/variant-b.json'));
  assert.ok(first < start / 2, `the first search took ${first} ms, a start ${start} ms`);
  const worst = 'e e e e e e e e e e e e a b c d f g h i j k l m n o p q r s t u v w x y z';
  const many = await measure(async () => {
    for (let at = 0; at < 24; at += 1) await searchFrom('198.51.100.1', worst);
  });
  assert.ok(many < start, `24 searches took ${many} ms, a start ${start} ms`);
});

test('a query counts for no more than its first twelve words', () => {
  const words = Array.from({ length: 12 }, (_, at) => `word-${at}`);
  const index = createSearchIndex([{ kind: 'Guide', title: 'A guide', where: '', path: '/docs/guides/a', words: words.join(' ') }]);
  assert.equal(search(index, [...words, 'absent'].join(' '), 10).total, 1);
  assert.equal(search(index, [...words.slice(1), 'absent'].join(' '), 10).total, 0);
});

test('an address that searches too often is refused, and no other is', async () => {
  const statuses: number[] = [];
  for (let at = 0; at < 240 && !statuses.includes(429); at += 1) statuses.push((await searchFrom('2001:db8:0:1::1', 'zebra')).statusCode);
  const [refused, neighbour, other] = await Promise.all(['2001:db8:0:1::1', '2001:db8:0:1::2', '2001:db8:0:2::1'].map((from) => searchFrom(from, 'zebra')));
  assert.deepEqual([refused?.statusCode, neighbour?.statusCode, other?.statusCode], [429, 429, 200]);
  assert.ok(Number(refused?.headers['retry-after']) >= 1);
  assert.equal(refused?.headers['ratelimit-remaining'], '0');
  assert.equal((await app.inject({ url: '/docs', remoteAddress: '2001:db8:0:1::1' })).statusCode, 200, 'only searches are limited');
});
