// In charge of the page on a school's source: how each database stands, what goes on, the settings, and each time it was collected.
import { minutesToLive, type ComponentDatabase } from '../../../collection/component-databases.ts';
import type { DatabaseName } from '../../../collection/connector.ts';
import { readSettings, type SourceSettings } from '../../../collection/connector-settings.ts';
import { noScope } from '../../../collection/connectors/oneroster/scopes.ts';
import { listCollections, readDue, type ListedCollection } from '../../../collection/list-collections.ts';
import { isBusy, renderStates } from '../../../collection/pages/database-states.ts';
import { describeConnector, titleOf } from '../../../collection/pages/database-words.ts';
import { describeOutcome } from '../../../collection/pages/import-words.ts';
import { chooseNotice } from '../../../collection/pages/started-notice.ts';
import { readSource, type SourceView } from '../../../collection/source-view.ts';
import { cutPage } from '../../../http/cut-page.ts';
import { html, type Html, type HtmlValue } from '../../../http/html.ts';
import { renderBadge, type Badge } from '../../../http/pages/badge.ts';
import { renderEmpty } from '../../../http/pages/empty.ts';
import { renderFacts } from '../../../http/pages/facts.ts';
import { renderForm } from '../../../http/pages/form.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../../http/pages/pager.ts';
import { renderTable } from '../../../http/pages/table.ts';
import type { ListedSchool } from '../../../onboarding/school-states.ts';
import { renderConsole } from '../../layout.ts';
import { importPath, importsPath, schoolRoute, schoolsPath, sourcePath, uploadPath, workPath } from '../../links.ts';
import { keptFor } from '../../service/things.ts';
import { badgeOfWork } from '../../service/work-list.ts';
import { mayChange, type Page, type Visit } from '../../visit.ts';
import { renderSchoolHead, schoolOf } from '../around.ts';
import { followCollections } from './follow.ts';
import { renderHeldNotice } from './held-notice.ts';
import { renderLastImport } from './last-import.ts';
import { renderSourceForms } from './source-forms.ts';
import { findStartedNotice } from './started.ts';
import { formatTook } from './took.ts';

const collectionsAtOnce = 20;

export const sourcePage: Page = {
  path: `${schoolRoute}/source`,
  async show(parts, visit) {
    const { db, seal, now } = parts;
    const before = findNumber(visit.query.one('before'));
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const [source, settings, collections, due] = await Promise.all([
      readSource(db, estab),
      readSettings(db, seal, estab),
      listCollections(db, estab, { before, most: collectionsAtOnce + 1 }),
      readDue(db, estab),
    ]);
    const { mark, scripts } = followCollections(source.databases, collections.some(({ state }) => state === 'running'));
    const started = findStartedNotice(visit.notice);
    return renderConsole(started ? { ...visit, notice: chooseNotice(started, source) } : visit, {
      title: `Source of ${school.name}`,
      section: 'schools',
      back: { path: schoolsPath, label: 'Schools' },
      scripts,
      body: html`${renderSchoolHead(school, 'source')}
<div id="decision">${source.held && renderHeldNotice(estab, source.held, now())}</div>
<div class="halves">
${renderStanding(visit, { school, settings, source, due }, now())}
<section class="card" aria-labelledby="setup"><h2 id="setup">The source</h2>
${renderSettings(settings)}
${renderSourceForms(visit, estab, settings, source.held !== undefined)}</section>
</div>
<div id="imports" data-live>${renderCollections(estab, collections, before, { now: now(), kept: keptFor(parts.retained, 'outbox') })}</div>${mark}`,
    });
  },
};

/** What is no number is no place in the list. */
function findNumber(given: string): number | undefined {
  return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}

type Standing = { school: ListedSchool; settings: SourceSettings; source: SourceView; due: ReadonlyMap<DatabaseName, Date> };

function renderStanding(visit: Visit, { school, settings, source: { databases, runs }, due }: Standing, now: number): Html {
  const { estab, timeZone } = school;
  const uploads = settings.kind === 'none' || (settings.kind === 'csv' && settings.folder === undefined);
  const may = mayChange(visit);
  return html`<section class="card" aria-labelledby="states"><h2 id="states">How it stands</h2>
${
  databases.length === 0
    ? html`<p class="quiet">Nothing was collected or uploaded yet.</p>`
    : renderStates(databases, { last: runs[0], timeZone, again: sourcePath(estab), more: (database) => renderTimes(database, due.get(database.name), now) })
}
<div id="after" data-live>${renderLastImport(estab, runs[0], now)}
<div class="actions">
${may && !uploads && renderCollect(visit, estab, databases)}
${may && (uploads || settings.kind === 'csv') && html`<a class="button second" href="${uploadPath(estab)}">Upload a package</a>`}
</div>
<p class="links"><a href="${importsPath(estab)}">All imports</a></p></div></section>`;
}

/** due: of work that waits, which is sooner than what is planned for the night. */
function renderTimes({ name, updatedAt, changedAt, expiresAt, refreshAt }: ComponentDatabase, due: Date | undefined, now: number): Html {
  const next = due ?? refreshAt;
  const times: readonly (readonly [string, HtmlValue] | false)[] = [
    ['Last collected', renderAgo(updatedAt, now)],
    ['Last changed', renderAgo(changedAt, now)],
    expiresAt !== null && ['Fresh until', renderAgo(expiresAt, now)],
    next !== null && ['Collected again', next.getTime() > now ? renderAgo(next, now) : 'now'],
  ];
  return html`<div id="times-${name}" data-live>${renderFacts(times)}</div>`;
}

function renderCollect({ token }: Visit, estab: string, databases: readonly ComponentDatabase[]): HtmlValue {
  const idle = databases.filter((database) => !isBusy(database));
  if (idle.length === 0) return undefined;
  const only = databases.length > 1 && idle.map((database) =>
    html` <button type="submit" class="second" name="database" value="${database.name}">Only ${titleOf(database).toLowerCase()}</button>`);
  return renderForm({
    path: `${sourcePath(estab)}/collect`,
    token,
    id: 'collect',
    body: html`<div class="actions"><button type="submit">Collect now</button>${only}</div>`,
  });
}

function renderSettings(settings: SourceSettings): Html {
  const { kind } = settings;
  return renderFacts([
    ['Source', html`<span id="connector">${kind === 'none' ? 'None' : describeConnector(kind)}</span>`],
    kind === 'csv' && ['Packages', settings.folder === undefined ? 'are uploaded' : html`are read from <code>${settings.folder}</code>`],
    kind === 'oneroster' && ['Address', html`<span class="id">${settings.url}</span>`],
    kind === 'oneroster' && ['Address for tokens', describeTokenUrl(settings)],
    kind === 'oneroster' && ['OneRoster version', describeVersion(settings)],
    kind === 'oneroster' && settings.scope !== undefined && ['Scope', settings.scope === noScope ? 'None' : html`<span class="id">${settings.scope}</span>`],
    kind === 'oneroster' && ['Client ID', html`<span class="id">${settings.clientId}</span>`],
    kind === 'oneroster' && ['Client secret', settings.clientSecret === '' ? 'None is stored' : 'Stored encrypted; it is never shown'],
    kind === 'demo' && ['The demo’s MIS is', html`<span id="demo-mode">${settings.mode}</span>`],
    kind === 'oneroster' && ['Collected', html`every night after three o’clock at the school; fresh for ${minutesToLive.SchoolData / 60} hours`],
    kind === 'csv' && settings.folder !== undefined && ['Collected', 'when something in the folder changes, and every night'],
    kind === 'demo' && ['Collected', `every ten minutes; attendance is fresh for ${minutesToLive.Attendance} minutes`],
  ]);
}

type ProviderSettings = Extract<SourceSettings, { kind: 'oneroster' }>;
const notYet = 'Found out when it is read';

function describeTokenUrl({ tokenUrl, foundTokenUrl }: ProviderSettings): HtmlValue {
  if (tokenUrl !== undefined) return html`<span class="id">${tokenUrl}</span>`;
  return foundTokenUrl === undefined ? notYet : html`<span class="id">${foundTokenUrl}</span>, as was found out`;
}

function describeVersion({ version, foundVersion }: ProviderSettings): string {
  return version ?? (foundVersion === undefined ? notYet : `${foundVersion}, as was found out`);
}

const whatWords = { everything: 'Everything', changes: 'What changed', package: 'A package' } as const;

function badgeOf({ state, ending }: ListedCollection): Badge {
  if (!ending) return badgeOfWork({ state, lost: false });
  const { badge, tone } = describeOutcome({ ...ending, overtaken: false, rejected: 0, leaversUnreported: false });
  return { badge, tone };
}

const none = html`<span class="quiet">–</span>`;

function renderCollections(estab: string, found: readonly ListedCollection[], before: number | undefined, { now, kept }: { now: number; kept: string }): Html {
  const { shown, last } = cutPage(found, collectionsAtOnce);
  if (shown.length === 0)
    return renderEmpty(before === undefined ? 'Each time that data is collected will be listed here, with how it ended.' : 'There is nothing older.');
  return html`<section class="card" aria-labelledby="collections-title"><h2 id="collections-title">Collecting</h2>
${renderTable({
  id: 'collections',
  stacked: true,
  caption: `Newest first, of the last ${kept}`,
  columns: ['Asked for', 'Database', 'What', 'Outcome', { label: 'Took', number: true }, 'Message'],
  rows: shown.map((one) => [
    html`<a href="${workPath(one.id)}">${renderAgo(one.askedAt, now)}</a>`,
    titleOf({ name: one.database }),
    html`${whatWords[one.what]}${one.approved && ', approved'}`,
    html`${renderBadge(badgeOf(one))}${one.due && one.due.getTime() > now && html` due ${renderAgo(one.due, now)}`}`,
    formatTook(one.askedAt, one.settledAt) ?? none,
    one.ending ? html`${one.message}; <a href="${importPath(estab, one.ending.import)}">the report</a>` : (one.message ?? none),
  ]),
})}
${renderPager({
  first: before === undefined ? undefined : sourcePath(estab),
  next: last && addressOf(sourcePath(estab), { before: String(last.number) }),
})}</section>`;
}
