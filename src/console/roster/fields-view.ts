// In charge of a record as fields with plain names, what refers to it, where it came from, and which applications see it.
import { findFirstSeen } from '../../collection/record-history.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderTable } from '../../http/pages/table.ts';
import { describeDetail } from '../../onboarding/plain-names.ts';
import { everyField } from '../../rostering/field-path.ts';
import { nameRecords } from '../../rostering/record-names.ts';
import { readRelated, relationsOf } from '../../rostering/related-records.ts';
import { listOnlookers } from '../../rostering/see-as-application.ts';
import { importPath } from '../links.ts';
import type { ConsoleParts, Visit } from '../visit.ts';
import { renderOnlookers } from './application-view.ts';
import { recordPath, renderHead, viewPath, type Subject } from './around.ts';
import { nameAll } from './name-all.ts';
import { renderOrigin, renderWhen } from './origin.ts';
import { renderRelated } from './related-view.ts';
import { labelOf, renderLink, renderValue, type Names } from './show-value.ts';

const shownOfEach = 10;

export async function showFields(parts: ConsoleParts, _visit: Visit, subject: Subject): Promise<Html> {
  const { db } = parts;
  const { school: { estab }, resource, sourcedId, state, gone } = subject;
  const names = await nameAll(parts, estab, state.record);
  const related = [];
  for (const relation of relationsOf(resource.collection)) related.push(await readRelated(db, estab, relation, sourcedId, shownOfEach));
  const onlookers = gone ? [] : await listOnlookers(db, { estab, collection: resource.collection, kind: state.kind, kinds: state.kinds });
  const first = await findFirstSeen(db, estab, resource, sourcedId);
  return html`${renderHead(subject, 'fields')}
<div class="record">
<div>
${renderFieldTable(subject, names)}
${related.map((page) => page.records.length > 0 && renderRelated(subject, page))}
${await renderOtherHalf(parts, subject)}
</div>
<div>
<section class="card"><h2>Where it came from</h2>
${renderFacts([
  ['Source', renderOrigin(state.origin)],
  state.origin.import !== null && ['Import', html`<a href="${importPath(estab, state.origin.import)}">its report</a>`],
  ['Last changed', renderWhen(state.fromAt, state.from, parts.now())],
  ['First seen', first ? renderWhen(first.at, first.version, parts.now()) : html`<span class="quiet">before what is kept of the history</span>`],
])}
<p><a href="${viewPath(subject, 'history')}">What it was before</a></p></section>
${!gone && html`<section class="card"><h2>Who sees it</h2>${renderOnlookers(subject, onlookers)}</section>`}
</div>
</div>`;
}

function renderFieldTable({ school: { estab }, resource, state: { record } }: Subject, names: Names): Html {
  // What only repeats another field in other words is in the JSON.
  const repeated = resource.fields.filter(({ type }) => type === 'idList').map(({ name }) => name);
  const shown = everyField(resource).filter((name) => name !== 'metadata' && !repeated.includes(name));
  const details = Object.entries((record.metadata ?? {}) as Record<string, unknown>);
  const row = (label: string, name: string, value: HtmlValue) => [label, value, html`<code>${name}</code>`];
  return renderTable({
    id: 'fields',
    caption: 'Every field there is; – has no value in the source',
    columns: ['Field', 'Value', 'In the API'],
    rows: [
      ...shown.map((name) => row(labelOf(resource, name), name, renderValue(estab, record[name], names))),
      ...details.map(([key, value]) => row(describeDetail(key), `metadata.${key}`, renderValue(estab, value, names))),
    ],
    stacked: true,
  });
}

/** A person and the details about them have the same id. */
async function renderOtherHalf({ db }: ConsoleParts, { school: { estab }, resource: { collection }, sourcedId }: Subject): Promise<HtmlValue> {
  if (collection === 'demographics') {
    const person = (await nameRecords(db, estab, 'users', [sourcedId])).get(sourcedId);
    return html`<p>About ${renderLink(estab, 'users', sourcedId, person?.name)}.</p>`;
  }
  if (collection !== 'users') return undefined;
  const found = await nameRecords(db, estab, 'demographics', [sourcedId]);
  return found.size > 0 && html`<p><a href="${recordPath(estab, 'demographics', sourcedId)}">Date of birth and other details</a></p>`;
}
