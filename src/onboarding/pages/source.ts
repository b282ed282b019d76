// In charge of the page on where the data comes from: connecting it, how each database stands, and the last report.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { Report, School } from '../school-view.ts';
import { renderProvider, renderUpload, type Typed } from './connect-forms.ts';
import { formatCount } from './figures.ts';
import { renderReport } from './import-report.ts';
import { renderPage } from './layout.ts';
import { describeConnector, describeDatabase, renderBadge, titleOf } from './state-words.ts';
import { renderJobStep } from './upload-by-job.ts';

type Given = {
  school: School;
  databases: ComponentDatabase[];
  report: Report | undefined;
  held: boolean;
  token: string;
  notice: string | undefined;
  problem: string | undefined;
  given?: Typed | undefined;
};

/** The page says so itself. */
const heldPrefix = /^held until a person approves it: /;

export function renderSource({ school, databases, report, held, token, notice, problem, given }: Given): string {
  const busy = databases.some(isBusy);
  return renderPage({
    title: 'Your data',
    session: { school, token },
    section: 'source',
    notice,
    problem,
    // An answer to a form cannot be asked for again; and what was just done is old news the next time.
    refresh: !busy || problem !== undefined ? undefined : notice === undefined ? '2' : '2; url=/school/source',
    body: html`<h1>Where your data comes from</h1>
${held && renderHeld(school, databases, token)}
${databases.length > 0 && renderStates(school, databases, token)}
${report && !busy && renderReport(report, school.timeZone)}
${!busy && renderConnecting(school, problem !== undefined, token, given)}
${renderJobStep(school)}`,
  });
}

function isBusy({ refreshing }: ComponentDatabase): boolean {
  return refreshing;
}

function renderStates(school: School, databases: ComponentDatabase[], token: string): Html {
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
      ${databases.map((database) => renderState(database, school.timeZone))}
    </ul>
    ${
      !uploaded &&
      renderForm({ path: '/school/source/refresh', token, id: 'refresh', body: html`<button type="submit" class="second">Collect again now</button>` })
    }
  </section>`;
}

function renderState(database: ComponentDatabase, timeZone: string): Html {
  const { name, status, rowCount, message, progress } = database;
  const words = describeDatabase(database, timeZone);
  return html`<li id="database-${name}">
<h3>${titleOf(database)} ${renderBadge(words)}</h3>
<p>${words.text}</p>
${isBusy(database) && renderProgress(name, progress)}
${rowCount > 0 && html`<p class="counts"><span><b>${formatCount(rowCount)}</b> ${rowCount === 1 ? 'record' : 'records'}</span></p>`}
${message && status !== 'Paused' && !isBusy(database) && html`<p class="message">${sentence(message)}</p>`}
</li>`;
}

function renderProgress(name: string, progress: number | null): Html {
  if (progress === null) return html`<p class="quiet">It is about to begin. This page looks again by itself.</p>`;
  const percent = Math.floor(Math.min(1, Math.max(0, progress)) * 100);
  return html`<p class="progress">
      <progress id="progress-${name}" value="${progress}" max="1" aria-label="How much has been read">${percent} %</progress> <span>${percent} %</span>
    </p>
    <p class="quiet">This page looks again by itself. You can also leave it: the collection goes on.</p>`;
}

function renderHeld({ connector }: School, databases: ComponentDatabase[], token: string): Html {
  const message = databases.find(({ status }) => status === 'Paused')?.message;
  return html`<section class="card held" aria-labelledby="held">
    <h2 id="held">A collection waits for your word</h2>
    <p>
      An unusually large part of your records would go. At the end of a school year that can be right; it can also mean that an export was incomplete. Nothing
      has been changed so far.
    </p>
    ${message && html`<p id="held-message"><strong>${sentence(message.replace(heldPrefix, ''))}</strong></p>`}
    <p>
      If it is right, approve it. If not,
      ${connector === 'oneroster' ? 'have it put right at your provider and collect again' : 'upload a complete package below'}; the one that waits is then
      forgotten.
    </p>
    ${renderForm({ path: '/school/source/approve', token, id: 'approve-held', body: html`<button type="submit">It is right: let these records go</button>` })}
  </section>`;
}

function renderConnecting({ connector }: School, failed: boolean, token: string, given: Typed | undefined): Html | undefined {
  if (connector === 'csv')
    return html`<section class="card" aria-labelledby="newer">
      <h2 id="newer">Upload a newer package</h2>
      ${renderUpload(token)}
    </section>`;
  if (connector === 'oneroster')
    return html`<section class="card" aria-labelledby="change">
      <h2 id="change">The connection</h2>
      <details${failed && html` open`}>
        <summary>Change the address or the credentials</summary>
        ${renderProvider(token, given)}
      </details>
    </section>`;
  if (connector !== null) return undefined;
  return html`<section aria-labelledby="connect">
    <h2 id="connect">Connect your data</h2>
    <p>There are two ways. Take the one that your MIS, the system in which your school keeps its records, offers.</p>
    <div class="halves">
      <section class="card" aria-labelledby="by-upload">
        <h3 id="by-upload">Upload a package</h3>
        <p>Good for a start: a zip that your MIS exports. You upload a newer one when things change.</p>
        ${renderUpload(token)}
      </section>
      <section class="card" aria-labelledby="by-provider">
        <h3 id="by-provider">Connect a OneRoster provider</h3>
        <p>Your MIS is then read every night, by itself.</p>
        ${renderProvider(token, given)}
      </section>
    </div>
  </section>`;
}

/** Messages begin small and end without a stop: they also stand inside other sentences. */
function sentence(message: string): string {
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`;
}
