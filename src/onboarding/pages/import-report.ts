// In charge of the report on the last collection, so that a school can act on it: what changed, and what is wrong
// where, with what would be right.
import { html, type Html } from '../../http/html.ts';
import type { Report } from '../school-view.ts';
import { formatCount, formatMany, formatMoment } from './figures.ts';
import { renderTable } from './table.ts';

const shownProblems = 100;

const outcomes: Readonly<Record<string, string>> = {
  done: 'Everything was taken over.',
  unchanged: 'Everything was read, and nothing had changed.',
  held: 'Everything was read, and it waits for your word.',
  refused: 'It was refused as a whole, and nothing was changed. Please put right what is listed here where it comes from, and send it again.',
};

export function renderReport(report: Report, timeZone: string): Html {
  const left = report.outcome === 'done' && report.rejected > 0;
  return html`<section class="card" aria-labelledby="report">
    <h2 id="report">The last report</h2>
    <p id="outcome">
      <strong>${formatMoment(report.at, timeZone)}.</strong>
      ${left ? `Taken over, but ${formatMany(report.rejected, 'record was', 'records were')} left out.` : outcomes[report.outcome]}
    </p>
    ${(report.outcome === 'done' || left) && renderChanges(report)} ${report.problemsTotal > 0 && renderProblems(report)}
  </section>`;
}

function renderChanges({ added, changed, removed, unchanged, rejected }: Report): Html {
  const counts: readonly (readonly [string, number])[] = [
    ['new', added],
    ['changed', changed],
    ['gone', removed],
    ['as before', unchanged],
    ['left out', rejected],
  ];
  return html`<p class="counts" id="changes">${counts.map(([label, count]) => html`<span><b>${formatCount(count)}</b> ${label}</span> `)}</p>`;
}

function renderProblems({ problems, problemsTotal }: Report): Html {
  const shown = problems.slice(0, shownProblems);
  const none = html`<span class="quiet">–</span>`;
  return html`<h3>${formatMany(problemsTotal, 'problem')}</h3>
    ${renderTable({
      id: 'problems',
      stacked: true,
      caption: problemsTotal > shown.length ? `What is wrong: the first ${formatCount(shown.length)}` : 'What is wrong',
      columns: ['File', { label: 'Line', number: true }, 'Column', 'Value', 'What to put right'],
      rows: shown.map(({ file, line, column, value, rule }) => [
        nameOf(file),
        line ?? none,
        column ?? none,
        value === null ? none : value === '' ? html`<span class="quiet">empty</span>` : html`<code>${value}</code>`,
        rule,
      ]),
    })}
    ${
      problemsTotal > shown.length &&
      html`<p id="more-problems">And ${formatCount(problemsTotal - shown.length)} more. They are often of the same kind: put these right first.</p>`
    }`;
}

/** Where an uploaded package lay on the server is of no use to a school. */
function nameOf(file: string): string {
  return file.split('/').at(-1) ?? file;
}
