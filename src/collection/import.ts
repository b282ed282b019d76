// In charge of one collection of a roster from its source, as one transaction: stage, verify, guard, merge. It ends
// as done, unchanged, held or refused, and every ending is recorded with its report.
import type { Db, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { announceChange } from '../notifications/announce.ts';
import { countMarks, mergeMarks, type MarksCount } from './attendance.ts';
import { recordCollected, recordFailure } from './component-databases.ts';
import type { RosterReading } from './connector.ts';
import { lockRoster, mergeStage, type MergeCount } from './merge.ts';
import { Problems, SourceError, type Problem } from './problem.ts';
import { findShrinkage, type Shrinkage } from './shrink-guard.ts';
import type { Source } from './source.ts';
import { createStage, stageCollection } from './stage.ts';
import { verifyStage, type Modes } from './verify.ts';

export type ImportOptions = {
  estab: string;
  /** Leave out what breaks a rule instead of refusing the whole. */
  partial: boolean;
  /** A person approves a large shrinkage. */
  force: boolean;
  shrinkLimitPercent: number;
  onProgress?: (bytesRead: number, totalBytes: number) => void;
  /** Throws when the merge must not happen after all; it is the last thing before the commit. */
  beforeCommit?: (tx: Tx) => Promise<void>;
};

export type ImportReport = MergeCount & {
  estab: string;
  outcome: 'done' | 'unchanged' | 'held' | 'refused';
  rejected: number;
  version: number;
  collections: Partial<Record<CollectionName, MergeCount & { mode: string; rejected: number }>>;
  ignored: string[];
  /** Marks that came with the package. */
  marks?: MarksCount;
  shrinkage: Shrinkage[];
  problems: Problem[];
  problemsTotal: number;
};

const rowsWorthCounting = 500;
/** About a thousand rows. */
const bytesWorthHashing = 100_000;

/** Ends the transaction without leaving anything behind but the report. */
class NothingChanged extends Error {}

export async function importRoster(db: Db, openSource: () => Promise<RosterReading>, options: ImportOptions): Promise<ImportReport> {
  const startedAt = new Date();
  const [roster] = await db<{ version: number }[]>`select version from roster where estab = ${options.estab}`;
  const report: ImportReport = {
    estab: options.estab,
    outcome: 'refused',
    added: 0,
    changed: 0,
    removed: 0,
    unchanged: 0,
    rejected: 0,
    version: roster?.version ?? 0,
    collections: {},
    ignored: [],
    shrinkage: [],
    problems: [],
    problemsTotal: 0,
  };
  const problems = new Problems();
  let source: RosterReading | undefined;
  try {
    const opened = await openSource();
    source = opened;
    report.ignored = [...opened.ignored];
    // The source is read in it, and can be read but once.
    await db.begin((tx) => importInto(tx, opened, options, report, problems), { repeatable: false });
  } catch (error) {
    if (error instanceof SourceError) {
      problems.add(error.problem);
      // It may come as late as in the marks, when the merge seemed to be done.
      report.outcome = 'refused';
    } else if (!(error instanceof NothingChanged)) throw error;
  } finally {
    await source?.close();
  }
  if (report.outcome === 'refused' || report.outcome === 'held') forgetCounts(report, roster?.version ?? 0);
  await refreshStatistics(db, report);
  report.problems = problems.listed;
  report.problemsTotal = problems.total;
  // A package that was refused says nothing about the data that is there; one that is held waits for a decision.
  if (report.outcome === 'held') {
    await db.begin(async (tx) => {
      await recordFailure(tx, options.estab, 'SchoolData', 'Paused', describeTrouble(report) ?? '');
      await options.beforeCommit?.(tx);
    });
  }
  await db`
    insert into import_run (estab, started_at, outcome, version, report)
    values (${options.estab}, ${startedAt}, ${report.outcome}, ${report.version}, ${db.json(report)})`;
  return report;
}

/** Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. */
async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  for (const { collection, table } of allResources) {
    const count = report.collections[collection];
    if (report.outcome === 'done' && count && count.added + count.changed + count.removed >= rowsWorthCounting) await db`analyze ${db(table)}`;
  }
}

/** What was rolled back was neither added nor changed. */
function forgetCounts(report: ImportReport, version: number): void {
  Object.assign(report, { added: 0, changed: 0, removed: 0, unchanged: 0, version });
  for (const count of Object.values(report.collections)) Object.assign(count, { added: 0, changed: 0, removed: 0, unchanged: 0 });
  delete report.marks;
}

/** For a school: what would have to be approved or put right. Nothing when all went well. */
export function describeTrouble({ outcome, problems, problemsTotal, shrinkage }: ImportReport): string | undefined {
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

async function importInto(tx: Tx, source: RosterReading, options: ImportOptions, report: ImportReport, problems: Problems): Promise<void> {
  const current = await lockRoster(tx, options.estab);
  report.version = current;
  await createStage(tx);
  const modes: Modes = await stageAll(tx, source, options, report, problems);
  // Statistics may not know this school yet and take it for empty; row by row, each lookup would then read all of it.
  if (source.bytesRead() > bytesWorthHashing) await tx`set local enable_nestloop = off`;
  await verifyStage(tx, options.estab, modes, problems);
  report.rejected = await countRejected(tx, modes, report);
  if (problems.total > 0 && !options.partial) throw new NothingChanged();

  report.shrinkage = await findShrinkage(tx, options.estab, modes, options.shrinkLimitPercent);
  if (report.shrinkage.length > 0 && !options.force) {
    report.outcome = 'held';
    throw new NothingChanged();
  }
  const { counts, version } = await mergeStage(tx, options.estab, modes, current);
  for (const [resource, count] of counts) {
    for (const key of ['added', 'changed', 'removed', 'unchanged'] as const) report[key] += count[key];
    report.collections[resource.collection] = { mode: modes.get(resource) ?? '', rejected: report.collections[resource.collection]?.rejected ?? 0, ...count };
  }
  report.version = version;
  report.outcome = version === current ? 'unchanged' : 'done';
  if (version !== current) await announceChange(tx, options.estab, 'SchoolData');
  await tx`update establishment set connector = 'csv' where estab = ${options.estab} and connector is null`;
  if (source.marks) await importMarks(tx, source.marks, options, report, problems);
  await rememberState(tx, options.estab, source);
  const [active] = await tx<
    { count: number }[]
  >`select coalesce(sum(count), 0)::int as count from roster_total where estab = ${options.estab} and status = 'active'`;
  await recordCollected(tx, options.estab, 'SchoolData', { rowCount: active?.count ?? 0, changed: version !== current });
  await options.beforeCommit?.(tx);
}

async function importMarks(tx: Tx, read: NonNullable<Source['marks']>, options: ImportOptions, report: ImportReport, problems: Problems): Promise<void> {
  report.marks = await mergeMarks(tx, options.estab, read(problems), problems, { asOf: new Date() });
  if (problems.total > 0 && !options.partial) {
    report.outcome = 'refused';
    throw new NothingChanged();
  }
  await recordCollected(tx, options.estab, 'Attendance', { rowCount: await countMarks(tx, options.estab), changed: report.marks.written > 0 });
}

/** What a connector needs to know the next time, kept if and only if this was merged. */
async function rememberState(tx: Tx, estab: string, source: RosterReading): Promise<void> {
  const state = source.state?.();
  if (!state) return;
  await tx`insert into connector_setting (estab, state) values (${estab}, ${tx.json(state)}) on conflict (estab) do update set state = excluded.state`;
}

async function stageAll(tx: Tx, source: Source, options: ImportOptions, report: ImportReport, problems: Problems): Promise<Modes> {
  const modes = new Map<Source['collections'][number]['resource'], 'bulk' | 'delta'>();
  for (const collection of source.collections) {
    const staged = await stageCollection(tx, collection, problems, () => options.onProgress?.(source.bytesRead(), source.totalBytes));
    // A file without rows says nothing; taken as "nobody is left" it would remove everything.
    if (staged.rows + staged.rejected === 0) report.ignored.push(`${collection.resource.file} (no rows)`);
    else modes.set(collection.resource, collection.mode);
  }
  return modes;
}

async function countRejected(tx: Tx, modes: Modes, report: ImportReport): Promise<number> {
  const rows = await tx<
    { collection: CollectionName; count: number }[]
  >`select collection, count(distinct line)::int as count from stage_rejected group by collection`;
  for (const { collection, count } of rows)
    report.collections[collection] = { mode: modes.get(collections[collection]) ?? '', added: 0, changed: 0, removed: 0, unchanged: 0, rejected: count };
  return rows.reduce((sum, row) => sum + row.count, 0);
}
