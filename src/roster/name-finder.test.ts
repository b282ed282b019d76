// Covers how a text, an address or an object that names somebody is told from one that does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Leaver } from './leaver.ts';
import { createNameFinder, newSighting, type NameFinder, type Sighting } from './name-finder.ts';

const anna: Leaver = {
  sourcedId: 'u-s-Ä/7', presenceId: 'p-00ff', username: 'library', email: 'anna.o+x@home.example', givenName: 'Anna', familyName: "O'Néill",
};
const short: Leaver = { sourcedId: '42', presenceId: 'p-42a', username: 'bo', email: null, givenName: 'Bo', familyName: 'Li' };
const session: Leaver = { sourcedId: 'AM', presenceId: 'p-a', username: 'am', email: '', givenName: 'सीता', familyName: 'देवी' };
const names = createNameFinder([anna, short, session]);

function see(look: (finder: NameFinder, seen: Sighting) => void): [clear: string[], short: string[]] {
  const seen = newSighting();
  look(names, seen);
  return [[...seen.clear], [...seen.short]];
}

test('ids, addresses and full names are found as they are, in JSON and in a URL', () => {
  const texts = [
    '{"StudentId":"u-s-Ä/7"}', 'https://app.example/done?who=u-s-%C3%84%2F7&x=1', 'x%3Fwho%3du-s-%c3%84%2f7', 'u-s-Ä/7', '<p>u-s-Ä/7</p>',
    'to anna.o+x@home.example.', "Dear Anna O'Néill,", 'x=anna.o%2Bx%40home.example', 'p-00ff', 'app|p-00ff', '"u-s-\\u00c4\\/7"', "?name=Anna+O'N%C3%A9ill",
  ];
  for (const text of texts) assert.deepEqual(see((finder, seen) => finder.inText(text, seen)), [['u-s-Ä/7'], []], text);
  assert.deepEqual(see((finder, seen) => finder.inText('an सीता देवी.', seen)), [['AM'], []]);
});

test('what only contains them, or a short word in a text, names nobody', () => {
  const texts = [
    '{"StudentId":"u-s-Ä/71"}', '{"StudentId":"xu-s-Ä/7"}', 'u-s-Ä/7-b', 'Anna', 'anna.o+x@home.examples', 'the library is closed', '42', 'in 42 ms', 'Bo',
    '', '{}', '100%', '\\', '%', '%zz', 'सीता देवीी',
  ];
  for (const text of texts) assert.deepEqual(see((finder, seen) => finder.inText(text, seen)), [[], []], text);
});

test('a short word counts as a value of a field that holds a person, text or number, and of no other', () => {
  const named: object[] = [
    { StudentId: '42' }, { StudentId: 42 }, { Marks: [{ StudentId: '42', Mark: null }] }, { sourcedId: '42' }, { Id: 42 }, { student_ids: ['1', '42'] },
    { userName: 'bo' }, { ids: '41,42,43' },
  ];
  for (const value of named) assert.deepEqual(see((finder, seen) => finder.inJson(value, seen)), [[], ['42']], JSON.stringify(value));
  const unnamed = [{ Session: 'AM', Mark: '42', total: 42, Index: 42 }, { StudentId: '420' }, { StudentId: 4.2 }, '42', [42], null, { Message: 'bo' }];
  for (const value of unnamed) assert.deepEqual(see((finder, seen) => finder.inJson(value, seen)), [[], []], JSON.stringify(value));
  assert.deepEqual(see((finder, seen) => finder.inJson({ a: [{ 'u-s-Ä/7': true }] }, seen)), [['u-s-Ä/7'], []]);
});

test('a short word counts as a whole piece of the path or the query of an address', () => {
  for (const url of ['https://a.example/done?who=42', 'https://a.example/42/x', 'https://a.example/?ids=41,42,43', 'https://a.example/x?next=%2Fof%2F42',
    'https://a.example/#42', 'lesson=1;42'])
    assert.deepEqual(see((finder, seen) => finder.inUrl(url, seen)), [[], ['42']], url);
  for (const url of ['https://42/x', 'https://a.example:42/', 'https://a.example/done?who=142', 'https://a.example/42.json'])
    assert.deepEqual(see((finder, seen) => finder.inUrl(url, seen)), [[], []], url);
});

test('bytes are looked through as JSON, or as the text they are', () => {
  assert.deepEqual(see((finder, seen) => finder.inBytes(Buffer.from('{"StudentId":42}'), seen)), [[], ['42']]);
  const odd = Buffer.concat([Buffer.from([0, 255, 92]), Buffer.from(' u-s-Ä/7 ')]);
  assert.deepEqual(see((finder, seen) => finder.inBytes(odd, seen)), [['u-s-Ä/7'], []]);
  const deep = Buffer.from(`${'['.repeat(20_000)}"u-s-Ä/7"${']'.repeat(20_000)}`);
  assert.deepEqual(see((finder, seen) => finder.inBytes(deep, seen)), [['u-s-Ä/7'], []]);
});

test('a name alone names somebody where it is all there is', () => {
  assert.deepEqual(see((finder, seen) => finder.asName('Anna', seen)), [[], ['u-s-Ä/7']]);
  assert.deepEqual(see((finder, seen) => finder.asName('', seen)), [[], []]);
});

test('many people cost what one costs', () => {
  const crowd = Array.from({ length: 5_000 }, (_, at) => ({
    ...anna, sourcedId: `urn:school:pupil:${at}-x`, presenceId: `p-${at}-y`, email: `${at}@school.example`, givenName: 'Muhammad', familyName: `Family${at}`,
  }));
  const text = Array.from({ length: 20_000 }, (_, at) => `urn:school:pupil:${at + 5_000}-x Muhammad Other ${at}x@school.example`).join(' ');
  const finder = createNameFinder(crowd);
  const [begun, seen] = [process.cpuUsage(), newSighting()];
  finder.inText(`${text} urn:school:pupil:4999-x`, seen);
  assert.deepEqual([...seen.clear], ['urn:school:pupil:4999-x']);
  assert.ok(process.cpuUsage(begun).user < 5_000_000, 'each word of the text is looked up once');
});
