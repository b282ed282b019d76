// In charge of one collection of a roster from its source, in two phases: everything is read into the spool, and then one
// short transaction stages, verifies, guards and merges it. It ends as done, unchanged, held or refused, and every
// ending is recorded with its report.
import { randomUUID } from 'node:crypto';
import type { Db, Tx } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { countMarks, lockMarks, mergeStagedMarks, sealMarks, type MarksCount } from './attendance.ts';
import { compareStage, type MergeCount } from './compare-stage.ts';
import { recordCollected, recordFailure } from './component-databases.ts';
import type { RosterReading } from './connector.ts';
import { historyTable } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { attendanceFile } from './mark.ts';
import { mergeStage, sealVersion } from './merge.ts';
import { Problems, SourceError, type Problem } from './problem.ts';
import { readRosterSource, type SpooledRoster } from './read-source.ts';
import { beginReading, isOvertaken, noteMerged, Overtaken, requireNewest, type Reading } from './reading.ts';
import { findShrinkage, type Shrinkage } from './shrink-guard.ts';
import type { SpoolFile } from './spool.ts';
import { clearStage, stagedRejected, stageMarks, stageRoster } from './stage.ts';
import { noteImport } from './uploads.ts';
import { verifyStage } from './verify.ts';

export type ImportOptions = {
  estab: string;
  /** Where the spool may lie. */
  dataDir: string;
  /** Leave out what breaks a rule instead of refusing the whole. */
  partial: boolean;
  /** A person approves a large shrinkage. */
  force: boolean;
  shrinkLimitPercent: number;
  /** The uploaded package that is imported. */
  upload?: string | undefined;
  onProgress?: (bytesRead: number, totalBytes: number) => void;
  /** What else follows from it, in its transaction. */
  whenMerged?: (tx: Tx) => Promise<void>;
  /** Throws when the merge must not happen after all. */
  beforeCommit?: (tx: Tx) => Promise<void>;
};

export type ImportReport = MergeCount & {
  estab: string;
  outcome: 'done' | 'unchanged' | 'held' | 'refused';
  /** It was refused for having come too late. */
  overtaken?: true;
  rejected: number;
  version: number;
  collections: Partial<Record<CollectionName, MergeCount & { mode: string; rejected: number }>>;
  ignored: string[];
  /** Marks that came with the package. */
  marks?: { written: number; unchanged: number; rejected: number };
  shrinkage: Shrinkage[];
  problems: Problem[];
  problemsTotal: number;
};

const rowsWorthCounting = 500;
/** About a thousand rows. */
const bytesWorthHashing = 100_000;
const nothingMerged: MergeCount = { added: 0, changed: 0, removed: 0, unchanged: 0 };

type Run = Readonly<{ id: string; reading: Reading; options: ImportOptions }>;

/** Ends the transaction without leaving anything behind but what it says about the report. */
class NothingChanged extends Error {
  readonly said: Partial<ImportReport>;
  readonly problems: Problems;

  constructor(said: Partial<ImportReport>, problems: Problems) {
    super('nothing was changed');
    this.said = said;
    this.problems = problems;
  }
}

export async function importRoster(db: Db, openSource: () => Promise<RosterReading>, options: ImportOptions): Promise<ImportReport> {
  const { estab } = options;
  const run: Run = { id: randomUUID(), reading: await beginReading(db, estab), options };
  const refused: ImportReport = { ...emptyReport(estab), outcome: 'refused' };
  const read = new Problems();
  let source: RosterReading | undefined;
  let spooled: SpooledRoster | undefined;
  try {
    source = await openSource();
    const opened = source;
    refused.ignored = [...source.ignored];
    spooled = await readRosterSource(source, run.reading, options.dataDir, read, (bytes, total) => options.onProgress?.(bytes, total));
    const whole = spooled;
    refused.ignored = [...whole.ignored];
    const report = await db.begin((tx) => mergeRead(tx, run, opened, whole, read.copy()));
    await refreshStatistics(db, report);
    return report;
  } catch (error) {
    const { said, problems } = explain(error, read);
    return await recordEnd(db, run, source, { ...refused, ...said, problems: problems.listed, problemsTotal: problems.total });
  } finally {
    await Promise.all([spooled?.close(), source?.close()]);
  }
}

/** What is said of an import that changed nothing; whatever else went wrong is thrown on. */
function explain(error: unknown, read: Problems): Pick<NothingChanged, 'said' | 'problems'> {
  if (error instanceof NothingChanged) return error;
  const problems = read.copy();
  if (error instanceof SourceError) problems.add(error.problem);
  else if (error instanceof Overtaken)
    problems.add({ file: 'this import', line: null, column: null, value: null, rule: `${error.message}; import what is current` });
  else throw error;
  return { said: error instanceof Overtaken ? { overtaken: true } : {}, problems };
}

function emptyReport(estab: string): ImportReport {
  return {
    estab,
    outcome: 'unchanged',
    ...nothingMerged,
    rejected: 0,
    version: 0,
    collections: {},
    ignored: [],
    shrinkage: [],
    problems: [],
    problemsTotal: 0,
  };
}

/** Of what was held or refused. A refused package says nothing about the data that is there; a held one waits for a decision. */
async function recordEnd(db: Db, run: Run, source: RosterReading | undefined, ended: ImportReport): Promise<ImportReport> {
  return db.begin(async (tx) => {
    const [roster] = await tx<{ version: number }[]>`select version from roster where estab = ${ended.estab}`;
    const report = { ...ended, version: roster?.version ?? 0 };
    if (report.outcome === 'held') {
      await recordFailure(tx, report.estab, 'SchoolData', 'Paused', describeTrouble(report) ?? '');
      await run.options.beforeCommit?.(tx);
    }
    await recordRun(tx, run, source, report);
    return report;
  });
}

async function recordRun(tx: Tx, { id, reading, options }: Run, source: RosterReading | undefined, report: ImportReport): Promise<void> {
  await tx`
    insert into import_run (estab, id, started_at, outcome, version, report, reading, provider)
    values (${report.estab}, ${id}, ${reading.startedAt}, ${report.outcome}, ${report.version}, ${tx.json(report)}, ${reading.number},
      ${source?.provider ?? null})`;
  if (options.upload !== undefined) await noteImport(tx, report.estab, options.upload, id);
}

/** Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. */
async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  for (const resource of allResources) {
    const { collection, table } = resource;
    const count = report.collections[collection];
    if (report.outcome !== 'done' || !count || count.added + count.changed + count.removed < rowsWorthCounting) continue;
    await db`analyze ${db(table)}`;
    await db`analyze ${db(historyTable(resource))}`;
  }
}

/** For a school: what would have to be approved or put right. Nothing when all went well. */
export function describeTrouble({ outcome, overtaken, problems, problemsTotal, shrinkage }: ImportReport): string | undefined {
  if (overtaken) return Overtaken.words;
  if (outcome === 'held') {
    const parts = shrinkage.map(
      ({ collection, role, active, removed, percent }) => `${removed} of ${active} ${role ? `${role} ` : ''}${collection} (${percent} %)`,
    );
    return `held until a person approves it: ${parts.join(', ')} would go`;
  }
  if (outcome !== 'refused') return undefined;
  const [first] = problems;
  const where = first ? [first.file, ...(first.line === null ? [] : [`line ${first.line}`]), ...(first.column === null ? [] : [first.column])].join(', ') : '';
  return `refused, nothing was changed: ${problemsTotal} problem${problemsTotal === 1 ? '' : 's'}${first ? `, the first: ${where}: ${first.rule}` : ''}`;
}

/** The second phase. What it does can be undone as a whole, and repeated: the spool is still there. */
async function mergeRead(tx: Tx, run: Run, source: RosterReading, spooled: SpooledRoster, problems: Problems): Promise<ImportReport> {
  const { reading, options } = run;
  const { estab } = options;
  const current = await lockRoster(tx, estab);
  await requireNewest(tx, reading, 'SchoolData');
  if (spooled.bytes > bytesWorthHashing) {
    // Nobody knows how many rows will be staged; row by row, each lookup would then read all of them.
    await tx`set local enable_nestloop = off`;
    // A school's rows are sorted once; on disk that takes a tenth of the import.
    await tx`set local work_mem = '128MB'`;
  }
  await stageRoster(tx, spooled);
  const modes = new Map(spooled.collections.map(({ resource, mode }) => [resource, mode]));
  await verifyStage(tx, reading, modes, problems);
  const report: ImportReport = { ...emptyReport(estab), version: current, ignored: [...spooled.ignored] };
  for (const { collection, count } of await countRejected(tx, reading)) {
    report.collections[collection] = { mode: modes.get(collections[collection]) ?? '', ...nothingMerged, rejected: count };
    report.rejected += count;
  }
  const refuse = () => new NothingChanged({ outcome: 'refused', rejected: report.rejected, collections: { ...report.collections } }, problems);
  if (problems.total > 0 && !options.partial) throw refuse();

  const changes = await compareStage(tx, reading, modes);
  report.shrinkage = await findShrinkage(tx, changes, options.shrinkLimitPercent);
  const { shrinkage, rejected } = report;
  if (shrinkage.length > 0 && !options.force)
    throw new NothingChanged({ outcome: 'held', shrinkage, rejected, collections: report.collections }, problems);
  report.version = await mergeStage(tx, changes, current);
  const changed = report.version !== current;
  const marks = spooled.marks && (await mergePackedMarks(tx, run, spooled.marks, problems));
  if (problems.total > 0 && !options.partial) {
    for (const { resource, mode } of spooled.collections) report.collections[resource.collection] ??= { mode, ...nothingMerged, rejected: 0 };
    throw refuse();
  }
  if (marks) report.marks = { written: marks.written, unchanged: marks.unchanged, rejected: marks.rejected };
  else if (spooled.marks) report.ignored.push(`${attendanceFile} (newer marks were collected meanwhile)`);
  for (const [resource, count] of changes.counts) {
    for (const key of ['added', 'changed', 'removed', 'unchanged'] as const) report[key] += count[key];
    report.collections[resource.collection] = { mode: modes.get(resource) ?? '', rejected: report.collections[resource.collection]?.rejected ?? 0, ...count };
  }
  report.outcome = changed ? 'done' : 'unchanged';
  Object.assign(report, { problems: problems.listed, problemsTotal: problems.total });
  await recordMerged(tx, run, source, report, marks);
  if (marks) await sealMarks(tx, estab, marks);
  if (changed) await sealVersion(tx, estab, report.version, run.id);
  return report;
}

/** As of when the reading began: a mark that was written here since is newer, and so are marks of a later reading. */
async function mergePackedMarks(tx: Tx, { reading }: Run, marks: SpoolFile, problems: Problems): Promise<MarksCount | undefined> {
  await lockMarks(tx, reading.estab);
  if (await isOvertaken(tx, reading, 'Attendance')) return undefined;
  await stageMarks(tx, marks);
  return mergeStagedMarks(tx, reading, problems, reading.startedAt);
}

async function recordMerged(tx: Tx, run: Run, source: RosterReading, report: ImportReport, marks: MarksCount | undefined): Promise<void> {
  const { estab } = report;
  await tx`update establishment set connector = 'csv' where estab = ${estab} and connector is null`;
  await rememberState(tx, estab, source);
  const [active] = await tx<
    { count: number }[]
  >`select coalesce(sum(count), 0)::int as count from roster_total where estab = ${estab} and status = 'active'`;
  // Databases are locked by their names, as everywhere.
  if (marks) await recordCollected(tx, estab, 'Attendance', { rowCount: await countMarks(tx, estab), changed: marks.written > 0 });
  await recordCollected(tx, estab, 'SchoolData', { rowCount: active?.count ?? 0, changed: report.outcome === 'done' });
  if (marks) await noteMerged(tx, run.reading, 'Attendance');
  await noteMerged(tx, run.reading, 'SchoolData');
  await run.options.whenMerged?.(tx);
  if (report.outcome === 'done') await announceChange(tx, estab, 'SchoolData');
  if (marks && marks.written > 0) await announceChange(tx, estab, 'Attendance');
  await recordRun(tx, run, source, report);
  await clearStage(tx, run.reading);
  await run.options.beforeCommit?.(tx);
}

/** What a connector needs to know the next time, kept if and only if this was merged. */
async function rememberState(tx: Tx, estab: string, source: RosterReading): Promise<void> {
  const state = source.state?.();
  if (!state) return;
  await tx`insert into connector_setting (estab, state) values (${estab}, ${tx.json(state)}) on conflict (estab) do update set state = excluded.state`;
}

async function countRejected(tx: Tx, reading: Reading): Promise<{ collection: CollectionName; count: number }[]> {
  return tx<{ collection: CollectionName; count: number }[]>`
    select collection, count(distinct line)::int as count from ${stagedRejected(tx, reading)} r group by collection`;
}
