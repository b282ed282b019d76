// In charge of `npm run bench`: every figure in one run, printed as a table. Ratios within the run are what counts;
// the seconds depend on the machine. Arguments: the number of enrolments, then the names of parts to run alone; or names only, with fewer
// enrolments; or `scale`, which takes longer and has the figures of a thousand schools; or `nodes`, of a database on several nodes.
import { join } from 'node:path';
import { benchAfterMerge } from './after-merge.ts';
import { benchAttendanceFile } from './attendance-file.ts';
import { openBench, type Bench } from './bench.ts';
import { benchBesideHanging } from './beside-hanging.ts';
import { benchConsole } from './console.ts';
import { benchDeliveries } from './deliveries.ts';
import { benchDelta } from './delta.ts';
import { benchEditions } from './editions.ts';
import { benchIdentity } from './identity.ts';
import { benchImport } from './import.ts';
import { writeLargeSchool } from './large-school.ts';
import { benchMemory } from './memory.ts';
import { benchNodes } from './nodes.ts';
import { benchPages } from './page.ts';
import { benchRestart } from './restart.ts';
import { benchScale } from './scale.ts';
import { benchSize } from './size.ts';
import { benchSeveralSchools } from './several-schools.ts';
import { benchWholeList } from './whole-list.ts';
import { benchWithoutFiles } from './without-files.ts';

/** In the order in which they run; what each leaves behind is what the next ones find. */
const parts: Readonly<Record<string, (bench: Bench, enrollments: number) => Promise<void>>> = {
  'whole-list': benchWholeList,
  size: benchSize,
  pages: benchPages,
  'after-merge': benchAfterMerge,
  delta: benchDelta,
  'without-files': benchWithoutFiles,
  'several-schools': benchSeveralSchools,
  editions: benchEditions,
  'beside-hanging': benchBesideHanging,
  deliveries: benchDeliveries,
  identity: benchIdentity,
  'attendance-file': benchAttendanceFile,
  memory: benchMemory,
  restart: benchRestart,
  console: benchConsole,
};

/** No ratios but milliseconds; with them, all would take too long. They run when they are named. */
const apart: readonly string[] = ['restart', 'console'];
const fewer = 100_000;

const [first = '1000000', ...others] = process.argv.slice(2);
if (first === 'nodes') {
  await benchNodes();
  process.exit();
}
const bench = await openBench();
try {
  if (first === 'scale') await benchScale(bench, Number(others[0] ?? 1_000));
  else if (first in parts) await benchAll(fewer, [first, ...others]);
  else await benchAll(Number(first), others);
  console.log();
  console.table(
    bench.figures.map(({ name, measured, goal, holds }) => ({ figure: name, measured, goal, holds: holds === undefined ? '' : holds ? 'yes' : 'NO' })),
  );
} finally {
  await bench.close();
}

/** Without names, all parts that are not apart. The import comes first in any case: the others need its school. */
async function benchAll(enrollments: number, names: readonly string[]): Promise<void> {
  const folder = join(bench.folder, 'package');
  await writeLargeSchool(folder, { enrollments, users: 60_000, classes: 5_000 });
  await timed('import', () => benchImport(bench, folder));
  for (const [name, run] of Object.entries(parts)) {
    if (names.length === 0 ? !apart.includes(name) : names.includes(name)) await timed(name, () => run(bench, enrollments));
  }
}

async function timed(what: string, run: () => Promise<void>): Promise<void> {
  const started = performance.now();
  await run();
  console.log(`  ${what}: ${Math.round((performance.now() - started) / 1000)} s`);
}
