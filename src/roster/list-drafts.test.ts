// Drafts of list files: a name is given only to what is on the disk already, and what fails on the way there, or is killed, leaves no list
// under it and nothing that stays.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test, type TestContext } from 'node:test';
import { beginKeeping, toPiece } from './keep-list.ts';
import { readRecords } from './list-file.ts';
import { createListFolder, listName, type ListFolder, type NamedList } from './list-folder.ts';

const minuteMs = 60_000;
const parent = mkdtempSync(join(tmpdir(), 'schoolbell-drafts-'));
after(() => rmSync(parent, { recursive: true, force: true }));
const named: NamedList = { rosterId: randomUUID(), version: 3, instant: 4, view: 'view', compressed: undefined };
const name = listName(named);
const records = Array.from({ length: 50 }, (_, at) => `{"sourcedId":"r${at}"}`);

let path: string;
let clock: number;
let told: string[];
let folder: ListFolder;
beforeEach(() => {
  path = join(parent, randomUUID());
  clock = Date.now();
  told = [];
  folder = createListFolder({ folder: path, maxBytes: 1024 ** 2, now: () => clock, tell: (error, words) => told.push(`${words} ${error.message}`) });
});
afterEach(() => folder.close());

async function write(): Promise<boolean> {
  const keeping = (await beginKeeping(folder, { file: name, count: records.length })) ?? assert.fail('nothing can be written');
  await keeping.add(toPiece(records));
  return keeping.keep();
}

async function assertIsList(): Promise<void> {
  const held = (await folder.hold(name)) ?? assert.fail('there is none');
  assert.equal((await readRecords(held.file, 0, records.length)).toString(), records.join(','));
  held.release();
}

/** What all open files have in common. */
async function prototypeOf(): Promise<FileHandle> {
  const handle = await open(import.meta.filename);
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}

/** Waiting for the disk passes by the test. */
async function passSync(t: TestContext, pass: () => void): Promise<void> {
  const prototype = await prototypeOf();
  const sync = prototype.datasync;
  t.mock.method(prototype, 'datasync', async function passed(this: FileHandle) {
    pass();
    await sync.call(this);
  });
}

test('a list has its name only after all of it was brought to the disk', async (t) => {
  const seen: string[][] = [];
  let written = '';
  await passSync(t, () => {
    seen.push(readdirSync(path));
    written = readFileSync(join(path, seen[0]?.[0] ?? ''), 'latin1');
  });
  assert.ok(await write());
  assert.equal(seen.length, 1);
  assert.match(seen[0]?.join() ?? '', /^[^,]+\.part$/, 'the draft was there alone');
  assert.equal(written, readFileSync(join(path, name), 'latin1'), 'and nothing was written to it afterwards');
  await assertIsList();
});

test('a disk that fails as it is waited for leaves no list, and no draft', async (t) => {
  let fails = true;
  await passSync(t, () => {
    if (fails) throw new Error('EIO: i/o error');
  });
  assert.equal(await write(), false);
  assert.deepEqual(readdirSync(path), []);
  assert.match(told.join(), /cannot be written.*EIO/);
  assert.equal(await folder.hold(name), undefined);
  fails = false;
  clock += minuteMs;
  assert.ok(await write());
  await assertIsList();
});

test('where the name cannot be given, no draft stays', async () => {
  mkdirSync(join(path, name), { recursive: true });
  assert.equal(await write(), false);
  assert.deepEqual(readdirSync(path), [name]);
  assert.match(told.join(), /cannot be written/);
  rmdirSync(join(path, name));
  clock += minuteMs;
  assert.ok(await write());
  await assertIsList();
});

test('a process that is killed before it gives the name leaves a draft, which is no list and goes after ten minutes', async () => {
  const script = join(parent, 'killed.ts');
  const from = (file: string) => JSON.stringify(join(import.meta.dirname, file));
  writeFileSync(script, `
    import { open } from 'node:fs/promises';
    import { beginKeeping, toPiece } from ${from('keep-list.ts')};
    import { createListFolder } from ${from('list-folder.ts')};
    const handle = await open(process.argv[1]);
    Object.getPrototypeOf(handle).datasync = () => process.kill(process.pid, 'SIGKILL');
    const records = ${JSON.stringify(records)};
    const keeping = await beginKeeping(createListFolder({ folder: ${JSON.stringify(path)}, maxBytes: 1e6 }), { file: ${JSON.stringify(name)}, count: 50 });
    await keeping.add(toPiece(records));
    await keeping.keep();`);
  const ended = Promise.withResolvers<string | undefined>();
  execFile(process.execPath, [script], (error) => ended.resolve(error?.signal));
  assert.equal(await ended.promise, 'SIGKILL');
  const left = readdirSync(path);
  assert.equal(left.length, 1);
  assert.ok(left[0]?.startsWith(`${name}.`) && left[0].endsWith('.part'), left.join());
  assert.ok(readFileSync(join(path, left[0] ?? '')).includes(records.join(',')), 'all of it was written');
  assert.equal(await folder.hold(name), undefined);
  assert.deepEqual(await folder.list(), []);
  const asked: NamedList[] = [];
  const sweep = () => folder.sweep((list) => asked.push(list) > 0);
  await sweep();
  assert.deepEqual(readdirSync(path), left, 'another process may be at it');
  assert.deepEqual(asked, [named]);
  clock += 11 * minuteMs;
  await sweep();
  assert.deepEqual(readdirSync(path), []);
  assert.ok(await write());
  await assertIsList();
});
