// Covers how a text that names somebody is told from one that does not, by PostgreSQL, as text and as bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { patternsOf, type Leaver } from './leaver.ts';

const { db } = await useDatabase();

const anna: Leaver = {
  sourcedId: 'u-s-Ä/7', presenceId: 'p-00ff', username: 'library', email: 'anna.o+x@home.example', givenName: 'Anna', familyName: "O'Néill",
};
const short: Leaver = { sourcedId: '42', presenceId: 'p-42a', username: 'bo', email: null, givenName: 'Bo', familyName: 'Li' };

const named = [
  '{"StudentId":"u-s-Ä/7"}', 'https://app.example/done?who=u-s-%C3%84%2F7&x=1', 'u-s-Ä/7', '<p>u-s-Ä/7</p>', 'to anna.o+x@home.example.', 'Dear Anna O\'Néill,',
  'x=anna.o%2Bx%40home.example', '{"user":"library"}', 'https://app.example/users/library?x', 'p-00ff', 'app|p-00ff',
  '{"StudentId":"42"}', '{"StudentId": "42", "Mark": null}', 'https://app.example/done?who=42', 'https://app.example/42/x', '{"user":"bo"}',
];
const unnamed = [
  '{"StudentId":"u-s-Ä/71"}', '{"StudentId":"xu-s-Ä/7"}', 'u-s-Ä/7-b', 'Anna', 'anna.o+x@home.examples', 'the library is closed',
  '{"total":42,"date":"2026-10-42"}', 'answered in 42 ms', 'https://app.example/done?who=142', '{"StudentId":"420"}', 'robot', 'Bo', '', '{}',
];

test('ids, addresses and full names are found as they are, in JSON and in a URL, and nothing that only contains them', async () => {
  const { text, bytes } = patternsOf([anna, short]);
  for (const [given, expected] of [...named.map((one) => [one, true] as const), ...unnamed.map((one) => [one, false] as const)]) {
    const [row] = await db`select ${given}::text ~ ${text} as text, encode(${Buffer.from(given)}::bytea, 'escape') ~ ${bytes} as bytes`;
    assert.deepEqual(row, { text: expected, bytes: expected }, given);
  }
});

test('bytes that are no text are looked through too, and nobody is named by nothing', async () => {
  const { bytes } = patternsOf([anna]);
  const [row] = await db`select encode(${Buffer.concat([Buffer.from([0, 255, 92]), Buffer.from(' u-s-Ä/7 ')])}::bytea, 'escape') ~ ${bytes} as found`;
  assert.equal(row?.found, true);
  const nobody = patternsOf([]);
  assert.deepEqual((await db`select 'a' ~ ${nobody.text} as text, '' ~ ${nobody.bytes} as bytes`)[0], { text: false, bytes: false });
});
