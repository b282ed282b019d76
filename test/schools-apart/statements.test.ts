// Covers the rule that keeps schools apart in whole statements: with named queries, given rows, changes, and those that
// are not judged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'libpg-query';
import { analyse } from './analyse.ts';
import { tables, testCases } from './statement-cases.ts';
import { belongsToSchool, readTables } from './tables.ts';
import { visitNodes } from './visit-nodes.ts';

testCases({
  'with': [
    ['with mine as (select estab::text from person where estab = $1) select from class c join mine using (estab)'],
    ['with mine as (select coalesce(estab, $1) as estab from person where estab = $1) select from class c join mine using (estab)'],
    ['with mine as (select estab, id from person where estab = $1) select from class c join mine on c.estab = mine.estab'],
    ['with mine as (select * from person where estab = $1) select from class c, mine where c.estab = mine.estab'],
    ['with mine (school) as (select estab from person where estab = $1) select from class c join mine m on c.estab = m.school'],
    ['with mine as (select $1 as estab) select from class c join mine using (estab)'],
    ['with a as (select estab from person where estab = $1), b as (select estab from a) select from class c join b using (estab)'],
    ['with person as (select 1 as id) select from person'],
    ['with done as (update work set state = $1 where estab = $2 returning estab, id) select from person p join done on p.estab = done.estab'],
    ['with gone as (delete from work where estab = $1 returning *) insert into person select estab, id from gone'],
    [
      'with recursive above as (select estab, id, teacher from class where estab = $1 union all select c.estab, c.id, c.teacher' +
        ' from class c join above a on c.estab = a.estab and c.id = a.teacher) select from above a join person p on p.estab = a.estab',
    ],
    ['select (with w as (select from class c where c.estab = p.estab) select count(*) from w) from person p where p.estab = $1'],
    ['with mine as (select estab from person) select from class c join mine on c.estab = mine.estab', 'class', 'person'],
    ['with mine as (select id from person where estab = $1) select from class c join mine on c.teacher = mine.id', 'class'],
    ['with mine as (select max(name) as estab from person where estab = $1) select from class c join mine using (estab)', 'class'],
    ['with mine as (select from person) select from mine', 'person'],
    ['with gone as (delete from work) select', 'work'],
    ['with person as (select * from person) select from person', 'person'],
    ['with person as (select * from class where estab = $1 and exists (select from person)) select from person', 'person'],
    ['with mine as (select estab from person where estab = $1 union select key from lane) select from class c join mine using (estab)', 'class'],
    [
      'with recursive above as (select estab, id, teacher from class where estab = $1 union all' +
        ' select c.estab, c.id, c.teacher from class c join above a on c.id = a.teacher) select from above', 'class',
    ],
    [
      'with recursive near as (select estab from class where estab = $1 union all' +
        ' select key from lane, near) select from person p join near on p.estab = near.estab', 'person',
    ],
    ['with mine as (select coalesce(estab, id) as estab from person where estab = $1) select from class c join mine using (estab)', 'class'],
    // Its first rows are bound, those that follow from them are not.
    [
      'with recursive near as (select estab, id from class where estab = $1' +
        ' union all select l.key, c.id from lane l, near n join class c on c.estab = n.estab) select from near',
      'class',
    ],
    // Where the columns of a table are not known, neither are the places of those behind it, nor whose a name is.
    ['with mine as (select estab, id from person where estab = $1) select from class where (estab, id) in (select s.*, m.* from stage s, mine m)', 'class'],
    [
      'with mine as (select estab, id from person where estab = $1), both_ (estab) as (select s.*, m.* from stage s, mine m)' +
        ' select from class c join both_ on c.estab = both_.estab',
      'class',
    ],
    [
      'with mine as (select estab, id from person where estab = $1)' +
        ' select from work where (estab, id) in (select estab, id from mine union all select s.*, m.* from stage s, mine m)',
      'work',
    ],
    [
      'with mine as (select estab as school from person where estab = $1)' +
        ' select from mine where exists (select from stage s, class c where c.estab = school)',
      'class',
    ],
  ],
  'rows that are given': [
    ['select from person p join unnest($1::text[], $2::text[]) as given (estab, id) on p.estab = given.estab and p.id = given.id'],
    ['select from person p join jsonb_to_recordset($1) as given (estab text, id text) using (estab, id)'],
    ['with given as (select * from jsonb_to_recordset($1) as given (estab text, id text)) update work w set state = $2 from given where w.estab = given.estab'],
    ['select from unnest($1::text[]) school join person p on p.estab = school'],
    ['insert into person (estab, id) select estab, id from unnest($1::text[], $2::text[]) as given (estab, id)'],
    ['insert into person select given.* from jsonb_populate_recordset(null::person, $1) given'],
    ['insert into person select * from jsonb_populate_recordset(null::person, $1)'],
    ['select from person where (estab, id) in (select * from unnest($1::text[], $2::text[]))'],
    ['with given as (select * from unnest($1::text[], $2::text[])) select from person where (estab, id) in (select * from given)'],
    ['with given (estab, id) as (select * from unnest($1::text[], $2::text[])) select from person p join given on p.estab = given.estab'],
    ['select from person where estab in (select * from unnest($1::text[]) union all select * from unnest($2::text[]))'],
    ['select from person where estab in (select * from unnest($1::text[]) union all select * from stage)', 'person'],
    ['select from person where (estab, id) in (select * from stage, unnest($1::text[]) id)', 'person'],
    ['insert into person (id) select * from unnest($1::text[])', 'person'],
    ['select from class c, unnest(c.teachers) as given (estab) join person p on p.estab = given.estab where c.estab = $1', 'person'],
    ['select from person p join stage s on s.estab = p.estab', 'person'],
    ['select from person p join stage s on s.estab = p.estab where s.estab = $1'],
    ['select from stage'],
  ],
  'changes': [
    ['update person set name = $1 where estab = $2 and id = $3'],
    ['update person p set name = c.id from class c where c.estab = p.estab and p.estab = $1'],
    ['update person set name = (select c.id from class c where c.estab = person.estab) where estab = $1'],
    ['update person set estab = $2 where estab = $1'],
    ['delete from person where estab = $1'],
    ['delete from person p using class c where p.estab = c.estab and c.estab = $1'],
    ['update person set name = $1 where id = $2', 'person'],
    ['update person p set name = c.id from class c where p.estab = $1', 'class'],
    ['update person p set name = $1 from class c where c.estab = $2 and c.teacher = p.id', 'person'],
    ['update person set name = (select c.id from class c where c.teacher = person.id) where estab = $1', 'class'],
    ['update person set estab = name where estab = $1', 'person'],
    ['update lane set next_at = null where not exists (select from work w where w.lane = lane.key)', 'work'],
    ['delete from person', 'person'],
    ['delete from person using class c where c.estab = $1', 'person'],
    ['with person as (select $1 as estab) delete from person where id = $1', 'person'],
    ['merge into person p using class c on p.estab = c.estab and p.estab = $1 when matched then delete', 'class', 'person'],
  ],
  'rows that are added': [
    ['insert into person (estab, id) values ($1, $2), ($3, $4)'],
    ['insert into person (id, estab) select $1, $2'],
    ['insert into person values ($1, $2, $3)'],
    ['insert into class values ($1, $2, $3)'],
    ['insert into class select id, estab from person where estab = $1'],
    ['insert into person (estab, id) select c.estab, c.teacher from class c where c.estab = $1'],
    ['insert into person (estab, id) select $1, s.id from stage s'],
    ['insert into person (estab, id) values ($1, (select c.id from class c where c.estab = $1))'],
    ['insert into person (estab, id) values ($1, $2) on conflict do nothing'],
    ['insert into person (estab, id) values ($1, $2) on conflict (estab, id) do update set name = excluded.name'],
    ['insert into person as p (estab, id) values ($1, $2) on conflict (id) do update set name = $3 where p.estab = excluded.estab'],
    [
      'insert into person as p (estab, id) values ($1, $2)' +
        ' on conflict (estab, id) do update set name = (select c.id from class c where c.estab = excluded.estab)',
    ],
    ['with added as (insert into person (estab, id) values ($1, $2) returning estab) select from class c join added using (estab)'],
    ['insert into lane values ($1)'],
    ['insert into person (estab, id) select c.estab, c.teacher from class c', 'class', 'person'],
    ['insert into person (estab, id) select c.teacher, c.estab from class c where c.estab = $1', 'person'],
    ['insert into class select estab, id from person where estab = $1', 'class'],
    ['insert into person (estab, id) select s.estab, s.id from stage s', 'person'],
    ['insert into person (estab, id) select * from stage', 'person'],
    ['insert into person (id) values ($1)', 'person'],
    ['insert into person default values', 'person'],
    ['insert into person (estab, id) values ($1, $2), (default, $3)', 'person'],
    ['insert into person (estab, id) values ($1, (select id from class))', 'class'],
    ['insert into person (estab, id) values ((select estab from class where id = $1), $1)', 'class', 'person'],
    ['insert into person (estab, id) values ($1, $2) on conflict (id) do update set name = excluded.name', 'person'],
    ['insert into person (estab, id) values ($1, $2) on conflict on constraint person_pkey do update set name = $3', 'person'],
    ['insert into person (estab, id) values ($1, $2) on conflict (estab, id) do update set estab = excluded.name', 'person'],
    ['insert into person as p (estab, id) values ($1, $2) on conflict (estab, id) do update set name = (select c.id from class c where c.id = p.id)', 'class'],
    ['insert into person (id) values ($1) on conflict (id) do update set name = $2 where person.estab = $3', 'person'],
    ['insert into person (estab, id) values ($1, $2) returning (select count(*) from class)', 'class'],
    ['insert into lane (key) select id from work', 'work'],
    ['with mine as (select estab, id from person where estab = $1) insert into work (estab, id) select s.*, m.* from stage s, mine m', 'work'],
    // The column of USING comes first.
    [
      'with mine as (select id, estab from person where estab = $1), other as (select estab from mine)' +
        ' insert into work (id, estab) select * from mine join other using (estab)',
      'work',
    ],
    [
      'insert into person (estab, id) select s.estab, s.id from stage s' +
        ' on conflict (estab, id) do update set name = (select c.id from class c where c.estab = excluded.estab)',
      'class',
      'person',
    ],
    [
      'with added as (insert into person (estab, id) select s.estab, s.id from stage s returning estab)' +
        ' select from class c join added using (estab)',
      'class',
      'person',
    ],
  ],
  'other statements': [
    ['begin'],
    ['listen wake'],
    ['analyze person'],
    ['create table person_too (like person)'],
    ['create index on person (name)'],
    ['lock table person in share mode'],
    ['copy stage (id) from stdin'],
    ['truncate stage'],
    ['select from pg_class'],
    ['select from person where estab = $1 for update of person'],
    ['select from person p where p.estab = $1 for update of p skip locked'],
    ['copy (select * from person where estab = $1) to stdout'],
    ['copy person from stdin', 'person'],
    ['copy person to stdout', 'person'],
    ['truncate lane, person', 'person'],
    ['copy (select * from person) to stdout', 'person'],
    ['declare c cursor for select * from person', 'person'],
    ['explain select * from person', 'person'],
    ['create temp table mine as select * from person', 'person'],
    ['prepare p as select * from person', 'person'],
    ['table person', 'person'],
  ],
});

test('each statement of a text is judged by itself, on one line', () => {
  assert.deepEqual(analyse("select 'é'\n  from person;\n\n delete from\tclass where estab = $1 ;", tables).map((one) => [one.statement, one.unbound]), [
    ["select 'é' from person", ['person']],
    ['delete from class where estab = $1', []],
  ]);
});

test("the tables of schools are those of the schema with the establishment's column", async () => {
  const schema = await readTables();
  const ofSchools = [...schema.keys()].filter((table) => belongsToSchool(schema, table));
  for (const table of ['establishment', 'roster_user', 'attendance_mark', 'outbox', 'login']) assert.ok(ofSchools.includes(table), table);
  for (const table of ['application', 'lane', 'request_count', 'nowhere']) assert.ok(!ofSchools.includes(table), table);
  assert.ok(ofSchools.length >= 40, `${ofSchools.length} tables`);
});

test('no function of the schema reads a table, which no statement would show', async () => {
  const schema = readFileSync(join(import.meta.dirname, '../../schema.sql'), 'utf8');
  const functions = [...schema.matchAll(/FUNCTION public\.(\w+)\([^)]*\)\n RETURNS (\w+).*?AS \$function\$(.*?)\$function\$/gs)];
  assert.ok(functions.length > 0);
  // It reads what it is told to, and gives nothing of it.
  const counting = RegExp(
    String.raw`^\s*begin\s+if to_regclass\(of\) is null then return false; end if;\s+`
      + String.raw`execute format\('analyze %s', of::regclass\);\s+return true;\s+end\s*$`,
  );
  assert.deepEqual(functions.filter(([, , , body = '']) => counting.test(body)).map(([, name]) => name), ['gather_statistics']);
  for (const [, , , body = ''] of functions) if (!counting.test(body)) visitNodes(await parse(body), (kind, value) => {
    assert.ok(kind !== 'RangeVar' || (value as { relname?: string }).relname?.startsWith('pg_'), body);
    return true;
  });
});
