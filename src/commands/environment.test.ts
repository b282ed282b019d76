// Covers faults of the machine and the settings: the start and the commands name the setting, the fault and the remedy, change nothing, and print no stack.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statfsSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { assertFailed, runProcess, useCommands } from '../../test/commands.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallSchool } from '../../test/small-school.ts';
import { readConfig } from '../config.ts';
import { openDatabase } from '../db/open.ts';

const folder = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-environment-'));
chmodSync(folder, 0o711);
const { run } = useCommands({});
const service = await useService();
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;

/** Starts the service as a process of its own, which must fail. */
const start = (env: Record<string, string>, uid?: number) => runProcess(folder, { DEMO: 'off', ...env }, ['start'], { uid });

test('a PUBLIC_URL with a path is refused by the start, with the advice to use a host name of its own', async () => {
  const dataDir = join(folder, 'path');
  assertFailed(await start({ DATA_DIR: dataDir, PUBLIC_URL: 'https://trust.example/bell/' }), /^schoolbell: PUBLIC_URL: .*"\/bell\/".*host name/m);
  assert.throws(() => readdirSync(dataDir), /ENOENT/);
});

test('a data folder of another major version of PostgreSQL is refused with both versions and the steps, and stays as it is', async () => {
  const dataDir = join(folder, 'older');
  await (await openDatabase(readConfig({ DATA_DIR: dataDir, DEMO: 'off' }))).close();
  const [inside = assert.fail()] = readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).filter((file) => /(^|\/)postgres\/PG_VERSION$/.test(file));
  writeFileSync(join(dataDir, inside), '17\n');
  const snapshot = () => readdirSync(dataDir, { recursive: true, encoding: 'utf8' }).toSorted();
  const refusal = new RegExp(`^schoolbell: .*${dataDir}.*PostgreSQL 17.*PostgreSQL 18.*npx schoolbell backup.*npx schoolbell restore`, 's');
  for (const key of [undefined, 'the key of this folder, which a start had made']) {
    if (key !== undefined) writeFileSync(join(dataDir, 'secret.key'), key);
    const before = snapshot();
    assertFailed(await start({ DATA_DIR: dataDir }), refusal);
    for (const line of [['status'], ['upgrade', '--check'], ['school', 'list', '--json']])
      assertFailed(await run(line, { DATA_DIR: dataDir }), refusal, line.join(' '));
    assert.deepEqual(snapshot(), before);
  }
  assert.equal(readFileSync(join(dataDir, inside), 'utf8'), '17\n');
});

test('a DATA_DIR that is a file, or lies below one, is named with the remedy', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const dataDir of [file, join(file, 'below')]) {
    const words = new RegExp(`^schoolbell: DATA_DIR ${dataDir}: .*not a directory`, 'm');
    assertFailed(await start({ DATA_DIR: dataDir }), words, dataDir);
    assertFailed(await run(['status'], { DATA_DIR: dataDir }), words, dataDir);
  }
});

test('a DATA_DIR behind a broken symbolic link, or with a name that is too long, is named with the remedy', async () => {
  const [dangling, loop, longName] = [join(folder, 'dangling'), join(folder, 'loop'), join(folder, 'x'.repeat(300))];
  symlinkSync(join(folder, 'gone'), dangling);
  symlinkSync(loop, loop);
  const isFault = (place: string, fault: RegExp) => new RegExp(`^schoolbell: DATA_DIR ${place}: .*${fault.source}.*name `, 'im');
  for (const [dataDir, place, fault] of [
    [dangling, dangling, /link to a folder that does not exist/],
    [join(dangling, 'below'), dangling, /link to a folder that does not exist/],
    [loop, loop, /links lead back/],
    [join(loop, 'below'), join(loop, 'below'), /links lead back/],
    [longName, longName, /too long/],
  ] as const) {
    assertFailed(await start({ DATA_DIR: dataDir }), isFault(place, fault), dataDir);
    if (place !== dangling) assertFailed(await run(['status'], { DATA_DIR: dataDir }), isFault(place, fault), dataDir);
  }
  assert.throws(() => readdirSync(join(folder, 'gone')), /ENOENT/);
});

const onLinux = { skip: process.platform === 'linux' ? false : 'only Linux has such a file system' };
test('a DATA_DIR on a file system that cannot have new folders is named', onLinux, async () => {
  assertFailed(await start({ DATA_DIR: '/proc/schoolbell/data' }), /^schoolbell: DATA_DIR \/proc\/schoolbell: .*does not allow new folders/m);
});

const asRoot = { skip: isRoot ? false : 'only root can run a process as another user' };
test('a DATA_DIR that the user may not write to is named with the user and the remedy', asRoot, async () => {
  const closed = join(folder, 'closed');
  mkdirSync(closed, { mode: 0o755 });
  for (const dataDir of [closed, join(closed, 'below')])
    assertFailed(await start({ DATA_DIR: dataDir }, nobody), new RegExp(`^schoolbell: DATA_DIR ${dataDir}: .*not writable.*${nobody}`, 'm'), dataDir);
  const secret = join(folder, 'secret');
  mkdirSync(secret, { mode: 0o700 });
  const status = await runProcess(folder, { DATA_DIR: secret }, ['status'], { uid: nobody });
  assertFailed(status, new RegExp(`^schoolbell: DATA_DIR ${secret}: .*not writable`, 'm'));
});

const small = join(folder, 'small');
mkdirSync(small);
const mounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=0711', 'tmpfs', small]).status === 0;
after(() => {
  if (mounted) spawnSync('umount', ['-l', small]);
  rmSync(folder, { recursive: true, force: true });
});
const skip = mounted ? false : 'needs the right to mount';

/** Leaves this much room on the small disk. */
function leaveRoom(bytes: number): void {
  const filler = join(small, 'filler');
  rmSync(filler, { force: true });
  const { bavail, bsize } = statfsSync(small);
  appendFileSync(filler, Buffer.alloc(Math.max(0, Number(bavail) * Number(bsize) - bytes)));
}

test('a DATA_DIR on a full disk is named with the remedy, whether nothing or half of the database fits', { skip }, async () => {
  for (const [name, room] of [['none', 0], ['half', 30 * 1024 ** 2]] as const) {
    leaveRoom(room);
    const dataDir = join(small, name);
    assertFailed(await start({ DATA_DIR: dataDir }), new RegExp(`^schoolbell: DATA_DIR ${dataDir}: .*disk is full.*[Ff]ree`, 'm'), name);
  }
});

test('an import that finds no room for its temporary files names their folder and the remedy', { skip }, async () => {
  const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: join(small, 'import') };
  await service.addSchool('S1');
  const file = join(folder, 'roster');
  mkdirSync(file);
  for (const [name, { open }] of csvPackage(smallSchool).files) writeFileSync(join(file, name), await buffer(await open()));
  leaveRoom(0);
  const imported = await run(['import', '--estab', 'S1', file], settings);
  assertFailed(imported, new RegExp(`^schoolbell: .* in ${small}/import/spool \\(DATA_DIR\\): .*disk is full.*[Ff]ree`, 'm'));
  leaveRoom(8 * 1024 ** 2);
  assert.equal((await run(['import', '--estab', 'S1', file], settings)).code, 0);
});

test('a database whose disk is full is named with the remedy', async () => {
  await service.db.unsafe(`create function no_room() returns trigger language plpgsql as $$ begin
    raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  await service.db.unsafe('create trigger no_room before insert on establishment for each statement execute function no_room()');
  const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, 'none') };
  const refused = await run(['school', 'add', '--estab', 'S2', '--name', 'Two', '--email', 'a@b.example'], settings);
  await service.db.unsafe('drop trigger no_room on establishment');
  assertFailed(refused, /^schoolbell: the disk of the database in DATABASE_URL .* is full\. Free some space/m);
});
