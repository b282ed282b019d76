// List files of OneRoster 1.2 that are made from the file of an earlier version, after a change of an organisation has changed the roles of
// administrators.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { byName } from '../../test/dialects.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { parseListName } from '../roster/list-folder.ts';

const service = await useService();
const { db } = service;
const otherDir = mkdtempSync(join(tmpdir(), 'schoolbell-carried-'));
after(() => rmSync(otherDir, { recursive: true, force: true }));
const past = await service.join({ LIST_CACHE_MB: '0', DATA_DIR: otherDir });

const orgs = (ofSchool: Readonly<Record<string, string>> = {}): Rows => [
  { sourcedId: 'trust', name: 'Trust', type: 'district' },
  { sourcedId: 'school', name: 'School', type: 'school', parentSourcedId: 'trust', ...ofSchool },
];
const person = (sourcedId: string, role: string) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'school', role, username: sourcedId, givenName: 'Given', familyName: sourcedId,
});
const pupils = (count: number) => Array.from({ length: count }, (_, at) => person(`p${at}`, 'student'));

async function openSchool(estab: string) {
  assert.equal((await service.addSchool(estab, csvPackage({ orgs: orgs(), users: [person('head', 'administrator'), ...pupils(30)] })))?.outcome, 'done');
  const client = await service.addClient(`app-${estab}`, [estab]);
  const asked = [[byName.B, await client.tokenB(estab)], [byName['1.2'], await client.token12(estab)]] as const;
  const [one, two] = asked.map(
    ([{ root }, token]) => (path: string, url = service.url) => readAnswer(`${url}${root}${path}`, { authorization: `Bearer ${token}` }),
  );
  if (!one || !two) assert.fail();
  return { one, two, load: (given: Record<string, Rows>) => service.load(estab, csvPackage(given)) };
}

type Read = Awaited<ReturnType<typeof openSchool>>['one'];
async function versionOf(estab: string): Promise<{ id: string; version: number }> {
  const [roster] = await db<{ id: string; version: number }[]>`select id, version from roster where estab = ${estab}`;
  return roster ?? assert.fail(estab);
}

async function filesAt(estab: string): Promise<number> {
  const { id, version } = await versionOf(estab);
  return readdirSync(join(service.dataDir, 'lists')).filter((name) => parseListName(name)?.rosterId === id && parseListName(name)?.version === version).length;
}

async function assertRight(read: Read): Promise<void> {
  for (const path of ['/users', '/users?limit=2', '/users?limit=100&offset=1']) {
    const [through, beside] = [await read(path), await read(path, past.url)];
    assert.deepEqual([through.status, through.fault], [200, undefined], path);
    assert.ok(through.body.equals(beside.body), path);
  }
}

test('a list file that is made from an earlier one has the new roles of administrators', async () => {
  const { two, load } = await openSchool('carried');
  await assertRight(two);
  assert.match((await two('/users')).body.toString(), /"siteAdministrator"/);
  assert.equal((await load({ orgs: orgs({ name: 'Other name', type: 'local' }) })).outcome, 'done');
  await two('/users?limit=3');
  await until('one page is enough for a new file', async () => (await filesAt('carried')) > 0);
  await assertRight(two);
  assert.match((await two('/users')).body.toString(), /"districtAdministrator"/);
});
