// In charge of the list of a school's imports.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { ListedRun } from '../source-view.ts';
import { describeKind, describeOutcome } from './import-words.ts';

/** pathOf: where its report is. when: how its time is written. */
export type Listing<Run extends ListedRun> = {
  caption: string;
  runs: readonly Run[];
  pathOf: (id: string) => string;
  when: (run: Run) => HtmlValue;
  /** What else is known of each. */
  more?: readonly { label: string; of: (run: Run) => HtmlValue }[];
};

export function renderImportList<Run extends ListedRun>({ caption, runs, pathOf, when, more = [] }: Listing<Run>): Html {
  const figures = ['New', 'Changed', 'Gone', 'Left out', 'Problems', ...more.map(({ label }) => label)];
  return renderTable({
    id: 'runs',
    stacked: true,
    caption,
    columns: ['When', 'How', 'Outcome', ...figures.map((label) => ({ label, number: true as const }))],
    rows: runs.map((run) => [
      html`<a href="${pathOf(run.id)}">${when(run)}</a>`,
      describeKind(run.kind),
      renderBadge(describeOutcome(run)),
      ...[run.added, run.changed, run.removed, run.rejected, run.overtaken ? 0 : run.problemsTotal].map(formatCount),
      ...more.map(({ of }) => of(run)),
    ]),
  });
}
