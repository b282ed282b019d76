// Tests how a record begins: the same for every text that an id can be, and written into statements rather than called for each row.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService } from '../../test/service.ts';
import { citusUrl } from '../../test/spread-database.ts';

const { db } = await useService();

test('a record begins with its id, status and version, whatever is in the id', async () => {
  for (const id of ['a', 'a"b', 'a\\b', '\\"', "it's", 'é 中', '{"x":1}']) {
    const [row] = await db<{ head: string | null }[]>`select roster_head('s 1', ${id}, 'active', 12) as head`;
    assert.equal(row?.head, `{"sourcedId":${JSON.stringify(id)},"status":"active","dateLastModified":"\u0002s 1 12\u0002"`);
  }
  assert.deepEqual(await db`select roster_head('s', null, 'active', 1) as head`.then(([row]) => row?.head), null);
});

const ofNode = citusUrl !== undefined && 'the coordinator does not show the plan of a node';

test('no function is called for each row that is merged', { skip: ofNode }, async () => {
  const [row] = await db<{ 'QUERY PLAN': [{ Plan: { Output: string[] } }] }[]>`
    explain (verbose, costs off, format json) select roster_head(estab, sourced_id, status, version) from roster_user`;
  const [plan] = row?.['QUERY PLAN'] ?? assert.fail();
  assert.doesNotMatch(plan.Plan.Output.join(), /roster_head/);
});
