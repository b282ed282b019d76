// In charge of the figures of the import: against a bare COPY of the same rows into a table with the same indexes, the same
// package again, and the same but for a few rows.
import { pipeline } from 'node:stream/promises';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { openPackage } from '../src/collection/connectors/csv/package.ts';
import { importRoster } from '../src/collection/import.ts';
import { estab, ratio, type Bench } from './bench.ts';
import { changeRows } from './large-school.ts';
import { findWritten } from './size.ts';

const changed = 100;

export async function benchImport(bench: Bench, folder: string): Promise<void> {
  const { db } = bench;
  const run = async () => {
    const started = performance.now();
    const report = await importRoster(db, async () => openCsvSource(await openPackage(folder)), {
      estab,
      dataDir: bench.folder,
      partial: false,
      force: false,
      shrinkLimitPercent: 20,
    });
    if (report.outcome === 'refused' || report.outcome === 'held') throw new Error(JSON.stringify(report.problems[0]));
    return { seconds: (performance.now() - started) / 1000, report };
  };
  const before = await findWritten(bench);
  const first = await run();
  const written = (await findWritten(bench)) - before;
  const again = await run();
  await changeRows(folder, changed);
  const nightly = await run();
  const bare = await bareCopy(bench);
  const rows = first.report.collections.enrollments?.added ?? 0;
  bench.add('import, seconds', `${first.seconds.toFixed(1)} for ${first.report.added} records (${rows} enrolments)`);
  bench.add('import: bytes of WAL for a record', String(Math.round(written / first.report.added)));
  bench.add('import: speed of a bare COPY of the enrolments', ratio(bare / first.seconds), '>= 0.6', bare / first.seconds >= 0.6);
  bench.add(
    'import again: time of the first',
    `${ratio(again.seconds / first.seconds)}, ${again.report.changed} changed`,
    '<= 0.1, 0 changed',
    again.seconds / first.seconds <= 0.1 && again.report.changed === 0,
  );
  bench.add(
    `import again with ${changed} rows changed: time of the first`,
    `${ratio(nightly.seconds / first.seconds)}, ${nightly.report.changed} changed`,
    `<= 0.25, ${changed} changed`,
    nightly.seconds / first.seconds <= 0.25 && nightly.report.changed === changed,
  );
}

/** Seconds for a COPY of the enrolments, in the order of the file, into an empty table like theirs. */
async function bareCopy({ db }: Bench): Promise<number> {
  await db`create table bare (like roster_enrollment including all)`;
  const columns = db([
    'estab',
    'sourced_id',
    'kind',
    'status',
    'version',
    'class_id',
    'school_id',
    'user_id',
    'role',
    'primary',
    'begin_date',
    'end_date',
    'metadata',
    'record',
    'late',
  ]);
  await db`checkpoint`;
  const chunks: Buffer[] = [];
  await db.begin(async (tx) => {
    const shuffled = tx`select ${columns} from roster_enrollment order by (substr(sourced_id, 5)::bigint * 548_317) % 1_000_003`;
    for await (const chunk of await tx`copy (${shuffled}) to stdout`.readable()) chunks.push(chunk as Buffer);
  });
  const started = performance.now();
  await db.begin(async (tx) => pipeline(chunks, await tx`copy bare (${columns}) from stdin`.writable()));
  const seconds = (performance.now() - started) / 1000;
  await db`drop table bare`;
  return seconds;
}
