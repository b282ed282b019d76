// In charge of `npm run bench`: every figure in one run, printed as a table. Ratios within the run are what counts;
// the seconds depend on the machine.
import { join } from 'node:path';
import { benchAttendanceFile } from './attendance-file.ts';
import { openBench } from './bench.ts';
import { benchBesideHanging } from './beside-hanging.ts';
import { benchConsole } from './console.ts';
import { benchDeliveries } from './deliveries.ts';
import { benchEditions } from './editions.ts';
import { benchFullList } from './full-list.ts';
import { benchIdentity } from './identity.ts';
import { benchImport } from './import.ts';
import { benchRestart } from './restart.ts';
import { writeDelta, writeLargeSchool } from './large-school.ts';
import { benchMemory } from './memory.ts';
import { benchPages } from './page.ts';

const enrollments = Number(process.argv[2] ?? 1_000_000);
const changed = 100;
const bench = await openBench();
try {
  const folder = join(bench.folder, 'package');
  await writeLargeSchool(folder, { enrollments, users: 60_000, classes: 5_000 });
  await benchImport(bench, folder);
  const delta = join(bench.folder, 'delta');
  await writeDelta(delta, changed);
  await benchFullList(bench, enrollments);
  await benchPages(bench, delta, enrollments);
  await benchEditions(bench);
  await benchBesideHanging(bench);
  await benchDeliveries(bench);
  await benchIdentity(bench);
  await benchAttendanceFile(bench);
  await benchMemory(bench);
  await benchRestart(bench);
  await benchConsole(bench);
  console.log();
  console.table(
    bench.figures.map(({ name, measured, goal, holds }) => ({ figure: name, measured, goal, holds: holds === undefined ? '' : holds ? 'yes' : 'NO' })),
  );
} finally {
  await bench.close();
}
