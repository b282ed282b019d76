// Compressed copies, joined: what every reader of gzip takes for one stream of the bytes that they were made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32, gunzipSync } from 'node:zlib';
import { gzipBytes, joinBlocks, toBlocks } from './compressed-list.ts';
import { joinCrc } from './join-crc.ts';

const texts = ['{"users":[', 'x'.repeat(100_000), ',', '', 'Ünïcode', ']}'].map((text) => Buffer.from(text));

test('the CRC of bytes that follow one another is made from that of each', () => {
  let crc = 0;
  for (const text of texts) crc = joinCrc(crc, crc32(text), text.length);
  assert.equal(crc, crc32(Buffer.concat(texts)));
  const zeros = Buffer.alloc(7_000_001);
  assert.equal(joinCrc(crc32('a'), crc32(zeros), zeros.length), crc32(zeros, crc32('a')));
});

test('blocks that were made apart are one stream of gzip', async () => {
  const blocks = texts.map(toBlocks);
  const joined: Buffer[] = [];
  for await (const bytes of joinBlocks(blocks)) joined.push(bytes);
  const whole = Buffer.concat(joined);
  assert.ok(gunzipSync(whole).equals(Buffer.concat(texts)));
  assert.equal(whole.length, gzipBytes + blocks.flatMap(({ bytes }) => bytes as readonly Buffer[]).reduce((sum, { length }) => sum + length, 0));
});
