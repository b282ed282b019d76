// In charge of what the pages of the console have in common: the way around, who is signed in, and how a page is put together.
import { html, type Html, type HtmlValue } from '../http/html.ts';
import { renderForm } from '../http/pages/form.ts';
import { renderFrame } from '../http/pages/frame.ts';
import { docsPath } from '../reference/pages/links.ts';
import { applicationsPath, backupsPath, deliveriesPath, mailListPath, operatorsPath, schoolsPath, workListPath } from './links.ts';
import { isDeveloper, type Shown, type Visit } from './visit.ts';

export type Section = 'overview' | 'schools' | 'applications' | 'deliveries' | 'mail' | 'work' | 'backups' | 'audit' | 'operators' | 'settings' | 'account';

type Way = { name: Section | 'reference'; path: string; label: string };

const sections: readonly Way[] = [
  { name: 'overview', path: '/console', label: 'Overview' },
  { name: 'schools', path: schoolsPath, label: 'Schools' },
  { name: 'applications', path: applicationsPath, label: 'Applications' },
  { name: 'deliveries', path: deliveriesPath, label: 'Deliveries' },
  { name: 'mail', path: mailListPath, label: 'Mail' },
  { name: 'work', path: workListPath, label: 'Work' },
  { name: 'backups', path: backupsPath, label: 'Backups' },
  { name: 'audit', path: '/console/audit', label: 'Audit' },
  { name: 'operators', path: operatorsPath, label: 'Operators' },
  { name: 'settings', path: '/console/settings', label: 'Settings' },
];

/** A developer's ways lead to nothing that is not theirs. */
function sectionsOf(visit: Visit): readonly Way[] {
  if (!isDeveloper(visit)) return sections;
  return [
    { name: 'applications', path: '/console', label: visit.operator.applications.length > 1 ? 'Applications' : 'Application' },
    { name: 'reference', path: docsPath, label: 'Reference' },
  ];
}

/** So many rows has a page of a list. */
export const pageLength = 50;

export type ConsolePage = {
  title: string;
  section: Section;
  body: Html;
  /** Paths of our own scripts; without them everything works that does not move. */
  scripts?: readonly string[];
  /** The page above this one. */
  back?: { path: string; label: string };
};

export function renderConsole(visit: Visit, { title, section, body, scripts = [], back }: ConsolePage): Shown {
  const page = renderFrame({
    title,
    owner: 'Console',
    notice: visit.notice,
    problem: visit.problem,
    wide: true,
    top: [renderOperator(visit), renderNavigation(visit, section)],
    bottom: html`<p><a href="${docsPath}">Reference of the API</a></p>`,
    body: html`${back && html`<p class="back"><a href="${back.path}">${back.label}</a></p>`}${body}`,
    scripts,
  });
  return { html: page, scripted: scripts.length > 0 };
}

function renderOperator({ operator, token }: Visit): HtmlValue {
  return html`<div class="who"><a href="/console/account">${operator.name}</a> ${renderRole(operator.role)}
${renderForm({ path: '/console/sign-out', token, id: 'sign-out', body: html`<button type="submit" class="plain">Sign out</button>` })}</div>`;
}

function renderRole(role: Visit['operator']['role']): HtmlValue {
  return role !== 'admin' && html`<span class="badge off">${role === 'viewer' ? 'Viewer' : 'Developer'}</span>`;
}

function renderNavigation(visit: Visit, section: Section): Html {
  return html`<nav class="around" aria-label="Console">
<ul>
${sectionsOf(visit).map(({ name, path, label }) => html`<li><a href="${path}"${name === section && html` aria-current="page"`}>${label}</a></li>`)}
</ul>
</nav>`;
}
