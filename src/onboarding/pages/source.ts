// In charge of the page on where the data comes from: how each database stands, what waits for a decision, the last
// report, connecting it, and the imports before.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { isBusy, renderStates } from '../../collection/pages/database-states.ts';
import { describeConnector } from '../../collection/pages/database-words.ts';
import { renderImportList } from '../../collection/pages/import-list.ts';
import type { ProviderGiven } from '../../collection/pages/provider-fields.ts';
import type { ListedRun, SourceView } from '../../collection/source-view.ts';
import { html, type Html } from '../../http/html.ts';
import { formatMoment } from '../../http/pages/figures.ts';
import { renderForm } from '../../http/pages/form.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import type { School } from '../school-view.ts';
import { renderConnecting } from './connect-forms.ts';
import { renderHeld } from './held-import.ts';
import { importPath, renderLastReport } from './import-report.ts';
import { renderPage } from './layout.ts';
import { renderJobStep } from './upload-by-job.ts';

type Given = SourceView & {
  school: School;
  token: string;
  notice: string | undefined;
  problem: string | undefined;
  given?: ProviderGiven | undefined;
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
${known && renderStanding(school, databases, runs[0], token)}
<div id="after">${!busy && last && renderLastReport(last, school.timeZone)}
${!busy && renderConnecting(school, problem !== undefined, token, given)}
${renderJobStep(school)}</div>
<div id="imports">${runs.length > 0 && renderRuns(runs, school.timeZone)}</div>
${busy && html`<p class="unseen" id="follow-words" role="status"></p><script src="${scriptPaths.follow}" defer data-follow></script>`}`,
  });
}

function renderStanding(school: School, databases: ComponentDatabase[], last: ListedRun | undefined, token: string): Html {
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
    ${renderStates(databases, { last, timeZone: school.timeZone, again: '/school/source' })}
    ${
      !uploaded &&
      renderForm({ path: '/school/source/refresh', token, id: 'refresh', body: html`<button type="submit" class="second">Collect again now</button>` })
    }
  </section>`;
}

function renderRuns(runs: readonly ListedRun[], timeZone: string): Html {
  return html`<section class="card" aria-labelledby="runs-title">
    <h2 id="runs-title">The last imports</h2>
    ${renderImportList({
      caption: runs.length === 1 ? 'One import' : `${runs.length} imports, the newest first`,
      runs,
      pathOf: importPath,
      when: ({ at }) => formatMoment(at, timeZone),
    })}
  </section>`;
}
