// In charge of the words of a school's pages in the console: its source, its applications, and who did something.
import { describeConnector } from '../../collection/pages/database-words.ts';
import type { Badge } from '../../http/pages/badge.ts';
import { describeApplication, describeEntry } from '../../onboarding/pages/state-words.ts';
import type { SourceKind } from '../../onboarding/school-states.ts';
import type { MailNotice } from '../visit.ts';

/** What the options of the commands are called here. */
export const labels = { estab: 'School number', name: 'Name', email: 'Address of record', 'time-zone': 'Time zone' } as const;

/** Of a request to a school, wherever an operator makes it. */
export const askingLabels = { reason: 'Why the data is needed' } as const;
export const askingDone: MailNotice = {
  mailed: 'The school is asked: a link was mailed to its address of record, or goes there when the school is confirmed.',
  stored: 'The school is asked. E-mail is not set up, so nothing was mailed: once the school is confirmed, the operator finds the link under Mail.',
};

export function nameSource(source: SourceKind | null): string {
  return source === null ? 'None' : describeConnector(source);
}

const askedWords: Readonly<Record<string, Badge>> = {
  Proposed: { badge: 'School to be confirmed', tone: 'wait' },
  Invited: { badge: 'Invited', tone: 'busy' },
  Expired: { badge: 'Invitation expired', tone: 'off' },
  Declined: { badge: 'Declined', tone: 'off' },
};

/** Of an authorisation, or of an invitation. */
export function badgeOf(state: string | undefined): Badge {
  return state === undefined ? { badge: 'Not approved', tone: 'off' } : (askedWords[state] ?? describeApplication(state));
}

/** Returns the badge of an open request. A proposal of a school that is confirmed by now waits for the operator to send it. */
export function badgeOfAsked({ state }: { state: string }, confirmed: boolean): Badge {
  return state === 'Proposed' && confirmed ? { badge: 'Not sent', tone: 'wait' } : badgeOf(state);
}

const actors: Readonly<Record<string, string>> = {
  school: 'The school',
  operator: 'The operator',
  application: 'The application',
  service: 'Schoolbell, by itself',
  person: 'A person',
};

export function nameActor(actor: string | null): string {
  return actor === null ? '' : (actors[actor] ?? actor);
}

/** As a school reads it in its own history, but for what is said to the school itself. */
export function nameDecision(state: string, actor: string | null): string {
  if (state === 'Live' && actor === 'service') return 'Live: its data was collected for the first time';
  return describeEntry({ state, actor: actor ?? '' });
}
