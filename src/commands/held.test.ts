// Covers the commands that decide about an import that is held: what was given as a folder, a zip, or is read from a
// watched folder; and what they print of faults and of who would go.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { zip } from '../../test/onboarding.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { enrolment, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import type { CsvPackage } from '../collection/connectors/csv/package.ts';

const service = await useService();
const { db } = service;
const place = mkdtempSync(join(tmpdir(), 'schoolbell-held-'));
after(() => rmSync(place, { recursive: true, force: true }));
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir };
const { run, schoolbell, json, assertFails } = useCommands(settings);

const many = <T>(number: number, make: (at: number) => T) => Array.from({ length: number }, (_, at) => make(at));
const pupils = (number: number) =>
  smallPackage({ users: [...smallSchool.users, ...many(number, (at) => user(`x${at}`, 'student', { familyName: `Nr${at}` }))] });
const records = async (estab: string) =>
  (await db<{ count: number }[]>`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`)[0]?.count;
const approve = async (estab: string) => `import approve --estab ${estab} --import ${(await json<{ id: string }>(`import held --estab ${estab}`)).id}`;
const packages = async (estab: string) => (await db`select from upload where estab = ${estab}`).length;

async function write(name: string, given: CsvPackage): Promise<string> {
  const folder = join(place, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const file of given.files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
  return folder;
}

async function writeZip(name: string, given: CsvPackage): Promise<string> {
  writeFileSync(join(place, name), await zip(given));
  return join(place, name);
}

test('a package that is held, a folder or a zip, names who would go and is kept until it is decided on', async () => {
  for (const [estab, write_] of [['held-folder', write], ['held-zip', writeZip]] as const) {
    await service.addSchool(estab, pupils(60));
    await assertFails(/no import of held-\w+ waits for approval/, `import approve --estab ${estab}`);
    await assertFails(/waits for approval/, `import discard --estab ${estab}`);
    const given = await write_(`${estab}.zip`, pupils(4));
    const why = /56 of 64 student users \(87\.5 %\) would be deleted.*import approve --estab held-\w+ --import .*--force approves it too/;
    const held = await assertFails(why, `import --estab ${estab}`, given);
    assert.match(held.out, /would be deleted: 56 student users: Given x10 Nr10, Given x11 Nr11, .* and 46 more/);
    assert.equal(await packages(estab), 1);
    // Whatever becomes of the file: what was seen is what goes.
    rmSync(given, { recursive: true });
    const done = await json<{ outcome: string; removed: number }>(await approve(estab));
    assert.deepEqual([done.outcome, done.removed, await records(estab), await packages(estab)], ['done', 56, 12, 0]);
    await assertFails(/waits for approval/, `import approve --estab ${estab}`);
    const [run] = await db`select kind from import_run where estab = ${estab} and outcome = 'held'`;
    assert.equal(run?.kind, 'command');
  }
});

test('what is discarded is gone, and nothing was changed', async () => {
  const estab = 'discarding';
  await service.addSchool(estab, pupils(60));
  await assertFails(/waits for approval/, `import --estab ${estab}`, await write('discarding', pupils(4)));
  const dry = await json<{ dryRun: boolean; packages: number }>(`import discard --estab ${estab} --dry-run`);
  assert.deepEqual([dry.dryRun, dry.packages, await packages(estab)], [true, 1, 1]);
  const asked: string[] = [];
  const hesitant = await run(['import', 'discard', '--estab', estab], settings, (question) => Promise.resolve(asked.push(question) === 1 ? 'no' : ''));
  assert.deepEqual([hesitant.code, await packages(estab)], [1, 1], 'on a terminal somebody is asked first');
  assert.match(asked[0] ?? '', /^the import of discarding that waits for approval since \d{4}-\d\d-\d\d [\d:]+ \S+ goes for good:\npackages +1\nType yes/);
  const { code, out } = await schoolbell(`import discard --estab ${estab}`);
  assert.deepEqual([code, await records(estab), await packages(estab)], [0, 68, 0]);
  assert.match(out, /^the import of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+ was discarded; nothing was changed/);
  const [database] = await db`select status, message from component_database where estab = ${estab}`;
  assert.deepEqual({ ...database }, { status: 'OK', message: 'an import that was held was discarded; what was there before stays' });
  await assertFails(/waits for approval/, `import discard --estab ${estab}`);
});

test('what was left out of an import by parts is left out when it is approved', async () => {
  const estab = 'by-parts';
  await service.addSchool(estab, pupils(60));
  const given = smallPackage({ users: [...smallSchool.users, user('w', 'wizard')] });
  await assertFails(/waits for approval/, `import --partial --estab ${estab}`, await write('by-parts', given));
  const done = await json<{ outcome: string; rejected: number; removed: number }>(await approve(estab));
  assert.deepEqual([done.outcome, done.rejected, done.removed], ['done', 1, 60]);
});

test('a watched folder is read again: others than those who were seen do not go', async () => {
  const estab = 'watched';
  const folder = await write('watched', pupils(60));
  await json(`school add --estab ${estab} --name School --email office@school.example --connector csv --folder ${folder}`);
  await json(`collect --estab ${estab}`);
  await write('watched', pupils(30));
  await assertFails(/30 of 64 student users.*import approve --estab watched/, `collect --estab ${estab}`);
  await write('watched', pupils(20));
  await assertFails(/40 of 64 student users .*not the deletions that you approved/, await approve(estab));
  assert.equal(await records(estab), 68);
  const done = await json<{ removed: number }>(await approve(estab));
  assert.deepEqual([done.removed, await records(estab)], [40, 28]);
});

test('a watched folder is read again: nobody who was not seen goes, also of a kind whose loss is below the limit', async () => {
  const estab = 'watched-more';
  const writeRoster = (left: number, parents: number) => {
    const others = [...many(left, (at) => user(`x${at}`, 'student')), ...many(parents, (at) => user(`f${at}`, 'parent'))];
    return write(estab, smallPackage({ users: [...smallSchool.users, ...others] }));
  };
  const folder = await writeRoster(60, 20);
  await json(`school add --estab ${estab} --name School --email office@school.example --connector csv --folder ${folder}`);
  await json(`collect --estab ${estab}`);
  await writeRoster(30, 20);
  await assertFails(/30 of 64 student users/, `collect --estab ${estab}`);
  await writeRoster(30, 17);
  await assertFails(/not the deletions that you approved/, await approve(estab));
  assert.equal(await records(estab), 88);
  const done = await json<{ removed: number }>(await approve(estab));
  assert.deepEqual([done.removed, await records(estab)], [33, 55]);
});

test('faults are printed by kind, with how many and what falls with them', async () => {
  const estab = 'printing';
  await service.addSchool(estab);
  const given = smallPackage({
    users: [...smallSchool.users, ...many(7, (at) => user(`w${at}`, 'wizard')), user('maybe', 'student', { enabledUser: 'maybe' })],
    enrollments: [...smallSchool.enrollments, ...many(9, (at) => enrolment(`e-${at}`, 'maybe', 'k1'))],
  });
  const { out } = await assertFails(/refused: 8 problems, nothing was changed/, `import --estab ${estab}`, await write('printing', given));
  assert.deepEqual(out.split('\n').slice(0, 3).map((line) => line.replace(/must be one of [^:]*/, 'RULE')), [
    'users.csv, role: RULE: 7 times, lines 10, 11, 12, 13, 14, …',
    'users.csv, line 17, enabledUser "maybe": must be true or false, and 9 rows that refer to it',
    'added 0, changed 0, removed 0, unchanged 0, rejected 17; the roster is at version 0',
  ]);
});
