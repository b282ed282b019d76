// In charge of what the pages of the roster browser have in common: where each is, which record it is about, its name and the
// ways between its pages.
import type { Establishment } from '../../access/establishments.ts';
import { wasPurged } from '../../collection/record-history.ts';
import { SchoolbellError } from '../../errors.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderTabs } from '../../http/pages/tabs.ts';
import { collections } from '../../roster/collections.ts';
import type { CollectionName, Resource } from '../../roster/resource.ts';
import { describeKind } from '../../rostering/kind-words.ts';
import { nameRecords } from '../../rostering/record-names.ts';
import { readStates, type ShownState } from '../../rostering/record-states.ts';
import { rosterPath, schoolRoute } from '../links.ts';
import { schoolOf } from '../schools/around.ts';
import type { ConsoleParts, Visit } from '../visit.ts';

export const rosterRoute = `${schoolRoute}/roster`;
export const recordRoute = `${rosterRoute}/:collection/:id`;
export const recordPath = (estab: string, collection: CollectionName, id: string) => `${rosterPath(estab)}/${collection}/${writeId(id)}`;

/** Browsers take away a part of a path that is one dot or two, however it is written: such an id has a sign before it, and whatever begins with that. */
const dotted = /^(?:\.{1,2}$|~)/;
const writeId = (id: string) => encodeURIComponent(dotted.test(id) ? `~${id}` : id);
const readId = (written: string) => (written.startsWith('~') && dotted.test(written.slice(1)) ? written.slice(1) : written);

/** gone: it left for good, and the state is the last that is kept. */
export type Subject = Readonly<{
  school: Establishment;
  resource: Resource;
  sourcedId: string;
  path: string;
  name: string;
  state: ShownState;
  gone: boolean;
}>;

export async function requireSubject(parts: ConsoleParts, visit: Visit): Promise<Subject> {
  const { db, config } = parts;
  const school = await schoolOf(parts, visit);
  const { collection = '', id: written = '' } = visit.params;
  const id = readId(written);
  const resource = Object.values(collections).find((one) => one.collection === collection);
  if (!resource) throw new SchoolbellError('not_found', 'There is no such record.');
  const { states: [state] } = await readStates(db, config.publicUrl, school.estab, resource, id, { most: 1 });
  if (!state) {
    const purged = await wasPurged(db, school.estab, resource, id);
    const message = purged
      ? 'This record was purged: whoever it was about has left for good, and what is kept of them goes within the hour.'
      : `${school.name} has no such record, and none is kept in its history. One that was purged leaves nothing behind.`;
    throw new SchoolbellError('not_found', message);
  }
  const name = (await findName(parts, school.estab, resource, id)) ?? nameFrom(state.record) ?? id;
  return { school, resource, sourcedId: id, path: recordPath(school.estab, resource.collection, id), name, state, gone: state.until !== null };
}

async function findName({ db }: ConsoleParts, estab: string, { collection }: Resource, id: string): Promise<string | undefined> {
  const name = (await nameRecords(db, estab, collection, [id])).get(id)?.name.trim();
  return name === '' ? undefined : name;
}

/** Of what is in the history alone. */
function nameFrom({ givenName, familyName, title, name }: Readonly<Record<string, unknown>>): string | undefined {
  const text = [givenName, familyName, title, name].filter((one) => typeof one === 'string').join(' ');
  return text === '' ? undefined : text;
}

export type View = 'fields' | 'json' | 'application' | 'history' | 'attendance';

export function viewPath({ path }: Pick<Subject, 'path'>, view: View): string {
  if (view === 'history' || view === 'attendance') return `${path}/${view}`;
  return view === 'fields' ? path : `${path}?view=${view}`;
}

export function renderStatus(status: string, gone = false): Html {
  if (gone) return renderBadge({ badge: 'Purged', tone: 'bad' });
  return status === 'active' ? renderBadge({ badge: 'Active', tone: 'good' }) : renderBadge({ badge: 'To be deleted', tone: 'wait' });
}

export function renderHead(subject: Subject, view: View): Html {
  const { name, resource, sourcedId, state, gone } = subject;
  const views: [View, string][] = [
    ['fields', 'Record'],
    ['json', 'As JSON'],
    ['application', 'As an application sees it'],
    ['history', 'History'],
    ...(resource.collection === 'users' && state.kind === 'student' ? [['attendance', 'Attendance'] as [View, string]] : []),
  ];
  return html`<h1><bdi>${name}</bdi> ${renderStatus(state.status, gone)}</h1>
<p class="quiet">${describeKind(resource.collection, state.kind)} · <code>${resource.collection}</code> <span class="id">${sourcedId}</span></p>
${renderTabs({
  label: 'Pages of this record',
  tabs: views.map(([one, label]) => ({ path: viewPath(subject, one), label })),
  open: viewPath(subject, view),
})}
${gone && html`<div class="box held"><p>This record left the roster for good at version ${state.until}. What is shown is how it stood last; no application
gets it any more.</p></div>`}`;
}

/** Where a page of a record leads back to. */
export const backToRoster = ({ estab, name }: Establishment) => ({ path: rosterPath(estab), label: `Roster of ${name}` });
