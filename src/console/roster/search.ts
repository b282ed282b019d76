// In charge of the page on which an operator finds somebody or something of a school's roster, as they type.
import { noteRepeatedLook } from '../../access/audit-trail.ts';
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatCount, formatMany } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import { renderTable } from '../../http/pages/table.ts';
import { countKinds, type Counted } from '../../rostering/count-kinds.ts';
import { findableKinds, findRecords, type FindableKind, type Found } from '../../rostering/find-records.ts';
import { describeKind, describeRole, findableWords } from '../../rostering/kind-words.ts';
import { renderConsole } from '../layout.ts';
import { rosterPath, schoolsPath, sourcePath } from '../links.ts';
import type { Page } from '../visit.ts';
import { renderSchoolHead, schoolOf } from '../schools/around.ts';
import { renderStatus, rosterRoute } from './around.ts';
import { renderLink } from './show-value.ts';

export const searchPage: Page = {
  path: rosterRoute,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const { estab, name } = school;
    const words = visit.query.one('q');
    const kind = findableKinds.find((one) => one === visit.query.one('kind'));
    const asked = words !== '' || kind !== undefined;
    // What was typed is not kept: it may be the name of anybody.
    if (asked) await noteRepeatedLook(parts.changes, visit.actor, { action: 'search roster', estab });
    const after = visit.query.exact('after');
    const found = await findRecords(parts.db, estab, words, kind, after);
    const counts = await countKinds(parts.db, estab);
    const body = html`${renderSchoolHead(school, 'roster')}
<div data-search>${renderFilters({
  path: rosterPath(estab),
  filters: [
    { kind: 'text', name: 'q', label: 'Name or id', value: words },
    {
      kind: 'choice', name: 'kind', label: 'Who or what', value: kind ?? '', all: 'Everything',
      choices: findableKinds.map((one) => ({ value: one, label: findableWords[one].many })),
    },
  ],
})}</div>
<p class="unseen" id="search-words" role="status">${asked && describeFound(found, after)}</p>
<div id="found">${renderFound(estab, { q: words, kind, after }, asked, found, counts)}</div>`;
    return renderConsole(visit, {
      title: `Roster of ${name}`,
      section: 'schools',
      back: { path: schoolsPath, label: 'Schools' },
      body,
      scripts: [scriptPaths.search],
    });
  },
};

function describeFound({ records, next }: Found, after = ''): string {
  const many = formatMany(records.length, 'record');
  if (next === undefined) return after === '' ? `${many} found` : `The last ${many}`;
  return after === '' ? `The first ${many}; there are more` : `The next ${many}; there are more`;
}

type Asked = Readonly<{ q: string; kind: FindableKind | undefined; after: string }>;

function renderFound(estab: string, { q, kind, after }: Asked, asked: boolean, found: Found, counts: ReadonlyMap<FindableKind, Counted>): Html {
  const { records, next } = found;
  const pager = renderPager({
    first: after === '' ? undefined : addressOf(rosterPath(estab), { q, kind }),
    next: next === undefined ? undefined : addressOf(rosterPath(estab), { q, kind, after: next }),
  });
  if ([...counts.values()].every(({ active, gone }) => active + gone === 0) && records.length === 0)
    return renderEmpty('This school has no data yet. Once something was imported or collected, its people and classes are found here.', {
      path: sourcePath(estab),
      label: 'To its source',
    });
  if (!asked) return renderCounts(estab, counts);
  if (records.length === 0 && pager)
    return html`${renderEmpty(next === undefined ? 'There are no more.' : 'None among those that were looked through so far; there are more.')}${pager}`;
  if (records.length === 0)
    return renderEmpty(html`Nothing begins with <bdi>“${q}”</bdi>. A name is found by its beginning: the family name, the given name, or both in either
order; an id by its first signs, exactly as written.`);
  return html`${renderTable({
    id: 'records',
    caption: describeFound(found, after),
    columns: ['Name', 'Kind', 'Role or type', 'Year', 'Status', 'Id'],
    rows: records.map(({ collection, sourcedId, name, kind: own, role, grades, status }) => [
      renderLink(estab, collection, sourcedId, name),
      describeKind(collection, own),
      describeRole(role),
      html`<bdi>${grades?.join(', ') ?? ''}</bdi>`,
      renderStatus(status),
      html`<span class="id">${sourcedId}</span>`,
    ]),
    stacked: true,
  })}${pager}`;
}

function renderCounts(estab: string, counts: ReadonlyMap<FindableKind, Counted>): Html {
  return html`<p class="counts">${findableKinds.map((kind) => {
    const { active, gone } = counts.get(kind) ?? { active: 0, gone: 0 };
    return active + gone > 0 && html`<span><b>${formatCount(active)}</b> <a href="${addressOf(rosterPath(estab), { kind })}">${findableWords[kind].many}</a>
${gone > 0 && html`<span class="quiet">and ${formatCount(gone)} to be deleted</span>`}</span> `;
  })}</p>
<p class="quiet">Type the beginning of a name, of two names in either order, or of an id. Every search and every record that is opened is in the audit
trail, without the words that were typed.</p>`;
}
