// In charge of the words for how things stand: an application, an entry of its history.
import { html, type Html } from '../../http/html.ts';
import type { Badge } from '../../http/pages/badge.ts';
import type { Entry } from '../school-view.ts';
import { formatLedgerDay } from '../../http/pages/figures.ts';

type Words = Badge & { text: string };

const applicationWords: Readonly<Record<string, Words>> = {
  Approved: { badge: 'Approved', tone: 'wait', text: 'Approved: waiting for your data. It can read as soon as you have connected your data.' },
  Installing: { badge: 'Installing', tone: 'busy', text: 'Installing: your data is being collected for the first time.' },
  Live: { badge: 'Live', tone: 'good', text: 'Live: it can read what you have allowed.' },
  Paused: { badge: 'Paused', tone: 'wait', text: 'Paused: it can read nothing until you resume.' },
  Revoked: { badge: 'Revoked', tone: 'off', text: 'Revoked: it can read nothing any more. What it has read before stays with it.' },
  Removed: {
    badge: 'Removed',
    tone: 'off',
    text: 'Removed: it is no longer part of this service and can read nothing. What it has read before stays with it.',
  },
};

export function describeApplication(state: string): Words {
  return applicationWords[state] ?? { badge: state, tone: 'off', text: '' };
}

const entryWords: Readonly<Record<string, string>> = {
  Invited: 'Asked for access',
  Approved: 'Approved',
  Declined: 'Request declined',
  Withdrawn: 'Request withdrawn',
  Expired: 'Request expired',
  'Scopes changed': 'What it may read was changed',
  Removed: 'The application was removed from this service',
};

/** Where the data was there already, an approval makes it live at once. */
export function describeEntry({ state, actor }: Pick<Entry, 'state' | 'actor'>): string {
  if (state === 'Live') return actor === 'service' ? 'Live: your data was collected for the first time' : 'Approved, and live at once';
  return entryWords[state] ?? state;
}

const actors: Readonly<Record<string, string>> = {
  school: 'Your school',
  operator: 'The operator of this service, on behalf of your school',
  service: 'Schoolbell, by itself',
};

/** What an application does by itself is said with its name; an operator who asks or takes back a request does that for it. */
export function describeActor(actor: string): string {
  return actors[actor] ?? actor;
}

export function renderActor({ state, actor }: Entry, application: string): Html {
  if (actor === 'application') return html`<bdi>${application}</bdi>`;
  if (actor === 'operator' && (state === 'Invited' || state === 'Withdrawn')) return html`The operator of this service, for <bdi>${application}</bdi>`;
  if (state === 'Removed') return html`The operator of this service`;
  return html`${describeActor(actor)}`;
}

export function describeLastRead(lastRead: Date | null): string {
  return lastRead ? formatLedgerDay(lastRead) : 'Not yet';
}
