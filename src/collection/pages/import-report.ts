// In charge of the report on an import, so that somebody can act on it: what changed, and what is wrong where, by rule,
// with what would be right.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { formatCount, formatMany } from '../../http/pages/figures.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { ForeignWord } from '../foreign-words.ts';
import type { Fault, Problem } from '../problem.ts';
import { describeIgnored, renderSentence, type ImportReport } from '../import-report.ts';
import type { ImportRun } from '../source-view.ts';
import { describeOutcome } from './import-words.ts';

const shownFaults = 100;
const shownPlaces = 3;

/** lead: when or how it came. problems: where all of them are to be had as a table. */
export function renderReport(run: ImportRun, { lead, problems }: { lead: HtmlValue; problems: string }): Html {
  const { report, decision } = run;
  const words = describeOutcome({ ...report, overtaken: report.overtaken === true, decision, leaversUnreported: report.leaversUnreported !== undefined });
  return html`<p id="outcome"><strong>${lead}</strong> ${renderBadge(words)} ${words.text}</p>
${report.outcome === 'done' && renderChanges(report)} ${report.problemsTotal > 0 && !report.overtaken && renderFaults(run, problems)}
${report.words && renderWords(report.words)} ${renderIgnored(report)}`;
}

function renderIgnored(report: ImportReport): Html | undefined {
  const lines = describeIgnored(report);
  return lines.length === 0 ? undefined : html`<ul id="ignored">${lines.map((line) => html`<li>${renderSentence(line)}</li>`)}</ul>`;
}

function renderWords(words: readonly ForeignWord[]): Html {
  return renderTable({
    id: 'words',
    stacked: true,
    caption: 'Words that OneRoster 1.1 does not have',
    columns: ['Word', 'File', 'Column', { label: 'How many', number: true }, 'In 1.1'],
    rows: words.map(({ word, file, column, records, shown }) => [
      html`<code>${word}</code>`,
      file,
      column,
      formatCount(records),
      shown === null ? 'left out' : shown === word ? 'as it is' : html`<code>${shown}</code>`,
    ]),
  });
}

function renderChanges({ added, changed, removed, unchanged, rejected }: ImportReport): Html {
  const counts: readonly (readonly [string, number])[] = [
    ['new', added],
    ['changed', changed],
    ['gone', removed],
    ['as before', unchanged],
    ['left out', rejected],
  ];
  return html`<p class="counts" id="changes">${counts.map(([label, count]) => html`<span><b>${formatCount(count)}</b> ${label}</span> `)}</p>`;
}

function renderFaults({ report }: ImportRun, path: string): Html {
  const { problems, problemsTotal, faults } = report;
  const shown = faults.slice(0, shownFaults);
  const none = html`<span class="quiet">–</span>`;
  return html`<h3>${formatMany(problemsTotal, 'problem')}</h3>
    ${renderTable({
      id: 'problems',
      stacked: true,
      caption: faults.length > shown.length ? `What is wrong: the first ${formatCount(shown.length)} kinds` : 'What is wrong, by kind',
      columns: ['What to put right', 'File', 'Column', { label: 'How many', number: true }, 'Where first'],
      rows: shown.map((fault) => [
        html`${fault.rule}${renderDependants(fault)}`,
        nameOf(fault.file),
        fault.column ?? none,
        formatCount(fault.count),
        renderPlaces(fault, problems) ?? none,
      ]),
    })}
    <p><a href="${path}" download>Download all as a table (CSV)</a></p>`;
}

function renderDependants({ dependants, count }: Fault): Html | undefined {
  if (dependants === 0) return undefined;
  const rows = formatMany(dependants, 'row that refers', 'rows that refer');
  return html` <span class="quiet">And ${rows} to ${count === 1 ? 'it' : 'these'}; that is right again when this is.</span>`;
}

/** Lines, with what stands there as far as a report lists it. */
function renderPlaces(fault: Fault, problems: readonly Problem[]): HtmlValue {
  if (fault.lines.length === 0) return undefined;
  const places = fault.lines.slice(0, shownPlaces).map((line) => {
    const found = problems.find((one) => one.file === fault.file && one.line === line && one.column === fault.column);
    return html`<li>line ${line}${found && renderValue(found.value)}</li>`;
  });
  const more = fault.count - places.length;
  return html`<ul class="places">${places}${more > 0 && html`<li class="quiet">and ${formatCount(more)} more</li>`}</ul>`;
}

function renderValue(value: string | null): Html | undefined {
  if (value === null) return undefined;
  return html`: ${value === '' ? html`<span class="quiet">empty</span>` : html`<code>${value}</code>`}`;
}

/** Where an uploaded package lay on the server is of no use to anybody. */
function nameOf(file: string): string {
  return file.split('/').at(-1) ?? file;
}
