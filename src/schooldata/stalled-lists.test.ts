// Whole lists that nobody reads on take the connections of lists alone: small reads of other schools do not notice.
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { smallPackage } from '../../test/small-school.ts';
import { rootB, useService } from '../../test/service.ts';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';
import { policies } from '../db/policies.ts';

const service = await useService({}, { patience: 2, slowReader: { bytesPerSecond: 64 * 1024, seconds: 600 } });
await service.addSchool('9990001', demoPackage());
await service.addSchool('other', smallPackage());
const readers = [await service.addClient('one', ['9990001']), await service.addClient('two', ['9990001'])];
const other = await service.addClient('three', ['other']);

/** A list that has begun to arrive and is not read on. */
async function stall(token: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = get(`${service.url}${rootB}/enrollments`, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) =>
      resolve(response.pause()),
    );
    asked.once('error', reject);
  });
}

test('sixteen stalled lists of one school leave the others their pages, filters and small reads', async () => {
  const tokens = await Promise.all(readers.map((client) => client.tokenB('9990001')));
  const stalled = await Promise.all(Array.from({ length: policies.lists.max }, (_, at) => stall(tokens[at % tokens.length] ?? '')));
  assert.deepEqual(
    stalled.map(({ statusCode }) => statusCode),
    stalled.map(() => 200),
  );
  const reading = async () =>
    (
      await service.db`select from pg_stat_activity
          where datname = current_database() and application_name like 'schoolbell lists %' and xact_start is not null`
    ).length;
  while ((await reading()) < policies.lists.max) await pause(20);
  for (const path of ['Students?pageSize=1', 'Staff?pageSize=1000', 'Counts?pageSize=10', 'AttendanceCodes'])
    assert.equal((await other.s('other', path)).status, 200, path);
  for (const path of ['/users?limit=1', "/users?limit=1&filter=familyName~'a'", '/orgs?limit=5'])
    assert.equal((await other.b('other', path)).status, 200, path);
  const refused = await other.s('other', 'Students');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '10'], 'a whole list is told that there are too many');
  for (const response of stalled) response.destroy();
  while ((await reading()) > 0) await pause(20);
  assert.equal((await other.s('other', 'Students')).status, 200);
});
