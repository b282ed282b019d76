// In charge of the words for imports: how one came, how it ended, and what would go with it.
import type { Loss } from '../held.ts';
import type { ListedRun } from '../source-view.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { describeCollection } from './database-words.ts';

const kinds: Readonly<Record<string, string>> = {
  upload: 'Upload',
  command: 'By the operator',
  folder: 'Folder',
  provider: 'Provider',
  demo: 'Demonstration',
};

export function describeKind(kind: string | null): string {
  return kind === null ? 'Not recorded' : (kinds[kind] ?? kind);
}

type Tone = 'good' | 'wait' | 'bad' | 'off';

type Outcome = Pick<ListedRun, 'outcome' | 'overtaken' | 'decision' | 'rejected' | 'leaversUnreported'>;

export function describeOutcome({ outcome, overtaken, decision, rejected, leaversUnreported }: Outcome): { badge: string; tone: Tone; text: string } {
  if (overtaken) return { badge: 'Too late', tone: 'off', text: 'It came too late: a newer one was taken over while it was read. Nothing was changed.' };
  if (outcome === 'refused')
    return {
      badge: 'Refused',
      tone: 'bad',
      text: 'It was refused as a whole, and nothing was changed. Please put right what is listed here where it comes from, and send it again.',
    };
  if (outcome === 'held') {
    if (decision === 'approved')
      return { badge: 'Approved', tone: 'off', text: 'It was held until it was approved; what came of that is an import of its own.' };
    if (decision === 'discarded') return { badge: 'Discarded', tone: 'off', text: 'It was held and discarded. Nothing was changed.' };
    if (decision === 'replaced') return { badge: 'Replaced', tone: 'off', text: 'It was held until a newer one took its place. Nothing was changed.' };
    return { badge: 'Waits for approval', tone: 'wait', text: 'Everything was read. Nothing is changed until the import is approved.' };
  }
  if (rejected > 0)
    return { badge: 'Taken over in part', tone: 'wait', text: `Taken over, but ${formatMany(rejected, 'record was', 'records were')} left out.` };
  const stay = leaversUnreported ? ' This source does not report leavers, so records that left are still here.' : '';
  if (outcome === 'unchanged' && leaversUnreported) return { badge: 'Nothing new', tone: 'wait', text: `No record was new or changed.${stay}` };
  if (outcome === 'unchanged') return { badge: 'Nothing new', tone: 'good', text: 'Everything was read, and nothing had changed.' };
  return { badge: 'Taken over', tone: 'good', text: `Everything was taken over.${stay}` };
}

/** "50 students", "20 parents would only lose that role", "12 classes". */
export function describeLoss({ collection, role, stays, total }: Omit<Loss, 'names'>): string {
  if (role !== null) return `${formatMany(total, role)}${stays ? ' would only lose that role' : ''}`;
  return `${describeCollection(collection)}: ${formatMany(total, 'record')}`;
}
