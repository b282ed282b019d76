// In charge of the words for how things stand: an application, an entry of its history, a database, the source.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { html, type Html } from '../../http/html.ts';
import type { Entry } from '../school-view.ts';
import { formatLedgerDay, formatMoment } from './figures.ts';

type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'off';
type Words = { badge: string; tone: Tone; text: string };

export function renderBadge({ badge, tone }: Words): Html {
  return html`<span class="badge ${tone}">${badge}</span>`;
}

const applicationWords: Readonly<Record<string, Words>> = {
  Approved: { badge: 'Approved', tone: 'wait', text: 'Approved: waiting for your data. It can read as soon as you have connected your data.' },
  Installing: { badge: 'Installing', tone: 'busy', text: 'Installing: the first collection of your data is under way.' },
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
export function describeEntry({ state, actor }: Entry): string {
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

const collectionWords: Readonly<Record<string, string>> = {
  orgs: 'The school',
  academicSessions: 'Terms',
  courses: 'Courses',
  classes: 'Classes',
  users: 'People',
  enrollments: 'Class lists',
  demographics: 'Personal details',
};

/** With the name that the application knows it by, for when a school asks it about a row. */
export function describeCollection(collection: string): string {
  const words = collectionWords[collection];
  return words === undefined || words.toLowerCase() === collection ? (words ?? collection) : `${words} (${collection})`;
}

const databaseTitles: Readonly<Record<ComponentDatabase['name'], string>> = { SchoolData: 'School, people and classes', Attendance: 'Attendance' };

export function titleOf({ name }: Pick<ComponentDatabase, 'name'>): string {
  return databaseTitles[name];
}

/** An older state goes on being served, so that is said too. refused: when the last import was, which came after what is there. */
export function describeDatabase({ status, updatedAt, expiresAt }: ComponentDatabase, timeZone: string, refused?: Date): Words {
  const last = updatedAt && formatMoment(updatedAt, timeZone);
  const stays = last ? ` Applications go on with what was collected on ${last}.` : '';
  if (refused && status !== 'Updating' && status !== 'Expired') {
    const text = `The last import, on ${formatMoment(refused, timeZone)}, was refused and changed nothing.`;
    return { badge: 'Last import refused', tone: 'bad', text: `${text}${stays || ' Nothing has been collected yet.'}` };
  }
  switch (status) {
    case 'OK':
      return {
        badge: 'Up to date',
        tone: 'good',
        text: `Collected on ${last ?? 'a day not recorded'}.${expiresAt ? ` Fresh until ${formatMoment(expiresAt, timeZone)}.` : ''}`,
      };
    case 'Updating':
      return { badge: 'Collecting', tone: 'busy', text: `Your data is being collected.${stays}` };
    case 'Expired':
      return { badge: 'Due again', tone: 'wait', text: `Collected on ${last ?? 'a day not recorded'}; it is due to be collected again.` };
    case 'NoData':
      return { badge: 'Nothing yet', tone: 'wait', text: 'Nothing has been collected yet.' };
    case 'Paused':
      return { badge: 'Held', tone: 'wait', text: `The last collection waits for your word.${stays}` };
    default:
      return { badge: 'Not collected', tone: 'bad', text: `The last collection did not succeed.${stays}` };
  }
}

const sources: Readonly<Record<string, string>> = { csv: 'Packages of CSV files', oneroster: 'A OneRoster provider', demo: 'The demonstration school' };

export function describeConnector(connector: string | null): string {
  return connector === null ? 'Not connected yet' : (sources[connector] ?? connector);
}

export function describeLastRead(lastRead: Date | null): string {
  return lastRead ? formatLedgerDay(lastRead) : 'Not yet';
}
