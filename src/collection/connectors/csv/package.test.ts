// Covers the opening of packages nobody vouches for: zips with unsafe paths, lies about sizes, bombs and damage, and
// folders with more in them than was asked for.
import assert from 'node:assert/strict';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import yazl from 'yazl';
import { until } from '../../../../test/until.ts';
import { SourceError, type Problem } from '../../problem.ts';
import { openCsvSource } from './csv-source.ts';
import { maxEntries, openPackage } from './package.ts';
import { readCsv } from './read-csv.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-package-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const newPath = (ending: string) => join(folder, `${(made += 1)}${ending}`);

const orgs = 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId\no1,,,School,school,,\n';
const manifest = 'propertyName,value\nmanifest.version,1.0\noneroster.version,1.1\nfile.orgs,bulk\n';

async function zipOf(files: Record<string, string | Buffer>, options: { forceZip64Format?: boolean } = {}): Promise<string> {
  const zip = new yazl.ZipFile();
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith('/')) zip.addEmptyDirectory(name);
    else zip.addBuffer(Buffer.from(content), name, options);
  }
  zip.end();
  const path = newPath('.zip');
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}

type Entry = { name: string; data?: Buffer; flags?: number; method?: number; packed?: Buffer; packedSize?: number; size?: number };

/** A zip byte by byte, for what no honest writer would write. */
function craftZip(entries: readonly Entry[]): string {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const {
    name, data = Buffer.from(orgs), flags = 0x800, method = 8, packed = method === 8 ? deflateRawSync(data) : data, packedSize = packed.length,
    size = data.length,
  } of entries) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packedSize, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(at, 10);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name), packed]);
    parts.push(local);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), common, tail, Buffer.from(name)]));
    at += local.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(at, 12);
  const path = newPath('.zip');
  writeFileSync(path, Buffer.concat([...parts, ...directory, Buffer.from('PK\u0005\u0006'), end]));
  return path;
}

async function problemOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof SourceError, `expected a SourceError, got ${String(error)}`);
  return error.problem;
}

/** What is in a package, read to the end. */
async function unpack(path: string): Promise<Record<string, string>> {
  const opened = await openPackage(path);
  try {
    const contents: Record<string, string> = {};
    for (const [name, file] of opened.files) {
      const pieces: Buffer[] = [];
      for await (const piece of await file.open()) pieces.push(piece as Buffer);
      contents[name] = Buffer.concat(pieces).toString();
      assert.equal(file.size, Buffer.concat(pieces).length);
    }
    return contents;
  } finally {
    await opened.close();
  }
}

async function readOrgs(path: string): Promise<number> {
  const opened = await openPackage(path);
  const file = opened.files.get('orgs.csv');
  assert.ok(file);
  let records = 0;
  try {
    for await (const batch of readCsv(file, () => {})) records += batch.length;
  } finally {
    await opened.close();
  }
  return records;
}

test('a zip is opened and unpacks to what was put in', async () => {
  const files = { 'manifest.csv': manifest, 'orgs.csv': orgs };
  assert.deepEqual(await unpack(await zipOf(files)), files);
  assert.deepEqual(await unpack(await zipOf(files, { forceZip64Format: true })), files);
  assert.deepEqual(await unpack(craftZip([{ name: 'manifest.csv', data: Buffer.from(manifest) }, { name: 'orgs.csv', method: 0 }])), files);
});

test('what macOS adds to a zip is ignored, as are folders and other files', async () => {
  const path = await zipOf({
    'manifest.csv': manifest, 'orgs.csv': orgs, '__MACOSX/._orgs.csv': 'x', '__MACOSX/._manifest.csv': 'x', '__MACOSX/.DS_Store': 'x',
    '.DS_Store': 'x', 'read me.txt': 'x', 'empty/': '',
  });
  const opened = await openPackage(path);
  assert.deepEqual([...opened.files.keys()], ['manifest.csv', 'orgs.csv']);
  const source = await openCsvSource(opened);
  assert.deepEqual(source.collections.map(({ resource }) => resource.file), ['orgs.csv']);
  await source.close();
});

const unsafe = [
  '../orgs.csv', '../../etc/orgs.csv', 'x/../../orgs.csv', '/orgs.csv', '/etc/orgs.csv', 'C:/orgs.csv', 'c:orgs.csv', '..\\orgs.csv', 'x\\orgs.csv',
  '\\orgs.csv', '\\\\server\\orgs.csv', '__MACOSX/../../orgs.csv',
];
for (const name of unsafe) {
  test(`the path ${name} is refused`, async () => {
    const problem = await problemOf(openPackage(craftZip([{ name: 'manifest.csv', data: Buffer.from(manifest) }, { name }])));
    assert.match(problem.rule, /unsafe path|root of the zip/);
  });
}

test('files in a folder are refused, and the message says where they belong', async () => {
  const problem = await problemOf(openPackage(await zipOf({ 'export/manifest.csv': manifest, 'export/orgs.csv': orgs })));
  assert.equal(problem.file, 'export/manifest.csv');
  assert.match(problem.rule, /root of the zip/);
});

test('a file that is there twice is refused', async () => {
  const problem = await problemOf(openPackage(craftZip([{ name: 'orgs.csv' }, { name: 'manifest.csv' }, { name: 'orgs.csv' }])));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /twice/);
});

test('an encrypted file is refused', async () => {
  const problem = await problemOf(openPackage(craftZip([{ name: 'manifest.csv', data: Buffer.from(manifest) }, { name: 'orgs.csv', flags: 0x801 }])));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /encrypted/);
});

test('more entries than are read are refused, as many are not', async () => {
  const entries = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `${at}.txt` }));
  const opened = await openPackage(craftZip(entries(maxEntries)));
  await opened.close();
  assert.match((await problemOf(openPackage(craftZip(entries(maxEntries + 1))))).rule, /101 entries; at most 100/);
});

test('a compression that is not DEFLATE is refused by the name of the file', async () => {
  const problem = await problemOf(readOrgs(craftZip([{ name: 'orgs.csv', method: 12, packed: Buffer.from(orgs) }])));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /cannot be (read|unpacked)/);
});

test('a zip that says it unpacks to too much is refused before a byte is unpacked', async () => {
  const [size, packedSize] = [0xf000_0000, 0x1000_0000];
  const problem = await problemOf(
    openPackage(
      craftZip([
        { name: 'users.csv', size, packedSize },
        { name: 'classes.csv', size, packedSize },
        { name: 'orgs.csv', size, packedSize },
      ]),
    ),
  );
  assert.match(problem.rule, /more than 8 GiB/);
});

test('a file that says it unpacks to far more than its size is refused before a byte is unpacked', async () => {
  const problem = await problemOf(openPackage(craftZip([{ name: 'orgs.csv', size: 0xf000_0000 }])));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /200 times its size/);
});

test('a bomb that does not lie is refused', async () => {
  const problem = await problemOf(openPackage(await zipOf({ 'manifest.csv': manifest, 'orgs.csv': Buffer.alloc(80 * 1024 ** 2, '\n') })));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /200 times its size/);
});

test('a bomb that says it is small is cut off where it should have ended', async () => {
  const bomb = deflateRawSync(Buffer.alloc(64 * 1024 ** 2, 'o1,,,School,school,,\n'));
  for (const size of [0, 10, 1024 ** 2]) {
    let read = 0;
    const opened = await openPackage(craftZip([{ name: 'orgs.csv', packed: bomb, size }]));
    const file = opened.files.get('orgs.csv');
    assert.ok(file);
    const reading = (async () => {
      for await (const batch of readCsv(file, (count) => (read += count))) assert.ok(batch);
    })();
    const problem = await problemOf(reading);
    assert.equal(problem.file, 'orgs.csv');
    assert.ok(read <= size + 256 * 1024, `${read} bytes were unpacked`);
    await opened.close();
  }
});

test('a file that says it is larger than it is, is refused', async () => {
  assert.equal((await problemOf(readOrgs(craftZip([{ name: 'orgs.csv', method: 8, size: 5000 }])))).file, 'orgs.csv');
  assert.match((await problemOf(readOrgs(craftZip([{ name: 'orgs.csv', method: 0, size: 5000 }])))).rule, /damaged/);
});

test('content that is not what was packed is refused', async () => {
  const wrong = Buffer.from(orgs.replace('School', 'Schule'));
  for (const method of [0, 8])
    assert.equal((await problemOf(readOrgs(craftZip([{ name: 'orgs.csv', method, packed: method === 8 ? deflateRawSync(wrong) : wrong }])))).file, 'orgs.csv');
});

test('damaged DEFLATE data is refused by the name of the file', async () => {
  const problem = await problemOf(readOrgs(craftZip([{ name: 'orgs.csv', packed: Buffer.alloc(60, 0xff) }])));
  assert.equal(problem.file, 'orgs.csv');
  assert.match(problem.rule, /cannot be read/);
});

test('a zip that was cut off anywhere is refused', async () => {
  const whole = readFileSync(await zipOf({ 'manifest.csv': manifest, 'orgs.csv': orgs }));
  for (const length of [0, 1, 4, 22, 100, Math.floor(whole.length / 2), whole.length - 22, whole.length - 1]) {
    const path = newPath('.zip');
    writeFileSync(path, whole.subarray(0, length));
    const problem = await problemOf(openPackage(path));
    assert.equal(problem.file, path);
    assert.match(problem.rule, /is not a whole zip|is empty|not a zip/, `cut at ${length}`);
  }
});

test('what is not a zip is refused', async () => {
  for (const content of ['sourcedId,status\n', '%PDF-1.7', '\u001f\u008b\u0008'.repeat(50), 'PK\u0003\u0004'.repeat(50)]) {
    const path = newPath('.zip');
    writeFileSync(path, content, 'latin1');
    assert.match((await problemOf(openPackage(path))).rule, /not a (whole )?zip|is empty/);
  }
});

test('a zip or folder without files opens, and then lacks its manifest', async () => {
  for (const path of [craftZip([]), mkdtempSync(join(folder, 'empty-'))]) {
    const problem = await problemOf(openPackage(path).then(openCsvSource));
    assert.equal(problem.file, 'manifest.csv');
    assert.match(problem.rule, /missing/);
  }
});

test('a path that is not there is named', async () => {
  const path = join(folder, 'nowhere.zip');
  assert.deepEqual(await problemOf(openPackage(path)), { file: path, line: null, column: null, value: null, rule: 'there is no such zip or folder' });
});

test('of a folder the CSV files are read and the rest is left alone', async () => {
  const path = mkdtempSync(join(folder, 'full-'));
  for (const [name, content] of Object.entries({
    'manifest.csv': manifest, 'orgs.csv': orgs, 'notes.txt': 'x', '.DS_Store': 'x', 'orgs.csv.bak': 'x', 'orgs.CSV': 'x',
  }))
    writeFileSync(join(path, name), content);
  mkdirSync(join(path, 'writeback'));
  writeFileSync(join(path, 'writeback', '1.csv'), 'x');
  mkdirSync(join(path, 'classes.csv'));
  symlinkSync('/etc/passwd', join(path, 'users.csv'));
  assert.deepEqual(await unpack(path), { 'manifest.csv': manifest, 'orgs.csv': orgs });
});

test('no file stays open, whether it worked or not', { skip: !existsSync('/proc/self/fd') }, async () => {
  const held = (path: string) => readdirSync('/proc/self/fd').filter((one) => {
    try {
      return readlinkSync(`/proc/self/fd/${one}`) === path;
    } catch {
      return false;
    }
  }).length;
  const fine = await zipOf({ 'manifest.csv': manifest, 'orgs.csv': orgs });
  const unfit = await zipOf({ 'manifest.csv': 'wrong', 'orgs.csv': orgs });
  const inFolder = await zipOf({ 'x/orgs.csv': orgs });
  await unpack(fine);
  await problemOf(openPackage(unfit).then(openCsvSource));
  await problemOf(openPackage(inFolder));
  await until('none is held open', () => [fine, unfit, inFolder].every((path) => held(path) === 0));
});
