// Tests when the planner is told of what was imported: where it is much of a table, not for each of many schools.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { smallSchool, user } from '../../test/small-school.ts';
import { citusUrl } from '../../test/spread-database.ts';

const service = await useService();
const { db } = service;

/** What was counted, as often as it was. */
async function countedAfter(estab: string, pupils: number): Promise<number> {
  const users = [...smallSchool.users, ...Array.from({ length: pupils }, (_, at) => user(`n${at}`, 'student'))];
  const heard = await heardStatements(() => service.addSchool(estab, csvPackage({ ...smallSchool, users })));
  return heard.filter((text) => text.startsWith('select gather_statistics')).length;
}

/** What the planner knows of the table in which the school is. */
async function rowsKnown(estab: string): Promise<number> {
  const [piece] = citusUrl === undefined ? [{ name: 'roster_user' }] : await db<{ name: string }[]>`
    select shard_name('roster_user', get_shard_id_for_distribution_column('roster_user', ${estab}::text)) as name`;
  const [known] = await db<{ rows: number }[]>`
    select k.rows from roster r cross join lateral known_statistics(${piece?.name ?? ''}) k where r.estab = ${estab}`;
  return known?.rows ?? 0;
}

const tableAndHistory = 2;

test('a table is counted after an import that is much of it', async () => {
  assert.equal(await countedAfter('small', 10), 0);
  assert.equal(await countedAfter('first', 600), tableAndHistory);
  assert.ok((await rowsKnown('first')) >= 600);
  assert.equal(await countedAfter('second', 600), tableAndHistory);
  // Of few schools each is known by itself, however many others have; a piece of a table is out of reach here.
  if (citusUrl === undefined) await db`update pg_class set reltuples = 10_000 where oid = 'roster_user'::regclass`;
  assert.equal(await countedAfter('third', 600), tableAndHistory);
  // In each of a few pieces, where there are some.
  const many = citusUrl === undefined ? 120 : 720;
  await db`insert into establishment (estab, name, email) select 'many-' || n, 'Many', 'a@b.example' from generate_series(1, ${many}::int) n`;
  await db`insert into roster (estab) select 'many-' || n from generate_series(1, ${many}::int) n`;
  await db`
    insert into roster_user (estab, sourced_id, kind, status, version, enabled_user, org_ids, role, username, given_name, family_name, record)
    select 'many-' || s, 'u' || n, 'student', 'active', 1, true, '{}', 'student', '', 'A', 'B', ''
    from generate_series(1, ${many}::int) s, generate_series(1, 60) n`;
  await db`analyze roster_user`;
  assert.equal(await countedAfter('one-of-many', 600), 0);
});
