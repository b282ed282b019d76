// In charge of a school's imports in the console: the list, one with its report, and all that was wrong with it as a file.
import { noteLook } from '../../../access/audit-trail.ts';
import { findHeld } from '../../../collection/held.ts';
import type { ImportReport } from '../../../collection/import-report.ts';
import { renderImportList } from '../../../collection/pages/import-list.ts';
import { renderReport } from '../../../collection/pages/import-report.ts';
import { describeCollection } from '../../../collection/pages/database-words.ts';
import { describeKind } from '../../../collection/pages/import-words.ts';
import { problemsHeaders, renderProblemsCsv } from '../../../collection/problems-csv.ts';
import { listImports, requireRun, type ImportRun } from '../../../collection/source-view.ts';
import { readFollowed, type Followed } from '../../../collection/what-followed.ts';
import { cutPage } from '../../../http/cut-page.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderEmpty } from '../../../http/pages/empty.ts';
import { renderFacts } from '../../../http/pages/facts.ts';
import { formatCount, formatMoment } from '../../../http/pages/figures.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../../http/pages/pager.ts';
import { renderTable } from '../../../http/pages/table.ts';
import { pageLength, renderConsole } from '../../layout.ts';
import { heldPath, importPath, importsPath, schoolRoute, schoolsPath, uploadPath } from '../../links.ts';
import { mayChange, type Page } from '../../visit.ts';
import { renderSchoolHead, schoolOf } from '../around.ts';
import { formatTook } from './took.ts';

export const importsPage: Page = {
  path: `${schoolRoute}/imports`,
  async show(parts, visit) {
    const { db, now } = parts;
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const before = visit.query.one('before');
    const found = await listImports(db, estab, { before: before || undefined, most: pageLength + 1 });
    const { shown: runs, last } = cutPage(found, pageLength);
    const list = html`${renderImportList({
      caption: 'Newest first',
      runs,
      pathOf: (id) => importPath(estab, id),
      when: ({ startedAt }) => renderAgo(startedAt, now()),
      more: [
        { label: 'Version', of: ({ outcome, version }) => (outcome === 'done' ? version : html`<span class="quiet">–</span>`) },
        { label: 'Took', of: ({ startedAt, at }) => formatTook(startedAt, at) },
      ],
    })}${renderPager({
      first: before === '' ? undefined : importsPath(estab),
      next: last && addressOf(importsPath(estab), { before: last.id }),
    })}`;
    const none = mayChange(visit) && before === '' ? { path: uploadPath(estab), label: 'Upload a package' } : undefined;
    const words = before === '' ? 'Nothing was imported yet. Each import will be listed here with its report.' : 'There are no older imports.';
    return renderConsole(visit, {
      title: `Imports of ${school.name}`,
      section: 'schools',
      back: { path: schoolsPath, label: 'Schools' },
      body: html`${renderSchoolHead(school, 'imports')}
${runs.length === 0 ? renderEmpty(words, none) : html`<section class="card" aria-label="Imports">${list}</section>`}`,
    });
  },
};

export const importPage: Page = {
  path: `${schoolRoute}/imports/:id`,
  async show(parts, visit) {
    const { db, changes, now } = parts;
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const { id = '' } = visit.params;
    const [run, held] = await Promise.all([requireRun(db, estab, id), findHeld(db, estab)]);
    const followed = await readFollowed(db, estab, run);
    await noteLook(changes, visit.actor, { action: 'look at import', estab, subject: run.id });
    return renderConsole(visit, {
      title: `Import of ${school.name}`,
      section: 'schools',
      back: { path: importsPath(estab), label: `Imports of ${school.name}` },
      body: html`<h1>Import of ${formatMoment(run.at, school.timeZone)}</h1>
${held?.id === run.id && html`<div class="box step"><p><strong>It waits for approval.</strong></p>
<p><a class="button" href="${heldPath(estab)}">See what would be deleted, and decide</a></p></div>`}
<section class="card" aria-labelledby="report"><h2 id="report">The report</h2>
${renderReport(run, { lead: `${describeKind(run.kind)}.`, problems: `${importPath(estab, run.id)}/problems.csv` })}</section>
${renderCounts(run)}
<section class="card" aria-labelledby="about"><h2 id="about">About it</h2>${renderAbout(estab, run, followed, now())}</section>`,
    });
  },
};

export const problemsPage: Page = {
  path: `${schoolRoute}/imports/:id/problems.csv`,
  async show({ db, changes }, { params: { estab = '', id = '' }, actor }) {
    const run = await requireRun(db, estab, id);
    await noteLook(changes, actor, { action: 'download problems of import', estab, subject: run.id });
    return { bytes: renderProblemsCsv(db, estab, run), headers: problemsHeaders(estab, run) };
  },
};

function renderAbout(estab: string, run: ImportRun, { by, next }: Followed, now: number): Html {
  const { id, startedAt, at, kind, provider, partial, decision, decidedAt, report } = run;
  const { outcome, version, marks, approved } = report;
  return renderFacts([
    ['Import', html`<span class="id">${id}</span>`],
    ['How', describeKind(kind)],
    provider !== null && ['Provider', html`<span class="id">${provider}</span>`],
    ['Began', renderAgo(startedAt, now)],
    ['Took', formatTook(startedAt, at)],
    ['Wrong rows', partial ? 'were to be left out' : 'refuse everything'],
    ['Roster', outcome === 'done' ? `made version ${version}` : `stayed at version ${version}`],
    decision !== null && ['Decision', html`${decision}${by !== undefined && html` by <bdi>${by}</bdi>`} ${decidedAt && renderAgo(decidedAt, now)}`],
    next && ['What came of it', html`<a href="${importPath(estab, next.id)}">the import of ${renderAgo(next.at, now)}</a>`],
    approved !== undefined && ['Approved', html`<a href="${importPath(estab, approved)}">as it was held before</a>`],
    marks && ['Marks', `${formatCount(marks.written)} written, ${formatCount(marks.unchanged)} as before, ${formatCount(marks.rejected)} left out`],
  ]);
}

function renderCounts({ report }: ImportRun): Html | undefined {
  const counted = Object.entries(report.collections) as [string, NonNullable<ImportReport['collections'][keyof ImportReport['collections']]>][];
  if (counted.length === 0) return undefined;
  const names = ['added', 'changed', 'removed', 'unchanged', 'rejected'] as const;
  const labels = ['New', 'Changed', 'Gone', 'As before', 'Left out'].map((label) => ({ label, number: true as const }));
  return html`<section class="card" aria-labelledby="counts"><h2 id="counts">What came</h2>
${renderTable({
  id: 'by-collection',
  stacked: true,
  caption: 'Records by collection',
  columns: ['Collection', 'As', ...labels],
  rows: counted.map(([name, count]) => [describeCollection(name), count.mode, ...names.map((one) => formatCount(count[one]))]),
})}</section>`;
}
