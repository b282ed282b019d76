// In charge of the page of what operators did and looked at, by page or by command, and of the same as a file.
import { Readable } from 'node:stream';
import { listAudited, noteLook, type AuditAsked, type AuditEvent } from '../../access/audit-trail.ts';
import { byteOrderMark, renderCsvRow, renderSheetRow } from '../../collection/connectors/csv/write-csv.ts';
import type { Db } from '../../db/connect.ts';
import { cutPage } from '../../http/cut-page.ts';
import { SchoolbellError } from '../../errors.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import type { Form } from '../../http/forms.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { applicationLink, schoolLink } from '../links.ts';
import { fieldTime, readTime } from '../times.ts';
import type { Page } from '../visit.ts';
import { keptFor, renderDetail, sayValue } from './things.ts';

const path = '/console/audit';
const atOnce = 1_000;
const mostInFile = 100_000;

type Asked = { estab: string; rp: string; actor: string; since: Date | undefined };

/** A line without an outcome is of something that was cut off, or goes on. */
const cutOff: Badge = { badge: 'Cut off', tone: 'off' };
const outcomes: Readonly<Record<string, Badge>> = {
  done: { badge: 'Done', tone: 'good' },
  refused: { badge: 'Refused', tone: 'wait' },
  failed: { badge: 'Failed', tone: 'bad' },
};

export const badgeOfOutcome = (outcome: string | null | undefined): Badge => outcomes[outcome ?? ''] ?? cutOff;

export const auditPage: Page = {
  path,
  async show({ db, retained, now }, visit) {
    const { at: since, problem } = readTime(visit.query, 'since');
    const asked = readAsked(visit.query, since);
    const given = parametersOf(asked);
    const before = readNumber(visit.query.one('before'));
    const found = await listAudited(db, { ...questionOf(asked), before, most: pageLength + 1 });
    const { shown: events, last } = cutPage(found, pageLength);
    const next = last && addressOf(path, { ...given, before: String(last.number) });
    const narrowed = Object.values(given).some((value) => value !== '');
    const body = html`<h1>Audit trail</h1>
<p class="quiet">What operators did and looked at, here and on the command line: who, what, about whom and from where. It is kept for
${keptFor(retained, 'audit_event')}.</p>
${renderFilters({
  path,
  filters: [
    { kind: 'text', name: 'estab', label: 'School number', value: asked.estab },
    { kind: 'text', name: 'rp', label: 'Application (rp)', value: asked.rp },
    { kind: 'text', name: 'actor', label: 'Who', value: asked.actor },
    { kind: 'time', name: 'since', label: 'Since (UTC)', value: given.since },
  ],
})}
${events.length === 0 ? renderNone(narrowed || before !== undefined) : renderEvents(events, now())}
${renderPager({ first: before === undefined ? undefined : addressOf(path, given), next })}
${events.length > 0 && html`<p><a href="${addressOf(`${path}/csv`, given)}">${narrowed ? 'These' : 'All of it'} as CSV</a></p>`}`;
    return renderConsole({ ...visit, problem: visit.problem ?? problem }, { title: 'Audit trail', section: 'audit', body });
  },
};

/** Who takes a part of the trail away is in it. */
export const auditCsvPage: Page = {
  path: `${path}/csv`,
  async show({ db, changes }, visit) {
    const { at: from, problem } = readTime(visit.query, 'since');
    if (problem !== undefined) throw new SchoolbellError('invalid_request', problem);
    const asked = readAsked(visit.query, from);
    const { actor, since, estab, rp } = parametersOf(asked);
    await noteLook(changes, visit.actor, { action: 'export audit trail', estab: estab || undefined, rp: rp || undefined, detail: { actor, since } });
    return {
      bytes: Readable.from(renderCsv(db, questionOf(asked)), { objectMode: false }),
      headers: {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="audit-trail.csv"',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      },
    };
  },
};

const longestFilter = 200;
function readAsked(query: Form, since: Date | undefined): Asked {
  const text = (name: string) => query.one(name).slice(0, longestFilter);
  return { estab: text('estab'), rp: text('rp'), actor: text('actor'), since };
}

const parametersOf = (asked: Asked) => ({ ...asked, since: fieldTime(asked.since) });

function questionOf({ estab, rp, actor, since }: Asked): Omit<AuditAsked, 'most'> {
  return { estab: estab || undefined, rp: rp || undefined, actor: actor || undefined, since };
}

const readNumber = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : undefined);

function renderNone(narrowed: boolean): Html {
  if (narrowed) return renderEmpty('Nothing in the trail is like that.', { path, label: 'Show all' });
  return renderEmpty('Whatever is changed here or by a command will be here, with who did it.');
}

function renderEvents(events: readonly AuditEvent[], now: number): Html {
  return renderTable({
    id: 'trail',
    caption: 'Newest first',
    columns: ['When', 'Who', 'What', 'School', 'Application', 'About', 'Outcome'],
    rows: events.map((event) => [
      renderAgo(event.at, now),
      html`${event.actor}<br><span class="quiet">${event.via}${event.from !== null && `, ${event.from}`}</span>`,
      event.action,
      schoolLink(event.estab),
      applicationLink(event.rp),
      html`${event.subject}${renderDetail(event.detail)}`,
      renderOutcome(event),
    ]),
    stacked: true,
  });
}

const renderOutcome = ({ outcome, message }: AuditEvent): HtmlValue =>
  html`${renderBadge(badgeOfOutcome(outcome))}${message !== null && html`<br><span class="quiet">${message}</span>`}`;

const header = ['Number', 'At', 'Who', 'Via', 'From', 'What', 'School', 'Application', 'About', 'Given', 'Outcome', 'Message'];

async function* renderCsv(db: Db, question: Omit<AuditAsked, 'most'>): AsyncGenerator<string> {
  yield byteOrderMark + renderCsvRow(header);
  let before: number | undefined;
  for (let count = 0; count < mostInFile; count += atOnce) {
    const events = await listAudited(db, { ...question, before, most: atOnce });
    before = events.at(-1)?.number;
    yield events.map((event) => renderSheetRow(cellsOf(event))).join('');
    if (events.length < atOnce) return;
  }
  yield renderCsvRow([`only the newest ${mostInFile} are here; those before ${before} can be had by narrowing them`]);
}

function cellsOf({ number, at, actor, via, from, action, estab, rp, subject, detail, outcome, message }: AuditEvent): string[] {
  const given = Object.entries(detail).map(([name, value]) => `${name}: ${sayValue(value)}`).join('; ');
  return [String(number), at.toISOString(), actor, via, from ?? '', action, estab ?? '', rp ?? '', subject ?? '', given, outcome ?? 'cut off', message ?? ''];
}
