// In charge of the figure of a file with as many attendance marks as are taken: time against the rows alone, and memory.
import { Readable } from 'node:stream';
import { maxMarks, readAttendance } from '../src/collection/connectors/csv/read-attendance.ts';
import { readCsv } from '../src/collection/connectors/csv/read-csv.ts';
import { Problems } from '../src/collection/problem.ts';
import { ratio, type Bench } from './bench.ts';

const students = 5_000;
const mostMegabytes = 512;

export async function benchAttendanceFile(bench: Bench): Promise<void> {
  const rows = await timed(readCsv(file, () => {}));
  const before = process.memoryUsage.rss();
  const marks = await timed(readAttendance(file, new Problems()));
  const megabytes = (process.memoryUsage.rss() - before) / 1024 ** 2;
  const measured = `${ratio(marks.ms / rows.ms)} (${(marks.ms / 1000).toFixed(1)} s for ${marks.count}, ${Math.round(megabytes)} MB)`;
  const holds = marks.ms / rows.ms <= 8 && megabytes <= mostMegabytes;
  bench.add('attendance marks, checked and remembered: time of their rows alone', measured, `<= 8, ${mostMegabytes} MB`, holds);
}

const file = { name: 'attendance.csv', size: 0, open: async () => Readable.from(content(), { objectMode: true }) };

function* content(): Generator<Buffer> {
  yield Buffer.from('studentSourcedId,date,session,mark,minutesLate,notes\n');
  for (let day = 0; day < maxMarks / students; day += 1) {
    const date = new Date(Date.UTC(2020, 0, 1 + day)).toISOString().slice(0, 10);
    yield Buffer.from(Array.from({ length: students }, (_, at) => `student-number-${at},${date},AM,/,,\n`).join(''));
  }
}

async function timed(batches: AsyncIterable<readonly unknown[]>): Promise<{ ms: number; count: number }> {
  const started = performance.now();
  let count = 0;
  for await (const batch of batches) count += batch.length;
  return { ms: performance.now() - started, count };
}
