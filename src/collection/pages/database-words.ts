// In charge of the words for how a school's data stands: its databases, how they were collected, the source.
import type { Badge } from '../../http/pages/badge.ts';
import { formatMoment } from '../../http/pages/figures.ts';
import type { ComponentDatabase } from '../component-databases.ts';

type Words = Badge & { text: string };

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
      return { badge: 'Collecting', tone: 'busy', text: `The data is being collected.${stays}` };
    case 'Expired':
      return { badge: 'Due again', tone: 'wait', text: `Collected on ${last ?? 'a day not recorded'}; it is due to be collected again.` };
    case 'NoData':
      return { badge: 'Nothing yet', tone: 'wait', text: 'Nothing has been collected yet.' };
    case 'Paused':
      return { badge: 'Waits for approval', tone: 'wait', text: `The last import waits for approval.${stays}` };
    default:
      return { badge: 'Not collected', tone: 'bad', text: `The last time, it could not be collected.${stays}` };
  }
}

const sources: Readonly<Record<string, string>> = { csv: 'Packages of CSV files', oneroster: 'A OneRoster provider', demo: 'The demonstration school' };

export function describeConnector(connector: string | null): string {
  return connector === null ? 'Not connected yet' : (sources[connector] ?? connector);
}
