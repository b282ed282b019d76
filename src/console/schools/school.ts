// In charge of the page of one school: how it stands and what to do next, what is known of it, who may read its data and
// who asks to, and how to stop that.
import { readDatabases } from '../../collection/component-databases.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatCount, formatLedgerDay } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { listAsked, listGrants, sayCut, type Asked, type ListedGrant } from '../../onboarding/grants.ts';
import { renderScopeNames } from '../../onboarding/pages/scope-list.ts';
import type { ListedSchool } from '../../onboarding/school-states.ts';
import { renderDoing } from '../doing.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { renderConsole } from '../layout.ts';
import { grantLink, grantPath, mailListPath, schoolPath, schoolRoute, schoolsPath } from '../links.ts';
import { mayChange, type Page, type Visit } from '../visit.ts';
import { renderSchoolHead, schoolOf } from './around.ts';
import { renderNextStep, renderResume } from './next-step.ts';
import { renderSourceBlock } from './source/block.ts';
import { badgeOf, badgeOfAsked, nameActor, nameSource } from './words.ts';

export const schoolPage: Page = {
  path: schoolRoute,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const now = parts.now();
    const [databases, grants, asked, source] = await Promise.all([
      readDatabases(parts.db, estab), listGrants(parts.db, estab), listAsked(parts.db, estab), renderSourceBlock(parts, visit, school),
    ]);
    const body = html`${renderSchoolHead(school, 'school')}
${renderNextStep({ school, databases, ours: grants.some(isOurs), visit })}
<div class="halves">
${renderKnown(school, visit, now)}
${renderOwnPages(school, visit, parts.config.mail !== undefined)}
</div>
${source.body}
${renderGrants(school, grants, visit, now)}
${renderAsked(school, asked, visit, now)}
${renderStops(school, grants, visit, parts.config.mail !== undefined)}`;
    return renderConsole(visit, { title: school.name, section: 'schools', back: { path: schoolsPath, label: 'Schools' }, scripts: source.scripts, body });
  },
};

function renderKnown(school: ListedSchool, visit: Visit, now: number): Html {
  const { estab, email, timeZone, connector, confirmed, since, pupils, updatedAt } = school;
  return html`<section class="card" aria-labelledby="known"><h2 id="known">What is known</h2>
${renderFacts([
  ['School number', html`<span class="id">${estab}</span>`],
  ['Address of record', html`<bdi>${email}</bdi>${!confirmed && ' (not confirmed)'}`],
  ['Time zone', timeZone],
  ['Source', nameSource(connector)],
  ['Pupils', formatCount(pupils)],
  ['Last collected', renderAgo(updatedAt, now)],
  ['Here since', renderAgo(since, now)],
])}
${mayChange(visit) && html`<p><a href="${schoolPath(estab)}/edit">Edit name, address or time zone</a></p>`}
</section>`;
}

function renderOwnPages({ estab, email, confirmed }: ListedSchool, visit: Visit, sendsMail: boolean): Html {
  const label = sendsMail ? html`Mail a link to <bdi>${email}</bdi>` : html`Make a link for <bdi>${email}</bdi>`;
  return html`<section class="card" aria-labelledby="own-pages"><h2 id="own-pages">The school's own way in</h2>
<p>The school decides on pages of its own. A link to them can be used for an hour and opens them for twelve. The school can ask for one itself at
<a href="/school">/school</a>.</p>
${
  confirmed
    ? renderDoing(visit, { path: `${schoolPath(estab)}/send-link`, id: 'send-link', look: 'second', label })
    : html`<p class="quiet">A link can be made once the school is confirmed.</p>`
}
${!sendsMail && renderNotMailed()}
<p><a href="${schoolPath(estab)}/upload-token">Upload token of its export job</a></p>
</section>`;
}

function renderGrants({ estab }: ListedSchool, grants: readonly ListedGrant[], visit: Visit, now: number): Html {
  const add = mayChange(visit) && html`<a class="button second" href="${schoolPath(estab)}/add-application">Add an application</a>`;
  const table = renderTable({
    id: 'applications-table',
    caption: html`<span class="unseen">Applications of this school</span>`,
    columns: ['Application', 'State', 'May read', 'Changed', 'Last read'],
    rows: grants.map(({ rp, application, state, pausedBy, scopes, since, lastRead }) => [
      html`${grantLink(estab, rp, application)} <span class="id quiet">${rp}</span>`,
      html`${renderBadge(badgeOf(state))}${pausedBy !== null && html` <span class="quiet">by ${nameActor(pausedBy).toLowerCase()}</span>`}`,
      state === 'Revoked' ? html`<span class="quiet">nothing</span>` : renderScopeNames(scopes),
      renderAgo(since, now),
      lastRead ? formatLedgerDay(lastRead) : html`<span class="quiet">never</span>`,
    ]),
    stacked: true,
  });
  const none = renderEmpty('No application may read data of this school. Ask the school to approve one, or approve it on its behalf.');
  return html`<section aria-labelledby="applications"><div class="heading"><h2 id="applications">Applications</h2>${add}</div>
${grants.length === 0 ? none : table}${renderCut(grants)}</section>`;
}

function renderCut(listed: readonly unknown[]): Html | undefined {
  const words = sayCut(listed);
  return words === undefined ? undefined : html`<p class="quiet">${words}</p>`;
}

function renderAsked({ estab, confirmed }: ListedSchool, asked: readonly Asked[], visit: Visit, now: number): Html | undefined {
  if (asked.length === 0) return undefined;
  const doing = (verb: string, words: string, { rp, application }: Asked) =>
    renderDoing(visit, { path: `${grantPath(estab, rp)}/${verb}`, id: `${verb}-${rp}`, look: 'second', label: renderLabel(words, application) });
  const sending = (one: Asked) => doing('invite', one.state === 'Proposed' ? 'Send the invitation' : 'Send again', one);
  const doings = (one: Asked) => html`<div class="actions">${confirmed && sending(one)} ${doing('withdraw', 'Withdraw', one)}</div>`;
  return html`<section aria-labelledby="asked"><h2 id="asked">Asked, and not decided</h2>
${renderTable({
  id: 'asked-table',
  caption: html`<span class="unseen">Requests that the school has not decided</span>`,
  columns: ['Application', 'State', 'Asked by', 'Why', 'Asked', 'Ends', ...(mayChange(visit) ? ['What to do'] : [])],
  rows: asked.map((one) => [
    grantLink(estab, one.rp, one.application),
    renderBadge(badgeOfAsked(one, confirmed)),
    nameActor(one.by),
    one.reason === null ? html`<span class="quiet">not said</span>` : html`<bdi class="short">${one.reason}</bdi>`,
    renderAgo(one.askedAt, now),
    renderAgo(one.expiresAt, now, '–'),
    ...(mayChange(visit) ? [doings(one)] : []),
  ]),
  stacked: true,
})}${renderCut(asked)}</section>`;
}

/** The same words on every row are told apart by whom they are about, for those who hear them. */
const renderLabel = (words: string, application: string) => html`${words}<span class="unseen">: ${application}</span>`;

/** What the school paused itself is resumed one by one. */
const isOurs = ({ state, pausedBy }: ListedGrant) => state === 'Paused' && pausedBy !== 'school';

function renderStops(school: ListedSchool, grants: readonly ListedGrant[], visit: Visit, sendsMail: boolean): Html | undefined {
  if (!mayChange(visit)) return undefined;
  const path = schoolPath(school.estab);
  const open = grants.some(({ state }) => !['Paused', 'Revoked'].includes(state));
  return html`<section class="card" aria-labelledby="stop"><h2 id="stop">Stop</h2>
<div class="halves">
<div><h3>Pause</h3>
<p>Every application of the school is paused: from the next request on nothing can be read, and calls that wait are stopped. The data is still collected.
${sendsMail ? 'The school gets a receipt for each.' : html`The receipts are under <a href="${mailListPath}">Mail</a>.`}</p>
${
  open
    ? renderDoing(visit, { path: `${path}/pause`, id: 'pause-school', look: 'second', label: 'Pause the school' })
    : html`<p class="quiet">No application may read now: there is nothing to pause.</p>`
}
${grants.some(isOurs) && school.state !== 'Paused' && renderResume(school, visit)}</div>
<div><h3>Remove</h3>
<p>The school goes for good, with its roster, its marks, its logins and what applications may read. You see first what would go.</p>
<p><a class="opens" href="${path}/remove">Remove the school</a></p></div>
</div></section>`;
}
