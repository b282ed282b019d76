// In charge of the page on one import of a school, and of the last one where the school sees its data.
import { describeKind } from '../../collection/pages/import-words.ts';
import { renderReport } from '../../collection/pages/import-report.ts';
import type { ImportRun } from '../../collection/source-view.ts';
import { html, type Html } from '../../http/html.ts';
import { formatMoment } from '../../http/pages/figures.ts';
import type { School } from '../school-view.ts';
import { renderPage } from './layout.ts';

export const importPath = (id: string) => `/school/source/imports/${id}`;
const problemsOf = ({ id }: ImportRun) => `${importPath(id)}/problems.csv`;

/** Of an import by itself. */
export function renderImport({ school, run, token }: { school: School; run: ImportRun; token: string }): string {
  return renderPage({
    title: `Import of ${formatMoment(run.at, school.timeZone)}`,
    session: { school, token },
    section: 'source',
    body: html`<p><a href="/school/source">Back to where your data comes from</a></p>
<h1>Import of ${formatMoment(run.at, school.timeZone)}</h1>
<section class="card" aria-labelledby="report"><h2 id="report">The report</h2>
${renderReport(run, { lead: `${describeKind(run.kind)}.`, problems: problemsOf(run) })}</section>`,
  });
}

export function renderLastReport(run: ImportRun, timeZone: string): Html {
  return html`<section class="card" aria-labelledby="report">
    <h2 id="report">The last report</h2>
    ${renderReport(run, { lead: `${formatMoment(run.at, timeZone)}.`, problems: problemsOf(run) })}
  </section>`;
}
