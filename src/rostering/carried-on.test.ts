// Lists of 1.2 after a merge by a version beside this one that does not know it: what such a merge leaves is made later, also of records
// that it did not touch, so that no file of before may be carried on.
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
import { renderRosters } from '../collection/render-editions.ts';
import { parseListName } from '../roster/list-folder.ts';
import { noteStanding } from '../roster/standing.ts';

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

/** As a version does it that does not know 1.2: the organisation is another, the administrators at it are what they were. */
async function mergeUnknowing(estab: string, load: Awaited<ReturnType<typeof openSchool>>['load']): Promise<void> {
  const { version: before } = await versionOf(estab);
  assert.deepEqual((await load({ orgs: orgs({ name: 'Other name' }) })).outcome, 'done');
  await db`
    update roster_org set type = 'local', record = replace(record, '"type":"school"', '"type":"local"')
    where estab = ${estab} and sourced_id = 'school'`;
  await db`update roster set rendered_to = ${before} where estab = ${estab}`;
  await noteStanding(db, estab);
}

test('what is rendered later is in the list, also of records that the merge did not touch; 1.1 is carried on', async () => {
  const { one, two, load } = await openSchool('later');
  for (const read of [one, two]) await assertRight(read);
  assert.equal(await filesAt('later'), 2);
  assert.match((await two('/users')).body.toString(), /"siteAdministrator"/);
  await mergeUnknowing('later', load);
  assert.equal((await two('/users?limit=5')).status, 503);
  assert.equal(await renderRosters(db), 1);
  await one('/users?limit=3');
  await until('1.1 is carried on after one page', async () => (await filesAt('later')) > 0);
  await until('1.2 has a file', async () => ((await two('/users?limit=3')), (await filesAt('later')) > 1));
  for (const read of [one, two]) await assertRight(read);
  assert.match((await two('/users')).body.toString(), /"districtAdministrator"/);
});

test('what the next import renders before it merges is in the list too, and from then on lists are carried on as ever', async () => {
  const { two, load } = await openSchool('imported');
  await assertRight(two);
  await mergeUnknowing('imported', load);
  const before = await versionOf('imported');
  assert.equal((await load({ orgs: orgs({ name: 'Third name', type: 'local' }) })).outcome, 'done');
  assert.equal((await versionOf('imported')).version, before.version + 1);
  await until('a file is made', async () => ((await two('/users?limit=3')), (await filesAt('imported')) > 0));
  await assertRight(two);
  assert.match((await two('/users')).body.toString(), /"districtAdministrator"/);
  assert.equal((await load({ orgs: orgs({ name: 'Third name', type: 'school' }) })).outcome, 'done');
  await two('/users?limit=3');
  await until('one page is enough', async () => (await filesAt('imported')) > 0);
  await assertRight(two);
  assert.match((await two('/users')).body.toString(), /"siteAdministrator"/);
});
