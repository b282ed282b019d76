// In charge of the page of one record of a roster: its fields, as JSON, as an application sees it, or a list of what refers to it.
import { noteLook, type Deed } from '../../access/audit-trail.ts';
import type { Html } from '../../http/html.ts';
import { renderConsole } from '../layout.ts';
import type { ConsoleParts, Page, Visit } from '../visit.ts';
import { showApplication } from './application-view.ts';
import { backToRoster, recordRoute, requireSubject, type Subject } from './around.ts';
import { showFields } from './fields-view.ts';
import { showJson } from './json-view.ts';
import { showRelated } from './related-view.ts';

/** Each is a page with a heading of its own; a view that nobody knows is the first. */
type ShowView = (parts: ConsoleParts, visit: Visit, subject: Subject) => Promise<Html>;
const views: Readonly<Record<string, { action: string; show: ShowView }>> = {
  fields: { action: 'look at record', show: showFields },
  json: { action: 'look at record', show: showJson },
  application: { action: 'look at record as application', show: showApplication },
  list: { action: 'look at record', show: showRelated },
};

export const recordPage: Page = {
  path: recordRoute,
  async show(parts, visit) {
    const subject = await requireSubject(parts, visit);
    const asked = visit.query.one('view');
    const { action, show } = (Object.hasOwn(views, asked) ? views[asked] : undefined) ?? { action: 'look at record', show: showFields };
    const rp = visit.query.one('rp');
    await noteLookAt(parts, visit, subject, { action, ...(rp !== '' && asked === 'application' ? { rp: rp.slice(0, 64) } : {}) });
    return renderConsole(visit, { title: subject.name, section: 'schools', back: backToRoster(subject.school), body: await show(parts, visit, subject) });
  },
};

/** Before anything is shown: who looks, and at which record. */
export async function noteLookAt(parts: ConsoleParts, { actor }: Visit, { school, resource, sourcedId }: Subject, deed: Deed): Promise<void> {
  await noteLook(parts.changes, actor, { estab: school.estab, subject: `${resource.collection}/${sourcedId}`, ...deed });
}
