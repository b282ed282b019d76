// In charge of what became of an uploaded package, as its sender reads it: also when the package itself is long gone.
import type { Db } from '../db/connect.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import { describeTrouble, howToApprove, renderSentence, type ImportReport } from './import-report.ts';

/** Replaced: a newer one came before it was imported, or a person decided against it. */
export const uploadStates = ['Waiting', 'Importing', 'Done', 'Unchanged', 'Held', 'Refused', 'Replaced', 'Failed'] as const;
export type UploadState = (typeof uploadStates)[number];

export type Upload = { id: string; state: UploadState; submitted: Date; finished: Date | null; run: string | null; report: ImportReport | null };

type Work = { state: 'waiting' | 'running' };
type Row = Omit<Upload, 'state'> & { outcome: string | null; kept: boolean };

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
const outcomes: Readonly<Record<string, UploadState>> = { done: 'Done', unchanged: 'Unchanged', refused: 'Refused' };

export async function findUpload(db: Db, estab: string, id: string): Promise<Upload | undefined> {
  if (!uuid.test(id)) return undefined;
  // Before what is recorded, so that work which ends in between has left its record.
  const [work] = await db<Work[]>`
    select o.state from outbox o where o.estab = ${estab} and o.topic = 'collect SchoolData' and o.state in ('waiting', 'running')
      and o.payload ->> 'upload' = ${id.toLowerCase()} order by o.state limit 1`;
  const [row] = await db<Row[]>`
    select r.id, r.run, r.taken_at as submitted, i.finished_at as finished, i.outcome, i.report,
      exists (select from upload u where u.estab = ${estab} and u.id = ${id}) as kept
    from upload_receipt r left join import_run i on i.estab = ${estab} and i.id = r.run where r.estab = ${estab} and r.id = ${id}`;
  if (!row && work) throw new DatabaseUnavailable('lost', 'a package that was taken is not to be seen yet on the node of its school');
  if (!row) return undefined;
  const state = stateOf(row, work?.state);
  const ended = state !== 'Waiting' && state !== 'Importing';
  return { id: row.id, state, submitted: row.submitted, finished: ended ? row.finished : null, run: row.run, report: ended ? row.report : null };
}

/** What is recorded counts more than the work, which is settled a moment later; but what was held may have been approved. */
function stateOf({ outcome, kept, report }: Row, work: Work['state'] | undefined): UploadState {
  if (report?.overtaken) return 'Replaced';
  const ended = outcome === null ? undefined : outcomes[outcome];
  if (ended) return ended;
  if (work) return work === 'running' && kept ? 'Importing' : 'Waiting';
  if (outcome === 'held' && kept) return 'Held';
  return kept ? 'Failed' : 'Replaced';
}

/** With the words for whoever has to do something now. */
export function renderUpload(upload: Upload, estab: string, publicUrl: string): Record<string, unknown> {
  const { id, state, submitted, finished, report } = upload;
  return {
    ImportId: id,
    Estab: estab,
    State: state,
    Submitted: submitted.toISOString(),
    Finished: finished?.toISOString() ?? null,
    Report: report && renderReport(report),
    Message: describeState(upload, estab, publicUrl),
    ExceptionType: null,
    ExceptionMessage: null,
    InnerException: null,
  };
}

function renderReport(report: ImportReport) {
  const { added, changed, removed, unchanged, rejected, version, shrinkage, ignored, words = [], problems, problemsTotal } = report;
  return {
    Added: added,
    Changed: changed,
    Removed: removed,
    Unchanged: unchanged,
    Rejected: rejected,
    Version: version,
    Shrinkage: shrinkage.map((one) => ({ Collection: one.collection, Role: one.role, Active: one.active, Removed: one.removed, Percent: one.percent })),
    Ignored: ignored,
    Words: words.map((one) => ({ File: one.file, Column: one.column, Word: one.word, Shown: one.shown, Records: one.records })),
    Problems: problems.map((one) => ({ File: one.file, Line: one.line, Column: one.column, Value: one.value, Rule: one.rule })),
    ProblemsTotal: problemsTotal,
  };
}

/** Says where the school or the operator decides about an import that waits for approval. id: of that import. */
export function howToDecide(estab: string, publicUrl: string, id: string): string {
  return `The school approves or discards it on its page (${publicUrl}/school/source). The operator may do so too. ${howToApprove(estab, id)}.`;
}

function describeState({ state, run, report }: Upload, estab: string, publicUrl: string): string | null {
  if (state === 'Held' && run) return `${renderSentence((report && describeTrouble(report)) ?? 'waits for approval')} ${howToDecide(estab, publicUrl, run)}`;
  if (state === 'Refused') return renderSentence((report && describeTrouble(report)) ?? 'refused');
  if (state === 'Replaced') return 'Nothing of it was taken over: a newer package took its place, or it was decided against.';
  if (state === 'Failed') return 'It could not be imported, and nothing was changed. Send it again.';
  return null;
}
