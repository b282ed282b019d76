// In charge of how a school's databases look, with the progress of what is being collected. The script that follows changes
// it by its ids.
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { formatCount } from '../../http/pages/figures.ts';
import type { ComponentDatabase } from '../component-databases.ts';
import { renderSentence } from '../import-report.ts';
import { refusedSince, type ListedRun } from '../source-view.ts';
import { describeDatabase, titleOf } from './database-words.ts';

export const isBusy = ({ refreshing }: ComponentDatabase): boolean => refreshing;

/** again: the page itself, for whoever has no script. more: what else is said of one. */
export type Showing = { last: ListedRun | undefined; timeZone: string; again: string; more?: (database: ComponentDatabase) => Html | undefined };

export function renderStates(databases: readonly ComponentDatabase[], showing: Showing): Html {
  return html`<ul class="states">
      ${databases.map((database) => renderState(database, showing))}
    </ul>`;
}

function renderState(database: ComponentDatabase, { last, timeZone, again, more }: Showing): Html {
  const { name, status, rowCount, message, progress } = database;
  const words = describeDatabase(database, timeZone, refusedSince(database, last));
  return html`<li id="database-${name}">
<h3>${titleOf(database)} ${renderBadge(words)}</h3>
<p class="words">${words.text}</p>
${isBusy(database) && renderProgress(name, progress, again)}
${rowCount > 0 && html`<p class="counts"><span><b>${formatCount(rowCount)}</b> ${rowCount === 1 ? 'record' : 'records'}</span></p>`}
${message && status !== 'Paused' && !isBusy(database) && html`<p class="message">${renderSentence(message)}</p>`}
${more?.(database)}</li>`;
}

function renderProgress(name: string, progress: number | null, again: string): Html {
  const share = Math.min(1, Math.max(0, progress ?? 0));
  const percent = Math.floor(share * 100);
  return html`<p class="progress">
      <progress id="progress-${name}" value="${share}" max="1" aria-label="How much has been read">${percent} %</progress>
      <span class="percent">${percent} %</span>
    </p>
    <p class="quiet"><span class="goes-on">You can leave this page: the import goes on.</span> <a href="${again}" class="again">Look again</a></p>`;
}
