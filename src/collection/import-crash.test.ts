// Covers imports whose process is killed, at every step of both phases: the roster is the old one or the new one, never a
// mixture, and neither the database nor the disk keeps anything of what was read.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { csvPackage } from '../../test/csv-package.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { attendanceCsv, enrolment, smallSchool, user } from '../../test/small-school.ts';
import { allResources } from '../roster/collections.ts';
import { sweepSpool } from './spool.ts';
import { stageTable } from './stage.ts';

const service = await useService();
const { db, dataDir } = service;
const estab = 'killed';

const before = csvPackage(smallSchool, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } });
const after = csvPackage(
  {
    ...smallSchool,
    orgs: [...smallSchool.orgs, { sourcedId: 'o2', name: 'Part', type: 'department', parentSourcedId: 'o1' }],
    users: [...smallSchool.users.map((row) => (row.sourcedId === 'p1' ? { ...row, familyName: 'Renamed' } : row)), user('px', 'student')],
    enrollments: [...smallSchool.enrollments.slice(1), enrolment('ex', 'px', smallSchool.classes[0]?.sourcedId ?? '')],
  },
  { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,L,3,', 'p2,2026-11-12,AM,/,,') } },
);

/** The package as a folder that another process can read. */
async function write(given: typeof after): Promise<string> {
  const folder = mkdtempSync(join(dataDir, 'package-'));
  for (const [name, file] of given.files) writeFileSync(join(folder, name), await buffer(await file.open()));
  return folder;
}

async function lose(folder: string, how: { asking: string } | { reading: string } | { done: true }): Promise<void> {
  const worker = join(import.meta.dirname, '../../test/import-worker.ts');
  const [step, what] = Object.entries(how)[0] ?? [];
  const args = ['--estab', estab, '--folder', folder, ...(step === 'done' ? [] : [`--${step}`, String(what)])];
  const env = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [worker, ...args], { stdio: ['ignore', 'inherit', 'inherit'], env });
  const end = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)));
  assert.equal(end, 'SIGKILL', `${step} ${what}`);
}

/** Everything that an import may change. */
async function contents(): Promise<string> {
  const parts: unknown[] = [];
  for (const { table } of allResources) parts.push(await db`select * from ${db(table)} where estab = ${estab} order by sourced_id`);
  for (const table of ['attendance_mark', 'roster_total', 'roster_touch', 'roster_milestone', 'attendance_history', 'connector_setting'])
    parts.push(await db`select * from ${db(table)} where estab = ${estab} order by 1, 2, 3`);
  parts.push(await db`select version, kept_from from roster where estab = ${estab}`);
  parts.push(await db`select version from roster_version where estab = ${estab} order by 1`);
  for (const { table } of allResources) parts.push(await db`select * from ${db(`${table}_history`)} where estab = ${estab} order by sourced_id, version`);
  parts.push(await db`select count(*) from import_run where estab = ${estab}`);
  parts.push(await db`select row_count, status from component_database where estab = ${estab} order by name`);
  return JSON.stringify(parts);
}

async function assertNothingLeft(step: string): Promise<void> {
  for (const table of [...allResources.map(stageTable), 'stage_rejected', 'stage_fault', 'stage_change', 'stage_mark'])
    assert.equal((await db`select from ${db(table)}`).length, 0, `${table} after ${step}`);
  const spool = join(dataDir, 'spool');
  assert.deepEqual(readdirSync(spool).map((name) => statSync(join(spool, name)).size).filter((size) => size > 0), [], `the spool after ${step}`);
}

/** In the order in which they are asked. */
const asked = [
  'insert into reading', 'begin', 'for no key update', 'copy "stage_org"', 'copy "stage_user"', 'with faulty',
  'copy "stage_mark"',
  'insert into stage_change', '"roster_org_history"', 'update "roster_user"', 'insert into "roster_user"', 'insert into "roster_enrollment"', 'child_ids',
  'insert into roster_total', 'delete from "roster_milestone"', 'update roster set version', 'insert into attendance_mark', 'update component_database',
  'update reading', 'insert into import_run', 'delete from "stage_user"', 'update reading set taken', 'insert into attendance_version',
  'insert into roster_version', 'commit',
];

test('killed at every step of both phases, it is the old roster; killed after the last one, the new', async () => {
  await service.addSchool(estab, before);
  const folder = await write(after);
  const old = await contents();
  for (const reading of ['orgs.csv', 'enrollments.csv', 'attendance.csv']) {
    await lose(folder, { reading });
    assert.equal(await contents(), old, `reading ${reading}`);
    await assertNothingLeft(`reading ${reading}`);
  }
  for (const asking of asked) {
    await lose(folder, { asking });
    assert.equal(await contents(), old, asking);
    await assertNothingLeft(asking);
  }
  await lose(folder, { done: true });
  const merged = await contents();
  assert.notEqual(merged, old);
  await assertNothingLeft('the end');
  assert.deepEqual([(await service.load(estab, after)).outcome, (await contents()) === merged], ['unchanged', false], 'but for the report of this import');
  const [marks] = await db<{ count: number }[]>`select count(*)::int as count from attendance_mark where estab = ${estab} and mark in ('L', '/')`;
  assert.equal(marks?.count, 2);
});

test('what is spooled has no name, and whatever lies in the spool is swept away', async () => {
  const spool = join(dataDir, 'spool');
  mkdirSync(join(spool, 'a folder'), { recursive: true });
  cpSync(import.meta.filename, join(spool, 'a folder', 'left'));
  writeFileSync(join(spool, 'left'), 'names of pupils');
  await sweepSpool(dataDir);
  assert.deepEqual(readdirSync(spool), []);
  assert.equal(statSync(spool).mode & 0o777, 0o700);
});
