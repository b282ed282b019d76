// Covers the registers of the demo school: on school days only, session by session as the day goes on, with codes that
// may be used, for pupils on roll, and under what was written since.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MarkRow } from '../../mark.ts';
import { demoMarks, listPupils, registerDays, type DemoMark } from './demo-attendance.ts';
import { driftSchool } from './drift.ts';
import { exampleDay, exampleStudent } from './named-in-reference.ts';
import { isSchoolDay, lastSchoolDays, localTimeOf } from './school-days.ts';
import { demoSchool } from './school.ts';

const base = demoSchool();
const schoolAt = (at: Date) => driftSchool(base, at);
const marksAt = (instant: string, written: readonly DemoMark[] = []): MarkRow[] =>
  [...demoMarks(listPupils(schoolAt(new Date(instant))), new Date(instant), written)].flat();
const sessionsOf = (marks: readonly MarkRow[], date: string) => [...new Set(marks.filter((mark) => mark.date === date).map(({ session }) => session))].sort();

/** The English set since 19 August 2024. */
const codes = /^(?:[/\\]|[BCDEGIKLMNOPQRSTUVWXZ]|C[12]|J1|Y[1-7]|#)$/;

test('school days are weekdays in half-terms', () => {
  const dates: [string, boolean][] = [
    ['2026-08-31', false],
    ['2026-09-01', true],
    ['2026-09-05', false],
    ['2026-09-06', false],
    ['2026-10-23', true],
    ['2026-10-24', false],
    ['2026-10-28', false],
    ['2026-11-02', true],
    ['2026-12-18', true],
    ['2026-12-21', false],
    ['2027-01-04', true],
    ['2027-02-17', false],
    ['2027-07-22', true],
    ['2027-07-23', false],
    ['2026-06-10', false],
  ];
  for (const [date, expected] of dates) assert.equal(isSchoolDay(date), expected, date);
});

test('the last school days reach back over holidays and stop where the year began', () => {
  assert.deepEqual(lastSchoolDays('2026-11-15', 14), [
    '2026-10-20', '2026-10-21', '2026-10-22', '2026-10-23', '2026-11-02', '2026-11-03', '2026-11-04', '2026-11-05', '2026-11-06', '2026-11-09',
    '2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13',
  ]);
  assert.deepEqual(lastSchoolDays('2026-09-03', 14), ['2026-09-01', '2026-09-02', '2026-09-03']);
  assert.deepEqual(lastSchoolDays('2026-08-20', 14), []);
  assert.equal(lastSchoolDays('2028-01-01', 14).at(-1), '2027-07-22');
});

test('the clock is that of England, in winter and in summer', () => {
  assert.deepEqual(localTimeOf(new Date('2026-11-13T09:10:00Z')), { date: '2026-11-13', time: '09:10' });
  assert.deepEqual(localTimeOf(new Date('2026-09-10T08:10:00Z')), { date: '2026-09-10', time: '09:10' });
  assert.deepEqual(localTimeOf(new Date('2026-09-10T23:30:00Z')), { date: '2026-09-11', time: '00:30' });
  assert.deepEqual(localTimeOf(new Date('2026-11-13T00:05:00Z')), { date: '2026-11-13', time: '00:05' });
});

test('the registers of the day show as they are taken', () => {
  const winter: [time: string, sessions: string[]][] = [
    ['00:00', []],
    ['09:09', []],
    ['09:10', ['AM']],
    ['13:09', ['AM']],
    ['13:10', ['AM', 'PM']],
    ['23:59', ['AM', 'PM']],
  ];
  for (const [time, sessions] of winter) {
    const marks = marksAt(`2026-11-13T${time}:00Z`);
    assert.deepEqual(sessionsOf(marks, '2026-11-13'), sessions, time);
    assert.deepEqual(sessionsOf(marks, '2026-11-12'), ['AM', 'PM']);
  }
  assert.deepEqual(sessionsOf(marksAt('2026-09-10T08:09:00Z'), '2026-09-10'), []);
  assert.deepEqual(sessionsOf(marksAt('2026-09-10T08:10:00Z'), '2026-09-10'), ['AM']);
  assert.deepEqual(sessionsOf(marksAt('2026-09-10T12:10:00Z'), '2026-09-10'), ['AM', 'PM']);
});

test('marks are plausible: valid codes, about 94 % present, minutes for those who were late', () => {
  const marks = marksAt('2026-11-13T20:00:00Z');
  assert.ok(marks.every(({ mark }) => mark !== undefined && codes.test(mark)));
  assert.ok(marks.every(({ mark, session }) => mark !== (session === 'AM' ? '\\' : '/')));
  for (const { mark, minutesLate } of marks) assert.equal(minutesLate !== undefined, mark === 'L' || mark === 'U');
  assert.ok(marks.every(({ minutesLate = 1 }) => Number.isInteger(minutesLate) && minutesLate >= 1 && minutesLate < 60));
  const present = marks.filter(({ mark }) => ['/', '\\', 'L'].includes(mark ?? '')).length / marks.length;
  assert.ok(present > 0.93 && present < 0.95, String(present));
  const used = new Set(marks.map(({ mark }) => mark));
  for (const mark of ['L', 'I', 'M', 'C', 'O', 'N', 'V', 'B']) assert.ok(used.has(mark), mark);
});

test('every pupil on roll is in every register, once, and nobody else; batches are of a thousand', () => {
  const at = new Date('2026-11-13T20:00:00Z');
  const batches = [...demoMarks(listPupils(schoolAt(at)), at, [])];
  assert.ok(batches.slice(0, -1).every((batch) => batch.length === 1000));
  const marks = batches.flat();
  assert.deepEqual(marks.map(({ line }) => line), marks.map((_, at) => at + 1));
  assert.equal(new Set(marks.map(({ studentId, date, session }) => `${studentId} ${date} ${session}`)).size, marks.length);
  assert.deepEqual([...new Set(marks.map(({ date }) => date))], registerDays(at));
  const pupils = listPupils(schoolAt(at));
  assert.deepEqual(new Set(marks.map(({ studentId }) => studentId)), new Set(pupils.filter(({ from }) => from <= '2026-11-13').map(({ id }) => id)));
  const joiners = pupils.filter(({ from }) => from > '2026-11-01');
  assert.ok(joiners.length >= 5);
  for (const { id, from } of joiners)
    assert.ok(
      marks.every(({ studentId, date }) => studentId !== id || date >= from),
      id,
    );
  assert.equal(
    pupils.filter(({ from }) => from <= (registerDays(at)[0] ?? '')).length * 28,
    marks.filter(({ studentId }) => !joiners.some(({ id }) => id === studentId)).length,
  );
});

test('what examples of the reference ask for is there whenever they are read', () => {
  const instants = ['2026-11-12T20:00:00Z', '2026-12-02T20:00:00Z', '2027-03-10T20:00:00Z', '2027-07-22T20:00:00Z', '2029-01-01T20:00:00Z'];
  const found = instants.map((at) => marksAt(at).filter(({ studentId, date }) => studentId === exampleStudent && date === exampleDay));
  for (const [at, marks] of found.entries()) assert.deepEqual(marks.map(({ session }) => session), ['AM', 'PM'], instants[at]);
  assert.deepEqual(registerDays(new Date('2027-03-10T20:00:00Z')), [exampleDay, ...lastSchoolDays('2027-03-10', 14)]);
});

test('the same registers at any time of the same evening, and yesterday stays as it was marked but for reasons found out', () => {
  const evening = marksAt('2026-11-12T20:00:00Z');
  assert.deepEqual(marksAt('2026-11-12T20:09:59Z'), evening);
  const later = new Map(marksAt('2026-11-13T20:00:00Z').map((mark) => [`${mark.studentId} ${mark.date} ${mark.session}`, mark]));
  const changed = evening.flatMap((mark) => {
    const now = later.get(`${mark.studentId} ${mark.date} ${mark.session}`);
    return now && now.mark !== mark.mark ? [[mark.mark, now.mark]] : [];
  });
  assert.ok(changed.length > 0 && changed.every(([before, after]) => before === 'N' && ['I', 'O'].includes(after ?? '')));
});

test('exam years have no marks after their last lesson, and nobody outside the year', () => {
  const years = new Map((base.find(({ name }) => name === 'users.csv')?.rows ?? []).map((row) => [row[0], row[16]]));
  const july = marksAt('2027-07-08T20:00:00Z');
  assert.ok(july.length > 0 && july.filter(({ date }) => date >= '2027-06-26').every(({ studentId }) => !['11', '13'].includes(years.get(studentId) ?? '')));
  assert.deepEqual(marksAt('2026-08-20T12:00:00Z'), []);
});

test('what was written lies over what was marked, also where nothing was', () => {
  const instant = '2026-11-13T10:00:00Z';
  const marks = marksAt(instant);
  const [first, second] = marks;
  assert.ok(first && second);
  const written: DemoMark[] = [
    { studentId: first.studentId, date: first.date, session: first.session, mark: 'V', minutesLate: undefined, notes: 'Museum' },
    { studentId: second.studentId, date: second.date, session: second.session, mark: undefined, minutesLate: undefined, notes: undefined },
    { studentId: first.studentId, date: '2026-11-13', session: 'PM', mark: 'M', minutesLate: undefined, notes: undefined },
  ];
  const laid = marksAt(instant, written);
  assert.equal(laid.length, marks.length + 1);
  assert.deepEqual(laid[0], { line: 1, ...written[0] });
  assert.deepEqual(laid[1], { line: 2, ...written[1] });
  assert.deepEqual(laid.at(-1), { line: laid.length, ...written[2] });
  assert.deepEqual(laid.slice(2, -1), marks.slice(2));
});
