// List files and their folder: what was written reads back, by any slice; what is damaged, cut, half made or too large is no list and goes;
// folders of several processes keep one bound; and where nothing can be read or written, all goes on without.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { ListFileBroken, ListWriter, readRecords, readSourcedId, streamBytes, writeAll, type ListFile } from './list-file.ts';
import { createListFolder, listName, parseListName, type Draft, type FolderParts, type ListFolder } from './list-folder.ts';

const minuteMs = 60_000;
const parent = mkdtempSync(join(tmpdir(), 'schoolbell-lists-'));
after(() => rmSync(parent, { recursive: true, force: true }));

let path: string;
let clock: number;
let told: string[];
const opened: ListFolder[] = [];
afterEach(async () => void (await Promise.all(opened.splice(0).map((folder) => folder.close()))));
beforeEach(() => {
  path = join(parent, randomUUID());
  clock = Date.now();
  told = [];
});

/** As each process has one of its own. */
function openFolder(parts: Partial<FolderParts> = {}): ListFolder {
  const folder = createListFolder({ folder: path, maxBytes: 1024 ** 2, now: () => clock, tell: (_, words) => told.push(words), ...parts });
  opened.push(folder);
  return folder;
}
const roster = randomUUID();
const nameOf = (version: number, view = 'view') => listName({ rosterId: roster, version, instant: 1_000 + version, view, compressed: undefined });
const filesThere = () => readdirSync(path).toSorted();
const bytesThere = () => filesThere().reduce((sum, name) => sum + statSync(join(path, name)).size, 0);

/** Of several scripts and lengths, so that bytes are not characters. */
const record = (at: number, more = '') => `{"sourcedId":"${String(at).padStart(5, '0')}-é\u{1d4b3}","note":"${'x}{,"'.slice(0, 3).repeat(at % 7)}${more}"}`;
const records = (count: number, more?: string) => Array.from({ length: count }, (_, at) => record(at, more));
const toPiece = (some: readonly string[]) => ({ bytes: Buffer.from(some.join(',')), lengths: some.map((one) => Buffer.byteLength(one)) });

async function begin(folder: ListFolder, name: string): Promise<Draft> {
  return (await folder.begin(name)) ?? assert.fail('nothing can be written');
}

async function write(folder: ListFolder, name: string, some: readonly string[], perPiece = 7): Promise<boolean> {
  const draft = await begin(folder, name);
  let writer: ListWriter | undefined;
  for (let at = 0; at < some.length; at += perPiece)
    if (!(await draft.attempt((handle) => (writer ??= new ListWriter(handle, draft.room)).add(toPiece(some.slice(at, at + perPiece)))))) return false;
  return (await draft.attempt((handle) => (writer ?? new ListWriter(handle, draft.room)).end())) && draft.keep();
}

async function withFile<T>(folder: ListFolder, name: string, work: (file: ListFile) => Promise<T>): Promise<T | undefined> {
  const held = await folder.hold(name);
  if (!held) return undefined;
  try {
    return await work(held.file);
  } finally {
    held.release();
  }
}

async function assertHolds(folder: ListFolder, name: string, expected: readonly string[]): Promise<void> {
  const isThere = await withFile(folder, name, async (file) => {
    assert.equal(file.end.count, expected.length);
    for (const [from, to] of [[0, expected.length], [0, 1], [3, 3], [5, 12], [expected.length - 1, expected.length]] as const)
      assert.equal((await readRecords(file, from, to, 2, 3)).subarray(2, -3).toString(), expected.slice(from, to).join(','), `${from} to ${to}`);
    const pieces: Buffer[] = [];
    for await (const piece of streamBytes(file)) pieces.push(piece);
    assert.equal(Buffer.concat(pieces).toString(), expected.join(','));
    assert.equal(await readSourcedId(file, 4), JSON.parse(expected[4] ?? '').sourcedId);
    return true;
  });
  assert.ok(isThere, `${name} is there`);
}

test('what was written reads back by any slice, in this process and in another, and as copied into the next', async () => {
  const [folder, other] = [openFolder(), openFolder()];
  const all = records(100);
  assert.ok(await write(folder, nameOf(1), all));
  for (const one of [folder, other]) await assertHolds(one, nameOf(1), all);
  await withFile(folder, nameOf(1), async (file) => {
    const draft = await begin(folder, nameOf(2));
    assert.ok(
      await draft.attempt(async (handle) => {
        const writer = new ListWriter(handle, draft.room);
        await writer.copy(file, 0, 0);
        await writer.copy(file, 0, 40);
        await writer.add(toPiece([record(40, 'changed')]));
        await writer.copy(file, 41, 100);
        await writer.copy(file, 100, 100);
        await writer.end();
      }),
    );
    assert.ok(await draft.keep());
  });
  await assertHolds(other, nameOf(2), all.with(40, record(40, 'changed')));
  assert.deepEqual(filesThere(), [nameOf(1), nameOf(2)]);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  for (const name of filesThere()) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600);
  assert.deepEqual(told, []);
});

test('a list without records is a list', async () => {
  const folder = openFolder();
  assert.ok(await write(folder, nameOf(1), []));
  assert.equal(await withFile(folder, nameOf(1), async (file) => `${file.end.count} ${(await readRecords(file, 0, 0)).length}`), '0 0');
});

test('a name says what it is of, and what is not such a name is no list', () => {
  for (const compressed of [undefined, 'gzip', 'zstd']) {
    const named = { rosterId: roster, version: 12, instant: 34, view: 'a_b-C', compressed };
    assert.deepEqual(parseListName(listName(named)), named);
  }
  const others = ['', 'other', `${nameOf(1)}.br`, `${nameOf(1)}.${randomUUID()}.part`, `${roster}.1.2`, `../${nameOf(1)}`];
  for (const name of others) assert.equal(parseListName(name), undefined, name);
});

test('a byte of the index or of the end that is another, bytes that are missing or too many: it is no list, goes and is told', async () => {
  const all = records(20);
  await write(openFolder(), nameOf(1), all);
  const whole = readFileSync(join(path, nameOf(1)));
  const data = Buffer.byteLength(all.join(','));
  const changed = Array.from({ length: whole.length - data }, (_, at) => {
    const copy = Buffer.from(whole);
    copy[data + at] = (copy[data + at] ?? 0) ^ (1 << at % 8);
    return copy;
  });
  const cut = [0, 1, 23, 24, 30, data, data + 4, whole.length - 24, whole.length - 1].map((length) => whole.subarray(0, length));
  for (const [at, bytes] of [...changed, ...cut, Buffer.concat([whole, Buffer.alloc(1)]), Buffer.concat([whole, whole])].entries()) {
    writeFileSync(join(path, nameOf(1)), bytes);
    told = [];
    const folder = openFolder();
    assert.equal(await folder.hold(nameOf(1)), undefined, `damage ${at}`);
    assert.deepEqual(filesThere(), [], 'it was removed');
    assert.match(told.join(), /damaged and was removed/);
    assert.equal(await folder.hold(nameOf(1)), undefined);
    assert.equal(told.length, 1);
    if (at % 10 === 0) assert.ok(await write(folder, nameOf(1), all), 'and can be made again');
  }
});

test('records that are not where the index says, or are cut off under a reader, are an error and never other bytes', async () => {
  const folder = openFolder();
  const all = records(20);
  await write(folder, nameOf(1), all);
  await withFile(folder, nameOf(1), async (file) => {
    const start = file.starts[7] ?? 0;
    const writing = await open(join(path, nameOf(1)), 'r+');
    await writing.write(' ', start);
    await writing.close();
    await assert.rejects(readRecords(file, 7, 9), ListFileBroken);
    await assert.rejects(readSourcedId(file, 7), ListFileBroken);
    assert.equal((await readRecords(file, 8, 9)).toString(), all[8]);
    truncateSync(join(path, nameOf(1)), (file.starts[12] ?? 0) + 5);
    await assert.rejects(readRecords(file, 12, 13), ListFileBroken);
    await assert.rejects(async () => {
      for await (const piece of streamBytes(file)) assert.ok(piece.length > 0);
    }, ListFileBroken);
  });
});

test('whoever reads a file goes on when it is removed, replaced or let go; afterwards it is closed', async () => {
  const folder = openFolder();
  const all = records(20);
  await write(folder, nameOf(1), all);
  const held = (await folder.hold(nameOf(1))) ?? assert.fail();
  const again = (await folder.hold(nameOf(1))) ?? assert.fail();
  assert.equal(again.file, held.file, 'it is opened once');
  unlinkSync(join(path, nameOf(1)));
  await folder.sweep(() => true);
  assert.equal((await readRecords(held.file, 0, 20)).toString(), all.join(','));
  assert.equal(await folder.hold(nameOf(1)), undefined, 'for others it is gone after a look around');
  held.release();
  held.release();
  assert.equal((await readRecords(again.file, 3, 5)).toString(), all.slice(3, 5).join(','), 'released twice is once');
  again.release();
  await assert.rejects(held.file.handle.stat());
  await write(folder, nameOf(1), all);
  await assertHolds(folder, nameOf(1), all);
  const last = (await folder.hold(nameOf(1))) ?? assert.fail();
  await folder.close();
  assert.equal((await readRecords(last.file, 0, 20)).toString(), all.join(','));
  last.release();
  assert.equal(await folder.hold(nameOf(1)), undefined);
  assert.equal(await folder.begin(nameOf(2)), undefined);
});

test('many who ask at once while files come and go get whole records or none', async () => {
  const folder = openFolder();
  const all = records(50);
  await write(folder, nameOf(1), all);
  let found = 0;
  const ask = async (at: number) => {
    const from = at % 49;
    const bytes = await withFile(folder, nameOf(1), (file) => readRecords(file, from, from + 1));
    if (bytes) found += 1;
    if (bytes) assert.equal(bytes.toString(), all[from]);
  };
  for (let round = 0; round < 20; round += 1) {
    const asking = Array.from({ length: 20 }, (_, at) => ask(round * 20 + at));
    await Promise.all([...asking, folder.discard(nameOf(1)), ask(round)]);
    await Promise.all([write(folder, nameOf(1), all), ask(round)]);
  }
  assert.ok(found > 20, `${found} of them`);
  await assertHolds(folder, nameOf(1), all);
});

test('two processes that make the same file at once leave one, whole', async () => {
  const folders = [openFolder(), openFolder()];
  const all = records(60);
  assert.deepEqual(await Promise.all(folders.map((folder) => write(folder, nameOf(1), all, 5))), [true, true]);
  assert.deepEqual(filesThere(), [nameOf(1)]);
  for (const folder of folders) await assertHolds(folder, nameOf(1), all);
});

test('of many who read the same whole list one writes it, whoever makes it ready besides, and afterwards another may', async () => {
  const folder = openFolder();
  const first = (await folder.begin(nameOf(1), { alone: true })) ?? assert.fail();
  assert.equal(await folder.begin(nameOf(1), { alone: true }), undefined);
  const second = await begin(folder, nameOf(1));
  await first.drop();
  await first.drop();
  assert.equal(await folder.begin(nameOf(1), { alone: true }), undefined, 'dropped twice is once');
  await second.drop();
  const third = (await folder.begin(nameOf(1), { alone: true })) ?? assert.fail('nobody writes it any more');
  await third.keep();
  const last = (await folder.begin(nameOf(1), { alone: true })) ?? assert.fail('nor is what was kept being written');
  await last.drop();
});

const setUsed = (name: string, ms: number) => utimesSync(join(path, name), new Date(ms), new Date(ms));

test('all processes keep one bound, unfinished files included, and what was used least goes first', async () => {
  const some = records(200);
  await write(openFolder(), nameOf(0), some);
  const each = statSync(join(path, nameOf(0))).size;
  const maxBytes = each * 3 + 10;
  const [folder, other] = [openFolder({ maxBytes }), openFolder({ maxBytes })];
  for (const [at, one] of [folder, other].entries()) {
    assert.ok(await write(one, nameOf(at + 1), some));
    setUsed(nameOf(at + 1), clock - minuteMs * (20 - at));
  }
  setUsed(nameOf(0), clock - minuteMs * 30);
  // The oldest is used again, so that the next one goes.
  await assertHolds(other, nameOf(0), some);
  assert.ok(await write(folder, nameOf(3), some));
  assert.deepEqual(filesThere(), [nameOf(0), nameOf(2), nameOf(3)]);
  for (let version = 4; version < 12; version += 1) {
    const made = await Promise.all([folder, other].map((one, at) => write(one, nameOf(version, `view${at}`), some)));
    assert.ok(made.includes(true));
    assert.ok(bytesThere() <= maxBytes, `${bytesThere()} of ${maxBytes}`);
  }
  writeFileSync(join(path, `${nameOf(20)}.${randomUUID()}.part`), Buffer.alloc(each * 2));
  assert.ok(await write(other, nameOf(21), some));
  assert.ok(bytesThere() <= maxBytes);
  assert.deepEqual(filesThere().filter((name) => !name.endsWith('.part')), [nameOf(21)]);
});

test('what is in use is not removed for another list, which is not begun again for five minutes; its own earlier versions are', async () => {
  const some = records(200);
  await write(openFolder(), nameOf(1, 'used'), some);
  const maxBytes = Math.ceil(statSync(join(path, nameOf(1, 'used'))).size * 1.5);
  const folder = openFolder({ maxBytes });
  assert.equal(await write(folder, nameOf(1, 'other'), some), false);
  assert.deepEqual(filesThere(), [nameOf(1, 'used')]);
  clock += 4 * minuteMs;
  assert.equal(await folder.begin(nameOf(1, 'other')), undefined, 'it would find no room again');
  await assertHolds(folder, nameOf(1, 'used'), some);
  clock += minuteMs;
  assert.equal(await write(folder, nameOf(1, 'other'), some), false, 'the first was used a minute ago');
  assert.ok(await write(folder, nameOf(2, 'used'), some));
  assert.deepEqual(filesThere(), [nameOf(2, 'used')]);
  clock += 5 * minuteMs;
  setUsed(nameOf(2, 'used'), clock - 5 * minuteMs);
  assert.ok(await write(folder, nameOf(1, 'other'), some), 'nobody used it for so long');
  assert.deepEqual(filesThere(), [nameOf(1, 'other')]);
  assert.deepEqual(told, []);
});

test('a bound that was lowered holds at the next look around, whatever is in use', async () => {
  const some = records(200);
  for (const version of [1, 2, 3]) await write(openFolder(), nameOf(version), some);
  const maxBytes = Math.ceil(bytesThere() / 2);
  const unfinished = `${nameOf(4)}.${randomUUID()}.part`;
  await openFolder({ maxBytes }).sweep(() => true);
  assert.equal(filesThere().length, 1);
  writeFileSync(join(path, unfinished), Buffer.alloc(maxBytes + 1));
  await openFolder({ maxBytes }).sweep(() => true);
  assert.deepEqual(filesThere(), [unfinished], 'also where more is being written than all may take');
});

test('a list larger than the bound is given up where it passes it, is not begun again, and removes no other', async () => {
  const small = records(10);
  const folder = openFolder({ maxBytes: 10_000 });
  await write(folder, nameOf(1), small);
  const draft = await begin(folder, nameOf(2));
  let writer: ListWriter | undefined;
  let [most, pieces, goesOn] = [0, 0, true];
  for (; goesOn && pieces < 100; pieces += 1) {
    goesOn = await draft.attempt((handle) => (writer ??= new ListWriter(handle, draft.room)).add(toPiece(records(10))));
    most = Math.max(most, bytesThere());
  }
  assert.ok(pieces < 25, `${pieces} pieces were written`);
  assert.ok(most < 13_000, `up to ${most} bytes`);
  assert.equal(await draft.keep(), false);
  await draft.drop();
  assert.deepEqual(filesThere(), [nameOf(1)]);
  assert.equal(await folder.begin(nameOf(2)), undefined, 'it would come to nothing again');
  assert.ok(await write(folder, nameOf(3), small), 'others are written');
  assert.deepEqual(told, []);
});

test('leftovers of a killed process, files that nobody is to have and those of another make go; what is being written stays', async () => {
  const folder = openFolder();
  for (const version of [1, 2]) await write(folder, nameOf(version), records(10));
  const young = `${nameOf(3)}.${randomUUID()}.part`;
  const old = `${nameOf(4)}.${randomUUID()}.part`;
  const unwanted = `${nameOf(5)}.${randomUUID()}.part`;
  for (const name of [young, old, unwanted, 'whatever']) writeFileSync(join(path, name), 'half');
  setUsed(old, clock - 11 * minuteMs);
  setUsed(young, clock - 9 * minuteMs);
  const held = (await folder.hold(nameOf(1))) ?? assert.fail();
  await folder.sweep(({ version }) => version > 1 && version < 5);
  assert.deepEqual(filesThere(), [nameOf(2), young].toSorted());
  assert.equal((await readRecords(held.file, 0, 1)).toString(), record(0), 'who reads it goes on');
  held.release();
  clock += 2 * minuteMs;
  await folder.sweep(() => true);
  assert.deepEqual(filesThere(), [nameOf(2)]);
});

test('without room at all nothing is kept, and what was there before goes', async () => {
  await write(openFolder(), nameOf(1), records(10));
  const folder = openFolder({ maxBytes: 0 });
  assert.equal(await folder.hold(nameOf(1)), undefined);
  assert.equal(await folder.begin(nameOf(2)), undefined);
  await folder.sweep(() => true);
  assert.deepEqual(filesThere(), []);
});

test('where something else stands in the place of the folder, nothing is held or written, it is told once a minute and tried again', async () => {
  writeFileSync(path, 'no folder');
  const folder = openFolder();
  for (let time = 0; time < 3; time += 1) {
    assert.equal(await folder.hold(nameOf(1)), undefined);
    assert.equal(await folder.begin(nameOf(1)), undefined);
    assert.deepEqual(await folder.list(), []);
    await folder.sweep(() => true);
  }
  assert.equal(new Set(told).size, told.length);
  assert.match(told.join(), /cannot be written/);
  assert.match(told.join(), /cannot be read/);
  unlinkSync(path);
  assert.equal(await folder.begin(nameOf(1)), undefined, 'not at once');
  clock += minuteMs;
  assert.ok(await write(folder, nameOf(1), records(20)));
  await assertHolds(folder, nameOf(1), records(20));
});

test('a full disk ends a draft, leaves nothing behind and is left alone for a minute', async () => {
  const folder = openFolder();
  const draft = await begin(folder, nameOf(1));
  const full = await open('/dev/full', 'w');
  assert.equal(await draft.attempt(() => writeAll(full, [Buffer.alloc(10)])), false);
  await full.close();
  assert.equal(await draft.attempt(() => assert.fail('it has come to nothing')), false);
  assert.equal(await draft.keep(), false);
  assert.deepEqual(filesThere(), []);
  assert.match(told.join(), /cannot be written/);
  assert.equal(await folder.begin(nameOf(1)), undefined);
  clock += minuteMs;
  assert.ok(await write(folder, nameOf(1), records(10)));
});

test('a process that may not write as much as it wants writes nothing short: what does not fit leaves nothing', async () => {
  const script = `
    import { createListFolder } from ${JSON.stringify(join(import.meta.dirname, 'list-folder.ts'))};
    import { ListWriter } from ${JSON.stringify(join(import.meta.dirname, 'list-file.ts'))};
    const folder = createListFolder({ folder: ${JSON.stringify(path)}, maxBytes: 1e9, tell: (error) => console.log(error.code) });
    for (const [name, pieces] of [[${JSON.stringify(nameOf(1))}, 3], [${JSON.stringify(nameOf(2))}, 51]]) {
      const draft = await folder.begin(name);
      const writer = [];
      let goesOn = true;
      for (let at = 0; goesOn && at < pieces; at += 1) goesOn = await draft.attempt((handle) =>
        (writer[0] ??= new ListWriter(handle, draft.room)).add({ bytes: Buffer.from('{' + 'x'.repeat(998) + '}'), lengths: [1000] }));
      console.log(goesOn && (await draft.attempt(() => writer[0].end())) && (await draft.keep()));
    }`;
  mkdirSync(path);
  writeFileSync(join(parent, 'limited.ts'), script);
  // 51,200 bytes: the records fit, what stands behind them does so in part.
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -f 100; exec "$0" "$1"', process.execPath, join(parent, 'limited.ts')]);
  assert.deepEqual(stdout.trim().split('\n'), ['true', 'EFBIG', 'false']);
  assert.deepEqual(filesThere(), [nameOf(1)]);
  const folder = openFolder();
  assert.equal(await withFile(folder, nameOf(1), async (file) => (await readRecords(file, 0, 3)).length), 3002);
});
