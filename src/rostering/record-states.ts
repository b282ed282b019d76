// In charge of what became of one record, state by state as anybody reads it, with what changed from each to the next.
import { compareRecords, readRecordHistory, type FieldChange, type HistoryAsked, type RecordState } from '../collection/record-history.ts';
import type { Db } from '../db/connect.ts';
import { cutPage } from '../http/cut-page.ts';
import { mergeEditions } from '../roster/merge-editions.ts';
import type { Resource } from '../roster/resource.ts';
import { createFinish } from './render.ts';

/** changes: from the state before; undefined where that is not kept, or there was none. */
export type ShownState = Omit<RecordState, 'stored'> & Readonly<{ record: Readonly<Record<string, unknown>>; changes: readonly FieldChange[] | undefined }>;
/** next: what `before` is for the states that follow. */
export type ShownStates = Readonly<{ states: readonly ShownState[]; next: number | undefined }>;

/** Newest first; nothing when there never was such a record, or it was purged. */
export async function readStates(
  db: Db,
  publicUrl: string,
  estab: string,
  resource: Resource,
  sourcedId: string,
  { before, most }: HistoryAsked = {},
): Promise<ShownStates> {
  // One more than is shown: what the last of them is compared with.
  const states = await readRecordHistory(db, estab, resource, sourcedId, { before, most: most === undefined ? undefined : most + 1 });
  const versions = new Map([[estab, states.map(({ from, fromAt }) => ({ version: from, instant: 0, stamp: fromAt ?? '' })).toReversed()]]);
  const finish = createFinish(publicUrl, versions);
  const read = states.map(({ stored, ...state }) => ({ ...state, record: mergeEditions(resource, stored, finish) }));
  const { shown, last } = cutPage(read, most);
  const compared = shown.map((state, at) => {
    const older = read[at + 1];
    return { ...state, changes: older && compareRecords(older.record, state.record) };
  });
  return { states: compared, next: last?.from };
}
