// Covers rows of whole endpoints that come out of files: the same answers as without, of the version that stands, and of what the scopes show.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';

const now = () => Date.parse('2026-11-13T12:00:00Z');
const service = await useService({}, { now });
const past = await service.join({ LIST_CACHE_MB: '0' });
const folder = join(service.dataDir, 'lists');
await service.addSchool('s1', smallPackage());
const [everyone, some] = [await service.addClient('everyone', ['s1']), await service.addClient('some', ['s1'], 'School,Staff,Contact')];
const paths = [
  'Students', 'Staff', 'Contacts', 'Groups', 'Students?page=2&pageSize=2', 'Groups?pageSize=5', 'Staff?page=9&pageSize=1', 'Staff?select=Id,Surname',
];

async function assertSame(client: typeof everyone): Promise<void> {
  for (const path of paths) {
    const [through, without] = [await client.s('s1', path), await client.s('s1', path, {}, past.url)];
    assert.deepEqual([through.status, await through.text()], [without.status, await without.text()], path);
  }
}

test('the same through files and without, for each kind of caller, at every version', async () => {
  for (const client of [everyone, some]) for (let time = 0; time < 2; time += 1) await assertSame(client);
  const files = readdirSync(folder).length;
  assert.ok(files >= 6, String(files));
  await service.load('s1', smallPackage({ users: [...smallSchool.users, user('p4', 'student')] }));
  await assertSame(everyone);
  assert.match(await (await everyone.s('s1', 'Students')).text(), /Given p4/);
  assert.ok(readdirSync(folder).length > files);
});

test('a page is a slice of the file, and one that is damaged is read from the database', async () => {
  await everyone.s('s1', 'Students').then((response) => response.text());
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name), 'latin1');
    writeFileSync(join(folder, name), bytes.replaceAll('Given p4', 'Given p5'), 'latin1');
  }
  assert.match(await (await everyone.s('s1', 'Students?page=2&pageSize=2')).text(), /Given p5/, 'it is the file that is read');
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), 'damaged');
  const other = await service.join();
  const answer = await everyone.s('s1', 'Students', {}, other.url);
  assert.match(await answer.text(), /Given p4/);
});
