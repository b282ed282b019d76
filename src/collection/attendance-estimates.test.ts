// Tests that merging attendance marks takes linear time for a school that the planner's statistics do not include, also if the service connects
// as a role that owns nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, smallSchool, user } from '../../test/small-school.ts';
import { citusUrl } from '../../test/spread-database.ts';
import { until } from '../../test/until.ts';
import { connect, type Db } from '../db/connect.ts';
import { collectMarks } from './collect.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { importRoster } from './import.ts';

const service = await useService();
const { dataDir } = service;
const pupils = Array.from({ length: 800 }, (_, at) => user(`n${at}`, 'student'));
const roster = { ...smallSchool, users: [...smallSchool.users, ...pupils] };
const days = Array.from({ length: 8 }, (_, at) => `2026-09-${String(at + 1).padStart(2, '0')}`);
/** With the two of the tests these are 100: statistics list so many values, and expect one row of any other. */
const otherSchools = 98;

/** Connects as a role that may change data and refresh statistics, and nothing else. */
async function connectAsServingRole(): Promise<Db> {
  const [role, password] = [`serving_${randomBytes(6).toString('hex')}`, randomBytes(12).toString('hex')];
  await service.db.unsafe(`
    create role ${role} login password '${password}';
    grant usage on schema public to ${role};
    grant select, insert, update, delete, maintain on all tables in schema public to ${role};
    grant usage on all sequences in schema public to ${role}`);
  const url = new URL(service.databaseUrl);
  [url.username, url.password] = [role, password];
  const db = connect(url.href, { max: 4, name: 'serving' });
  after(async () => {
    await db.end({ timeout: 5 });
    await service.db.unsafe(`drop owned by ${role}; drop role ${role}`);
  });
  return db;
}

/** Returns the milliseconds that a fetch of these marks took. */
async function fetchMarks(db: Db, estab: string, mark: string): Promise<number> {
  const begun = performance.now();
  const trouble = await collectMarks(
    { db, dataDir },
    {
      kind: 'demo',
      offers: ['SchoolData', 'Attendance'],
      openRoster: () => assert.fail('the roster is not read'),
      async *readMarks() {
        const rest = { session: 'AM', mark, minutesLate: undefined, notes: undefined } as const;
        for (const date of days) yield pupils.map(({ sourcedId = '' }, line) => ({ line, studentId: sourcedId, date, ...rest }));
      },
    },
    estab,
  );
  assert.equal(trouble, undefined);
  return performance.now() - begun;
}

const countMarks = async (estab: string, mark: string) =>
  (await service.db<{ count: number }[]>`select count(*)::int from attendance_mark where estab = ${estab} and mark = ${mark}`)[0]?.count;

/** Adds schools of the same size until the statistics are full of them, and analyses the tables. */
async function addAnalysedSchools(): Promise<void> {
  const { db } = service;
  await db`insert into establishment (estab, name, email) select 'many-' || n, 'Many', 'a@b.example' from generate_series(1, ${otherSchools}::int) n`;
  await db`insert into roster (estab) select 'many-' || n from generate_series(1, ${otherSchools}::int) n`;
  await db`
    insert into attendance_mark (estab, student_id, date, session, mark, version)
    select 'many-' || s, 'n' || n, '2026-09-01'::date + d, 'AM', '/', 1
    from generate_series(1, ${otherSchools}::int) s, generate_series(1, 100) n, generate_series(0, 7) d`;
  for (const table of ['attendance_mark', 'attendance_history', 'stage_mark', 'roster_user']) await db.unsafe(`analyze ${table}`);
}

test('a fetch of many marks refreshes the statistics of marks, as a role that owns no table', { skip: citusUrl !== undefined }, async () => {
  const db = await connectAsServingRole();
  const analysed = async () => {
    const [table] = await service.db<{ at: Date | null }[]>`select last_analyze as at from pg_stat_user_tables where relname = 'attendance_mark'`;
    return table?.at;
  };
  await service.addSchool('counted', csvPackage(roster));
  const before = await analysed();
  await fetchMarks(db, 'counted', '/');
  await until('the marks are analysed', async () => (await analysed())?.getTime() !== before?.getTime(), undefined, 20);
  const [known] = await service.db<{ rows: number }[]>`select rows from known_statistics('attendance_mark')`;
  assert.ok((known?.rows ?? 0) >= pupils.length * days.length);
});

test('marks of a school without statistics are merged as fast as those of an analysed school', { skip: citusUrl !== undefined }, async () => {
  const db = await connectAsServingRole();
  await service.addSchool('known', csvPackage(roster));
  await fetchMarks(db, 'known', '/');
  await addAnalysedSchools();
  const known = await fetchMarks(db, 'known', 'N');

  await service.addSchool('new', csvPackage(roster));
  await service.db.unsafe('alter table attendance_mark set (autovacuum_enabled = false)');
  await fetchMarks(db, 'new', '/');
  await forgetNewSchool();
  assert.equal(await estimateMarks('new'), 1, 'the planner expects one row, so that the test shows what it is for');
  const fresh = await fetchMarks(db, 'new', 'N');
  assert.ok(fresh < 10 * known, `${Math.round(fresh)} ms for a new school, ${Math.round(known)} ms for a known one`);
  assert.equal(await countMarks('new', 'N'), pupils.length * days.length);

  await forgetNewSchool();
  const begun = performance.now();
  const lines = pupils.flatMap(({ sourcedId }) => days.map((date) => `${sourcedId},${date},AM,L,5,`));
  const report = await importRoster(
    db,
    async () => openCsvSource(csvPackage({ users: [] }, { mode: 'delta', raw: { 'attendance.csv': attendanceCsv(...lines) } })),
    { estab: 'new', dataDir, partial: false, force: false, shrinkLimitPercent: 20 },
  );
  assert.deepEqual([report.outcome, report.marks?.written], ['unchanged', lines.length]);
  const imported = performance.now() - begun;
  assert.ok(imported < 10 * known, `${Math.round(imported)} ms for the file of a new school, ${Math.round(known)} ms for a known one`);
});

/** The number of marks that the planner expects a school to have. */
async function estimateMarks(estab: string): Promise<number> {
  const rows = await service.db.unsafe<Record<string, string>[]>(`explain select from attendance_mark where estab = '${estab}'`);
  return Number(/rows=(\d+)/.exec(rows[0]?.['QUERY PLAN'] ?? '')?.[1]);
}

/** Restores the statistics to what they were before the new school's marks came. */
async function forgetNewSchool(): Promise<void> {
  const { db } = service;
  await db`create table if not exists aside as select * from attendance_mark where estab = 'new' limit 0`;
  await db`insert into aside select * from attendance_mark where estab = 'new'`;
  await db`delete from attendance_mark where estab = 'new'`;
  await db.unsafe('analyze attendance_mark');
  await db`insert into attendance_mark select * from aside`;
  await db`drop table aside`;
}
