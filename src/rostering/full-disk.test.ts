// A disk on which list files find no room, or only part of it: pages and whole lists, compressed or not, are answered right all the same,
// by statements; what could not be written leaves nothing behind, and is written once there is room.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { byName } from '../../test/dialects.ts';
import { keepLog, warning } from '../../test/log-lines.ts';
import { loadSource, madeUpSource, person, role } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const estab = '9990001';
const minuteMs = 60_000;
const temporary = mkdtempSync(join(tmpdir(), 'schoolbell-full-'));
const dataDir = join(temporary, 'data');
const folder = join(dataDir, 'lists');
const filler = join(dataDir, 'filler');
mkdirSync(dataDir);
const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', dataDir]);
const skip = status === 0 ? false : `needs the right to mount: ${stderr?.toString().trim() ?? 'there is no mount'}`;
const service = await useService();
after(() => {
  if (!skip) spawnSync('umount', ['-l', dataDir]);
  rmSync(temporary, { recursive: true, force: true });
});

const range = <T>(length: number, make: (at: number) => T): T[] => Array.from({ length }, (_, at) => make(at));
const pupil = (at: number, more = {}) => person(`p${String(at).padStart(3, '0')}`, [role('student', 'org')], more);
await service.addSchool(estab);
await loadSource(service, estab, madeUpSource({
  orgs: [{ sourcedId: 'org', name: 'School', type: 'school' }],
  // Longer than the disk is large.
  courses: range(1200, (at) => ({ sourcedId: `c${at}`, title: `${at} ${'filler '.repeat(300)}`, org: 'org' })),
  users: range(150, (at) => pupil(at)),
}));
const client = await service.addClient('app', [estab]);
const headers = { authorization: `Bearer ${await client.tokenB(estab)}` };
const past = await service.join({ LIST_CACHE_MB: '0', DATA_DIR: join(temporary, 'none') });
/** Another process on that disk, that has no file open yet, with its time and its log. */
async function joinOnDisk() {
  const [log, clock] = [keepLog(), { now: Date.now() }];
  const { url } = await service.join({ DATA_DIR: dataDir, LOG_LEVEL: 'warn' }, { now: () => clock.now, logTo: log });
  const assertRight = async (path: string, encoding: keyof typeof decode = 'identity'): Promise<void> => {
    const [through, beside] = [await read(path, url, encoding), await read(path, past.url)];
    assert.deepEqual([through.status, through.fault], [200, undefined], `${path} ${encoding}`);
    assert.ok(decode[encoding](through.body).equals(beside.body), `${path} ${encoding}`);
    assert.equal(through.headers['x-total-count'], beside.headers['x-total-count']);
  };
  return { log, clock, assertRight };
}

const read = (path: string, at: string, encoding = 'identity') => readAnswer(`${at}${byName.B.root}${path}`, { ...headers, 'accept-encoding': encoding });
const decode = { identity: (bytes: Buffer) => bytes, gzip: gunzipSync, zstd: zstdDecompressSync };
const encodings = ['identity', 'gzip', 'zstd'] as const;

const files = () => readdirSync(folder);
const pageBytes = 4096;
const roomLeft = () => Number(statfsSync(dataDir).bavail) * Number(statfsSync(dataDir).bsize);
function leaveRoom(bytes: number): void {
  rmSync(filler, { force: true });
  writeFileSync(filler, Buffer.alloc(roomLeft() - bytes, 1));
  assert.ok(roomLeft() <= bytes);
}

beforeEach(() => {
  if (skip) return;
  rmSync(filler, { force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of files()) rmSync(join(folder, name));
});

test('a list that does not fit on the disk: whole, compressed and by pages it is right, and no half of it stays', { skip }, async () => {
  const { log, clock, assertRight } = await joinOnDisk();
  for (const encoding of encodings) {
    clock.now += minuteMs;
    await assertRight('/courses', encoding);
    assert.deepEqual(files(), []);
    await assertRight('/courses?limit=50&offset=1100', encoding);
  }
  await until('nothing is being written', () => files().length === 0);
  const told = log.lines().filter(({ level }) => level === warning);
  assert.ok(told.length > 0 && told.every(({ msg }) => /A list file cannot be written/.test(msg)), log.text());
  assert.match(JSON.stringify(told), /ENOSPC/);
  await assertRight('/users');
  assert.deepEqual(files(), [], 'after a failure it is left alone for a minute');
  clock.now += minuteMs;
  await assertRight('/users');
  assert.equal(files().length, 1, 'what fits is written');
  await assertRight('/users?limit=20&offset=70');
});

test('however much of a list still fits, it is answered right, and is a file as a whole or not at all', { skip }, async () => {
  await (await joinOnDisk()).assertRight('/users');
  const [name = assert.fail()] = files();
  const { size } = statSync(join(folder, name));
  rmSync(join(folder, name));
  const made: number[] = [];
  for (let room = 0; room <= size + 2 * pageBytes; room += pageBytes) {
    leaveRoom(room);
    const { assertRight } = await joinOnDisk();
    for (const path of ['/users', '/users?limit=20&offset=70', '/users?limit=5', '/users']) await assertRight(path);
    const there = files();
    assert.ok(there.length === 0 || (there.length === 1 && there[0] === name && statSync(join(folder, name)).size === size), `${room}: ${there.join()}`);
    if (there.length > 0) made.push(room);
    for (const one of there) rmSync(join(folder, one));
  }
  assert.ok(made.length > 0 && made.length < 5, `with ${made.join()} of ${size} bytes it was made`);
});

test('a disk that is full when a copy is compressed, or when the next version is to be made: all is right, and the list is as it was', { skip }, async () => {
  const { clock, assertRight } = await joinOnDisk();
  await assertRight('/users');
  const before = files();
  assert.equal(before.length, 1);
  leaveRoom(0);
  for (const encoding of ['gzip', 'zstd'] as const) {
    await assertRight('/users', encoding);
    assert.deepEqual(files(), before);
    clock.now += minuteMs;
  }
  await loadSource(service, estab, madeUpSource({ users: [pupil(7, { givenName: 'Changed' })] }, 'delta'));
  for (let time = 0; time < 4; time += 1) {
    await assertRight('/users?limit=20');
    await assertRight('/users');
    clock.now += minuteMs;
  }
  await until('nothing is being written', () => files().every((name) => !name.endsWith('.part')));
  assert.deepEqual(files(), before);
  rmSync(filler);
  await until('the next version has a file', async () => {
    // What failed meanwhile is not begun again for a minute.
    clock.now += minuteMs;
    await assertRight('/users?limit=20');
    return files().length === 2;
  });
  for (const encoding of encodings) await assertRight('/users', encoding);
});
