// Covers the end of files with marks: by age, and of people whom the roster does not know any more.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { withoutNodeOf } from '../../../../test/node-away.ts';
import { useService } from '../../../../test/service.ts';
import { smallPackage } from '../../../../test/small-school.ts';
import { forgetMarksFiles, marksFolder, removeMarksFiles } from './forget-marks-files.ts';
import { writeMarksFile } from './write-marks.ts';

const { db, dataDir, addSchool } = await useService();
await addSchool('one', smallPackage());
const register = { line: 0, date: '2026-10-13', session: 'AM', mark: 'I', minutesLate: undefined } as const;
const mark = (studentId: string, notes?: string) => ({ ...register, studentId, notes });
const write = (estab: string, trackingId: string, ...marks: ReturnType<typeof mark>[]) =>
  writeMarksFile(marksFolder(dataDir, estab), { trackingId, partial: false, marks });
const age = (estab: string, name: string, days: number) => {
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 - days * 86_400_000);
  utimesSync(`${marksFolder(dataDir, estab)}/${name}`, at, at);
  return at;
};
const names = (estab: string) => readdirSync(marksFolder(dataDir, estab)).toSorted();
const read = (estab: string, name: string) => readFileSync(`${marksFolder(dataDir, estab)}/${name}`, 'utf8');

test('a file ends after the days, what a sudden end left after one, and nothing else does', async () => {
  await write('one', 'old', mark('p1'));
  await write('one', 'young', mark('p1', 'says "so",\nover two lines'), mark('p2'));
  writeFileSync(`${marksFolder(dataDir, 'one')}/.half.tmp`, 'p1');
  writeFileSync(`${marksFolder(dataDir, 'one')}/.writing.tmp`, 'p1');
  age('one', 'old.csv', 31);
  age('one', 'young.csv', 29);
  age('one', '.half.tmp', 2);
  const before = read('one', 'young.csv');
  await forgetMarksFiles(db, dataDir, 30);
  assert.deepEqual(names('one'), ['.writing.tmp', 'young.csv']);
  assert.equal(read('one', 'young.csv'), before);
});

test('who is not in the roster any more goes from a file, which stays as old as it was, and with everybody the file goes', async () => {
  await write('one', 'both', mark('gone', 'theirs'), mark('p2', 'says "so",\nover two lines'));
  await write('one', 'alone', mark('gone'));
  // As if it were taken between being listed and being read.
  symlinkSync('nowhere', `${marksFolder(dataDir, 'one')}/a-vanished.csv`);
  const at = age('one', 'both.csv', 3);
  const purged = (ago: string) => db`update roster_version set import = null, instant = now() - ${ago}::interval where estab = 'one'`;
  await purged('2 hours');
  await forgetMarksFiles(db, dataDir, 30);
  assert.ok(names('one').includes('alone.csv'), 'since the last purge it was written, or looked at, and is not read again');
  await purged('1 minute');
  await forgetMarksFiles(db, dataDir, 30);
  assert.ok(!names('one').includes('alone.csv'));
  assert.equal(
    read('one', 'both.csv'),
    'studentSourcedId,date,session,mark,minutesLate,notes\r\np2,2026-10-13,AM,I,,"says ""so"",\nover two lines"\r\n',
  );
  assert.equal(statSync(`${marksFolder(dataDir, 'one')}/both.csv`).mtimeMs, at.getTime());
});

test('files of a school that is there no more go, on every machine, and with the school when that is removed', async () => {
  await write('removed', 'young', mark('gone'));
  await forgetMarksFiles(db, dataDir, 30);
  assert.deepEqual(readdirSync(dirname(marksFolder(dataDir, 'x'))), ['one']);
  await write('removed', 'young', mark('gone'));
  await removeMarksFiles(dataDir, 'removed');
  await removeMarksFiles(dataDir, 'removed');
  assert.deepEqual(readdirSync(dirname(marksFolder(dataDir, 'x'))), ['one']);
});

test('a school that cannot be had keeps the files of none of the others', async () => {
  const estabs = ['a-there', 'b-away', 'c-there'];
  for (const estab of estabs) {
    await addSchool(estab, smallPackage());
    await write(estab, 'old', mark('p1'));
    age(estab, 'old.csv', 31);
  }
  await assert.rejects(forgetMarksFiles(withoutNodeOf(db, 'b-away'), dataDir, 30), /^AggregateError: 1 of 4 schools could not be rid of its marks in files$/);
  assert.deepEqual(estabs.map((estab) => names(estab).length), [0, 1, 0]);
});
