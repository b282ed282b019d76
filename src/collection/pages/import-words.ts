// Labels and sentences that pages show about an import: its origin, its outcome and the deletions that it would cause.
import type { ImportKind } from '../connector.ts';
import type { Loss } from '../held.ts';
import type { ListedRun } from '../source-view.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { describeCollection } from './database-words.ts';

const kinds: Readonly<Record<ImportKind, string>> = {
  upload: 'Upload',
  command: 'By the operator',
  folder: 'Folder',
  provider: 'Provider',
  demo: 'Demonstration',
};

export const describeKind = (kind: ImportKind) => kinds[kind];

type Tone = 'good' | 'wait' | 'bad' | 'off';

type Outcome = Pick<ListedRun, 'outcome' | 'overtaken' | 'decision' | 'rejected' | 'leaversUnreported'>;

export function describeOutcome({ outcome, overtaken, decision, rejected, leaversUnreported }: Outcome): { badge: string; tone: Tone; text: string } {
  if (overtaken) return { badge: 'Too late', tone: 'off', text: 'A newer import finished while this one was being read. Nothing was changed.' };
  if (outcome === 'refused')
    return {
      badge: 'Refused',
      tone: 'bad',
      text: 'The whole import was refused and nothing was changed. Please correct the problems listed here in your information system and send the data again.',
    };
  if (outcome === 'held') {
    if (decision === 'approved')
      return { badge: 'Approved', tone: 'off', text: 'This import waited for approval and was approved. Its result is listed as a separate import.' };
    if (decision === 'discarded') return { badge: 'Discarded', tone: 'off', text: 'This import waited for approval and was discarded. Nothing was changed.' };
    if (decision === 'replaced')
      return { badge: 'Replaced', tone: 'off', text: 'This import waited for approval until a newer one replaced it. Nothing was changed.' };
    return { badge: 'Waits for approval', tone: 'wait', text: 'All records were read. Nothing changes until the import is approved.' };
  }
  if (rejected > 0)
    return { badge: 'Partly imported', tone: 'wait', text: `Imported, except that ${formatMany(rejected, 'record was', 'records were')} left out.` };
  const stay = leaversUnreported ? ' This source does not report leavers, so records that were deleted there are still here.' : '';
  if (outcome === 'unchanged' && leaversUnreported) return { badge: 'No changes', tone: 'wait', text: `No record was new or changed.${stay}` };
  if (outcome === 'unchanged') return { badge: 'No changes', tone: 'good', text: 'All records were read, and nothing had changed.' };
  return { badge: 'Imported', tone: 'good', text: `All records were imported.${stay}` };
}

/** "50 students", "20 parents would only lose that role", "12 classes". */
export function describeLoss({ collection, role, stays, total }: Omit<Loss, 'names'>): string {
  if (role !== null) return `${formatMany(total, role)}${stays ? ' would only lose that role' : ''}`;
  return `${describeCollection(collection)}: ${formatMany(total, 'record')}`;
}
