// Covers the list of offenders: who is new, who is gone, and whose statement is a test's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadModule } from 'libpg-query';
import { describeGone, describeNew, findOffending } from './check.ts';
import { entryOf, offenders } from './offenders.ts';
import { findFile, isOfTest, readSources, type Sources } from './sources.ts';
import { parseTables } from './tables.ts';

await loadModule();
const tables = parseTables('create table person (estab text, id text); create table class (estab text, id text)');
const sources: Sources = {
  product: new Map([
    ['src/people.ts', 'const rows = await sql` select id from person where id = ${id(1)} and estab <> ${estab}`; await sql`delete from class`'],
  ]),
  tests: new Map([
    ['test/nobody.ts', ''],
    ['src/people.test.ts', "db`delete from class`; db` select from ${db(table)} where id = ${'x'} `; db.unsafe('delete from person; selec');"],
  ]),
};
const product = 'select id from person where id = $1 and estab <> $2';

test('what the product asks is judged, whether or not it stands whole in a file', () => {
  const asked = [product, product.replace(' where', '\n  where'), 'select from class', 'select from person where estab = $1'];
  assert.deepEqual([...findOffending(asked, tables, sources)], [
    [product, 'does not compare person with the establishment'],
    ['select from class', 'does not compare class with the establishment'],
  ]);
});

test("a test's own statements are not judged, but for those that the product asks as well", () => {
  const asked = ['select from "person" where id = $1', 'delete from person', 'delete from class', 'select from person where id = $1', 'selec'];
  assert.deepEqual([...findOffending(asked, tables, sources).keys()], ['delete from class', 'select from person where id = $1']);
});

test('a backup is of every school: a whole table is copied in a way of its own', () => {
  const other = 'copy "person" ("estab", "id") to stdout';
  const copies = [`${other} (format text)`, 'copy "person" ("estab", "id") from stdin (format text)'];
  assert.deepEqual([...findOffending([...copies, other], tables, sources).keys()], [other]);
});

test('what cannot be read is an offender', () => {
  assert.match(findOffending(['select from person wher estab = $1 1'], tables, sources).values().next().value ?? '', /^cannot be read: syntax error/);
});

test('a new one is named with its file, its tables and what to do; a listed one is not', () => {
  const offending = findOffending([product], tables, sources);
  const [message = '', ...others] = describeNew(offending, [], sources);
  for (const part of [product, 'src/people.ts', 'does not compare person', 'Add "estab = $n"', 'test/schools-apart/offenders.ts', entryOf(product)]) {
    assert.ok(message.includes(part), `${part} in ${message}`);
  }
  assert.deepEqual(others, []);
  const listed = [{ reason: 'A reason.', statements: { 'src/people.ts': [entryOf(product)] } }];
  assert.deepEqual([describeNew(offending, listed, sources), describeGone(offending, listed)], [[], []]);
  assert.equal(describeNew(findOffending([`${product} limit 1`], tables, sources), listed, sources).length, 1);
});

test('the numbers of parameters make no other statement of it', () => {
  assert.equal(entryOf('select from person where id = $2 and name = $12'), entryOf('select from person where id = $1 and name = $1'));
  assert.notEqual(entryOf(`${product} and a = 1`), entryOf(`${product} and a = 2`));
});

test('one that is listed and no longer occurs is named', () => {
  const [message = '', ...others] = describeGone(new Map(), [{ reason: 'A reason.', statements: { 'src/people.ts': [entryOf(product)] } }]);
  assert.match(message, /select id from person.* of src\/people\.ts no longer occurs/);
  assert.deepEqual(others, []);
});

test('a value is one expression, and no more of the text than that', () => {
  const tests = new Map([['a.test.ts', 'db`delete from class where a = ${`x ${y}`} and b = ${[{ c: 1 }].map((one) => { return one; })}`']]);
  assert.equal(findFile('delete from class where a = $1 and b = $2', tests), 'a.test.ts');
  for (const part of ['delete from class where a = $1', 'delete from class', 'from class where a = $1 and b = $2']) {
    assert.equal(findFile(part, tests), undefined, part);
  }
});

test('statements are found in the real sources', () => {
  const real = readSources();
  assert.equal(findFile('select pg_advisory_lock($1)', real.tests), 'test/database.ts');
  assert.equal(isOfTest('select pg_advisory_lock($1)', real), findFile('select pg_advisory_lock($1)', real.product) === undefined);
  assert.ok([...real.product.keys()].every((file) => !/^test\/|\.test\./.test(file)) && real.product.size > 100 && real.tests.size > 50);
});

test('the list names files that are there, each statement once, with a reason', () => {
  const real = readSources();
  for (const { reason, statements } of offenders) {
    assert.match(reason, /^[A-Z].*\.$/);
    for (const [file, entries] of Object.entries(statements)) assert.ok(real.product.has(file) && entries.length > 0, `${reason} ${file}`);
  }
  const entries = offenders.flatMap(({ statements }) => Object.values(statements).flat());
  assert.equal(new Set(entries).size, entries.length);
});
