// Covers where tables would lie on several nodes: every table of the schema has one place, and what lies by its school can be told apart there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withEmptyDatabase } from '../../test/generate.ts';
import { readTables } from '../../test/schools-apart/tables.ts';
import { migrate } from './migrate.ts';
import { placements, tablesAt } from './placement.ts';

test('every table of the schema lies in one place, and no other does', async () => {
  const placed = [...tablesAt('school'), ...tablesAt('everywhere'), ...tablesAt('coordinator')];
  assert.deepEqual(placed.toSorted(), [...(await readTables()).keys()].toSorted());
  assert.equal(placements.size, placed.length);
});

test('a key of a table that lies by its school has the school in it, so that a node can keep it alone', async () => {
  await withEmptyDatabase(async (_, db) => {
    await migrate(db);
    const keys = await db<{ table: string; key: string; columns: string[] }[]>`
      select t.relname::text as table, c.relname::text as key, array(select a.attname::text from pg_attribute a where a.attrelid = c.oid) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
      where i.indisunique and t.relnamespace = 'public'::regnamespace`;
    const without = keys.filter(({ table, columns }) => placements.get(table) === 'school' && !columns.includes('estab'));
    assert.deepEqual(without.map(({ key }) => key), []);
    const excluding = await db<{ name: string; table: string }[]>`
      select conname::text as name, conrelid::regclass::text as table from pg_constraint where contype = 'x' and connamespace = 'public'::regnamespace`;
    assert.deepEqual(excluding.filter(({ table }) => placements.get(table) === 'school'), []);
  });
});

test('nothing that is everywhere refers to what lies by its school or at the coordinator, and nothing of a school to the coordinator', async () => {
  await withEmptyDatabase(async (_, db) => {
    await migrate(db);
    const links = await db<{ from: string; to: string }[]>`
      select conrelid::regclass::text as from, confrelid::regclass::text as to from pg_constraint
      where contype = 'f' and connamespace = 'public'::regnamespace`;
    const allowed = { everywhere: ['everywhere'], school: ['school', 'everywhere'], coordinator: ['coordinator', 'everywhere'] };
    const wrong = links.filter(({ from, to }) => !allowed[placements.get(from) ?? 'everywhere'].includes(placements.get(to) ?? ''));
    assert.deepEqual(wrong, []);
  });
});
