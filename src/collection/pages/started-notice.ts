// Notices about an import or a fetch that an action has started. They change when it ends, so that none contradicts the report below it.
import { refusedSince, type SourceView } from '../source-view.ts';
import { isBusy } from './database-states.ts';

/** started: shown while the import or fetch goes on. ended: shown afterwards; undefined if there is nothing left to say. */
export type StartedNotice = Readonly<{ started: string; ended?: string }>;

type Outcome = Pick<SourceView, 'databases' | 'runs' | 'held'>;

/** Returns the notice that is true now, or undefined above data that could not be taken over: the page says why. */
export function chooseNotice({ started, ended }: StartedNotice, { databases, runs, held }: Outcome): string | undefined {
  if (databases.some(isBusy)) return started;
  const failed = held !== undefined || databases.some((one) => ['Error', 'Timeout'].includes(one.status) || refusedSince(one, runs[0]) !== undefined);
  return failed ? undefined : ended;
}
