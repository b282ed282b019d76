// What may happen to list files while lists are read: they are removed, cut, damaged, made by two processes at once or cannot be written,
// readers stop or go away, people are purged. The answer is right or an error, never short, and whoever was purged is in no file.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync, writeSync,
} from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { purgeRosters } from '../../test/all-schools.ts';
import { byName } from '../../test/dialects.ts';
import { earlier } from '../../test/earlier.ts';
import { loadSource, madeUpSource, person, role } from '../../test/made-up-source.ts';
import { readAnswer, type RawAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { forgetPurgedHistory } from '../collection/history.ts';
import { createListFolder } from '../roster/list-folder.ts';
import { sweepLists } from '../roster/sweep-lists.ts';
import { noteStanding } from '../roster/standing.ts';

const estab = '9990001';
const { root } = byName.B;
const service = await useService();
const { db } = service;
const temporary = mkdtempSync(join(tmpdir(), 'schoolbell-trouble-'));
after(() => rmSync(temporary, { recursive: true, force: true }));
const past = await service.join({ LIST_CACHE_MB: '0', DATA_DIR: join(temporary, 'none') });

/** Courses are so long that a list of them does not fit into the buffers on the way. */
const filler = 'filler '.repeat(2_000);
const course = (at: number, title = '') => ({ sourcedId: `c${String(at).padStart(4, '0')}`, title: `${title}${at} ${filler}`, org: 'org' });
const range = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));
await service.addSchool(estab);
await loadSource(service, estab, madeUpSource({
  orgs: [{ sourcedId: 'org', name: 'School', type: 'school' }],
  courses: range(1200, (at) => course(at)),
  users: range(150, (at) => person(`p${String(at).padStart(3, '0')}`, [role('student', 'org')])),
}));
const client = await service.addClient('app', [estab]);
const headers = { authorization: `Bearer ${await client.tokenB(estab)}` };
const read = (path: string, url = service.url, onBytes?: (bytes: number) => Promise<void>, more = {}) =>
  readAnswer(`${url}${root}${path}`, { ...headers, ...more }, onBytes);

const folder = join(service.dataDir, 'lists');
const files = (at = folder) => readdirSync(at).map((name) => join(at, name));
/** The only file of a list, which the folder has after the list was read as a whole. */
async function makeFile(path: string, url = service.url, at = folder): Promise<string> {
  await read(path, url);
  const [file = assert.fail('no file was made'), ...others] = files(at);
  assert.deepEqual(others, []);
  return file;
}

/** What is answered without files, until something is merged. */
const expected = new Map<string, RawAnswer>();
async function merge(rows: Parameters<typeof madeUpSource>[0]): Promise<void> {
  assert.equal((await loadSource(service, estab, madeUpSource(rows, 'delta'))).outcome, 'done');
  expected.clear();
}

async function assertRight(path: string, url = service.url, onBytes?: (bytes: number) => Promise<void>): Promise<void> {
  const through = await read(path, url, onBytes);
  const beside = expected.get(path) ?? (await read(path, past.url));
  expected.set(path, beside);
  assert.deepEqual([through.status, through.fault], [200, undefined], path);
  assert.ok(through.body.equals(beside.body), `${path}: ${through.body.length} of ${beside.body.length} bytes`);
  assert.equal(through.headers['x-total-count'], beside.headers['x-total-count']);
  const stated = through.headers['content-length'];
  if (stated !== undefined) assert.equal(Number(stated), through.body.length);
}

function overwrite(file: string, position: number, text: string): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, text, position);
  closeSync(descriptor);
}

/** Once, after the first bytes have come. */
function afterFirst(work: () => unknown): (bytes: number) => Promise<void> {
  let done: Promise<unknown> | undefined;
  return async () => void (await (done ??= Promise.resolve().then(work)));
}

beforeEach(() => {
  mkdirSync(folder, { recursive: true });
  for (const file of files()) rmSync(file);
});

test('a file that is removed before a page or under a reader: the answer is right, here and elsewhere', async () => {
  const file = await makeFile('/courses');
  await assertRight('/courses', service.url, afterFirst(() => rmSync(file)));
  await assertRight('/courses?limit=10&offset=600');
  const joined = await service.join();
  await assertRight('/courses?limit=10&offset=600', joined.url);
  await assertRight('/courses', joined.url);
});

test('a file that is cut or damaged under the reader of a whole list: the rest comes from the database, and all of it is right', async () => {
  for (const [at, damage] of [
    (file: string) => truncateSync(file, 9_000_000),
    (file: string) => truncateSync(file, 0),
    (file: string) => overwrite(file, 0, ' '.repeat(statSync(file).size)),
  ].entries()) {
    // Each in a process of its own, that has not opened it yet.
    const joined = await service.join();
    const file = await makeFile('/courses', joined.url);
    await assertRight('/courses?limit=3', joined.url);
    await assertRight('/courses', joined.url, afterFirst(() => damage(file)));
    await assertRight('/courses?limit=50&offset=1100', joined.url);
    assert.ok(files().every((one) => statSync(one).size > 10_000_000), `damage ${at} is gone`);
    await assertRight('/courses', joined.url);
    assert.equal(files().length, 1, 'and made again');
    rmSync(file);
  }
});

test('damage that shows only when all was read: a whole list is broken off, and the next one is right', async () => {
  const joined = await service.join();
  const file = await makeFile('/courses', joined.url);
  overwrite(file, 200, 'FILLER');
  const broken = await read('/courses', joined.url);
  assert.notEqual(broken.fault, undefined);
  await assertRight('/courses', joined.url);
});

test('a roster that moves on under the reader of a damaged file: the rest is of the version that was begun', async () => {
  const joined = await service.join();
  const file = await makeFile('/courses', joined.url);
  const before = await read('/courses', past.url);
  const through = await read('/courses', joined.url, afterFirst(async () => {
    await merge({ courses: range(100, (at) => course(at * 12, 'other ')) });
    truncateSync(file, 9_000_000);
  }));
  assert.equal(through.fault, undefined);
  assert.ok(through.body.equals(before.body));
  assert.ok(!(await read('/courses', past.url)).body.equals(before.body));
});

test('where the rest cannot be had any more, the answer ends in an error and not as if it were whole', async () => {
  const joined = await service.join();
  const file = await makeFile('/courses', joined.url);
  const [{ kept = 0 } = {}] = await db<{ kept: number }[]>`select history_from as kept from roster where estab = ${estab}`;
  const through = await read('/courses', joined.url, afterFirst(async () => {
    await merge({ courses: [course(7, 'newest ')] });
    await db`update roster set history_from = version where estab = ${estab}`;
    truncateSync(file, 9_000_000);
  }));
  assert.equal(through.status, 200);
  assert.notEqual(through.fault, undefined);
  assert.ok(through.body.length < Number(through.headers['content-length']));
  await db`update roster set history_from = ${kept} where estab = ${estab}`;
});

test('damage that is found by a page, or when the file is opened: the page is right, the file goes and is made again', async () => {
  const bytesOf = (file: string) => statSync(file).size;
  const damages: [string, (file: string) => void][] = [
    ['a record that begins otherwise', (file) => overwrite(file, readFileSync(file).indexOf('{"sourcedId":"p070"'), 'x')],
    ['the index', (file) => overwrite(file, bytesOf(file) - 24 - 40, 'xxxx')],
    ['the end', (file) => overwrite(file, bytesOf(file) - 10, 'x')],
    ['its length', (file) => truncateSync(file, bytesOf(file) - 4)],
    ['all of it', (file) => truncateSync(file, 0)],
  ];
  for (const [name, damage] of damages) {
    const maker = await service.join();
    const file = await makeFile('/users', maker.url);
    damage(file);
    const joined = await service.join();
    await assertRight('/users?limit=20&offset=70', joined.url);
    assert.deepEqual(files(), [], name);
    await until('it is made again', async () => {
      await assertRight('/users?limit=20&offset=70', joined.url);
      return files().some((one) => one === file);
    });
    await assertRight('/users', joined.url);
    rmSync(file);
  }
});

test('a file with another number of records than the list has is not used', async () => {
  const users = await makeFile('/users');
  const bytes = readFileSync(users);
  rmSync(users);
  const courses = await makeFile('/courses');
  writeFileSync(courses, bytes);
  const joined = await service.join();
  await assertRight('/courses?limit=5', joined.url);
  assert.deepEqual(files(), []);
});

test('two processes that make the same file at once answer the same and leave one', async () => {
  const joined = await Promise.all(range(2, () => service.join()));
  await Promise.all(range(3, () => joined.map(({ url }) => assertRight('/users', url))).flat());
  assert.equal(files().length, 1);
  for (const { url } of joined) await assertRight('/users?limit=7&offset=99', url);
});

test('what a killed process left half made goes as the next one starts; what may still be written stays', async () => {
  const file = await makeFile('/users');
  const [left, fresh] = ['left', 'fresh'].map(() => `${file}.${randomUUID()}.part`);
  for (const draft of [left, fresh]) writeFileSync(draft ?? '', readFileSync(file).subarray(0, 1000));
  const elevenMinutesAgo = new Date(Date.now() - 11 * 60_000);
  utimesSync(left ?? '', elevenMinutesAgo, elevenMinutesAgo);
  const joined = await service.join();
  await until('it is gone', () => !files().includes(left ?? ''), files);
  assert.deepEqual(files().toSorted(), [file, fresh].toSorted());
  for (const path of ['/users', '/users?limit=20&offset=70']) await assertRight(path, joined.url);
});

test('without a folder that can be read or written, all is read from the database', async () => {
  const dataDir = join(temporary, 'blocked');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'lists'), 'no folder');
  const joined = await service.join({ DATA_DIR: dataDir });
  const page = '/users?limit=10&offset=100';
  for (const path of ['/users', page, '/users', page, '/courses?limit=1100']) await assertRight(path, joined.url);
});

test('a list larger than all that lists may take is never kept, and the others are', async () => {
  const dataDir = join(temporary, 'small');
  const joined = await service.join({ DATA_DIR: dataDir, LIST_CACHE_MB: '1' });
  await assertRight('/users', joined.url);
  for (const path of ['/courses', '/courses?limit=5', '/courses?limit=5', '/courses?limit=5', '/courses']) await assertRight(path, joined.url);
  await until('nothing is being written', () => files(join(dataDir, 'lists')).every((name) => !name.endsWith('.part')));
  assert.equal(files(join(dataDir, 'lists')).length, 1);
  assert.ok(files(join(dataDir, 'lists')).every((file) => statSync(file).size < 1024 ** 2));
});

test('a reader that stops is cut off a whole list from a file, and the list is there for the next', async () => {
  const joined = await service.join({}, { slowReader: { bytesPerSecond: 64 * 1024, seconds: 1 } });
  await makeFile('/courses', joined.url);
  const ended = Promise.withResolvers<void>();
  joined.app.server.once('connection', (socket) => void socket.once('close', () => ended.resolve()));
  const cut = await new Promise<{ fault: string | undefined; complete: boolean }>((resolve) => {
    let [fault, complete]: [string | undefined, boolean] = [undefined, false];
    const noteFault = (error: NodeJS.ErrnoException) => (fault = error.code);
    get(`${joined.url}${root}/courses`, { agent: false, headers: { ...headers, 'accept-encoding': 'identity' } }, (response) => {
      assert.notEqual(response.headers['content-length'], undefined, 'it comes from the file');
      response.pause();
      response.once('error', noteFault).once('end', () => (complete = response.complete));
      void ended.promise.then(() => response.resume());
    })
      .once('error', noteFault)
      .once('close', () => resolve({ fault, complete }));
  });
  assert.deepEqual(cut, { fault: 'ECONNRESET', complete: false });
  await assertRight('/courses', joined.url);
});

test('of a list that was given up, the ledger counts what went out, from a file as from the database', async () => {
  await makeFile('/courses');
  for (const [at, url] of [service.url, past.url].entries()) {
    const one = await service.addClient(`leaves${at}`, [estab]);
    const token = await one.tokenB(estab);
    const received = await new Promise<number>((resolve, reject) => {
      get(`${url}${root}/courses`, { agent: false, headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' } }, (response) => {
        response.once('data', (bytes: Buffer) => {
          resolve(bytes.toString().split('"sourcedId":"c').length - 1);
          response.on('error', () => {}).destroy();
        });
      }).once('error', reject);
    });
    const counted = async () => (await db<{ records: number }[]>`select records::int as records from disclosure where rp = ${one.rp}`)[0]?.records;
    await until('it is in the ledger', async () => (await counted()) !== undefined);
    const records = (await counted()) ?? 0;
    assert.ok(records >= received && records > 0 && records <= 1200, `${records} of ${received} received`);
    if (at === 0) assert.ok(records < 1200, 'not all of it went out');
  }
});

test('whoever is purged is in no file an hour later, nor in one that is being written', async () => {
  const left = 'p033';
  const holding = () => files().filter((file) => readFileSync(file).includes(`"${left}"`));
  const sweepFolder = createListFolder({ folder, maxBytes: 1024 ** 3 });
  const sweep = () => sweepLists(db, sweepFolder, Date.now);
  const pupil = (id: string) => person(id, [role('student', 'org')]);
  await merge({ users: [left, 'p034'].map((id) => ({ ...pupil(id), status: 'tobedeleted' as const })) });
  const version = (await read('/users')).headers['x-roster-version'] ?? '';
  assert.equal(holding().length, 1);
  await db`update roster_version set instant = ${earlier(db, 'instant', '100 days')} where estab = ${estab}`;
  assert.equal(await purgeRosters(db, 90), 2);
  expected.clear();
  // A walk that began before goes on for an hour, from the history.
  await assertRight('/users');
  await sweep();
  assert.deepEqual(holding(), []);
  const pinned = await read('/users', service.url, undefined, { 'if-roster-version': version });
  assert.ok(pinned.body.includes(`"${left}"`));
  await sweep();
  assert.deepEqual(holding(), [], 'reading it back makes no file');
  for (let turn = 0; turn < 2; turn += 1) {
    await merge({ users: [person('p001', [role('student', 'org')], { givenName: `Turn ${turn}` })] });
    await until('the next file', async () => {
      await assertRight('/users?limit=3');
      return files().some((file) => readFileSync(file).includes(`"Turn ${turn}"`));
    });
  }
  await db`update roster_user_history set purged_at = ${earlier(db, 'purged_at', '2 hours')} where estab = ${estab}`;
  await db`update roster set purged_at = ${earlier(db, 'purged_at', '2 hours')} where estab = ${estab}`;
  await noteStanding(db, estab);
  await forgetPurgedHistory(db);
  await sweep();
  assert.deepEqual(holding(), []);
  assert.ok(files().length > 0, 'the others stay');
  await assertRight('/users');
  await sweepFolder.close();
});
