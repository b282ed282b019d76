// Covers the strict half of the rule: a statement about tables that lie with their school is about one school, each of them compared with the
// establishment as a value where it stands, and about nothing that the coordinator alone has.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadModule, parseSync } from 'libpg-query';
import type { Place } from '../../src/db/placement.ts';
import { describeNew, findOffending } from './check.ts';
import { judgeClocks } from './clocks.ts';
import { entryOf } from './offenders.ts';
import { judgeOneSchool, placedBy } from './one-school.ts';
import { judgeAsked, judgeParts } from './parts.ts';
import { tables } from './statement-cases.ts';

await loadModule();
const places = new Map<string, Place>([['person', 'school'], ['class', 'school'], ['work', 'coordinator'], ['lane', 'coordinator'], ['account', 'everywhere']]);
const placed = placedBy(places, tables);
const judge = (text: string) => judgeOneSchool(parseSync(text).stmts?.[0]?.stmt ?? ({} as never), placed).join('; ');

const cases: Record<string, string[]> = {
  'is about one school': [
    'select from person where estab = $1',
    'select from person p join class c on c.estab = $2 and c.teacher = p.id where p.estab = $1',
    'select from person p left join class c on c.estab = $1 where p.estab = $1::text',
    'select (select name from class c where c.estab = $1 and c.teacher = p.id) from person p where (p.estab, p.id) = ($1, $2)',
    'select from account a join person p on p.id = a.id where p.estab = $1',
    'with mine as (select * from person where estab = $1) select from mine where id = $2',
    'select from person where estab = $1 union select from class where estab = $2',
    'update person set name = $1 where estab = $2',
    'delete from person p using class c where p.estab = $1 and c.estab = $1',
    'insert into person (estab, id) values ($1, $2), ($1, $3)',
    'insert into person select c.estab, c.id from class c where c.estab = $1',
    'insert into person (id, estab) select id, $1 from unnest($2::text[]) as given (id)',
    'copy person (estab, id) from stdin',
    'declare x cursor for select from person where estab = $1',
    'select from work where state = $1',
    'create index on person (id)',
  ],
  'does not compare person with the establishment as a value, where it stands': [
    'select from person',
    'select from person where estab = any($1)',
    'select from person where estab in ($1, $2)',
    'select from person where estab = $1 or id = $2',
    'select from person where estab = (select $1)',
    'select from class c join person p on p.estab = c.estab where c.estab = $1',
    'select from class c left join person p on c.estab = $1 where c.estab = $1',
    'select from person p full join class c on p.estab = $1 where c.estab = $1',
    'select (select name from person p where p.estab = c.estab limit 1) from class c where c.estab = $1',
    'select from unnest($1::text[]) as given (estab) join person p on p.estab = given.estab',
    'select from class where estab = $1 union all select from person',
    'update person set name = $1',
    'delete from person where id = $1',
    'insert into person select * from unnest($1::text[], $2::text[]) as given (estab, id)',
    'insert into person (id) values ($1)',
    'declare x cursor for select from person',
    'with person as (select $1 as id) select from person, class where class.estab = $1',
  ],
  'asks work, of the coordinator, together with person': ['select from person p where p.estab = $1 and exists (select from work w where w.estab = $1)'],
  'copies person whole': ['copy person to stdout', 'copy person (id) from stdin'],
  'changes person whole': ['truncate person', 'merge into person using account on true when matched then delete'],
};

for (const [wrong, statements] of Object.entries(cases)) {
  describe(wrong, () => {
    for (const statement of statements) test(statement, () => assert.equal(judge(statement), wrong === 'is about one school' ? '' : wrong));
  });
}

test('one that is not about one school alone is named although it is listed, but for what a migration does', () => {
  const statement = 'select from person where id = $1';
  const sources = { product: new Map([['src/people.ts', `sql\`${statement.replace('$1', '${id}')}\``]]), tests: new Map<string, string>() };
  const listed = [{ reason: 'A reason.', statements: { 'src/people.ts': [entryOf(statement)] } }];
  const [message = ''] = describeNew(findOffending([statement], tables, sources, places), listed, sources);
  assert.match(message, /of src\/people\.ts is not about one school alone: it does not compare person/);
  const ofMigration = { ...sources, product: new Map([['migrations/0001_people.sql', ';update person set name = id;']]) };
  assert.deepEqual([...findOffending(['update person set name = id'], tables, ofMigration, places)], []);
});

test('a change of what several nodes know is given its time; elsewhere, and in what is inserted, it may ask for it', () => {
  const wrongOf = (text: string) => judgeClocks(parseSync(text).stmts?.[0]?.stmt ?? ({} as never), (table) => table === 'person').join();
  const fine = [
    'update person set name = now() where estab = $1', 'insert into person values ($1, clock_timestamp(), coalesce($2, now()))',
    'update work set state = clock_timestamp()', 'select clock_timestamp() from person', 'delete from person where name < now()',
    'insert into person values ($1, now()) on conflict (estab, id) do update set name = excluded.name',
  ];
  assert.deepEqual(fine.map(wrongOf), fine.map(() => ''));
  assert.equal(wrongOf('update person set name = clock_timestamp()'), 'calls clock_timestamp in a change');
  assert.equal(wrongOf('delete from person where id = gen_random_uuid()'), 'calls gen_random_uuid in a change');
  assert.equal(wrongOf('update person set name = coalesce(name, current_timestamp)'), 'calls now in CASE or COALESCE');
  assert.equal(wrongOf('with x as (update person set name = case when id = $1 then now() end) select'), 'calls now in CASE or COALESCE');
  assert.equal(wrongOf('insert into person values ($1) on conflict (id) do update set name = now()'), 'calls now in DO UPDATE');
});

test('a statement about what several nodes know changes rows as a whole, and not in parts', () => {
  const wrongOf = (text: string) => judgeParts(parseSync(text).stmts?.[0]?.stmt ?? ({} as never), (table) => table === 'person').join();
  const fine = [
    'with x as (select from person where estab = $1 for update) update person set name = $2 where estab = $1',
    'delete from person where estab = $1 returning id',
    'with x as (update work set state = $1 returning id) insert into done select id from x', 'insert into work select id from person where estab = $1',
  ];
  assert.deepEqual(fine.map(wrongOf), fine.map(() => ''));
  assert.equal(wrongOf('with x as (delete from person returning id) select id from x'), 'changes person in WITH');
  assert.equal(wrongOf('with x as (update work set state = $1 returning id) delete from person where id in (select id from x)'), 'changes work in WITH');
  assert.equal(wrongOf('select from (with x as (insert into person values ($1)) select) y'), 'changes person in WITH');
});

test('a change at the coordinator asks for nothing that lies everywhere; others may', () => {
  const places = new Map([['work', 'coordinator'], ['school', 'everywhere'], ['person', 'school']] as const);
  const wrongOf = (text: string) => judgeAsked(parseSync(text).stmts?.[0]?.stmt ?? ({} as never), (table) => places.get(table as 'work')).join();
  const fine = [
    'select from work join school using (estab)', 'update work set state = $1 where estab = $2', 'update school set name = $1 where estab = $2',
    'insert into person select estab from school where estab = $1',
  ];
  assert.deepEqual(fine.map(wrongOf), fine.map(() => ''));
  assert.equal(wrongOf('insert into work select estab from school'), 'asks school for a change of work');
  assert.equal(wrongOf('update work w set name = s.name from school s where s.estab = w.estab'), 'asks school for a change of work');
  assert.equal(wrongOf('delete from work where estab not in (select estab from school)'), 'asks school for a change of work');
});
