// In charge of the page that shows what became of a record: version by version, field by field.
import { historyTable } from '../../collection/history.ts';
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { readStates, type ShownState } from '../../rostering/record-states.ts';
import { renderConsole } from '../layout.ts';
import { importPath } from '../links.ts';
import { keptFor } from '../service/things.ts';
import type { Page } from '../visit.ts';
import { backToRoster, recordRoute, renderHead, renderStatus, requireSubject, viewPath, type Subject } from './around.ts';
import { renderOrigin, renderWhen } from './origin.ts';
import { noteLookAt } from './record.ts';
import { labelOf, renderValue, type Names } from './show-value.ts';

const pageSize = 20;
const noNames: Names = new Map();

export const historyPage: Page = {
  path: `${recordRoute}/history`,
  async show(parts, visit) {
    const subject = await requireSubject(parts, visit);
    await noteLookAt(parts, visit, subject, { action: 'look at history of record' });
    const asked = visit.query.one('before');
    const before = /^\d{1,9}$/.test(asked) ? Number(asked) : undefined;
    const { school: { estab }, resource, sourcedId } = subject;
    const { states, next } = await readStates(parts.db, parts.config.publicUrl, estab, resource, sourcedId, { before, most: pageSize });
    const path = viewPath(subject, 'history');
    const body = html`${renderHead(subject, 'history')}
<p class="quiet">What a version replaced is kept for ${keptFor(parts.retained, historyTable(resource))}, or until the person is purged.</p>
${states.length === 0 ? renderEmpty('No older version is kept.') : states.map((state) => renderState(subject, state, parts.now()))}
${renderPager({ first: before === undefined ? undefined : path, next: next === undefined ? undefined : addressOf(path, { before: String(next) }) })}`;
    return renderConsole(visit, { title: `History of ${subject.name}`, section: 'schools', back: backToRoster(subject.school), body });
  },
};

function renderState(subject: Subject, state: ShownState, now: number): Html {
  const { school: { estab } } = subject;
  return html`<section class="card" id="version-${state.from}"><h2>Version ${state.from} ${renderStatus(state.status)}</h2>
${renderFacts([
  ['Since', renderWhen(state.fromAt, state.from, now)],
  ['Until', state.until === null ? 'it stands' : renderWhen(state.untilAt, state.until, now)],
  ['Source', renderOrigin(state.origin)],
  state.origin.import !== null && ['Import', html`<a href="${importPath(estab, state.origin.import)}">its report</a>`],
])}
${renderChanges(subject, state)}
</section>`;
}

function renderChanges({ school: { estab }, resource }: Subject, { from, changes, record }: ShownState): Html {
  const value = (one: unknown) => renderValue(estab, one, noNames);
  const field = (name: string) => html`${labelOf(resource, name)}<br><code>${name}</code>`;
  if (changes?.length === 0) return html`<p>No field changed: it is of another kind than before, or came back as it was.</p>`;
  if (changes)
    return renderTable({
      id: `changes-${from}`,
      caption: `What changed with version ${from}`,
      columns: ['Field', 'Before', 'After'],
      rows: changes.map(({ field: name, before, after }) => [field(name), value(before), value(after)]),
      stacked: true,
    });
  return html`<details><summary>How it stood<span class="unseen"> in version ${from}</span></summary>${renderTable({
    id: `state-${from}`,
    caption: `Version ${from}, the first that is kept`,
    columns: ['Field', 'Value'],
    rows: Object.entries(record).map(([name, one]) => [field(name), value(one)]),
    stacked: true,
  })}</details>`;
}
