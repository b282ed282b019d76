// In charge of the audit trail of one school: what operators did there, what was decided, who signed in, and what was read.
import { listTrail, trailKinds, type TrailEntry, type TrailKind } from '../../access/trail.ts';
import { describeCollection } from '../../collection/pages/database-words.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatLedgerDay } from '../../http/pages/figures.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { grantPath, schoolPath, schoolRoute } from '../links.ts';
import { badgeOfOutcome } from '../service/audit.ts';
import type { Page } from '../visit.ts';
import { renderSchoolHead, schoolOf } from './around.ts';
import { nameActor, nameDecision } from './words.ts';

const kindWords: Readonly<Record<TrailKind, string>> = {
  operator: 'What operators did',
  decision: 'Decisions on applications',
  identity: 'Logins and sign-ins',
  reading: 'What was read, by day',
  erasure: 'Erasures',
};

export const schoolAuditPage: Page = {
  path: `${schoolRoute}/audit`,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const here = `${schoolPath(school.estab)}/audit`;
    const kinds = trailKinds.filter((kind) => kind !== 'erasure');
    const kind = kinds.find((one) => one === visit.query.one('kind'));
    const before = visit.query.one('before') || undefined;
    const { entries, next } = await listTrail(parts.db, { estab: school.estab, kind, before, most: pageLength });
    const body = html`${renderSchoolHead(school, 'audit')}
${renderFilters({
  path: here,
  filters: [
    { kind: 'choice', name: 'kind', label: 'Kind', value: kind ?? '', all: 'Everything', choices: kinds.map((one) => ({ value: one, label: kindWords[one] })) },
  ],
})}
${entries.length === 0 ? renderEmpty('Nothing of that kind has happened yet.') : renderEntries(school.estab, entries, parts.now())}
${renderPager({
  first: before === undefined ? undefined : addressOf(here, { kind }),
  next: next === undefined ? undefined : addressOf(here, { kind, before: next }),
})}`;
    const back = { path: schoolPath(school.estab), label: school.name };
    return renderConsole(visit, { title: `Audit trail of ${school.name}`, section: 'schools', back, body });
  },
};

function renderEntries(estab: string, entries: readonly TrailEntry[], now: number): Html {
  return renderTable({
    id: 'trail',
    caption: html`<span class="unseen">What happened, newest first</span>`,
    columns: ['When', 'What', 'By', 'Application', 'Outcome', 'Detail'],
    rows: entries.map(({ at, kind, what, by, rp, outcome, from, detail }) => [
      kind === 'reading' ? formatLedgerDay(at) : renderAgo(at, now),
      html`${describe(kind, what, by)} <span class="quiet">(${kind})</span>`,
      html`<bdi>${kind === 'operator' ? by : nameActor(by)}</bdi>${from && html` <span class="quiet">from ${from}</span>`}`,
      rp !== null && html`<a href="${grantPath(estab, rp)}"><span class="id">${rp}</span></a>`,
      kind === 'operator' && renderBadge(badgeOfOutcome(outcome)),
      html`<bdi class="short">${detail}</bdi>`,
    ]),
    stacked: true,
  });
}

function describe(kind: TrailKind, what: string, by: string | null): string {
  if (kind === 'decision') return nameDecision(what, by);
  return kind === 'reading' ? describeCollection(what) : what;
}
