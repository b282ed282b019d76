// In charge of what the pages of one application have in common: which it is, its name, and the ways between them.
import type { Application } from '../../access/applications.ts';
import { requireApplication } from '../../access/applications.ts';
import type { Db } from '../../db/connect.ts';
import { errorCodes, SchoolbellError } from '../../errors.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTabs } from '../../http/pages/tabs.ts';
import { renderConsole, type ConsolePage } from '../layout.ts';
import { applicationPath, applicationsPath } from '../links.ts';
import { isDeveloper, mayChange, type Shown, type Visit } from '../visit.ts';

/** Each school is dealt with by itself, with its record and its mail: a thousand take a while. */
export const manySchoolsMs = 300_000;

/** The one of the path. */
export async function openApplication(db: Db, { params }: Visit): Promise<Application> {
  const rp = params.rp ?? '';
  try {
    return await requireApplication(db, rp);
  } catch (error) {
    if (error instanceof SchoolbellError && errorCodes[error.code].status === 404) throw new SchoolbellError('not_found', 'There is no such application.');
    throw error;
  }
}

/** tab: the one that is open, by the end of its path. */
type ApplicationPage = { title: string; tab: string; body: HtmlValue } & Pick<ConsolePage, 'scripts' | 'back'>;

export function renderApplicationPage(visit: Visit, { rp, name }: Application, { title, tab, body, ...more }: ApplicationPage): Shown {
  const at = applicationPath(rp);
  const tabs = [
    { path: at, label: 'Overview' },
    { path: `${at}/schools`, label: 'Schools' },
    { path: `${at}/webhooks`, label: 'Webhooks' },
    { path: `${at}/deliveries`, label: 'Deliveries' },
    { path: `${at}/inboxes`, label: 'Inboxes' },
    { path: `${at}/try`, label: 'Try it' },
    { path: `${at}/requests`, label: 'Requests' },
    ...(visit.sandbox ? [{ path: `${at}/sandbox`, label: 'Sandbox' }] : []),
    { path: `${at}/developers`, label: 'Developers' },
    { path: `${at}/edit`, label: mayChange(visit) ? 'Edit' : 'Settings' },
  ];
  return renderConsole(visit, {
    title: `${title} – ${name}`,
    section: 'applications',
    ...backOf(visit),
    ...more,
    body: html`<h1><bdi>${name}</bdi> <span class="id quiet">${rp}</span></h1>
${renderTabs({ label: 'This application', tabs, open: `${at}${tab}` })}
${body}`,
  });
}

/** A developer of one application has no page above it. */
function backOf(visit: Visit) {
  if (!isDeveloper(visit)) return { back: { path: applicationsPath, label: 'Applications' } };
  return visit.operator.applications.length > 1 ? { back: { path: '/console', label: 'Your applications' } } : {};
}

/** more: what stands beside the title. */
export function renderHeading(title: string, more?: HtmlValue): Html {
  return html`<div class="heading"><h2>${title}</h2>${more}</div>`;
}
