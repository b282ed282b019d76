// In charge of `npm run bench`: every figure in one run, printed as a table. Ratios within the run are what counts;
// the seconds depend on the machine.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { collections } from '../src/roster/collections.ts';
import { benchAttendanceFile } from './attendance-file.ts';
import { openBench } from './bench.ts';
import { benchBesideHanging } from './beside-hanging.ts';
import { benchDeliveries } from './deliveries.ts';
import { benchFullList } from './full-list.ts';
import { benchIdentity } from './identity.ts';
import { benchImport } from './import.ts';
import { benchRestart } from './restart.ts';
import { writeLargeSchool } from './large-school.ts';
import { benchPages } from './page.ts';

const enrollments = Number(process.argv[2] ?? 1_000_000);
const changed = 100;
const bench = await openBench();
try {
  const folder = join(bench.folder, 'package');
  await writeLargeSchool(folder, { enrollments, users: 60_000, classes: 5_000 });
  await benchImport(bench, folder);
  const delta = join(bench.folder, 'delta');
  await writeLargeSchool(delta, { enrollments: 1, users: 1, classes: 1 });
  await writeDelta(delta);
  await benchFullList(bench, enrollments);
  await benchPages(bench, delta, enrollments);
  await benchBesideHanging(bench);
  await benchDeliveries(bench);
  await benchIdentity(bench);
  await benchAttendanceFile(bench);
  await benchRestart(bench);
  console.log();
  console.table(
    bench.figures.map(({ name, measured, goal, holds }) => ({ figure: name, measured, goal, holds: holds === undefined ? '' : holds ? 'yes' : 'NO' })),
  );
} finally {
  await bench.close();
}

/** A delta that changes a few enrolments. */
async function writeDelta(folder: string): Promise<void> {
  const names = [
    'academicSessions',
    'categories',
    'classes',
    'classResources',
    'courses',
    'courseResources',
    'demographics',
    'lineItems',
    'orgs',
    'resources',
    'results',
    'users',
  ];
  await writeFile(
    join(folder, 'manifest.csv'),
    ['propertyName,value', 'manifest.version,1.0', 'oneroster.version,1.1', 'file.enrollments,delta', ...names.map((name) => `file.${name},absent`)].join('\n'),
  );
  for (const { file } of Object.values(collections))
    if (file !== 'enrollments.csv') await import('node:fs/promises').then(({ rm }) => rm(join(folder, file), { force: true }));
  const rows = Array.from(
    { length: changed },
    (_, at) =>
      `enr-${String((at * 7919) % 1_000_003).padStart(7, '0')},active,2026-10-01T00:00:00.000Z,class-${at},school-1,user-${at},student,,2026-09-01,2027-06-30`,
  );
  await writeFile(join(folder, 'enrollments.csv'), [collections.enrollments.header, ...rows].join('\r\n'));
}
