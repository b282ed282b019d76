// Covers the demo school beyond its summers, and what is made to happen in it: people keep their ids, references stay whole, and what must be
// unique is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countYears, sessionsOf } from './calendar.ts';
import { findMoment, parseMoment } from './clock.ts';
import type { DemoFile } from './demo-file.ts';
import { happeningKinds, planHappening, type Happening } from './happenings.ts';
import { demoSchool } from './school.ts';
import { isSchoolDay } from './school-days.ts';
import { upnCheckLetter } from './upn.ts';

type Entry = Record<string, string>;
function entries(files: readonly DemoFile[], name: string): Entry[] {
  const { header, rows } = files.find((file) => file.name === `${name}.csv`) ?? assert.fail(name);
  return rows.map((row) => Object.fromEntries(header.map((column, at) => [column, row[at] ?? ''])));
}
const ids = (list: readonly Entry[]) => new Set(list.map(({ sourcedId = '' }) => sourcedId));

function requireWhole(files: readonly DemoFile[]): void {
  const [users, classes, courses] = [entries(files, 'users'), entries(files, 'classes'), entries(files, 'courses')];
  const [people, taught, sessions] = [ids(users), ids(classes), ids(entries(files, 'academicSessions'))];
  const resolves = (list: readonly Entry[], column: string, known: ReadonlySet<string>) => {
    const strange = list.flatMap((one) => (one[column] ?? '').split(',').filter((id) => id !== '' && !known.has(id)));
    assert.deepEqual(strange.slice(0, 3), [], column);
  };
  resolves(entries(files, 'enrollments'), 'userSourcedId', people);
  resolves(entries(files, 'enrollments'), 'classSourcedId', taught);
  resolves(entries(files, 'demographics'), 'sourcedId', people);
  resolves(users, 'agentSourcedIds', people);
  resolves(classes, 'courseSourcedId', ids(courses));
  resolves(classes, 'termSourcedIds', sessions);
  resolves(courses, 'schoolYearSourcedId', sessions);
  for (const { name, rows } of files) assert.equal(new Set(rows.map(([id]) => id)).size, rows.length, name);
  for (const column of ['username', 'identifier', 'email']) {
    const values = users.map((user) => user[column] ?? '').filter(Boolean);
    assert.equal(new Set(values).size, values.length, column);
  }
  for (const enrolment of entries(files, 'enrollments')) assert.ok((enrolment.beginDate ?? '') <= (enrolment.endDate || '9999'), enrolment.sourcedId);
  for (const { identifier = '', role } of users) if (role === 'student') assert.equal(upnCheckLetter(identifier.slice(1)), identifier.charAt(0));
  const teachers = new Set(entries(files, 'enrollments').filter(({ role }) => role === 'teacher').map(({ classSourcedId }) => classSourcedId));
  assert.deepEqual([...taught].filter((id) => !teachers.has(id)), []);
}

test('after each summer the school is whole, and the same whenever it is asked for', () => {
  let before = demoSchool(new Date('2027-07-01T10:00:00Z'), { rollsOver: true });
  for (const day of ['2027-09-01', '2028-10-10', '2030-03-03']) {
    const at = new Date(`${day}T10:00:00Z`);
    const files = demoSchool(at, { rollsOver: true });
    requireWhole(files);
    assert.equal(JSON.stringify(demoSchool(at, { rollsOver: true })), JSON.stringify(files));
    const [old, young] = [entries(before, 'users'), entries(files, 'users')].map((users) => users.filter(({ role }) => role === 'student'));
    assert.ok(Math.abs((old?.length ?? 0) - (young?.length ?? 0)) < 40, 'as many as before');
    const [was, is] = [old, young].map((users) => new Map(users?.map(({ sourcedId = '', grades }) => [sourcedId, Number(grades)])));
    const stayed = [...(is ?? [])].filter(([id]) => was?.has(id));
    assert.ok(stayed.length > 850, `${stayed.length} stayed`);
    // A joiner who comes every summer is in year 12 again.
    const movedUp = stayed.filter(([id, grade]) => grade === (was?.get(id) ?? 0) + 1);
    assert.ok(stayed.length - movedUp.length < 10, 'all moved up');
    assert.deepEqual([...(is ?? [])].filter(([id, grade]) => grade === 7 && was?.has(id)), [], 'the youngest are new');
    assert.deepEqual([...(was ?? [])].filter(([id, grade]) => grade === 13 && is?.has(id)), [], 'the oldest left');
    assert.deepEqual([...ids(entries(files, 'classes'))].filter((id) => ids(entries(before, 'classes')).has(id)), [], 'classes are new');
    before = files;
  }
  assert.equal(countYears(new Date('2099-01-01')), 3);
  const staying = demoSchool(new Date('2027-09-01T10:00:00Z'));
  assert.deepEqual(ids(entries(staying, 'classes')), ids(entries(demoSchool(), 'classes')), 'without a clock that was moved it stays in its year');
});

test('whatever happens, in either year, the school is whole, and what happened before stays', () => {
  for (const day of ['2026-11-17', '2027-09-10']) {
    const at = new Date(`${day}T10:00:00Z`);
    const happenings: Happening[] = [];
    for (const kind of [...happeningKinds, ...happeningKinds]) {
      const planned = planHappening(demoSchool(at, { happenings, rollsOver: true }), kind, happenings, at.toISOString());
      happenings.push(planned ?? assert.fail(kind));
    }
    assert.equal(new Set(happenings.map(({ of }) => of)).size, happenings.length, 'each is about somebody else');
    requireWhole(demoSchool(at, { happenings, rollsOver: true }));
    requireWhole(demoSchool(new Date('2029-09-10T10:00:00Z'), { happenings, rollsOver: true }));
  }
});

test('the calendar goes on: terms are of their year, begin and end on school days, and have names', () => {
  for (const years of [1, 2, 3]) {
    const sessions = sessionsOf(years);
    assert.equal(new Set(sessions.map(({ id }) => id)).size, 10);
    for (const { start, end, parent, schoolYear } of sessions) {
      const year = sessions.find(({ id }) => id === `ses-${schoolYear}`) ?? assert.fail(schoolYear);
      assert.ok(start < end && start >= year.start && end <= year.end);
      assert.ok(parent === '' || sessions.some(({ id }) => id === parent));
    }
  }
  assert.equal(sessionsOf(1)[1]?.title, 'Autumn Term 2027');
  let at = new Date('2026-09-01T00:00:00Z');
  for (let term = 0; term < 12; term += 1) {
    at = findMoment('start-of-term', at) ?? assert.fail();
    assert.ok(isSchoolDay(at.toISOString().slice(0, 10), 3), at.toISOString());
    const end = findMoment('end-of-term', at) ?? assert.fail();
    assert.ok(isSchoolDay(end.toISOString().slice(0, 10), 3), end.toISOString());
  }
  assert.equal(findMoment('start-of-term', at), undefined);
  assert.deepEqual([parseMoment('2027-02-30x'), parseMoment('2027-01-04')?.toISOString()], [undefined, '2027-01-04T10:00:00.000Z']);
});
