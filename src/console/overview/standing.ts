// In charge of how schools stand as a whole: how many are in which state, and how old their data is.
import type { Freshness } from '../../collection/troubled-schools.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { formatCount, formatMany } from '../../http/pages/figures.ts';
import { renderTable } from '../../http/pages/table.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { describeSchoolState, schoolStates, type SchoolFact, type SchoolState } from '../../onboarding/school-states.ts';
import { schoolsPath } from '../links.ts';

const inState = (state: SchoolState) => addressOf(schoolsPath, { state: state.toLowerCase() });

export function renderStates(counts: Partial<Record<SchoolState, number>>): Html {
  const there = schoolStates.flatMap((state) => (counts[state] ? [{ state, count: counts[state] }] : []));
  const total = there.reduce((sum, { count }) => sum + count, 0);
  return html`<section class="card" aria-labelledby="states-title">
<h2 id="states-title">Schools by state</h2>
${renderTable({
  id: 'states',
  caption: formatMany(total, 'school'),
  columns: ['State', 'What it means', { label: 'Schools', number: true }],
  rows: there.map(({ state, count }) => {
    const { badge, tone, text } = describeSchoolState(state);
    return [renderBadge({ badge, tone }), text, html`<a href="${inState(state)}">${formatCount(count)}</a>`];
  }),
  stacked: true,
})}
<p><a href="${schoolsPath}">All schools</a></p>
</section>`;
}

const names: Readonly<Record<Freshness['database'], { name: string; old: SchoolFact; none: SchoolFact }>> = {
  SchoolData: { name: 'Roster', old: 'old-roster', none: 'no-roster' },
  Attendance: { name: 'Attendance', old: 'old-attendance', none: 'no-attendance' },
};

const countWith = (count: number, fact: SchoolFact) =>
  (count > 0 ? html`<a href="/console/schools?with=${fact}">${formatCount(count)}</a>` : formatCount(count));

export function renderFreshness(all: readonly Freshness[]): Html {
  return html`<section class="card" aria-labelledby="freshness-title">
<h2 id="freshness-title">How fresh the data is</h2>
${renderTable({
  id: 'freshness',
  caption: 'Schools by the age of their data',
  columns: [
    'Data', { label: 'In time', number: true }, { label: 'Uploaded', number: true }, { label: 'Too old', number: true }, { label: 'None yet', number: true },
  ],
  rows: all.map(({ database, fresh, lasting, old, none }) => [
    names[database].name,
    formatCount(fresh),
    formatCount(lasting),
    countWith(old, names[database].old),
    countWith(none, names[database].none),
  ]),
  stacked: true,
})}
<p class="hint">In time: collected within its time to live. Uploaded: as good as the last package. Too old: its time is over, and it is being collected again or
should be.</p>
</section>`;
}
