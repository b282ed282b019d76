// Tests when the planner is told of what was imported: where it is much of a table, not for each of many schools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { smallSchool, user } from '../../test/small-school.ts';

const service = await useService();
const { db } = service;

async function heardOf(estab: string, pupils: number): Promise<string[]> {
  const users = [...smallSchool.users, ...Array.from({ length: pupils }, (_, at) => user(`n${at}`, 'student'))];
  const heard = await heardStatements(() => service.addSchool(estab, csvPackage({ ...smallSchool, users })));
  return heard.filter((text) => text.startsWith('analyze'));
}

test('a table is counted after an import that is much of it', async () => {
  assert.deepEqual(await heardOf('small', 10), []);
  assert.deepEqual(await heardOf('first', 600), ['analyze "roster_user"', 'analyze "roster_user_history"']);
  assert.deepEqual(await heardOf('second', 600), ['analyze "roster_user"', 'analyze "roster_user_history"']);
  await db`update pg_class set reltuples = 10_000 where oid = 'roster_user'::regclass`;
  assert.deepEqual(await heardOf('third', 600), ['analyze "roster_user"', 'analyze "roster_user_history"'], 'of few schools each is known by itself');
  await db`insert into establishment (estab, name, email) select 'many-' || n, 'Many', 'a@b.example' from generate_series(1, 120) n`;
  await db`insert into roster (estab) select 'many-' || n from generate_series(1, 120) n`;
  await db`
    insert into roster_user (estab, sourced_id, kind, status, version, enabled_user, org_ids, role, username, given_name, family_name, record)
    select 'many-' || s, 'u' || n, 'student', 'active', 1, true, '{}', 'student', '', 'A', 'B', '' from generate_series(1, 120) s, generate_series(1, 60) n`;
  await db`analyze roster_user`;
  assert.deepEqual(await heardOf('one-of-many', 600), []);
});
