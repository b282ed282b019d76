// In charge of a record as an application at the school sees it: what it gets in each dialect, and why it does not get the rest.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { addressOf } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { describeWhole, describeWhy, type FieldSight, type Why, type WholeWhy } from '../../rostering/explain-sight.ts';
import { manyOfKind } from '../../rostering/kind-words.ts';
import { listOnlookers, seeAsApplication, type DialectSight, type Onlooker } from '../../rostering/see-as-application.ts';
import { grantLink } from '../links.ts';
import type { ConsoleParts, Visit } from '../visit.ts';
import { renderHead, type Subject } from './around.ts';
import { renderSight } from './json-view.ts';
import { nameAll } from './name-all.ts';
import { labelOf, renderValue, type Names } from './show-value.ts';

const asPath = ({ path }: Subject, rp: string) => addressOf(path, { view: 'application', rp });

export async function showApplication(parts: ConsoleParts, { query }: Visit, subject: Subject): Promise<Html> {
  const { school: { estab }, resource: { collection }, state, gone } = subject;
  const onlookers = await listOnlookers(parts.db, { estab, collection, kind: state.kind, kinds: state.kinds });
  const rp = query.one('rp');
  if (gone) return html`${renderHead(subject, 'application')}${renderEmpty('It was purged: by its id no application finds it any more.')}`;
  if (rp === '') return html`${renderHead(subject, 'application')}${renderOnlookers(subject, onlookers)}`;
  return html`${renderHead(subject, 'application')}${await renderAs(parts, subject, rp, onlookers.find((one) => one.rp === rp))}`;
}

async function renderAs(parts: ConsoleParts, subject: Subject, rp: string, onlooker: Onlooker | undefined): Promise<Html> {
  const { school: { estab }, resource: { collection }, sourcedId, state } = subject;
  const sight = await seeAsApplication(parts.db, parts.config.publicUrl, rp, { estab, collection, sourcedId, kind: state.kind, kinds: state.kinds });
  const names = await nameAll(parts, estab, state.record);
  const open = parts.openings.filter(({ scope }) => sight.scopes.includes(scope));
  const closed = parts.openings.filter(({ scope }) => !sight.scopes.includes(scope));
  return html`<h2>As <bdi>${onlooker?.name ?? rp}</bdi> sees it</h2>
${renderFacts([
  ['Application', grantLink(estab, rp)],
  ['Authorisation', sight.state],
  ['Scopes', sight.scopes.join(', ') || 'none'],
])}
${sight.dialects.length === 0 && onlooker && html`<div class="box held"><p>${sayWhole(onlooker.whole)}</p></div>`}
${sight.dialects.map((one) => renderDialect(subject, one, names))}
${sight.dialects.length > 0 && html`<section class="card"><h2>Beside the roster</h2>
${renderFacts([
  ['Open to it', open.map(({ name }) => name).join(', ') || 'nothing'],
  closed.length > 0 && ['Closed to it', closed.map(({ name, scope }) => `${name} (needs ${scope})`).join(', ')],
])}</section>`}
<p><a href="${asPath(subject, '')}">Choose another application</a></p>`;
}

const sayWhole = (whole: WholeWhy) => describeWhole(whole, manyOfKind);

function renderDialect({ school: { estab }, resource }: Subject, sight: DialectSight, names: Names): Html {
  const { dialect, whole, fields } = sight;
  const key = dialect.replaceAll(/\W/g, '-');
  return html`<section class="card" id="dialect-${key}"><h2>${sight.title} ${renderBadge(badgeOfWhole(whole))}</h2>
<p>${sayWhole(whole)}</p>
${renderSums(fields)}
${fields.length > 0 && renderTable({
  id: `as-${key}`,
  caption: `${sight.title}: every field, and why it is empty where it is`,
  columns: ['Field', 'What it gets', 'Why'],
  rows: fields.map(({ name, value, why }) => [
    html`${labelOf(resource, name)}<br><code>${name}</code>`,
    renderValue(estab, value, names),
    html`${why.is !== 'given' && html`${renderBadge(badges[why.is])} `}${why.is === 'given' ? html`<span class="quiet">given</span>` : describeWhy(why)}`,
  ]),
  stacked: true,
})}
${(sight.record ?? sight.refused) && html`<details><summary>The answer itself<span class="unseen">, ${sight.title}</span></summary>
${renderSight(sight)}</details>`}
</section>`;
}

/** How much of it, before field by field. */
function renderSums(fields: readonly FieldSight[]): Html | undefined {
  const count = (...which: readonly Why['is'][]) => fields.filter(({ why }) => which.includes(why.is)).length;
  const sums = [
    [count('given', 'partly'), 'given'], [count('partly'), 'of them in part'], [count('hidden'), 'hidden'], [count('derived', 'absent'), 'empty'],
  ] as const;
  if (fields.length === 0) return undefined;
  return html`<p class="counts">${sums.map(([number, words]) => number > 0 && html`<span><b>${number}</b> ${words}</span> `)}</p>`;
}

const badges: Readonly<Record<Why['is'], Badge>> = {
  given: { badge: 'Given', tone: 'good' },
  partly: { badge: 'In part', tone: 'wait' },
  hidden: { badge: 'Hidden', tone: 'wait' },
  derived: { badge: 'Empty', tone: 'off' },
  absent: { badge: 'Empty', tone: 'off' },
};

function badgeOfWhole({ is }: WholeWhy): Badge {
  if (is === 'given') return { badge: 'Sees it', tone: 'good' };
  if (is === 'closed') return { badge: 'Hidden', tone: 'wait' };
  return { badge: is === 'stopped' ? 'Stopped' : is === 'purged' ? 'Purged' : 'Not offered', tone: 'off' };
}

/** Each leads to the record as it sees it. */
export function renderOnlookers(subject: Subject, onlookers: readonly Onlooker[]): Html {
  if (onlookers.length === 0) return renderEmpty('No application is authorised at this school, so nobody sees this record.');
  const hidden = onlookers.every(({ whole }) => whole.is !== 'given');
  const rows: HtmlValue[][] = onlookers.map(({ rp, name, state, whole }) => [
    html`<a href="${asPath(subject, rp)}"><bdi>${name}</bdi></a>`,
    state,
    html`${renderBadge(badgeOfWhole(whole))}${whole.is === 'closed' && whole.opens.length > 0 && html`
<br><span class="quiet">${whole.opens.map((some) => some.join(' with ')).join(' or ')} would open it</span>`}`,
  ]);
  return html`${hidden && html`<p><strong>No application sees this record at present.</strong></p>`}
${renderTable({
    id: 'onlookers', caption: 'Applications at this school', columns: ['Application', 'State', 'This record'], rows, stacked: true,
  })}`;
}
