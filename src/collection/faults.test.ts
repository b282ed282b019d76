// What is wrong with an import, counted as a person would: rows that refer to a row that is wrong fall with it and are no
// faults of their own; faults of one kind are one group; and all of them are kept.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { useService } from '../../test/service.ts';
import { attendanceCsv, enrolment, schoolClass, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { readFaults, shownImports } from './faults.ts';
import { listedProblems, Problems, type Problem } from './problem.ts';
import { renderProblemsCsv } from './problems-csv.ts';
import { requireRun } from './source-view.ts';

const service = await useService();
const { db } = service;
const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
const place = ({ file, line, column, dependants = 0 }: Problem) => `${file} ${line} ${column} +${dependants}`;

async function keptOf(estab: string): Promise<Problem[]> {
  const [run] = await db<{ id: string }[]>`select id from import_run where estab = ${estab} order by finished_at desc limit 1`;
  const kept: Problem[] = [];
  for await (const fault of readFaults(db, estab, run?.id ?? '')) kept.push(fault);
  return kept;
}

/** A teacher and a class that are wrong, and everything that hangs on them. */
const wrong = () =>
  smallPackage({
    users: [
      ...smallSchool.users, user('t1', 'wizard'), user('p20', 'student', { agentSourcedIds: 'a20' }), user('a20', 'parent', { enabledUser: 'perhaps' }),
      user('p21', 'student', { orgSourcedIds: 'nowhere' }),
    ],
    classes: [...smallSchool.classes, schoolClass('k9', 'Broken', { courseSourcedId: 'nowhere' }), schoolClass('k1', 'Twice')],
    enrollments: [
      ...smallSchool.enrollments, ...many(30, (at) => enrolment(`t1-${at}`, 't1', 'k1', { role: 'teacher' })),
      ...many(20, (at) => enrolment(`k9-${at}`, 'p1', 'k9')), enrolment('p20-1', 'p20', 'k1'), enrolment('lost', 'p1', 'nobody-knows'),
    ],
    demographics: [{ sourcedId: 'p20' }, { sourcedId: 'p21' }],
  });

test('six faults are six problems, each with the rows that fall with it, however far away', async () => {
  await service.addSchool('F1');
  const report = await service.load('F1', wrong());
  assert.equal(report.outcome, 'refused');
  assert.deepEqual(report.problems.map(place).toSorted(), [
    'classes.csv 5 courseSourcedId +20',
    'classes.csv 6 sourcedId +0',
    'enrollments.csv 61 classSourcedId +0',
    'users.csv 10 role +30',
    'users.csv 12 enabledUser +3',
    'users.csv 13 orgSourcedIds +1',
  ]);
  assert.deepEqual([report.problemsTotal, report.rejected], [6, 6 + 54]);
  assert.deepEqual((await keptOf('F1')).map(place).toSorted(), report.problems.map(place).toSorted());
  assert.deepEqual(
    Object.entries(report.collections).map(([name, { rejected }]) => [name, rejected]).toSorted(),
    [['classes', 2], ['demographics', 2], ['enrollments', 52], ['users', 4]],
  );
  assert.equal((await service.load('F1', wrong(), { partial: true })).rejected, 60, 'what is left out is the same');
});

test('a value that is cut within a character is a fault like any other', async () => {
  await service.addSchool('F0');
  const report = await service.load('F0', smallPackage({ users: [...smallSchool.users, user('t1', `${'x'.repeat(199)}\u{1f600}`)] }));
  assert.deepEqual([report.outcome, report.problems[0]?.value], ['refused', `${'x'.repeat(199)}\ufffd`]);
});

test('faults of one kind are one group, with how many and where first, and what differs only by a number is one kind', async () => {
  await service.addSchool('F2');
  const report = await service.load('F2', smallPackage({
    users: [
      ...smallSchool.users, ...many(12, (at) => user(`w${at}`, 'wizard')), ...many(3, () => user('p1', 'student')),
      user('solo', 'student', { enabledUser: 'maybe' }),
    ],
    enrollments: [...smallSchool.enrollments, ...many(7, (at) => enrolment(`x${at}`, 'w3', 'k1')), enrolment('y', 'w4', 'k1')],
  }));
  const roles = 'must be one of administrator, aide, guardian, parent, proctor, relative, student, teacher';
  assert.deepEqual(report.faults, [
    { file: 'users.csv', column: 'role', rule: roles, count: 12, dependants: 8, lines: [10, 11, 12, 13, 14] },
    { file: 'users.csv', column: 'enabledUser', rule: 'must be true or false', count: 1, dependants: 0, lines: [25] },
    { file: 'users.csv', column: 'sourcedId', rule: 'must be unique; line 2 has it already', count: 3, dependants: 0, lines: [22, 23, 24] },
  ]);
  const twice = await service.load('F2', smallPackage({ users: [...smallSchool.users, user('p1', 'student'), user('p2', 'student')] }));
  assert.deepEqual(twice.faults.map(({ rule, count }) => [rule, count]), [['must be unique; line … has it already', 2]]);
  const [stored] = await db<{ faults: unknown }[]>`select report -> 'faults' as faults from import_run where estab = 'F2' order by finished_at limit 1`;
  assert.deepEqual(stored?.faults, report.faults);
});

test('all faults are kept, of reading and of references, beyond those that a report lists', async () => {
  await service.addSchool('F3');
  const report = await service.load('F3', smallPackage({
    users: [...many(1500, (at) => user(`w${at}`, 'wizard')), ...many(1500, (at) => user(`n${at}`, 'student', { orgSourcedIds: 'nowhere' }))],
    enrollments: [...many(40, (at) => enrolment(`e${at}`, 'n1499', 'k1')), ...many(50, (at) => enrolment(`f${at}`, 'w1400', 'k1'))],
  }));
  assert.deepEqual([report.problemsTotal, report.problems.length, report.faults.map(({ count, dependants }) => [count, dependants])], [
    3000, listedProblems, [[1500, 50], [1500, 40]],
  ]);
  const kept = await keptOf('F3');
  assert.equal(kept.length, 3000);
  assert.deepEqual(kept.filter(({ dependants = 0 }) => dependants > 0).map(place), ['users.csv 1402 role +50', 'users.csv 3001 orgSourcedIds +40']);
  assert.deepEqual([kept[0]?.value, kept.at(-1)?.value], ['wizard', 'nowhere']);
});

test('what refers to one another without an end is followed so far: refused in time, and nothing of it is left out by parts', async () => {
  const chain = (length: number) =>
    many(length, (at) => {
      const id = (of: number) => `c${String(of).padStart(4, '0')}`;
      return at + 1 === length ? user(id(at), 'wizard') : user(id(at), 'student', { agentSourcedIds: id(at + 1) });
    });
  await service.addSchool('F6');
  const deep = smallPackage({ users: [...smallSchool.users, ...chain(400)] });
  const refused = await service.load('F6', deep);
  assert.deepEqual([refused.outcome, refused.problemsTotal, refused.rejected], ['refused', 1, 51]);
  const parted = await service.load('F6', deep, { partial: true });
  assert.deepEqual([parted.outcome, parted.problemsTotal, (await db`select from roster_user where estab = 'F6'`).length], ['refused', 2, 0]);
  assert.match(parted.problems[1]?.rule ?? '', /and so on without an end in sight; put right what is wrong first/);
  const family = await service.load('F6', smallPackage({ users: [...smallSchool.users, ...chain(40)] }), { partial: true });
  assert.deepEqual([family.outcome, family.rejected, family.problems.map(place)], ['done', 40, ['users.csv 49 role +39']]);
});

test('what falls with faults of too many kinds is counted with the rest of their file', () => {
  const problems = new Problems();
  const kind = (at: number) => ({ file: 'users.csv', column: `metadata.${at}`, rule: 'is too long' });
  for (let at = 0; at < 300; at += 1) problems.add({ ...kind(at), line: at + 2, value: null });
  const found = [kind(0), kind(299), { ...kind(0), file: 'orgs.csv' }].map((one) => problems.groupOf(one)?.count);
  assert.deepEqual(found, [1, 100, undefined]);
});

test('marks of a pupil whose row is wrong fall with it; marks of nobody are faults', async () => {
  await service.addSchool('F4');
  const lines = ['p30,2026-11-12,AM,/,,', 'p30,2026-11-12,PM,\\,,', 'ghost,2026-11-12,AM,/,,', 'p1,2026-11-12,AM,/,,', 's1,2026-11-12,AM,/,,'];
  const users = [...smallSchool.users, user('p30', 'student', { enabledUser: 'no' })];
  const given = smallPackage({ users }, { raw: { 'attendance.csv': attendanceCsv(...lines) } });
  const report = await service.load('F4', given, { partial: true });
  assert.deepEqual(report.problems.map(place), ['users.csv 10 enabledUser +2', 'attendance.csv 4 studentSourcedId +0', 'attendance.csv 6 studentSourcedId +0']);
  assert.deepEqual([report.outcome, report.marks, report.rejected], ['done', { written: 1, unchanged: 0, rejected: 4 }, 1]);
});

test('all faults are kept of the last imports only, and go with their report', async () => {
  await service.addSchool('F5');
  const faulty = smallPackage({ users: [user('w', 'wizard')] });
  for (let at = 0; at <= shownImports; at += 1) await service.load('F5', faulty);
  const runs = async () => (await db<{ runs: number }[]>`select count(distinct import)::int as runs from import_fault where estab = 'F5'`)[0]?.runs;
  assert.equal(await runs(), shownImports);
  const [oldest] = await db<{ id: string }[]>`select id from import_run where estab = 'F5' order by finished_at limit 1`;
  const csv = await text(renderProblemsCsv(db, 'F5', await requireRun(db, 'F5', oldest?.id ?? '')));
  assert.match(csv, /users\.csv,2,role,wizard/, 'the report of an older import still lists the first of them');
  await db`delete from import_run where estab = 'F5'`;
  assert.equal(await runs(), 0);
});
