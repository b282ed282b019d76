// In charge of the page on where the data comes from: how each database stands, what waits for a decision, the last
// report, connecting it, and the imports before.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { renderSentence } from '../../collection/import-report.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { School } from '../school-view.ts';
import { refusedSince, type ListedRun, type SourceView } from '../source-view.ts';
import { renderConnecting, type Typed } from './connect-forms.ts';
import { formatCount, formatMoment } from './figures.ts';
import { followPath } from './follow.ts';
import { renderHeld } from './held-import.ts';
import { renderReport } from './import-report.ts';
import { describeKind, describeOutcome } from './import-words.ts';
import { renderPage } from './layout.ts';
import { describeConnector, describeDatabase, renderBadge, titleOf } from './state-words.ts';
import { renderTable } from './table.ts';
import { renderJobStep } from './upload-by-job.ts';

type Given = SourceView & {
  school: School;
  token: string;
  notice: string | undefined;
  problem: string | undefined;
  given?: Typed | undefined;
};

/** `decision`, `after` and `imports` are what the script that follows an import puts in when it has ended. */
export function renderSource({ school, databases, runs, last, held, token, notice, problem, given }: Given): string {
  const busy = databases.some(isBusy);
  const known = databases.length > 0;
  return renderPage({
    title: 'Your data',
    session: { school, token },
    section: 'source',
    notice,
    problem,
    body: html`<h1>Where your data comes from</h1>
<div id="decision">${held && renderHeld(school, held, token)}</div>
${known && renderStates(school, databases, runs[0], token)}
<div id="after">${!busy && last && renderReport(last, school.timeZone)}
${!busy && renderConnecting(school, problem !== undefined, token, given)}
${renderJobStep(school)}</div>
<div id="imports">${runs.length > 0 && renderRuns(runs, school.timeZone)}</div>
${busy && html`<p class="unseen" id="follow-words" role="status"></p><script src="${followPath}" defer data-follow></script>`}`,
  });
}

export function isBusy({ refreshing }: ComponentDatabase): boolean {
  return refreshing;
}

function renderStates(school: School, databases: ComponentDatabase[], last: ListedRun | undefined, token: string): Html {
  // What only ever comes by upload does not grow old, and cannot be asked for again.
  const uploaded = school.connector === null || (school.connector === 'csv' && !school.watched);
  return html`<section class="card" aria-labelledby="states">
    <h2 id="states">How it stands</h2>
    ${
      school.connector !== null &&
      html`<dl class="facts">
        <div>
          <dt>Source</dt>
          <dd id="connector">${describeConnector(school.connector)}</dd>
        </div>
      </dl>`
    }
    <ul class="states">
      ${databases.map((database) => renderState(database, last, school.timeZone))}
    </ul>
    ${
      !uploaded &&
      renderForm({ path: '/school/source/refresh', token, id: 'refresh', body: html`<button type="submit" class="second">Collect again now</button>` })
    }
  </section>`;
}

function renderState(database: ComponentDatabase, last: ListedRun | undefined, timeZone: string): Html {
  const { name, status, rowCount, message, progress } = database;
  const words = describeDatabase(database, timeZone, refusedSince(database, last));
  return html`<li id="database-${name}">
<h3>${titleOf(database)} ${renderBadge(words)}</h3>
<p class="words">${words.text}</p>
${isBusy(database) && renderProgress(name, progress)}
${rowCount > 0 && html`<p class="counts"><span><b>${formatCount(rowCount)}</b> ${rowCount === 1 ? 'record' : 'records'}</span></p>`}
${message && status !== 'Paused' && !isBusy(database) && html`<p class="message">${renderSentence(message)}</p>`}
</li>`;
}

function renderProgress(name: string, progress: number | null): Html {
  const share = Math.min(1, Math.max(0, progress ?? 0));
  const percent = Math.floor(share * 100);
  return html`<p class="progress">
      <progress id="progress-${name}" value="${share}" max="1" aria-label="How much has been read">${percent} %</progress>
      <span class="percent">${percent} %</span>
    </p>
    <p class="quiet"><span class="goes-on">You can leave this page: the import goes on.</span> <a href="/school/source" class="again">Look again</a></p>`;
}

function renderRuns(runs: readonly ListedRun[], timeZone: string): Html {
  return html`<section class="card" aria-labelledby="runs-title">
    <h2 id="runs-title">The last imports</h2>
    ${renderTable({
      id: 'runs',
      stacked: true,
      caption: runs.length === 1 ? 'One import' : `${runs.length} imports, the newest first`,
      columns: ['When', 'How', 'Outcome', ...['New', 'Changed', 'Gone', 'Left out', 'Problems'].map((label) => ({ label, number: true as const }))],
      rows: runs.map((run) => [
        html`<a href="/school/source/imports/${run.id}">${formatMoment(run.at, timeZone)}</a>`,
        describeKind(run.kind),
        renderBadge(describeOutcome(run)),
        ...[run.added, run.changed, run.removed, run.rejected, run.overtaken ? 0 : run.problemsTotal].map(formatCount),
      ]),
    })}
  </section>`;
}
