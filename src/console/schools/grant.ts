// In charge of the page of one application at one school: whether it may read and what, since when and by whom, its
// secrets, what it read lately, and everything that can be decided about it.
import { describeCollection } from '../../collection/pages/database-words.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { formatCount, formatLedgerDay } from '../../http/pages/figures.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { readGrant, type Asked, type Grant } from '../../onboarding/grants.ts';
import { renderAsker } from '../../onboarding/pages/asker.ts';
import { renderScopeNames } from '../../onboarding/pages/scope-list.ts';
import { listEntries, listReads, type Entry, type Read } from '../../onboarding/school-view.ts';
import type { ListedSchool } from '../../onboarding/school-states.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { applicationLink, grantPath, schoolPath, schoolRoute } from '../links.ts';
import type { Page, Visit } from '../visit.ts';
import { schoolOf } from './around.ts';
import { renderDecisions, renderScopes } from './grant-forms.ts';
import { badgeOf, badgeOfAsked, nameActor, nameDecision } from './words.ts';

const shownDays = 14;

export const grantPage: Page = {
  path: `${schoolRoute}/applications/:rp`,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const rp = visit.params.rp ?? '';
    const grant = await readGrant(parts.db, estab, rp);
    const [entries, reads] = await Promise.all([listEntries(parts.db, estab, rp), listReads(parts.db, estab, rp, shownDays)]);
    const now = parts.now();
    const { name } = grant.application;
    const body = html`<h1><bdi>${name}</bdi> at <bdi>${school.name}</bdi> ${renderBadge(badgeOf(grant.state))}</h1>
${grant.asked && renderRequest(school, grant.asked, visit, now)}
<div class="halves">
${renderKnown(grant, now)}
${renderScopes(school, grant, visit)}
</div>
${renderDecisions(school, grant, visit, parts.config.mail !== undefined)}
${renderReads(reads)}
${renderEntries(entries, now)}`;
    return renderConsole(visit, { title: `${name} at ${school.name}`, section: 'schools', back: { path: schoolPath(estab), label: school.name }, body });
  },
};

function renderRequest({ estab, confirmed }: ListedSchool, asked: Asked, visit: Visit, now: number): Html {
  const { rp, by, reason, state, required, optional, askedAt, expiresAt } = asked;
  const label = state === 'Proposed' ? 'Send the invitation' : 'Send it again';
  return html`<section class="box step" id="request" aria-label="The open request">
<p>${renderBadge(badgeOfAsked(asked, confirmed))} ${nameActor(by)} asked ${renderAgo(askedAt, now)} for ${renderScopeNames(required)}${
    optional.length > 0 && html`, and if the school likes ${renderScopeNames(optional)}`
  }.${expiresAt !== null && html` The request ends ${renderAgo(expiresAt, now)}.`}</p>
${reason !== null && html`<blockquote><p dir="auto">${reason}</p></blockquote>`}
${!confirmed && html`<p>It goes out when the school is confirmed: <a href="${schoolPath(estab)}">confirm the school</a>.</p>`}
<div class="actions">
${confirmed && renderDoing(visit, { path: `${grantPath(estab, rp)}/invite`, id: 'send-again', look: 'second', label })}
${renderDoing(visit, { path: `${grantPath(estab, rp)}/withdraw`, id: 'withdraw', look: 'second', label: 'Withdraw it' })}
</div></section>`;
}

function renderKnown({ application, state, approvedAt, changedAt, liveAt, lastRead, secrets }: Grant, now: number): Html {
  return html`<section class="card" aria-labelledby="known"><h2 id="known">How it stands</h2>
${renderFacts([
  ['Application', applicationLink(application.rp, application.name)],
  ['Id', html`<span class="id">${application.rp}</span>`],
  ['First approved', renderAgo(approvedAt, now)],
  state !== undefined && ['Last changed', renderAgo(changedAt, now)],
  state !== undefined && ['Live since', renderAgo(liveAt, now, 'not yet')],
  ['Last read', lastRead ? formatLedgerDay(lastRead) : html`<span class="quiet">never</span>`],
  state !== undefined && [
    secrets.length > 1 ? 'School secrets' : 'School secret',
    secrets.length === 0
      ? html`<span class="quiet">none</span>`
      : secrets.map(({ created, validUntil }, at) => {
          const ends = validUntil && html`, ends ${renderAgo(validUntil, now)}`;
          return html`${at > 0 && html`<br>`}made ${renderAgo(created, now)}${ends}`;
        }),
  ],
])}
<h3>What it says of itself</h3>
<dl class="facts">${renderAsker(application)}</dl></section>`;
}

function renderReads(reads: readonly Read[]): Html {
  return html`<section aria-labelledby="reads"><h2 id="reads">What it read in the last fortnight</h2>
${
  reads.length === 0
    ? html`<p class="quiet">Nothing.</p>`
    : renderTable({
        id: 'reads-table',
        caption: html`<span class="unseen">Requests and records by day</span>`,
        columns: ['Day', 'What', { label: 'Requests', number: true }, { label: 'Records', number: true }],
        rows: reads.map(({ day, collection, requests, records }) => [
          formatLedgerDay(day), describeCollection(collection), formatCount(requests), formatCount(records),
        ]),
      })
}</section>`;
}

function renderEntries(entries: readonly Entry[], now: number): Html {
  return html`<section aria-labelledby="history"><h2 id="history">What was decided</h2>
${
  entries.length === 0
    ? html`<p class="quiet">Nothing has been decided yet.</p>`
    : renderTable({
        id: 'history-table',
        caption: html`<span class="unseen">Decisions, newest first</span>`,
        columns: ['When', 'What', 'By', 'May read'],
        rows: entries.map((entry) => [
          renderAgo(entry.at, now),
          nameDecision(entry.state, entry.actor),
          nameActor(entry.actor),
          entry.scopes !== null && entry.scopes.length > 0 && renderScopeNames(entry.scopes),
        ]),
        stacked: true,
      })
}</section>`;
}
