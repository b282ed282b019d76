// In charge of what the pages of one school have in common: which school it is, the ways between its pages, and what was typed.
import { SchoolbellError } from '../../errors.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { renderTabs } from '../../http/pages/tabs.ts';
import { describeSchoolState, requireListedSchool, type ListedSchool } from '../../onboarding/school-states.ts';
import { deliveriesPath, schoolPath } from '../links.ts';
import type { ConsoleParts, Visit } from '../visit.ts';

export function estabOf({ params }: Visit): string {
  return params.estab ?? '';
}

export function schoolOf({ db }: ConsoleParts, visit: Visit): Promise<ListedSchool> {
  return requireListedSchool(db, estabOf(visit));
}

const ways = {
  school: { path: '', label: 'School' },
  source: { path: '/source', label: 'Source' },
  imports: { path: '/imports', label: 'Imports' },
  roster: { path: '/roster', label: 'Roster' },
  logins: { path: '/logins', label: 'Logins' },
  audit: { path: '/audit', label: 'Audit' },
} as const;
export type Way = keyof typeof ways;

/** The name with how it stands, and the ways to its other pages. */
export function renderSchoolHead({ estab, name, state }: Pick<ListedSchool, 'estab' | 'name' | 'state'>, here: Way): Html {
  const pathOf = (way: Way) => `${schoolPath(estab)}${ways[way].path}`;
  const tabs = [
    ...(Object.keys(ways) as Way[]).map((way) => ({ path: pathOf(way), label: ways[way].label })),
    { path: addressOf(deliveriesPath, { estab }), label: 'Deliveries' },
  ];
  return html`<h1><bdi>${name}</bdi> ${renderBadge(describeSchoolState(state))}</h1>
${renderTabs({ label: 'Pages of this school', tabs, open: pathOf(here) })}`;
}

/** What had been typed when the page is shown again, or what is known. */
export function typedOr({ typed }: Visit, name: string, known: string): string {
  return typed?.all(name)[0] ?? known;
}

/** What cannot be undone asks for the name to be typed. */
export function requireTyped(typed: string, wanted: string): void {
  if (typed !== wanted) throw new SchoolbellError('invalid_request', `Nothing was changed: to go on, type ${wanted}, as it stands on the page.`);
}
