// Covers the demo MIS through its connector on a real database: each way it can be told to behave, and that the same
// write is one write, again and at once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { useDataDir } from '../../../../test/data-dir.ts';
import { useDatabase } from '../../../../test/database.ts';
import { addEstablishment } from '../../../access/establishments.ts';
import { MisError, type Connector, type MarksToWrite } from '../../connector.ts';
import type { MarkRow } from '../../mark.ts';
import { importRoster } from '../../import.ts';
import { Problems } from '../../problem.ts';
import { openCsvSource } from '../csv/csv-source.ts';
import { createDemoConnector, demoModes, type DemoMode } from './demo-connector.ts';
import { demoPackage } from './demo-package.ts';
import { forgetDemo } from './forget-demo.ts';
import { exampleDay, exampleStudent } from './named-in-reference.ts';

const { db } = await useDatabase();
const options = { partial: false, force: false, dataDir: useDataDir(), shrinkLimitPercent: 20 };
const start = Date.parse('2026-11-13T20:00:00Z');
let schools = 0;

async function newDemo(): Promise<{ estab: string; set(mode: DemoMode): Connector; pauses: number[]; clock: { now: number } }> {
  const estab = `D${(schools += 1)}`;
  await addEstablishment(db, { estab, name: 'Another school', email: 'office@another.example' });
  const pauses: number[] = [];
  const clock = { now: start };
  const pause = async (milliseconds: number) => void pauses.push(milliseconds);
  return { estab, pauses, clock, set: (mode) => createDemoConnector({ db, estab, mode, now: () => clock.now, pause }) };
}

async function marksOf(connector: Connector): Promise<MarkRow[]> {
  const marks: MarkRow[] = [];
  for await (const batch of connector.readMarks?.(new Problems()) ?? assert.fail()) marks.push(...batch);
  return marks;
}

const write = (connector: Connector, marks: MarksToWrite) => connector.writeMarks?.(marks) ?? assert.fail();
const keptOf = async (estab: string) => [
  ...(await db`select student_id as id, date::text, session, mark, minutes_late as late, notes from demo_mark where estab = ${estab}
      order by student_id, session`),
];
const writesOf = async (estab: string) => (await db`select answer from demo_write where estab = ${estab}`).map(({ answer }) => answer as unknown);

const mark = (line: number, studentId: string, more: Partial<MarkRow> = {}): MarkRow => ({
  line, studentId, date: '2026-11-13', session: 'AM', mark: 'I', minutesLate: undefined, notes: undefined, ...more,
});
const rejection = { index: 0, code: 'RegisterClosed', message: 'The register is closed (the demo MIS was set to rejecting).' };

test('a normal demo hands its school to any establishment, and another one ten minutes later', async () => {
  const { estab, set, clock } = await newDemo();
  const connector = set('normal');
  assert.deepEqual(connector.offers, ['SchoolData', 'Attendance']);
  const load = () => importRoster(db, () => connector.openRoster({ full: false }), { estab, ...options });
  const first = await load();
  assert.deepEqual([first.outcome, first.problems], ['done', []]);
  clock.now += 60_000;
  assert.equal((await load()).outcome, 'unchanged');
  clock.now += 10 * 60_000;
  const next = await load();
  assert.equal(next.outcome, 'done');
  assert.ok(next.added + next.changed + next.removed <= 12);

  const students = new Set((await marksOf(connector)).map(({ studentId }) => studentId));
  const known = await db<{ id: string }[]>`select sourced_id as id from roster_user where estab = ${estab} and role = 'student'`;
  assert.ok(students.size > 1000 && known.filter(({ id }) => students.has(id)).length === students.size);
});

test('the marks of a joiner wait until the roster knows them', async () => {
  const { estab, set } = await newDemo();
  const load = (open: () => ReturnType<Connector['openRoster']>) => importRoster(db, open, { estab, ...options });
  const studentsWithMarks = async () => new Set((await marksOf(set('normal'))).map(({ studentId }) => studentId));
  await load(() => openCsvSource(demoPackage()));
  const before = await studentsWithMarks();
  await load(() => set('normal').openRoster({ full: true }));
  const after = await studentsWithMarks();
  const joiners = [...after].filter((id) => !before.has(id));
  assert.ok(joiners.length >= 5 && joiners.length <= 9, String(joiners.length));
  assert.deepEqual([...before].filter((id) => !after.has(id)), []);
});

test('what is written is read again, taken-back marks included, and only by its establishment', async () => {
  const [{ estab, set }, other] = [await newDemo(), await newDemo()];
  const connector = set('normal');
  const before = await marksOf(connector);
  const [first, second] = before.filter(({ date, session }) => date === '2026-11-13' && session === 'AM');
  assert.ok(first && second);
  const marks = [mark(0, first.studentId, { mark: 'L', minutesLate: 9, notes: 'Bus' }), mark(1, second.studentId, { mark: undefined })];
  assert.deepEqual(await write(connector, { trackingId: randomUUID(), partial: false, marks }), []);
  const after = await marksOf(connector);
  assert.deepEqual(
    after.filter((one, at) => JSON.stringify(one) !== JSON.stringify(before[at])),
    [
      { ...marks[0], line: first.line },
      { ...marks[1], line: second.line },
    ],
  );
  assert.deepEqual(await marksOf(other.set('normal')), before);
  assert.deepEqual(
    await keptOf(estab),
    [
      { id: first.studentId, date: '2026-11-13', session: 'AM', mark: 'L', late: 9, notes: 'Bus' },
      { id: second.studentId, date: '2026-11-13', session: 'AM', mark: null, late: null, notes: null },
    ].sort((a, b) => (a.id < b.id ? -1 : 1)),
  );
});

test('marks that were written long ago are no longer handed over', async () => {
  const { set } = await newDemo();
  await write(set('normal'), { trackingId: randomUUID(), partial: false, marks: [mark(0, 's1', { date: '2026-09-10' }), mark(1, 's1')] });
  assert.deepEqual((await marksOf(set('normal'))).filter(({ studentId }) => studentId === 's1').map(({ date }) => date), ['2026-11-13']);
});

test('a mark of the day that the reference names stays as it was written, although those of other days are forgotten', async () => {
  const { estab, set, clock } = await newDemo();
  const marks = [mark(0, exampleStudent, { date: exampleDay, mark: 'C' }), mark(1, exampleStudent, { mark: 'C' })];
  await write(set('normal'), { trackingId: randomUUID(), partial: false, marks });
  clock.now = Date.parse('2027-03-10T20:00:00Z');
  await forgetDemo(db, estab, 0);
  assert.deepEqual((await keptOf(estab)).map(({ date }) => date), [exampleDay]);
  const read = (await marksOf(set('normal'))).filter((one) => one.studentId === exampleStudent && one.date === exampleDay && one.session === 'AM');
  assert.deepEqual(read.map((one) => one.mark), ['C']);
});

test('the same write again is one write, whatever was written between', async () => {
  const { estab, set } = await newDemo();
  const [one, two] = [randomUUID(), randomUUID()];
  const first: MarksToWrite = { trackingId: one, partial: false, marks: [mark(0, 's1', { mark: 'I' })] };
  assert.deepEqual(await write(set('normal'), first), []);
  assert.deepEqual(await write(set('normal'), { trackingId: two, partial: false, marks: [mark(0, 's1', { mark: 'M' })] }), []);
  assert.deepEqual(await write(set('normal'), first), []);
  assert.deepEqual(await write(set('rejecting'), first), []);
  assert.deepEqual((await keptOf(estab)).map((row) => row['mark']), ['M']);
  assert.equal((await writesOf(estab)).length, 2);
});

test('the same write many times at once is one write, and all are told the same', async () => {
  const { estab, set } = await newDemo();
  const trackingId = randomUUID();
  const marks = Array.from({ length: 5000 }, (_, line) => mark(line, `s${line}`));
  const modes: DemoMode[] = ['normal', 'rejecting', 'normal', 'rejecting', 'normal', 'rejecting', 'normal', 'rejecting'];
  const answers = await Promise.all(modes.map((mode) => write(set(mode), { trackingId, partial: true, marks })));
  const kept = await writesOf(estab);
  assert.equal(kept.length, 1);
  for (const answer of answers) assert.deepEqual(answer, kept[0]);
  assert.equal((await keptOf(estab)).length, 5000 - (answers[0]?.length ?? 0));
});

test('a write that fails half way leaves neither marks nor an answer, and can be made again', async () => {
  const { estab, set } = await newDemo();
  const trackingId = randomUUID();
  await assert.rejects(write(set('normal'), { trackingId, partial: false, marks: [mark(0, 's1'), mark(1, 's2', { date: 'never' })] }));
  assert.deepEqual([await keptOf(estab), await writesOf(estab)], [[], []]);
  await write(set('normal'), { trackingId, partial: false, marks: [mark(0, 's1'), mark(1, 's2')] });
  assert.equal((await keptOf(estab)).length, 2);
});

test('of two marks for one register the later one counts', async () => {
  const { estab, set } = await newDemo();
  await write(set('normal'), {
    trackingId: randomUUID(),
    partial: false,
    marks: [mark(0, 's1', { mark: 'N' }), mark(1, 's1', { mark: 'O' }), mark(2, 's1', { session: 'PM' })],
  });
  assert.deepEqual(
    (await keptOf(estab)).map((row) => row['mark']),
    ['O', 'I'],
  );
});

test('a slow demo waits twenty seconds before each operation and then behaves', async () => {
  const { estab, set, pauses } = await newDemo();
  const connector = set('slow');
  await (await connector.openRoster({ full: true })).close();
  assert.deepEqual(pauses, [20_000]);
  assert.ok((await marksOf(connector)).length > 0);
  assert.deepEqual(await write(connector, { trackingId: randomUUID(), partial: false, marks: [mark(0, 's1')] }), []);
  assert.deepEqual(pauses, [20_000, 20_000, 20_000]);
  assert.equal((await keptOf(estab)).length, 1);
});

test('an offline and a broken demo fail in words a school understands, and write nothing', async () => {
  const { estab, set, pauses } = await newDemo();
  const expected = {
    offline: { read: [true, /cannot be reached/], write: [true, /cannot be reached/] },
    broken: { read: [true, /cannot be read/], write: [false, /wrote none/] },
  } as const;
  for (const mode of ['offline', 'broken'] as const) {
    const connector = set(mode);
    const operations = [
      ['read', () => connector.openRoster({ full: true })],
      ['read', () => marksOf(connector)],
      ['write', () => write(connector, { trackingId: randomUUID(), partial: true, marks: [mark(0, 's1')] })],
    ] as const;
    for (const [kind, operation] of operations) {
      const [later, words] = expected[mode][kind];
      await assert.rejects(
        async () => operation(),
        (error) => error instanceof MisError && error.status === 'Error' && error.later === later && words.test(error.message) && error.message.includes(mode),
      );
    }
  }
  assert.deepEqual([await keptOf(estab), await writesOf(estab), pauses], [[], [], []]);
});

test('a rejecting demo refuses the first mark: alone where the rest may be written, otherwise with all others', async () => {
  const { estab, set } = await newDemo();
  const connector = set('rejecting');
  assert.ok((await marksOf(connector)).length > 0);
  const marks = [mark(0, 's1'), mark(1, 's2'), mark(2, 's3')];
  const whole: MarksToWrite = { trackingId: randomUUID(), partial: false, marks };
  assert.deepEqual(await write(connector, whole), [rejection]);
  assert.deepEqual(await keptOf(estab), []);
  assert.deepEqual(await write(set('normal'), whole), [rejection], 'what was answered stays answered');
  assert.deepEqual(await keptOf(estab), []);
  assert.deepEqual(await write(connector, { trackingId: randomUUID(), partial: true, marks }), [rejection]);
  assert.deepEqual((await keptOf(estab)).map((row) => row['id']), ['s2', 's3']);
  assert.deepEqual(await write(connector, { trackingId: randomUUID(), partial: true, marks: [mark(7, 's9')] }), [{ ...rejection, index: 7 }]);
  assert.deepEqual(await write(connector, { trackingId: randomUUID(), partial: true, marks: [] }), []);
});

test('the modes are those that can be set', () => assert.deepEqual(demoModes, ['normal', 'slow', 'offline', 'broken', 'rejecting']));
