// The filter grammar and the reading of dates and times: what is taken, what is refused, and where.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { SchoolbellError } from '../errors.ts';
import { maxConditions, operators, parseFilter } from './filter.ts';
import { parseInstant } from './instant.ts';

type Parsed = readonly (readonly string[])[];

/** Alternatives, each a list of `field operator value`, without the positions. */
function shapeOf(text: string): Parsed {
  return parseFilter(text).map((all) => all.map(({ field, operator, value }) => `${field} ${operator} ${value}`));
}

function refusal(text: string): SchoolbellError {
  try {
    parseFilter(text);
  } catch (error) {
    assert.ok(error instanceof SchoolbellError, `${JSON.stringify(text)}: ${String(error)}`);
    return error;
  }
  return assert.fail(`${JSON.stringify(text)} was taken`);
}

const taken: Record<string, [text: string, parsed: Parsed][]> = {
  'one expression': [
    ["status='active'", [['status = active']]],
    ["  status='active'  ", [['status = active']]],
    ["\tstatus\t=\n'active'\r\n", [['status = active']]],
    ["a1_b='x'", [['a1_b = x']]],
  ],
  'operators, with and without spaces': operators.flatMap((operator) => [
    [`role${operator}'x'`, [[`role ${operator} x`]]],
    [`role ${operator} 'x'`, [[`role ${operator} x`]]],
    [`role${operator} 'x'`, [[`role ${operator} x`]]],
    [`role   ${operator}'x'`, [[`role ${operator} x`]]],
  ] as [string, Parsed][]),
  'and / or in any case': ['and', 'AND', 'And', 'aNd'].flatMap((and) => [
    [`a='1' ${and} b='2'`, [['a = 1', 'b = 2']]],
    [`a='1'   ${and}\tb='2'`, [['a = 1', 'b = 2']]],
    [`a='1' ${and.replace(/and/i, 'oR')} b='2'`, [['a = 1'], ['b = 2']]],
    [`a='1' ${and.replace(/and/i, 'or')} b='2'`, [['a = 1'], ['b = 2']]],
    [`a='1' ${and.replace(/and/i, 'OR')} b='2'`, [['a = 1'], ['b = 2']]],
  ] as [string, Parsed][]),
  'and binds tighter than or': [
    ["a='1' or b='2' and c='3'", [['a = 1'], ['b = 2', 'c = 3']]],
    ["a='1' and b='2' or c='3'", [['a = 1', 'b = 2'], ['c = 3']]],
    ["a='1' and b='2' or c='3' and d='4' or e='5'", [['a = 1', 'b = 2'], ['c = 3', 'd = 4'], ['e = 5']]],
  ],
  'quotes inside a value are doubled': [
    ["familyName='O''Brien'", [["familyName = O'Brien"]]],
    ["a=''''", [["a = '"]]],
    ["a=''''''", [["a = ''"]]],
    ["a='''x'''", [["a = 'x'"]]],
    ["a='x''' and b='''y'", [["a = x'", "b = 'y"]]],
    ["a='\"'", [['a = "']]],
  ],
  'values that look like something else': [
    ["a=''", [['a = ']]],
    ["a='' and b=''", [['a = ', 'b = ']]],
    ["title='Arts and Crafts'", [['title = Arts and Crafts']]],
    ["title='this or that' or title='x AND y'", [['title = this or that'], ['title = x AND y']]],
    ["title='a=b' and title!='<=>~!'", [['title = a=b', 'title != <=>~!']]],
    ["title='(a or (b))'", [['title = (a or (b))']]],
    ["title='x'' and y=''z'", [["title = x' and y='z"]]],
    ["title='  padded  '", [['title =   padded  ']]],
    ["title='two\nlines'", [['title = two\nlines']]],
    ["title='İßΣ𐐀é'", [['title = İßΣ𐐀é']]],
    ["and='or' and or='and'", [['and = or', 'or = and']]],
  ],
  'dotted names': [
    ["class.sourcedId='c1'", [['class.sourcedId = c1']]],
    ["userIds.type~'LDAP'", [['userIds.type ~ LDAP']]],
    ["metadata.house='Blue'", [['metadata.house = Blue']]],
    ["metadata.a.b.c='x'", [['metadata.a.b.c = x']]],
    ["metadata.sen-support='Y' and metadata.2nd_language!='fr'", [['metadata.sen-support = Y', 'metadata.2nd_language != fr']]],
    ["metadata.school.tutor-group='x'", [['metadata.school.tutor-group = x']]],
    ["metadata.é/ü:(x)>='1'", [['metadata.é/ü:(x) >= 1']]],
  ],
};

for (const [name, cases] of Object.entries(taken)) {
  test(name, () => {
    for (const [text, parsed] of cases) assert.deepEqual(shapeOf(text), parsed, JSON.stringify(text));
  });
}

test('every condition knows its position, counted from 1', () => {
  const positions = (text: string) => parseFilter(text).flat().map(({ position }) => position);
  assert.deepEqual(positions("a='1'"), [1]);
  assert.deepEqual(positions("  a='1'"), [3]);
  assert.deepEqual(positions("a='1' and b='2' or c='3'"), [1, 11, 20]);
  assert.deepEqual(positions("a='it''s'  OR  b='2'"), [1, 16]);
});

const refused: [what: string, text: string, position: number, expected: RegExp][] = [
  ['nothing', '', 1, /a field name, found the end/],
  ['blanks only', '   ', 4, /a field name, found the end/],
  ['a field alone', 'status', 7, /found the end/],
  ['no value', 'status=', 8, /single quotes.*found the end/],
  ['no value before and', "status= and a='1'", 9, /single quotes/],
  ['a bare value', 'status=active', 8, /single quotes.*"active"/],
  ['double quotes', 'status="active"', 8, /single quotes/],
  ['typographic quotes', 'status=‘active’', 8, /single quotes/],
  ['an open quote', "status='active", 8, /single quotes/],
  ['one quote too many', "status='active''", 16, /" and " or " or ", found "'"/],
  ['a lone quote', "status='", 8, /single quotes/],
  ['a value first', "'active'=status", 1, /a field name/],
  ['an operator first', "='active'", 1, /a field name/],
  ['a digit first', "1a='x'", 1, /a field name/],
  ['an underscore first', "__proto__='x'", 1, /a field name/],
  ['parentheses', "(status='active')", 1, /a field name/],
  ['parentheses later on', "a='1' and (b='2' or c='3')", 11, /a field name/],
  ['a parenthesis at the end', "a='1')", 6, /" and " or " or "/],
  ['not', "not a='1'", 5, /one of/],
  ['an unknown operator', "a==='1'", 3, /single quotes/],
  ['<>', "a<>'1'", 3, /single quotes/],
  ['=~', "a=~'1'", 3, /single quotes/],
  ['a lone !', "a!'1'", 2, /one of/],
  ['an operator in words', "a like '1'", 2, /one of/],
  ['a dot without a name', "class.='1'", 6, /one of/],
  ['a name that begins with a dot', ".class='1'", 1, /a field name/],
  ['a name with a blank', "first name='1'", 6, /one of/],
  ['a name with a letter beyond ASCII', "prénom='1'", 3, /one of/],
  ['text after a value', "a='1' x", 6, /" and " or " or "/],
  ['two values', "a='1' '2'", 6, /" and " or " or "/],
  ['a comma', "a='1', b='2'", 6, /" and " or " or "/],
  ['&&', "a='1' && b='2'", 6, /" and " or " or "/],
  ['xor', "a='1' xor b='2'", 6, /" and " or " or "/],
  ['and without a blank before it', "a='1'and b='2'", 6, /" and " or " or "/],
  ['and without a blank after it', "a='1' andb='2'", 6, /" and " or " or "/],
  ['and at the end', "a='1' and", 6, /" and " or " or "/],
  ['and at the end, with a blank', "a='1' and ", 11, /a field name, found the end/],
  ['and twice', "a='1' and and b='2'", 15, /one of/],
  ['and first', "and a='1'", 5, /one of/],
  ['a faulty second expression', "a='1' or b", 11, /one of/],
];

for (const [what, text, position, expected] of refused) {
  test(`refused: ${what}`, () => {
    const error = refusal(text);
    assert.equal(error.code, 'invalid_filter');
    const named = Number(/position (\d+)/.exec(error.message)?.[1]);
    // At a gap the error may point at the blank or at what follows it.
    const following = position + (/^\s*/.exec(text.slice(position - 1))?.[0].length ?? 0);
    const preceding = text.slice(0, position - 1).trimEnd().length + 1;
    assert.ok([position, following, preceding].includes(named), `${error.message}\nexpected position ${position}`);
    assert.match(error.message, expected);
    assert.match(error.message, /field='value'/, 'says what would be right');
  });
}

test('what is quoted back is short, whatever was sent', () => {
  assert.ok(refusal(`${'x'.repeat(15_000)} `).message.length < 300);
  assert.ok(refusal(`status=${'y'.repeat(15_000)}`).message.length < 300);
  assert.ok(refusal(`a='${'z'.repeat(15_000)}`).message.length < 300);
});

test('fifty expressions are taken, fifty-one refused at the last', () => {
  assert.equal(maxConditions, 50);
  for (const by of [' and ', ' or ', ' AND ']) {
    const one = "a='1'";
    const most = Array.from({ length: 50 }, () => one).join(by);
    assert.equal(parseFilter(most).flat().length, 50);
    const error = refusal(most + by + one);
    assert.equal(error.code, 'invalid_filter');
    assert.match(error.message, /more than 50/);
    assert.match(error.message, new RegExp(`position ${most.length + by.length + 1}\\b`));
  }
});

/** A hundred times as long as a request may be: what takes time in its square would take hours, not milliseconds. */
const long = 1_600_000;
const hostile: [name: string, text: string][] = [
  ['a name', 'a'.repeat(long)],
  ['dots', `a${'.'.repeat(long)}`],
  ['a path', `a${'.a'.repeat(long / 2)}!`],
  ['quotes', `a='${"''".repeat(long / 2)}`],
  ['spaces behind a value', `a='1'${' '.repeat(long)}x`],
  ['spaces behind a name', `a${' '.repeat(long)}`],
  ['expressions', "a='1' or ".repeat(long / 10)],
];
for (const [name, text] of hostile) {
  // What keeps the event loop can only be ended from outside.
  test(`long and hostile text is judged in one go: ${name}`, () => void runInNewContext('judge()', { judge: () => void refusal(text) }, { timeout: 60_000 }));
}

const instants: [text: string, iso: string][] = [
  ['2026-09-01', '2026-09-01T00:00:00.000Z'],
  [' 2026-09-01 ', '2026-09-01T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31', '9999-12-31T00:00:00.000Z'],
  ['2026-09-01T08:30:15.250Z', '2026-09-01T08:30:15.250Z'],
  ['2026-09-01t08:30:15.250z', '2026-09-01T08:30:15.250Z'],
  ['2026-09-01 08:30:15Z', '2026-09-01T08:30:15.000Z'],
  ['2026-09-01T08:30Z', '2026-09-01T08:30:00.000Z'],
  ['2026-09-01T08:30:15', '2026-09-01T08:30:15.000Z'],
  ['2026-09-01T08:30:15,5Z', '2026-09-01T08:30:15.500Z'],
  ['2026-09-01T08:30:15.5', '2026-09-01T08:30:15.500Z'],
  ['2026-09-01T08:30:15+01:00', '2026-09-01T07:30:15.000Z'],
  ['2026-09-01T08:30:15-0530', '2026-09-01T14:00:15.000Z'],
  ['2026-09-01T08:30:15+05', '2026-09-01T03:30:15.000Z'],
  ['2026-09-01T00:30:00+01:00', '2026-08-31T23:30:00.000Z'],
  ['2026-09-01T08:30:15 01:00', '2026-09-01T07:30:15.000Z'], // A plus sign that was not percent-encoded.
  ['2026-09-01T08:30:15-00:00', '2026-09-01T08:30:15.000Z'],
];

test('dates and times are read', () => {
  for (const [text, iso] of instants) assert.equal(parseInstant(text), Date.parse(iso), text);
});

test('a time may be finer than a millisecond', () => {
  const at = Date.parse('2026-09-01T08:30:15.250Z');
  const finer = parseInstant('2026-09-01T08:30:15.250400Z') ?? Number.NaN;
  assert.ok(finer > at && finer < at + 1, String(finer));
});

const noInstants = [
  '', ' ', 'yesterday', '2026', '2026-09', '20260901', '2026-9-1', '26-09-01', '2026-02-30', '2026-13-01', '2026-00-10', '2026-01-00', '2025-02-29',
  '0000-01-01', '+2026-09-01', '-2026-09-01', '2026-09-01T', '2026-09-01Z', '2026-09-01T8:30', '2026-09-01T25:00Z', '2026-09-01T08:60Z',
  '2026-09-01T08:30:61Z', '2026-09-01T08:30:15X', '2026-09-01T08:30:15.Z', '2026-09-01T08:30:15+1', '2026-09-01T08:30:15Z Z', '２０２６-09-01',
  '2026-09-01T08:30:15Z; drop table', '1e9', 'NaN',
];

for (const text of [...noInstants, '2026-09-01T08:30:15+99:99', '2026-09-01T08:30:15+01:75']) {
  test(`no date or time: ${JSON.stringify(text)}`, () => assert.equal(parseInstant(text), undefined));
}
