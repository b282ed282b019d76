// In charge of one collection of a roster from its source, as one transaction: stage, verify, guard, merge. It ends
// as done, unchanged, held or refused, and every ending is recorded with its report.
import type { Db, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { announceChange } from '../notifications/announce.ts';
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
};

export type ImportReport = MergeCount & {
  estab: string;
  outcome: 'done' | 'unchanged' | 'held' | 'refused';
  rejected: number;
  version: number;
  collections: Partial<Record<CollectionName, MergeCount & { mode: string; rejected: number }>>;
  ignored: string[];
  shrinkage: Shrinkage[];
  problems: Problem[];
  problemsTotal: number;
};

const rowsWorthCounting = 500;
/** About a thousand rows. */
const bytesWorthHashing = 100_000;

/** Ends the transaction without leaving anything behind but the report. */
class NothingChanged extends Error {}

export async function importRoster(db: Db, openSource: () => Promise<Source>, options: ImportOptions): Promise<ImportReport> {
  const startedAt = new Date();
  const [roster] = await db<{ version: number }[]>`select version from roster where estab = ${options.estab}`;
  const report: ImportReport = { estab: options.estab, outcome: 'refused', added: 0, changed: 0, removed: 0, unchanged: 0, rejected: 0, version: roster?.version ?? 0, collections: {}, ignored: [], shrinkage: [], problems: [], problemsTotal: 0 };
  const problems = new Problems();
  let source: Source | undefined;
  try {
    const opened = await openSource();
    source = opened;
    report.ignored = [...opened.ignored];
    await db.begin((tx) => importInto(tx, opened, options, report, problems));
  } catch (error) {
    if (error instanceof SourceError) problems.add(error.problem);
    else if (!(error instanceof NothingChanged)) throw error;
  } finally {
    await source?.close();
  }
  await refreshStatistics(db, report);
  report.problems = problems.listed;
  report.problemsTotal = problems.total;
  await db`
    insert into import_run (estab, started_at, outcome, version, report)
    values (${options.estab}, ${startedAt}, ${report.outcome}, ${report.version}, ${db.json(report as unknown as Parameters<typeof db.json>[0])})`;
  return report;
}

/** Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. */
async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  for (const { collection, table } of allResources) {
    const count = report.collections[collection];
    if (report.outcome === 'done' && count && count.added + count.changed + count.removed >= rowsWorthCounting) await db`analyze ${db(table)}`;
  }
}

async function importInto(tx: Tx, source: Source, options: ImportOptions, report: ImportReport, problems: Problems): Promise<void> {
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
  const rows = await tx<{ collection: CollectionName; count: number }[]>`select collection, count(distinct line)::int as count from stage_rejected group by collection`;
  for (const { collection, count } of rows) report.collections[collection] = { mode: modes.get(collections[collection]) ?? '', added: 0, changed: 0, removed: 0, unchanged: 0, rejected: count };
  return rows.reduce((sum, row) => sum + row.count, 0);
}
