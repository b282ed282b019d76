// Covers the body of a writeback: what is refused as a whole and how the refusal reads, and what is kept beside a mark.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SchoolbellError } from '../errors.ts';
import { parseMarksBody } from './marks-body.ts';

const mark = { StudentId: 's1', MarkType: 'S', Date: '2026-09-07', Session: 'AM', Mark: '/' };
const withCallback = (callback: unknown) => ({ Marks: [mark], callback });

const refused: [string, unknown, RegExp][] = [
  ['no body', undefined, /^The body must be a JSON object with Marks/],
  ['null', null, /^The body must be a JSON object/],
  ['an array', [mark], /^The body must be a JSON object/],
  ['a string', 'Marks', /^The body must be a JSON object/],
  ['no Marks', { Mark: [mark] }, /^"Marks" is missing/],
  ['Marks null', { Marks: null }, /^"Marks" is missing/],
  ['Marks an object', { Marks: mark }, /^"Marks" is an object; it must be an array/],
  ['Marks a string', { Marks: '/' }, /^"Marks" is a string; it must be an array/],
  ['Marks twice', { Marks: [mark], marks: [mark] }, /^"Marks" is given more than once/],
  ['no marks', { Marks: [] }, /^"Marks" is empty; give 1 to 5000/],
  ['too many marks', { Marks: Array.from({ length: 5001 }, () => mark) }, /^"Marks" has 5001 marks; at most 5000/],
  ['callback a string', withCallback('https://app.example/'), /^"callback" is a string; it must be an object with Method and Url/],
  ['callback of strings', withCallback(['https://app.example/']), /^"callback\[0\]" is a string; it must be an object/],
  ['callback null in an array', withCallback([null]), /^"callback\[0\]" is null; it must be an object/],
  [
    'another Method',
    withCallback([
      { Method: 'POST', Url: 'https://a.example/' },
      { Method: 'GET', Url: 'https://b.example/' },
    ]),
    /^"callback\[1\]\.Method" is "GET"; it must be POST/,
  ],
  ['Method no string', withCallback({ Method: 1, Url: 'https://a.example/' }), /^"callback\.Method" is a number; it must be POST/],
  ['no Url', withCallback({ Method: 'POST' }), /^"callback\.Url" is missing/],
  ['an empty Url', withCallback({ Method: 'POST', Url: '' }), /^"callback\.Url" is missing/],
  ['Url no string', withCallback({ Url: ['https://a.example/'] }), /^"callback\.Url" is an array; it must be a string/],
  ['Url twice', withCallback({ Url: 'https://a.example/', url: 'https://b.example/' }), /^"callback\.Url" is given more than once/],
  ['too many callbacks', withCallback(Array.from({ length: 11 }, () => ({ Url: 'https://a.example/' }))), /^"callback" has 11 entries; at most 10/],
];

for (const [name, body, message] of refused) {
  test(`refused: ${name}`, () => {
    assert.throws(() => parseMarksBody(body), (error) => error instanceof SchoolbellError && error.code === 'invalid_request' && message.test(error.message));
  });
}

test('callbacks come as an array, as one object, or not at all', () => {
  const url = 'https://app.example/done?estab=1&Id=%20x';
  const callbacks = (callback: unknown) => parseMarksBody(withCallback(callback)).callbacks;
  for (const none of [undefined, null, []]) assert.deepEqual(callbacks(none), []);
  assert.deepEqual(callbacks({ Method: 'POST', Url: url }), [{ url }]);
  assert.deepEqual(callbacks([{ method: 'post', URL: url }, { Url: 'no url, which is judged elsewhere' }]), [
    { url },
    { url: 'no url, which is judged elsewhere' },
  ]);
  assert.deepEqual(parseMarksBody({ marks: [mark], Callback: { url } }).callbacks, [{ url }]);
});

test('5,000 marks are taken, and keys in any case', () => {
  const { marks } = parseMarksBody({
    MARKS: Array.from({ length: 5000 }, () => ({ STUDENTID: 's1', marktype: 'S', date: '2026-09-07', session: 'AM', mark: '\\', mins: 5, notes: 'n' })),
  });
  assert.equal(marks.length, 5000);
  assert.deepEqual(marks[4999], {
    index: 4999, studentId: 's1', markType: 'S', date: '2026-09-07', session: 'AM', mark: '\\', mins: '5', notes: 'n', malformed: new Map(),
  });
});

test('null and nothing are the same, and what a mark does not have is not looked at', () => {
  const [given] = parseMarksBody({ Marks: [{ ...mark, Mins: null, Notes: '', InstanceId: { any: 'thing' } }] }).marks;
  assert.deepEqual(given, {
    index: 0, studentId: 's1', markType: 'S', date: '2026-09-07', session: 'AM', mark: '/', mins: undefined, notes: undefined, malformed: new Map(),
  });
});

test('faults of a single mark are kept beside it', () => {
  const { marks } = parseMarksBody({
    Marks: [
      null,
      'x',
      [],
      { ...mark, StudentId: 17 },
      { ...mark, studentid: 's2' },
      { ...mark, Notes: 'a\0b' },
      { ...mark, StudentId: '\ud83d' },
      { ...mark, Date: {}, Session: true, Mins: [5], Notes: 1 },
    ],
  });
  assert.deepEqual(
    marks.map(({ malformed }) => [...malformed.keys()]),
    [['Marks'], ['Marks'], ['Marks'], ['StudentId'], ['StudentId'], ['Notes'], ['StudentId'], ['Date', 'Session', 'Mins', 'Notes']],
  );
  assert.equal(marks[0]?.malformed.get('Marks'), 'The mark is null; it must be an object with StudentId, MarkType, Date, Session and Mark.');
  assert.equal(marks[3]?.malformed.get('StudentId'), 'StudentId is a number; it must be a string.');
  assert.equal(marks[4]?.studentId, undefined);
});
