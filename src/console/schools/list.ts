// In charge of the list of schools: found by name or number, narrowed by how they stand and where their data comes from.
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import {
  describeSchoolState,
  findSchoolState,
  listSchools,
  schoolFacts,
  schoolStates,
  sourceKinds,
  type ListedSchool,
  type SchoolFact,
} from '../../onboarding/school-states.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { addSchoolPath, schoolLink, schoolsPath } from '../links.ts';
import { mayChange, type Page, type Visit } from '../visit.ts';
import { nameSource } from './words.ts';

const factWords: Readonly<Record<SchoolFact, string>> = {
  'old-roster': 'Roster too old',
  'no-roster': 'No roster yet',
  'old-attendance': 'Attendance too old',
  'no-attendance': 'No attendance yet',
  unanswered: 'Invitation without an answer',
};

export const schoolsPage: Page = {
  path: schoolsPath,
  async show({ db, now }, visit) {
    const { query } = visit;
    const q = query.one('q');
    const state = findSchoolState(query.one('state'));
    const source = ([...sourceKinds, 'none'] as const).find((kind) => kind === query.one('source'));
    const fact = schoolFacts.find((one) => one === query.one('with'));
    const after = query.exact('after') || undefined;
    const { schools, next } = await listSchools(db, { q, state, source, with: fact, after, most: pageLength });
    const parameters = { q, state: state?.toLowerCase(), source, with: fact };
    const narrowed = q !== '' || state !== undefined || source !== undefined || fact !== undefined || after !== undefined;
    const body = html`<div class="heading"><h1>Schools</h1>${mayChange(visit) && html`<a class="button" href="${addSchoolPath}">Add a school</a>`}</div>
${renderFilters({
  path: schoolsPath,
  filters: [
    { kind: 'text', name: 'q', label: 'Name or number', value: q },
    {
      kind: 'choice', name: 'state', label: 'State', value: state?.toLowerCase() ?? '', all: 'Any state',
      choices: schoolStates.map((one) => ({ value: one.toLowerCase(), label: describeSchoolState(one).badge })),
    },
    {
      kind: 'choice', name: 'source', label: 'Source', value: source ?? '', all: 'Any source',
      choices: [...sourceKinds, null].map((one) => ({ value: one ?? 'none', label: nameSource(one) })),
    },
    {
      kind: 'choice', name: 'with', label: 'Data and answers', value: fact ?? '', all: 'Any',
      choices: schoolFacts.map((one) => ({ value: one, label: factWords[one] })),
    },
  ],
})}
${schools.length === 0 ? renderNone(visit, narrowed) : renderSchools(schools, now())}
${renderPager({
  first: after === undefined ? undefined : addressOf(schoolsPath, parameters),
  next: next === undefined ? undefined : addressOf(schoolsPath, { ...parameters, after: next }),
})}`;
    return renderConsole(visit, { title: 'Schools', section: 'schools', body });
  },
};

function renderNone(visit: Visit, narrowed: boolean): Html {
  if (narrowed) return renderEmpty('No school is like that.', { path: schoolsPath, label: 'Show all schools' });
  const words = 'Schools will be listed here, each with how it stands. One that an application names appears by itself, to be confirmed.';
  return renderEmpty(words, mayChange(visit) ? { path: addSchoolPath, label: 'Add the first school' } : undefined);
}

function renderSchools(schools: readonly ListedSchool[], now: number): Html {
  return renderTable({
    id: 'schools',
    caption: html`<span class="unseen">Schools, by name</span>`,
    columns: ['School', 'School number', 'State', 'Source', { label: 'Pupils', number: true }, { label: 'Applications', number: true }, 'Last collected'],
    rows: schools.map(({ estab, name, state, connector, pupils, applications, updatedAt }) => [
      schoolLink(estab, name),
      html`<span class="id">${estab}</span>`,
      renderBadge(describeSchoolState(state)),
      nameSource(connector),
      formatCount(pupils),
      formatCount(applications),
      renderAgo(updatedAt, now),
    ]),
    stacked: true,
  });
}
