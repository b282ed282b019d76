// A standby that takes over without the last version of a roster gives its number to another one: nothing that a process remembers of the
// first is served, or believed, as being of the second.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect, Servers } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { rootA, rootB, useService } from './service.ts';
import { smallPackage, smallSchool, user } from './small-school.ts';
import { openTwoServers } from './two-servers.ts';

const two = await openTwoServers({ synchronous: false });
const hosts = [two.url('primary'), two.url('standby')];
const servers = new Servers(() => hosts);
const db = connect(servers, { max: 10, name: 'test' });
after(async () => {
  await db.end({ timeout: 5 });
  await two.close();
});
await migrate(db);
const service = await useService({}, { database: { db, url: two.databaseUrl, servers } });
const pupils = (...names: string[]) => smallPackage({ users: [...smallSchool.users, ...names.map((name) => user(name, 'student'))] });
const estab = 's1';
await service.addSchool(estab, pupils('kept'));
await service.addSchool('s2', smallPackage());
const app = await service.addClient('app', [estab, 's2']);
const asks = ['/users?limit=100', '/users?limit=2&offset=1', '/users', "/users?filter=status='active'&limit=100", '/users/kept', '/enrollments'];
/** What the other variant does not filter by. */
const searches = ["/users?filter=username~'t'&limit=2", "/users?filter=dateLastModified>'2020-01-01'&limit=3"];

async function seen(at = service.url) {
  const answers: { path: string; status: number; total: string | null; version: string | null; body: string }[] = [];
  const variants = [{ root: rootA, token: await app.tokenA(), paths: asks }, { root: rootB, token: await app.tokenB(estab), paths: [...asks, ...searches] }];
  for (const { root, token, paths } of variants) {
    for (const path of paths) {
      const { status, headers, body } = await ask(at + root + path, token);
      answers.push({ path: root + path, status, total: headers.get('x-total-count'), version: headers.get('x-roster-version'), body });
    }
  }
  return answers;
}

async function ask(url: string, token: string, more: Record<string, string> = {}) {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}`, ...more } });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

test('after a failover that lost a version, another of the same number is served as it is', async () => {
  await two.cutOff();
  await service.load(estab, pupils('kept', 'lost1', 'lost2', 'lost3'));
  const version = async () => (await db<{ version: number }[]>`select version from roster where estab = ${estab}`)[0]?.version;
  const [lost, before] = [await version(), await seen()];
  assert.ok(before.some(({ body }) => body.includes('lost1')));

  await two.kill('primary');
  await two.promote();
  await service.load(estab, pupils('kept', 'together'));
  assert.equal(await version(), lost, 'of the same number');

  const found = await seen();
  for (const { path, status, body } of found) assert.ok(status === 200 && !body.includes('lost1'), `${path} ${status} ${body}`);
  await service.load('s2', pupils('later'));
  for (const { path, version: name, body } of found.filter((one) => one.path.startsWith(rootA)))
    assert.equal((await ask(service.url + path, await app.tokenA(), { 'if-roster-version': name ?? '' })).body, body, `${path} by its name`);
  const newcomer = await service.join({ LIST_CACHE_MB: '0' });
  assert.deepEqual(await seen(), await seen(newcomer.url));
});
