// Covers school days on a real database: terms, half-terms, weekends, exclusive ends, and schools that give less.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { findCalendarRange, localDate, selectSchoolDays } from './school-day.ts';

const service = await useService();
const { db } = service;
let schools = 0;

const session = (sourcedId: string, type: string, startDate: string, endDate: string, parentSourcedId = ''): Rows[number] => ({
  sourcedId, title: `Title ${sourcedId}`, type, startDate, endDate, parentSourcedId, schoolYear: '2027',
});
const gone = { status: 'tobedeleted', dateLastModified: '2026-09-01T08:00:00.000Z' };

async function addSchool(...sessions: Rows): Promise<string> {
  const estab = `D${(schools += 1)}`;
  const report = await service.addSchool(
    estab,
    csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }], ...(sessions.length > 0 ? { academicSessions: sessions } : {}) }),
  );
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

/** The days of a range as a line: open days as their date, the others as dots. */
async function openDays(estab: string, from: string, to: string): Promise<string> {
  const days = await selectSchoolDays(db, estab, from, to);
  return days.map((day) => (day.isSchoolDay ? day.date.slice(5) : '.')).join(' ');
}

test('small-school: terms with half-terms, holidays between, and the year around them', async () => {
  await service.addSchool('small', 'test/fixtures/small-school');
  const days = await selectSchoolDays(db, 'small', '2026-08-31', '2027-08-31');
  assert.equal(days.length, 366);
  const on = (date: string) => days.find((day) => day.date === date);
  assert.deepEqual(on('2026-08-31'), { date: '2026-08-31', isSchoolDay: false, term: null });
  assert.deepEqual(on('2026-09-01'), { date: '2026-09-01', isSchoolDay: true, term: 'Autumn' });
  assert.deepEqual(on('2026-09-05'), { date: '2026-09-05', isSchoolDay: false, term: 'Autumn' });
  assert.deepEqual(on('2026-10-23'), { date: '2026-10-23', isSchoolDay: true, term: 'Autumn' });
  assert.deepEqual(on('2026-10-26'), { date: '2026-10-26', isSchoolDay: false, term: 'Autumn' });
  assert.deepEqual(on('2026-11-02'), { date: '2026-11-02', isSchoolDay: true, term: 'Autumn' });
  assert.deepEqual(on('2026-12-21'), { date: '2026-12-21', isSchoolDay: false, term: null });
  assert.deepEqual(on('2027-07-21'), { date: '2027-07-21', isSchoolDay: true, term: 'Summer' });
  assert.deepEqual(on('2027-07-22'), { date: '2027-07-22', isSchoolDay: false, term: null });
  assert.equal((await selectSchoolDays(db, 'small', '2026-09-02', '2026-09-01')).length, 0);
});

test('a term without half-terms is open on its weekdays, from its start until before its end', async () => {
  const estab = await addSchool(session('y', 'schoolYear', '2026-09-01', '2027-09-01'), session('t', 'term', '2026-09-03', '2026-09-15', 'y'));
  assert.equal(await openDays(estab, '2026-09-02', '2026-09-16'), '. 09-03 09-04 . . 09-07 09-08 09-09 09-10 09-11 . . 09-14 . .');
});

test('half-terms leave a gap; removed ones do not count', async () => {
  const term = session('t', 'term', '2026-10-19', '2026-11-07');
  const halves = [session('h1', 'gradingPeriod', '2026-10-19', '2026-10-24', 't'), session('h2', 'gradingPeriod', '2026-11-02', '2026-11-07', 't')];
  const week1 = '10-19 10-20 10-21 10-22 10-23 . .';
  const week3 = '11-02 11-03 11-04 11-05 11-06 .';
  assert.equal(await openDays(await addSchool(term, ...halves), '2026-10-19', '2026-11-07'), `${week1} . . . . . . . ${week3}`);
  const removed = halves.map((half) => ({ ...half, ...gone }));
  assert.equal(await openDays(await addSchool(term, ...removed), '2026-10-19', '2026-11-07'), `${week1} 10-26 10-27 10-28 10-29 10-30 . . ${week3}`);
  const [first = {}] = halves;
  assert.equal(await openDays(await addSchool(term, { ...first, parentSourcedId: '' }), '2026-10-26', '2026-10-27'), '10-26 10-27', 'of no term');
});

test('a removed term does not count; of terms that overlap an open one does', async () => {
  const live = session('t1', 'term', '2026-09-01', '2026-09-03');
  assert.equal(
    await openDays(await addSchool(live, { ...session('t2', 'term', '2026-09-03', '2026-09-05'), ...gone }), '2026-09-01', '2026-09-04'),
    '09-01 09-02 . .',
  );
  const estab = await addSchool(
    session('a', 'term', '2026-09-01', '2026-12-19'), session('h', 'gradingPeriod', '2026-09-01', '2026-09-02', 'a'),
    session('i', 'gradingPeriod', '2026-09-07', '2026-12-19', 'a'), session('b', 'term', '2026-09-02', '2026-09-03'),
  );
  assert.deepEqual(
    (await selectSchoolDays(db, estab, '2026-09-01', '2026-09-03')).map(({ isSchoolDay, term }) => [isSchoolDay, term]),
    [
      [true, 'Title a'],
      [true, 'Title b'],
      [false, 'Title a'],
    ],
  );
});

test('without terms semesters count, without those school years, without any every weekday', async () => {
  const year = session('y', 'schoolYear', '2026-09-02', '2027-09-01');
  const semester = session('s', 'semester', '2026-09-03', '2027-02-01', 'y');
  assert.equal(await openDays(await addSchool(year, semester), '2026-09-01', '2026-09-04'), '. . 09-03 09-04');
  assert.equal(await openDays(await addSchool(year), '2026-09-01', '2026-09-04'), '. 09-02 09-03 09-04');
  const none = await addSchool();
  assert.equal(await openDays(none, '2026-09-01', '2026-09-06'), '09-01 09-02 09-03 09-04 . .');
  assert.equal(await openDays(await addSchool({ ...year, ...gone }), '2026-09-01', '2026-09-01'), '09-01');
  assert.equal((await selectSchoolDays(db, none, '2026-09-01', '2026-09-01'))[0]?.term, null);
  const term = session('t', 'term', '2026-09-04', '2026-12-01', 's');
  assert.equal(await openDays(await addSchool(year, semester, term), '2026-09-01', '2026-09-04'), '. . . 09-04');
});

test('the calendar reaches over last, this and next school year', async () => {
  assert.deepEqual(await findCalendarRange(db, 'small', '2026-11-01'), { from: '2026-09-01', to: '2027-08-31' });
  assert.equal(await findCalendarRange(db, await addSchool(), '2026-11-01'), undefined);
  const years = await addSchool(...Array.from({ length: 9 }, (_, at) => session(`y${at}`, 'schoolYear', `${2020 + at}-09-01`, `${2021 + at}-09-01`)));
  assert.deepEqual(await findCalendarRange(db, years, '2026-11-01'), { from: '2025-09-01', to: '2028-08-31' });
  assert.deepEqual(await findCalendarRange(db, years, '2026-07-01'), { from: '2024-09-01', to: '2027-08-31' });
  assert.deepEqual(await findCalendarRange(db, years, '2026-09-01'), { from: '2025-09-01', to: '2028-08-31' });
  const endless = await addSchool(session('y', 'schoolYear', '1990-01-01', '2090-01-01'));
  assert.deepEqual(await findCalendarRange(db, endless, '2026-11-01'), { from: '2024-11-01', to: '2027-10-31' });
});

test('which day it is depends on where the school is', () => {
  assert.equal(localDate(new Date('2026-07-01T22:59:59Z'), 'Europe/London'), '2026-07-01');
  assert.equal(localDate(new Date('2026-07-01T23:30:00Z'), 'Europe/London'), '2026-07-02');
  assert.equal(localDate(new Date('2026-12-31T23:30:00Z'), 'Europe/London'), '2026-12-31');
  assert.equal(localDate(new Date('2026-12-31T23:30:00Z'), 'Pacific/Auckland'), '2027-01-01');
  assert.equal(localDate(new Date('2026-01-01T04:59:00Z'), 'America/New_York'), '2025-12-31');
});
