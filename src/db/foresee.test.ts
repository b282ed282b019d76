// Covers what is foreseen of migrations: each kind of statement, how long somebody waits, and that no migration of ours, whatever
// the size of its tables, keeps anybody waiting for longer than a second.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foresee, longestHoldMs, type Sizes } from './foresee.ts';
import { parseMigration, readMigrations } from './migrations.ts';
import { readSteps, unknownKind } from './statement-kinds.ts';

const gib = 1024 ** 3;
const describe = (sql: string) => readSteps(sql).map(({ kind, table, holdsUp, cost }) => `${kind} | ${table} | ${holdsUp} | ${cost}`);

const added = 'add column | a | everybody | moment';
const checked = 'add column that is checked | a | everybody | scan';
const kinds: [sql: string, ...steps: string[]][] = [
  ['create table if not exists a (b int default 1, c text);', 'create table | a | nobody | moment'],
  ['create unlogged table a (b text check (b in (\';\', \'--\')));', 'create table | a | nobody | moment'],
  ['create unique index concurrently if not exists x on a (b);', 'create index concurrently | a | nobody | rewrite'],
  ['create index x on public.a (b)', 'create index | a | writers | rewrite'],
  ['alter table a add column b int, add column c timestamptz not null default now();', added, added],
  ["alter table a add column b text not null default 'f(x)', add column c numeric(4, 2);", added, added],
  ['alter table a add column b uuid default gen_random_uuid();', 'add column with a default of its own in each row | a | everybody | rewrite'],
  ["alter table a add column b text default 'a' || random();", 'add column with a default of its own in each row | a | everybody | rewrite'],
  ['alter table a add column b uuid default (gen_random_uuid());', 'add column with a default of its own in each row | a | everybody | rewrite'],
  ["alter table a add column b text[] not null default '{}'::text[], add column c int default -1 check (c < 2);", added, checked],
  ['alter table a add column b bigserial;', 'add column that counts | a | everybody | rewrite'],
  ['alter table a add column b int unique;', 'add column with an index | a | everybody | rewrite'],
  ['alter table a add constraint c unique (b);', 'add constraint with an index | a | everybody | rewrite'],
  ['alter table a add primary key (b);', 'add constraint with an index | a | everybody | rewrite'],
  ['alter table a add constraint c primary key using index d;', 'add constraint of an index | a | everybody | moment'],
  ['create table a as select * from b;', 'create table as | a | nobody | rewrite'],
  ['create table a (b numeric(4, 2), c int generated always as identity);', 'create table | a | nobody | moment'],
  ['alter table a add column b bigint generated always as identity;', 'add column that is computed | a | everybody | rewrite'],
  ['alter table a add column b int check (b > 0);', checked],
  ['alter table a add constraint c check (b > 0) not valid;', 'add constraint not valid | a | everybody | moment'],
  ['alter table a validate constraint c;', 'validate constraint | a | nobody | scan'],
  ['alter table only a add constraint c foreign key (b) references d (e);', 'add constraint | a | everybody | scan'],
  ['alter table a drop column b, alter column c drop not null;', 'drop column | a | everybody | moment', 'alter column | a | everybody | moment'],
  ['alter table a alter column b set not null;', 'set not null | a | everybody | scan'],
  ['alter table a alter column b type bigint;', 'unknown | a | everybody | rewrite'],
  ['-- why; because\ndrop table a; /* ; */ delete from b where c = $x$;$x$;', 'drop table | a | everybody | moment', 'delete | b | writers | rewrite'],
  ['update a set b = 1;', 'update | a | writers | rewrite'],
  ['create or replace function f(a int) returns int language sql as $$ select 1; select 2 $$;', 'create function | undefined | nobody | moment'],
  ['vacuum full a;', 'unknown | undefined | everybody | rewrite'],
];
for (const [sql, ...steps] of kinds) test(`it is told what "${sql}" is`, () => assert.deepEqual(describe(sql), steps));

const sized = (sizes: Record<string, number>): Sizes => new Map(Object.entries(sizes));
const holdsMs = (sql: string, sizes: Record<string, number>) => foresee(parseMigration('9000_x.sql', sql), sized(sizes)).holdsMs;

test('how long somebody waits goes by the size of the table, and by the transaction', () => {
  const check = 'alter table a add constraint c check (b > 0);';
  assert.equal(holdsMs(check, { a: gib }), 20_480);
  assert.equal(holdsMs(check, { a: 8192 }), 0);
  assert.equal(holdsMs('alter table a add column b int;', { a: gib }), 0);
  // The lock of the first is held until the second has ended.
  assert.equal(holdsMs('alter table a add column b int; insert into c select 1;', { c: gib }), 102_400);
  assert.equal(holdsMs('insert into c select 1; alter table a add column b int;', { c: gib }), 0);
  const outside = '-- outside a transaction\nalter table a add column b int;\n-- next\ncreate index concurrently if not exists x on c (d);';
  assert.equal(holdsMs(outside, { c: gib }), 0);
  // What is made in it is empty.
  assert.equal(holdsMs('create table c (d int); create index x on c (d); update c set d = 1;', { c: gib }), 0);
  assert.equal(holdsMs('cluster;', { c: gib }), 102_400);
});

test('what is read counts as well as what is written', () => {
  const locked = (sql: string) => holdsMs(`alter table a add column b int; ${sql}`, { big: gib, a: 8192 });
  for (const sql of [
    'create table c as select * from big;', 'create table c (d int); insert into c select d from big;', 'update a set b = (select max(d) from big);',
    'delete from a using big where big.d = a.b;',
  ])
    assert.equal(locked(sql), 102_400, sql);
  assert.equal(locked("insert into a (b) values ('big');"), 0, 'a text is no table');
});

/** A few rows for each school, operator or import at most. */
const small: ReadonlySet<string> = new Set([
  'establishment', 'roster', 'roster_standing', 'roster_total', 'roster_version', 'component_database', 'console_account', 'import_run',
]);

test('no migration of ours makes anybody wait for longer than a second, however much there is', () => {
  const made = readMigrations().flatMap(({ statements }) => statements.flatMap(readSteps)).filter(({ kind }) => kind === 'create table');
  const everything: Sizes = new Map(made.map(({ table = '' }) => [table, small.has(table) ? 0 : 100 * gib]));
  assert.ok(everything.size > 60);
  // The first one runs on an empty database.
  for (const migration of readMigrations().slice(1)) {
    const { name, steps, holdsMs: held } = foresee(migration, everything);
    const unknown = steps.filter(({ kind }) => kind === unknownKind).map(({ words }) => words);
    assert.deepEqual(unknown, [], `${name}: statements of a kind that statement-kinds has no row for`);
    const slow = steps.filter(({ takesMs }) => takesMs > 0).map(({ kind, table }) => `${kind} on ${table}`);
    assert.ok(held <= longestHoldMs, `${name} keeps others waiting (${slow.join(', ')}): make it outside a transaction, concurrently or not valid`);
  }
});
