// Lists that do not fit side by side into what list files may take: what is answered is right, the folder keeps its bound, and none is made
// again and again only to push out another that is in use.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { byName } from '../../test/dialects.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { loadSource, madeUpSource } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { policies } from '../db/policies.ts';

const estab = '9990001';
const minuteMs = 60_000;
const bound = 1024 ** 2;
const service = await useService();
const temporary = mkdtempSync(join(tmpdir(), 'schoolbell-crowding-'));
after(() => rmSync(temporary, { recursive: true, force: true }));
const past = await service.join({ LIST_CACHE_MB: '0', DATA_DIR: join(temporary, 'none') });

/** Each list is longer than half of what all may take. */
const filler = 'filler '.repeat(300);
const range = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));
const course = (at: number, title = '') => ({ sourcedId: `c${String(at).padStart(3, '0')}`, title: `${title}${at} ${filler}`, org: 'org' });
await service.addSchool(estab);
await loadSource(service, estab, madeUpSource({ orgs: [{ sourcedId: 'org', name: 'School', type: 'school' }], courses: range(300, (at) => course(at)) }));
const client = await service.addClient('app', [estab]);
const headers = { authorization: `Bearer ${await client.tokenB(estab)}` };
const all = '/courses?';
const active = `/courses?filter=${encodeURIComponent("status='active'")}&`;
const lists = [all, active];

const read = (path: string, url: string) => readAnswer(`${url}${byName.B.root}${path}`, headers);
async function assertRight(path: string, url: string): Promise<void> {
  const [through, beside] = [await read(path, url), await read(path, past.url)];
  assert.deepEqual([through.status, through.fault, through.headers['x-total-count']], [200, undefined, '300'], path);
  assert.ok(through.body.equals(beside.body), `${path}: ${through.body.length} of ${beside.body.length} bytes`);
}

/** Another process with a folder of its own for 1 MB, whose time the test has. */
async function joinCrowded(name: string) {
  const dataDir = join(temporary, name);
  const clock = { now: Date.now() };
  const { url } = await service.join({ DATA_DIR: dataDir, LIST_CACHE_MB: '1' }, { now: () => clock.now });
  const folder = join(dataDir, 'lists');
  mkdirSync(folder, { recursive: true });
  const files = () => readdirSync(folder).filter((file) => !file.endsWith('.part'));
  const bytes = () => files().reduce((sum, file) => sum + (statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0), 0);
  return { url, clock, files, bytes };
}

let turn = 0;
const pageOf = (list: string) => `${list}limit=5&offset=${(turn += 7) % 290}`;

/** How often a list was read as a whole meanwhile. */
async function countWhole(work: () => Promise<unknown>): Promise<number> {
  return (await heardStatements(work, policies.lists.name)).filter((text) => text.includes('.head')).length;
}

test('of two lists that do not fit side by side, read by pages in turn, the first one stays while it is used', async () => {
  const { url, clock, files, bytes } = await joinCrowded('pages');
  const askBoth = async () => {
    for (const list of lists) await assertRight(pageOf(list), url);
    assert.ok(bytes() <= bound, `${bytes()} bytes`);
  };
  let made: string[] = [];
  const whole = await countWhole(async () => {
    await until('one has a file', async () => {
      await askBoth();
      made = files();
      return made.length > 0;
    });
    for (let round = 0; round < 50; round += 1) {
      await askBoth();
      assert.deepEqual(files(), made);
    }
  });
  assert.ok(whole <= 2, `lists were read as a whole ${whole} times`);
  // Once nobody asks for the first one any more, the other takes its place.
  clock.now += 6 * minuteMs;
  await until('the other has a file', async () => {
    await assertRight(pageOf(active), url);
    return files().length > 0 && !made.includes(files()[0] ?? '');
  });
  assert.ok(bytes() <= bound);
});

test('of two lists that do not fit side by side, read whole in turn, one is a file; after a merge its next version takes its place', async () => {
  const { url, files, bytes } = await joinCrowded('whole');
  const askBoth = async () => {
    for (const list of lists) await assertRight(list, url);
    assert.ok(bytes() <= bound, `${bytes()} bytes`);
  };
  await askBoth();
  const made = files();
  assert.equal(made.length, 1);
  const whole = await countWhole(async () => {
    for (let round = 0; round < 5; round += 1) await askBoth();
  });
  assert.deepEqual(files(), made);
  // Those of the process without files, and those of the list that has none.
  assert.equal(whole, 5 * 2 + 5);
  await loadSource(service, estab, madeUpSource({ courses: [course(7, 'Changed ')] }, 'delta'));
  await until('the next version has a file', async () => {
    await assertRight(pageOf(all), url);
    return files().length === 1 && files()[0] !== made[0];
  });
  assert.ok(bytes() <= bound);
  await askBoth();
});
