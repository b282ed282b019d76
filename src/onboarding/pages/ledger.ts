// In charge of the two records of an application: what it has read, by day and collection, and what was decided.
import { html, type Html } from '../../http/html.ts';
import { findPlainName } from '../plain-names.ts';
import type { Entry, Read } from '../school-view.ts';
import { formatCount, formatLedgerDay, formatMany, formatMoment } from '../../http/pages/figures.ts';
import { renderScopeNames } from './scope-list.ts';
import { describeEntry, renderActor } from './state-words.ts';
import { describeCollection } from '../../collection/pages/database-words.ts';
import { renderTable } from '../../http/pages/table.ts';

/** Rows at once; what is older folds away. */
const shownRows = 40;
const shownFields = 4;

export function renderReads(reads: Read[]): Html {
  return html`<section class="card" aria-labelledby="reads">
    <h2 id="reads">What it has read</h2>
    ${
      reads.length === 0
        ? html`<p class="quiet">It has read nothing yet.</p>`
        : html`<p>Every answer that it got, summed up by day.</p>
            ${renderReadTable('reads-table', 'Requests and records by day', reads.slice(0, shownRows))}
            ${
              reads.length > shownRows &&
              html`<details>
                <summary>Show ${formatMany(reads.length - shownRows, 'older row')}</summary>
                ${renderReadTable('older-reads-table', 'Requests and records by day, older', reads.slice(shownRows))}
              </details>`
            }`
    }
  </section>`;
}

function renderReadTable(id: string, caption: string, reads: readonly Read[]): Html {
  return renderTable({
    id,
    caption,
    columns: ['Day', 'What', { label: 'Requests', number: true }, { label: 'Records', number: true }, 'Fields'],
    rows: reads.map(({ day, collection, requests, records, fields }) => [
      formatLedgerDay(day),
      describeCollection(collection),
      formatCount(requests),
      formatCount(records),
      renderFields(collection, fields),
    ]),
  });
}

/** By the names that the school has read when it decided. */
function renderFields(collection: string, given: readonly string[]): Html {
  const fields = [...new Set(given.map((field) => findPlainName(collection, field) ?? field))];
  if (fields.length <= shownFields) return html`${fields.join(', ')}`;
  return html`<details class="fields"><summary>${formatMany(fields.length, 'field')}</summary>${fields.join(', ')}</details>`;
}

export function renderHistory(entries: Entry[], application: string, timeZone: string): Html {
  return html`<section class="card" aria-labelledby="history">
    <h2 id="history">What happened</h2>
    ${
      entries.length === 0
        ? html`<p class="quiet">Nothing has been recorded yet.</p>`
        : html`<ol class="history" reversed>
            ${entries.map(
              (entry) =>
                html`<li>
                  <time datetime="${entry.at.toISOString()}">${formatMoment(entry.at, timeZone)}</time>
                  <span
                    ><b>${describeEntry(entry)}</b> ·
                    ${renderActor(entry, application)}${
                      entry.scopes && entry.scopes.length > 0 && html`<br /><span class="quiet">May read: ${renderScopeNames(entry.scopes)}</span>`
                    }</span
                  >
                </li>`,
            )}
          </ol>`
    }
  </section>`;
}
