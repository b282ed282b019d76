// In charge of one collection of a roster from its source, in two phases: everything is read into the spool, and then one
// short transaction stages, verifies, guards and merges it; a large file may be staged while it is read. It ends as done,
// unchanged, held or refused, and every ending is recorded with its report.
import { randomUUID } from 'node:crypto';
import type { Db, Tx } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { countMarks, lockMarks, mergeStagedMarks, rejectUnknownMarks, sealMarks, type MarksCount } from './attendance.ts';
import { compareStage, hasManyChanges, type Changes } from './compare-stage.ts';
import { MisError, type ImportKind, type RosterReading } from './connector.ts';
import { findShrinkage, mayBeForced } from './deletion-guard.ts';
import { applyEmptyLists } from './empty-lists.ts';
import { countDependants, keepFaults, spoolFaults } from './faults.ts';
import { recordCollected, recordFailure, recordRefused } from './fetch-outcome.ts';
import { isApproved, noteLosses, replaceHeld } from './held.ts';
import { findMissing } from './find-missing.ts';
import { fixedMessages } from './fixed-messages.ts';
import type { OnImportProgress } from './import-progress.ts';
import { describeTrouble, emptyReport, nothingMerged, type ImportReport } from './import-report.ts';
import { joinByHash } from '../db/join-by-hash.ts';
import { MovedMeanwhile, watchLiveRoster, type WatchedRoster } from './live-roster.ts';
import { lockRoster } from './lock-roster.ts';
import { attendanceFile } from './mark.ts';
import { mergeStage, sealVersion } from './merge.ts';
import { mergeAtOnce, type TakeMergeTurn } from './merge-turns.ts';
import { Problems, SourceError } from './problem.ts';
import { readRosterSource, type SpooledRoster, type Spooling } from './read-source.ts';
import { nameStagedAdministrators } from './administrator-roles.ts';
import { beginReading, isOvertaken, noteMerged, Overtaken, requireNewest, type Reading } from './reading.ts';
import { listChangedTables, refreshStatistics } from './refresh-statistics.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';
import { mergeWhenRead } from './stage-ahead.ts';
import { clearStage, stagedRejected, stageFaults, stageMarks, stageRoster } from './stage.ts';
import { findTaken, NotAsBefore, noteTaken, requireStanding, takenOf, type Taken } from './taken.ts';
import { noteImport } from './uploads.ts';
import { tooDeep, verifyStage } from './verify.ts';

export type ImportOptions = {
  estab: string;
  /** Under which id it is recorded, where somebody has to name it. */
  id?: string;
  /** Where the spool may lie. */
  dataDir: string;
  /** Leave out what breaks a rule instead of refusing the whole. */
  partial: boolean;
  /** Approves losses above the limit, but not the loss of a whole kind. */
  force: boolean;
  /** A person has approved what an import that was held would have removed. */
  approved?: string | undefined;
  /** How it came, unless by command. */
  kind?: ImportKind;
  shrinkLimitPercent: number;
  /** The uploaded package that is imported. */
  upload?: string | undefined;
  onProgress?: OnImportProgress;
  /** What else follows from it, in its transaction. */
  whenMerged?: (tx: Tx) => Promise<void>;
  takeTurn?: TakeMergeTurn;
  /** Runs first in the transaction that merges, and in the one that records a refusal. */
  whenBegun?: (tx: Tx) => Promise<void>;
  /** Throws when the merge must not happen after all. */
  beforeCommit?: (tx: Tx) => Promise<void>;
};

/** What was completed out of a roster that moved meanwhile is opened and read again, so often at most. */
const mostReadings = 5;
/** About a thousand rows; of one that relies on what is known, so many as are not few beside that. */
const bytesWorthHashing = { whole: 400_000, part: 20_000_000 } as const;

/** taken: by the merge before it, if what is as it was then need not be read again. */
type Run = Readonly<{ id: string; reading: Reading; options: ImportOptions; taken: Taken | undefined; faults: SpoolFile; live: WatchedRoster }>;

export async function importRoster(db: Db, openSource: () => Promise<RosterReading>, options: ImportOptions): Promise<ImportReport> {
  const begun = { id: options.id ?? randomUUID(), reading: await beginReading(db, options.estab), options };
  let taken = await findTaken(db, options.estab);
  for (let left = mostReadings - 1; ; left -= 1) {
    try {
      return await importOnce(db, openSource, { ...begun, taken });
    } catch (error) {
      if (!(error instanceof MovedMeanwhile || error instanceof NotAsBefore)) throw error;
      if (left === 0) throw new MisError('Error', error.message, { cause: error });
      taken = undefined;
    }
  }
}

async function importOnce(db: Db, openSource: () => Promise<RosterReading>, begun: Omit<Run, 'faults' | 'live'>): Promise<ImportReport> {
  const { estab, dataDir, onProgress } = begun.options;
  const run: Run = { ...begun, faults: await openSpoolFile(dataDir), live: watchLiveRoster(db, estab) };
  const refused: ImportReport = { ...emptyReport(estab), outcome: 'refused' };
  const read = new Problems(spoolFaults(run.reading, run.faults));
  let source: RosterReading | undefined;
  let spooling: Promise<SpooledRoster> | undefined;
  try {
    source = await openSource();
    const opened = source;
    refused.ignored = [...source.ignored];
    const many = Promise.withResolvers<Spooling | undefined>();
    spooling = readRosterSource(source, run.reading, { dataDir, live: run.live, taken: run.taken, onMany: many.resolve }, read, onProgress);
    void spooling.catch(() => {}).then(() => many.resolve(undefined));
    const report = await mergeWhenRead(db, begun.options.takeTurn ?? mergeAtOnce, await many.promise, spooling, (tx, spooled, already) => {
      refused.ignored = [...spooled.ignored];
      return mergeRead(tx, run, opened, spooled, already, read.copy());
    });
    await refreshStatistics(db, estab, listChangedTables(report));
    return report;
  } catch (error) {
    const said = await explain(error, read);
    const opened = source;
    return await db.begin(async (tx) => {
      await begun.options.whenBegun?.(tx);
      const [roster] = await tx<{ version: number }[]>`select version from roster where estab = ${estab}`;
      await stageFaults(tx, run.faults);
      return recordEnd(tx, run, opened, { ...refused, ...said, version: roster?.version ?? 0 }, read);
    });
  } finally {
    const spooled = await spooling?.catch(() => undefined);
    await Promise.all([spooled?.close(), source?.close(), run.faults.close()]);
  }
}

/** What is said of an import that could not be read or came too late; whatever else went wrong is thrown on. */
async function explain(error: unknown, read: Problems): Promise<Partial<ImportReport>> {
  if (error instanceof SourceError) read.add(error.problem);
  else if (error instanceof Overtaken)
    read.add({ file: 'this import', line: null, column: null, value: null, rule: `${error.message}; import what is current` });
  else throw error;
  await read.flush();
  return error instanceof Overtaken ? { overtaken: true } : { unusable: true };
}

/** Of what was held or refused, with how the data stands now, both or neither. `losses`: what would go. */
async function recordEnd(
  tx: Tx,
  run: Run,
  source: RosterReading | undefined,
  ended: ImportReport,
  problems: Problems,
  losses?: Changes,
): Promise<ImportReport> {
  const { estab, outcome } = ended;
  const { kind = 'command', beforeCommit } = run.options;
  await countDependants(tx, run.reading, problems);
  const report = withProblems(ended, problems);
  const message = describeTrouble(report) ?? '';
  if (outcome === 'held') await recordFailure(tx, estab, 'SchoolData', 'Paused', message);
  else if (!report.overtaken && (kind === 'upload' || kind === 'command'))
    await recordRefused(tx, estab, 'SchoolData', message.replace(fixedMessages.refused, fixedMessages.lastRefused), { upload: kind === 'upload' });
  else if (!report.overtaken) await recordFailure(tx, estab, 'SchoolData', 'Error', message);
  await recordRun(tx, run, source, report);
  if (losses) await noteLosses(tx, losses, run.id);
  await clearStage(tx, run.reading);
  await beforeCommit?.(tx);
  return report;
}

function withProblems(report: ImportReport, { listed, total, groups }: Problems): ImportReport {
  return { ...report, problems: listed, problemsTotal: total, faults: [...groups.values()] };
}

async function recordRun(tx: Tx, { id, reading, options }: Run, source: RosterReading | undefined, report: ImportReport): Promise<void> {
  const { kind = 'command', partial, approved } = options;
  const withApproved = approved === undefined ? report : { ...report, approved };
  const [ended] = await tx<{ at: Date }[]>`
    insert into import_run (estab, id, started_at, outcome, version, report, reading, provider, kind, partial)
    values (${report.estab}, ${id}, ${reading.startedAt}, ${report.outcome}, ${report.version}, ${tx.json(withApproved)}, ${reading.number},
      ${source?.provider ?? null}, ${kind}, ${partial})
    returning finished_at as at`;
  // For whoever asks about all schools at once.
  await tx`
    insert into import_end (estab, id, started_at, finished_at, outcome)
    values (${report.estab}, ${id}, ${reading.startedAt}, ${ended?.at ?? null}, ${report.outcome}) on conflict (estab, id) do nothing`;
  await keepFaults(tx, reading, id);
  // A package that is refused takes the place of one that is held only if it was uploaded there.
  if (report.outcome !== 'refused' || (kind === 'upload' && !report.overtaken)) await replaceHeld(tx, report.estab, id, options.upload);
  if (options.upload !== undefined) await noteImport(tx, report.estab, options.upload, id);
}

/** The second phase. What it does can be undone as a whole, and repeated: the spool is still there. */
async function mergeRead(
  tx: Tx,
  run: Run,
  source: RosterReading,
  spooled: SpooledRoster,
  already: Spooling | undefined,
  problems: Problems,
): Promise<ImportReport> {
  const { reading, options } = run;
  const { estab } = options;
  const { onProgress: tell = () => {} } = options;
  const records = spooled.collections.reduce((sum, { count }) => sum + count, 0);
  tell({ step: 'waiting', records });
  await options.whenBegun?.(tx);
  const current = await lockRoster(tx, estab);
  await requireNewest(tx, reading, 'SchoolData');
  await run.live.requireUnmoved(tx);
  if (spooled.relies) await requireStanding(tx, estab, spooled.relies.taken);
  if (spooled.bytes > bytesWorthHashing[spooled.relies ? 'part' : 'whole']) {
    await joinByHash(tx);
    // A school's rows are sorted once; on disk that takes a tenth of the import.
    await tx`set local work_mem = '128MB'`;
  }
  await stageRoster(tx, spooled, already, (copied) => tell({ step: 'copying', records: copied, of: records }));
  await stageFaults(tx, run.faults);
  const modes = new Map(spooled.collections.map(({ resource, mode }) => [resource, mode]));
  tell({ step: 'checking', records });
  const first = current === 0;
  const leftOut = await applyEmptyLists(tx, reading, spooled, modes, first);
  const known = await findMissing(tx, reading, spooled);
  const unique = new Set(spooled.collections.filter((one) => one.unique).map(({ resource }) => resource));
  const before = problems.total;
  const verified = await verifyStage(tx, reading, modes, known, unique, problems);
  if (known.size > 0 && problems.total > before) throw new NotAsBefore();
  if (!verified && options.partial) problems.add(tooDeep);
  const marks = spooled.marks && (await stagePackedMarks(tx, run, spooled.marks, problems));
  const { leaversUnreported } = source;
  const found = { ...(spooled.words.length > 0 && { words: [...spooled.words] }), ...(leaversUnreported && { leaversUnreported }) };
  const report: ImportReport = { ...emptyReport(estab), version: current, ignored: [...spooled.ignored], ...found };
  for (const { collection, count } of await countRejected(tx, reading)) {
    report.collections[collection] = { mode: modes.get(collections[collection]) ?? '', ...nothingMerged, rejected: count };
    report.rejected += count;
  }
  if (problems.total > 0 && (!options.partial || !verified)) return recordEnd(tx, run, source, { ...report, outcome: 'refused' }, problems);

  await nameStagedAdministrators(tx, reading);
  tell({ step: 'comparing', records });
  const changes = await compareStage(tx, reading, modes, known);
  // A package of a few rows can delete a whole school.
  if (hasManyChanges(changes)) await joinByHash(tx);
  report.shrinkage = await findShrinkage(tx, changes, { limitPercent: options.shrinkLimitPercent, first });
  const open = report.shrinkage.filter((one) => !(options.force && mayBeForced(one)));
  if (open.length > 0 && !(options.approved && (await isApproved(tx, changes, open, options.approved))))
    return recordEnd(tx, run, source, { ...report, outcome: 'held' }, problems, changes);
  const { version, still } = await mergeStage(tx, changes, current, (some, of) => tell({ step: 'merging', records: some, of }));
  report.version = version;
  tell({ step: 'finishing', records });
  report.outcome = report.version === current ? 'unchanged' : 'done';
  for (const [resource, count] of changes.counts) {
    for (const key of ['added', 'changed', 'removed', 'unchanged'] as const) report[key] += count[key];
    report.collections[resource.collection] = { mode: modes.get(resource) ?? '', rejected: report.collections[resource.collection]?.rejected ?? 0, ...count };
  }
  const merged = marks && (await mergeStagedMarks(tx, reading, reading.startedAt));
  if (merged) report.marks = { written: merged.written, unchanged: merged.unchanged, rejected: marks.rejected };
  else if (spooled.marks) report.ignored.push(`${attendanceFile} (newer marks were collected meanwhile)`);
  await countDependants(tx, reading, problems);
  const done = withProblems(report, problems);
  await recordMerged(tx, run, source, done, merged);
  await noteTaken(tx, reading, done.problemsTotal === 0 && !leftOut && (still || !run.live.wasAsked()) ? takenOf(source, spooled, version) : undefined);
  if (merged) await sealMarks(tx, estab, merged);
  if (done.outcome === 'done') await sealVersion(tx, estab, done.version, run.id);
  return done;
}

/** As of when the reading began: a mark that was written here since is newer, and marks of a later reading are left as they are. */
async function stagePackedMarks(tx: Tx, { reading }: Run, marks: SpoolFile, problems: Problems): Promise<{ rejected: number } | undefined> {
  await lockMarks(tx, reading.estab);
  if (await isOvertaken(tx, reading, 'Attendance')) return undefined;
  await stageMarks(tx, marks);
  return { rejected: await rejectUnknownMarks(tx, reading, problems) };
}

async function recordMerged(tx: Tx, run: Run, source: RosterReading, report: ImportReport, marks: MarksCount | undefined): Promise<void> {
  const { estab } = report;
  const [school] = await tx<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`;
  // Asked first: where the database is spread a change of it, even of no row, needs every node.
  if (school?.connector === null) await tx`update establishment set connector = 'csv' where estab = ${estab} and connector is null`;
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

/** Without those that were passed over because they are of nobody. */
async function countRejected(tx: Tx, reading: Reading): Promise<{ collection: CollectionName; count: number }[]> {
  return tx<{ collection: CollectionName; count: number }[]>`
    select collection, count(distinct (line, sourced_id))::int as count from ${stagedRejected(tx, reading)} r
    where collection = any(${Object.keys(collections)}) and fault > 0 group by collection`;
}
