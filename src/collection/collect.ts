// In charge of a collection as durable work: opens the school's connector, brings one database in, and says how it
// ended. What a worker that lost its claim would merge is not merged.
import { randomUUID } from 'node:crypto';
import type { Db, Tx } from '../db/connect.ts';
import { isSlow } from '../db/unavailable.ts';
import { announceChange } from '../notifications/announce.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { markTransaction } from '../outbox/sessions.ts';
import { ownFault, slowness, waitsForApproval, type Outcome } from '../outbox/settle.ts';
import type { Handler } from '../outbox/worker.ts';
import { countMarks, lockMarks, mergeStagedMarks, rejectUnknownMarks, sealMarks } from './attendance.ts';
import { installDatabases, readDatabases, requestCollection } from './component-databases.ts';
import { MisError, NothingToCollect, type Connector, type DatabaseName } from './connector.ts';
import { openConnector, type ConnectorParts } from './connector-settings.ts';
import { recordCollected, recordFailure, recordNothing, recordOvertaken } from './fetch-outcome.ts';
import { fixedMessages } from './fixed-messages.ts';
import { importRoster } from './import.ts';
import type { OnImportProgress } from './import-progress.ts';
import { describeTrouble } from './import-report.ts';
import { MovedMeanwhile } from './live-roster.ts';
import { LostClaim, requireClaim } from './lost-claim.ts';
import { attendanceFile } from './mark.ts';
import { createMergeTurns, mergeAtOnce, NoTurn, type TakeMergeTurn } from './merge-turns.ts';
import { tellMisAnswers } from './mis-answers.ts';
import { Problems, SourceError } from './problem.ts';
import { spoolMarks } from './read-source.ts';
import { createProgress } from './record-progress.ts';
import { beginReading, noteMerged, Overtaken, requireNewest } from './reading.ts';
import { openSpoolFile } from './spool.ts';
import { changedMarks, refreshStatistics } from './refresh-statistics.ts';
import { clearStage, stageMarks } from './stage.ts';
import { createUploadConnector } from './upload-connector.ts';
import { isImported } from './uploads.ts';

type Payload = { database: DatabaseName; force: boolean; full: boolean; rosterFirst?: boolean; upload?: string; approved?: string; partial?: boolean };

/** Seconds until the next try while the MIS is away; then it waits for the night or for somebody to ask. */
const retries = [60, 300, 900, 3600] as const;
/** The lease is renewed while a collection goes on, however long; this is what one step of it may take. */
const longestStepSeconds = 20;
const rosterFirstSeconds = 2;
/** Connections of the pool that merges leave to the short statements of fetches. */
const connectionsForOthers = 2;
/** Seconds until a fetch that found the database slow is tried again, doubled with each try. The last of these tries ends after about 16 minutes. */
const slownessSeconds = 15;
const slownessTries = 6;

class RosterFirst extends Error {}

/** The class of attempts in which the source, or its data, was at fault. */
const sourceFault = 'mis';

/** The database works but is slow, which mostly passes by itself. */
const isSlowness = (error: unknown): error is Error => error instanceof NoTurn || isSlow(error);

/** Counts the attempts of this fetch that found the database slow, since the last failure that was recorded. Waits for the roster do not count. */
async function countSlowTries(db: Db, { estab, id, forgiven }: ClaimedWork): Promise<number> {
  if (forgiven === 0) return 0;
  const [row] = await db<{ tries: number }[]>`
    select count(*)::int as tries from outbox_attempt where estab = ${estab} and id = ${id} and error_class = ${slowness}
      and number > coalesce((select max(number) from outbox_attempt where estab = ${estab} and id = ${id} and error_class = ${sourceFault}), 0)`;
  return row?.tries ?? 0;
}

/** How a collection ended that could be read but not merged. report: the import that says more of it. */
export type Trouble = { message: string; held: boolean; overtaken?: true; report?: string };
type How = {
  force: boolean;
  full: boolean;
  /** Marks wait for a roster that is being collected. */
  rosterFirst?: boolean | undefined;
  upload?: string | undefined;
  /** Of a package: rows that break a rule are left out. */
  partial?: boolean | undefined;
  /** The import that was held and that a person has approved. */
  approved?: string | undefined;
  shrinkLimitPercent: number;
  takeTurn?: TakeMergeTurn;
  /** Whether slowness is left to the caller, who tries again soon, instead of being recorded as a failure. */
  patient?: boolean;
  whenBegun?: (tx: Tx) => Promise<void>;
  beforeCommit?: (tx: Tx) => Promise<void>;
  /** For whoever sits in front of it. */
  onProgress?: OnImportProgress;
};

/** mergeWaitMs: how long a merge waits for its turn before its claim is released. */
type CollectingOptions = { shrinkLimitPercent: number; mergeWaitMs?: number };

export function createCollecting(parts: ConnectorParts, { shrinkLimitPercent, mergeWaitMs = 120_000 }: CollectingOptions): Handler {
  const takeTurn = createMergeTurns(Math.max(1, parts.db.policy.max - connectionsForOthers), mergeWaitMs);
  return {
    longestSeconds: longestStepSeconds,
    async run(work) {
      const { database, force, full, rosterFirst, upload, approved, partial } = work.payload as Payload;
      // An upper bound, for a database that is too slow even for the count: the fetch is recorded as failed then, too.
      let slowTries = Math.min(work.forgiven, slownessTries);
      try {
        slowTries = await countSlowTries(parts.db, work).catch((error: unknown) => {
          if (isSlowness(error)) return slowTries;
          throw error;
        });
        const trouble = await collectDatabase(parts, work.estab, database, {
          force,
          full,
          rosterFirst,
          upload,
          approved,
          partial,
          shrinkLimitPercent,
          takeTurn,
          patient: slowTries < slownessTries,
          whenBegun: (tx) => markTransaction(tx, work),
          beforeCommit: (tx) => requireClaim(tx, work),
        });
        if (trouble === undefined) return { success: true, state: 'done', detail: { database } };
        if (trouble.overtaken) return end('cancelled', trouble.message);
        if (trouble.held) return { ...end('done', trouble.message, endingOf(trouble)), errorClass: waitsForApproval };
        // What was half written, or moved while it was read, is right a moment later.
        const again = work.attempts === 0 && upload === undefined;
        return { ...end(again ? 'waiting' : 'failed', trouble.message, endingOf(trouble)), ...(again ? { delaySeconds: retries[0] } : {}) };
      } catch (error) {
        if (error instanceof LostClaim) return end('cancelled', error.message);
        if (error instanceof RosterFirst)
          return { success: false, state: 'waiting', delaySeconds: rosterFirstSeconds, errorClass: ownFault, detail: { message: 'waits for the roster' } };
        if (isSlowness(error)) {
          const delaySeconds = slownessSeconds * 2 ** Math.min(slowTries, slownessTries) * (0.8 + 0.4 * Math.random());
          return { success: false, state: 'waiting', delaySeconds, errorClass: slowness, detail: { message: error.message } };
        }
        if (!(error instanceof MisError)) throw error;
        const delaySeconds = error.later ? retries[work.attempts] : undefined;
        return { ...end(delaySeconds === undefined ? 'failed' : 'waiting', error.message), ...(delaySeconds === undefined ? {} : { delaySeconds }) };
      }
    },
  };
}

/** What of an import stands with the work that made it, for those who look at that. */
export type Ending = { import: string; outcome: 'held' | 'refused' };

function endingOf({ report, held }: Trouble): Ending | undefined {
  return report === undefined ? undefined : { import: report, outcome: held ? 'held' : 'refused' };
}

function end(state: Outcome['state'], message: string, ending?: Ending): Outcome {
  // There is one MIS behind this lane, and when to try it again is said here.
  return { success: false, state, charged: false, alarming: true, errorClass: sourceFault, detail: { message, ...ending } };
}

/** Collects one database now; how it ended stands in its status. Throws MisError when the MIS is in the way. */
export async function collectDatabase(parts: ConnectorParts, estab: string, database: DatabaseName, how: How): Promise<Trouble | undefined> {
  const { db } = parts;
  /** Records the result of a fetch, but only while this worker holds the work: otherwise another worker may have completed the fetch already. */
  const record = (write: (tx: Tx) => Promise<void>) => db.begin(async (tx) => {
    await how.whenBegun?.(tx);
    await write(tx);
    await how.beforeCommit?.(tx);
  });
  const fail = (status: 'Error' | 'Timeout' | 'Paused', message: string) =>
    record((tx) => recordFailure(tx, estab, database, status, message));
  if (how.upload !== undefined && (await isImported(db, estab, how.upload))) {
    await forgetUpload(db, estab, how.upload);
    return undefined;
  }
  try {
    const connector = how.upload === undefined ? await openConnector(parts, estab) : createUploadConnector(parts, estab, how.upload);
    if (!connector?.offers.includes(database)) throw new NothingToCollect('Error', `the school has no source of ${database}`, { later: false });
    const trouble = database === 'SchoolData' ? await collectRoster(parts, connector, estab, how) : await collectMarks(parts, connector, estab, how);
    // Whatever was wrong with what it said, it answered. Should this be lost, those who wait have their own times.
    if (how.upload === undefined) await db.begin((tx) => tellMisAnswers(tx, estab)).catch(() => {});
    if (trouble?.overtaken) await record((tx) => recordOvertaken(tx, estab, database, trouble.message));
    // How a roster stands was said together with its report.
    if (trouble && !trouble.overtaken && database !== 'SchoolData') await fail('Error', trouble.message);
    if (how.upload !== undefined && !trouble?.held) await forgetUpload(db, estab, how.upload);
    return trouble;
  } catch (thrown) {
    const error = how.patient || !isSlowness(thrown) ? thrown : new MisError('Timeout', `the database is too slow: ${thrown.message}`, { cause: thrown });
    if (error instanceof LostClaim || error instanceof RosterFirst || isSlowness(error)) throw error;
    if (error instanceof NothingToCollect) await record((tx) => recordNothing(tx, estab, database, error.message));
    else if (error instanceof MisError) await fail(isUndone(error, how) ? 'Paused' : error.status, error.message);
    // What went wrong is more to the point than that it could not be noted.
    else await fail('Error', fixedMessages.ourFault).catch(() => {});
    throw error;
  }
}

/** What a person has approved, and nothing came of it, waits for a person again. */
function isUndone({ cause }: MisError, { approved }: How): boolean {
  return approved !== undefined && cause instanceof MovedMeanwhile;
}

async function forgetUpload(db: Db, estab: string, upload: string): Promise<void> {
  await db`delete from upload where estab = ${estab} and id = ${upload}`;
}

async function collectRoster(
  { db, dataDir }: ConnectorParts,
  connector: Connector,
  estab: string,
  { force, full, upload, approved, partial, shrinkLimitPercent, takeTurn, whenBegun, beforeCommit, onProgress }: How,
): Promise<Trouble | undefined> {
  const [held] = approved === undefined ? [] : await db<{ partial: boolean }[]>`select partial from import_run where estab = ${estab} and id = ${approved}`;
  const record = createProgress(db, estab, 'SchoolData');
  const id = randomUUID();
  const report = await importRoster(db, () => connector.openRoster({ full }), {
    estab,
    id,
    dataDir,
    partial: held?.partial ?? partial ?? false,
    force,
    approved,
    kind: connector.kind,
    shrinkLimitPercent,
    upload,
    onProgress: (progress) => {
      record(progress);
      onProgress?.(progress);
    },
    whenMerged: (tx) => requestOffered(tx, connector, estab),
    ...(takeTurn ? { takeTurn } : {}),
    ...(whenBegun ? { whenBegun } : {}),
    ...(beforeCommit ? { beforeCommit } : {}),
  });
  const message = describeTrouble(report);
  if (message === undefined) return undefined;
  return { message, held: report.outcome === 'held', report: id, ...(report.overtaken ? { overtaken: true } : {}) };
}

/** A folder may have marks from now on. */
async function requestOffered(tx: Tx, connector: Connector, estab: string): Promise<void> {
  for (const { name, status } of await readDatabases(tx, estab, connector.offers)) {
    if (status !== 'NotInstalled') continue;
    await installDatabases(tx, estab, [name]);
    await requestCollection(tx, estab, name);
  }
}

/** The marks of a database of their own, in two phases like a roster. */
export async function collectMarks(
  { db, dataDir }: Pick<ConnectorParts, 'db' | 'dataDir'>,
  connector: Connector,
  estab: string,
  { takeTurn = mergeAtOnce, whenBegun, beforeCommit, rosterFirst }: Pick<How, 'takeTurn' | 'whenBegun' | 'beforeCommit' | 'rosterFirst'> = {},
): Promise<Trouble | undefined> {
  await requireRoster(db, estab, rosterFirst ?? false);
  const reading = await beginReading(db, estab);
  const problems = new Problems();
  const spool = await openSpoolFile(dataDir);
  try {
    const asOf = (await connector.marksAsOf?.()) ?? reading.startedAt;
    if (connector.readMarks) await spoolMarks(connector.readMarks(problems), reading, spool, problems);
    if (problems.total > 0) throw new SourceError(attendanceFile, 'has problems');
    const written = await takeTurn(() => db.begin(async (tx) => {
      await whenBegun?.(tx);
      await lockMarks(tx, estab);
      await requireNewest(tx, reading, 'Attendance');
      // Somebody may have joined after the roster was read; that is no reason to do without everybody else's marks.
      const unknown = new Problems();
      await stageMarks(tx, spool);
      await rejectUnknownMarks(tx, reading, unknown);
      const merged = await mergeStagedMarks(tx, reading, asOf);
      const message = unknown.total > 0 ? `left out: ${unknown.total} marks of students whom the roster does not know (yet)` : null;
      await recordCollected(tx, estab, 'Attendance', { rowCount: await countMarks(tx, estab), changed: merged.written > 0, message });
      await noteMerged(tx, reading, 'Attendance');
      if (merged.written > 0) await announceChange(tx, estab, 'Attendance');
      await clearStage(tx, reading);
      await beforeCommit?.(tx);
      await sealMarks(tx, estab, merged);
      return merged.written;
    }));
    await refreshStatistics(db, estab, [changedMarks(written)]);
    return undefined;
  } catch (error) {
    if (error instanceof Overtaken) return { message: error.message, held: false, overtaken: true };
    if (!(error instanceof SourceError)) throw error;
    const [first = error.problem] = problems.listed;
    const place = first.line === null ? first.file : `${first.file}, line ${first.line}`;
    return {
      message: `${fixedMessages.refused}: ${Math.max(1, problems.total)} problems, the first: ${place}: ${first.rule}`,
      held: false,
    };
  } finally {
    await spool.close();
  }
}

/** Marks are of pupils: on the first collection from a source those have to be there. */
async function requireRoster(db: Db, estab: string, first: boolean): Promise<void> {
  const [roster] = await readDatabases(db, estab, ['SchoolData']);
  if (first && roster?.refreshing) throw new RosterFirst();
  if (roster?.updatedAt) return;
  if (roster?.status === 'Updating') throw new RosterFirst();
  throw new MisError('Error', fixedMessages.rosterFirst, { later: true });
}
