// What can be counted about schools: ages as a distribution, those that are held, failing, stale and empty, and how long
// imports took.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { readExposition, valueOf } from '../../test/exposition.ts';
import { addEstablishment } from '../access/establishments.ts';
import { renderMetric } from '../http/metrics.ts';
import { measureSchools } from './measure-schools.ts';

const { db } = await useDatabase();
for (const estab of ['S1', 'S2', 'S3', 'S4']) await addEstablishment(db, { estab, name: estab, email: `office@${estab}.example` });
beforeEach(() => db`truncate component_database, import_end`);

const measure = async () => readExposition((await measureSchools(db)).map(renderMetric).join(''));

type Standing = { name?: string; status?: string; hoursOld?: number | null; expires?: boolean };
const put = (estab: string, { name = 'SchoolData', status = 'OK', hoursOld = 1, expires = true }: Standing) => db`
  insert into component_database (estab, name, status, updated_at, expires_at)
  values (${estab}, ${name}, ${status}, now() - make_interval(secs => ${hoursOld === null ? null : hoursOld * 3600}::float8),
    case when ${expires} then now() end)`;

test('without schools everything is zero', async () => {
  const got = await measure();
  for (const name of ['schoolbell_schools', 'schoolbell_schools_held', 'schoolbell_schools_failing', 'schoolbell_schools_stale', 'schoolbell_schools_empty'])
    for (const database of ['SchoolData', 'Attendance']) assert.equal(valueOf(got, name, { database }), 0, name);
});

test('schools by how they stand', async () => {
  await put('S1', { status: 'Paused' });
  await put('S2', { status: 'Error', hoursOld: 49 });
  await put('S3', { hoursOld: 47 });
  await db`update component_database set told = 'refused' where estab = 'S3'`;
  await put('S4', { hoursOld: null, status: 'Timeout' });
  await put('S1', { name: 'Attendance', hoursOld: 0.9 });
  await put('S2', { name: 'Attendance', hoursOld: 1.1 });
  await put('S3', { name: 'Attendance', hoursOld: 2000, expires: false });
  const got = await measure();
  const of = (database: string) =>
    ['schools', 'schools_held', 'schools_failing', 'schools_stale', 'schools_empty'].map((name) => valueOf(got, `schoolbell_${name}`, { database }));
  assert.deepEqual(of('SchoolData'), [4, 1, 3, 1, 1], 'a job whose package is refused fails, although its data stands');
  assert.deepEqual(of('Attendance'), [3, 0, 0, 1, 0], 'what was uploaded never gets stale');
});

test('ages are a distribution over the schools, not a series for each', async () => {
  for (const [estab, hoursOld] of [['S1', 0.1], ['S2', 5], ['S3', 30]] as const) await put(estab, { hoursOld });
  await put('S4', { hoursOld: 24 * 400, expires: false });
  const got = await measure();
  const upTo = (le: number | string, source = 'collected') =>
    valueOf(got, 'schoolbell_school_data_age_seconds_bucket', { database: 'SchoolData', source, le: String(le) });
  assert.deepEqual([upTo(600), upTo(3600), upTo(4 * 3600), upTo(12 * 3600), upTo(86_400), upTo(129_600), upTo('+Inf')], [1, 1, 1, 2, 2, 3, 3]);
  assert.deepEqual([upTo(30 * 86_400, 'uploaded'), upTo('+Inf', 'uploaded')], [0, 1]);
  const sum = valueOf(got, 'schoolbell_school_data_age_seconds_sum', { database: 'SchoolData', source: 'collected' }) ?? 0;
  assert.ok(Math.abs(sum - 35.1 * 3600) < 60, String(sum));
});

test('imports of the last day by outcome and duration', async () => {
  const run = (outcome: string, seconds: number, hoursAgo: number) => db`
    insert into import_end (estab, id, started_at, finished_at, outcome) values ('S1', gen_random_uuid(),
      now() - make_interval(hours => ${hoursAgo}, secs => ${seconds}), now() - make_interval(hours => ${hoursAgo}), ${outcome})`;
  await run('done', 3, 1);
  await run('done', 100, 2);
  await run('held', 0.5, 3);
  await run('done', 3, 25);
  const got = await measure();
  const upTo = (outcome: string, le: number | string) => valueOf(got, 'schoolbell_import_duration_seconds_bucket', { outcome, le: String(le) });
  assert.deepEqual([upTo('done', 1), upTo('done', 5), upTo('done', 60), upTo('done', 120), upTo('done', '+Inf'), upTo('held', 1)], [0, 1, 1, 2, 2, 1]);
  assert.equal(valueOf(got, 'schoolbell_import_duration_seconds_count', { outcome: 'done' }), 2);
});
