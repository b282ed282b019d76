// In charge of the last import of a school in one line.
import { describeKind, describeOutcome } from '../../../collection/pages/import-words.ts';
import type { ListedRun } from '../../../collection/source-view.ts';
import { html, type Html } from '../../../http/html.ts';
import { renderBadge } from '../../../http/pages/badge.ts';
import { formatMany } from '../../../http/pages/figures.ts';
import { renderAgo } from '../../../http/pages/moment.ts';
import { importPath } from '../../links.ts';

export function renderLastImport(estab: string, run: ListedRun | undefined, now: number): Html | undefined {
  if (!run) return undefined;
  const words = describeOutcome(run);
  return html`<p id="outcome"><strong>Last import</strong> <a href="${importPath(estab, run.id)}">${renderAgo(run.at, now)}</a> (${describeKind(run.kind)})
${renderBadge(words)} ${words.text}${run.problemsTotal > 0 && ` ${formatMany(run.problemsTotal, 'problem')}.`}</p>`;
}
