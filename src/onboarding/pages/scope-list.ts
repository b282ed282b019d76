// In charge of showing a scope: what it opens in words, in the school's own numbers and with rows of its own records.
import { scopeDescriptions, type Scope } from '../../access/scopes.ts';
import { html, type Html } from '../../http/html.ts';
import type { ScopePreview } from '../scope-preview.ts';
import { formatCount } from './figures.ts';
import { renderTable } from './table.ts';

const titles: Readonly<Record<Scope, string>> = {
  School: 'School and classes',
  Student: 'Students',
  Staff: 'Staff',
  Contact: 'Parents and guardians',
  StudentDemographic: 'Details of students',
  Attendance: 'Attendance',
  WritebackAttendance: 'Writing into your registers',
  Identity: 'Logins',
};

/** Scopes that let an application do something: there are no records to show. */
const doing: Readonly<Partial<Record<Scope, string>>> = {
  WritebackAttendance: 'This is more than reading: marks that the application enters become marks of your registers.',
  Identity: 'This is more than reading: it concerns the logins with which your students and staff sign in.',
};

export function titleOfScope(scope: string): string {
  return Object.hasOwn(titles, scope) ? titles[scope as Scope] : scope;
}

export function renderScopeNames(scopes: readonly string[]): string {
  return scopes.map(titleOfScope).join(', ') || 'Nothing';
}

/** choice: a check box, if the school can choose. folded: the rows are shown on demand. */
export type ShownScope = { preview: ScopePreview; choice?: { checked: boolean; note?: string }; note?: string; folded?: boolean };

export function renderScope({ preview, choice, note, folded = false }: ShownScope): Html {
  const { scope, description } = preview;
  const title = titleOfScope(scope);
  const box =
    choice &&
    html`<input type="checkbox" id="allow-${scope}" name="scopes" value="${scope}" aria-describedby="about-${scope}" ${choice.checked && html` checked`} />`;
  return html`<li class="scope" id="scope-${scope}">
    <h3>
      ${box ? html`${box}<label for="allow-${scope}">${title}</label>` : title}
    </h3>
    <div id="about-${scope}">
      <p>${description}.${note !== undefined && html` <strong>${note}</strong>`}</p>
      ${renderCounts(preview)}
    </div>
    ${renderRows(preview, title, folded)}
  </li>`;
}

function renderCounts({ scope, counts, rows }: ScopePreview): Html | undefined {
  const warning = doing[scope];
  if (warning !== undefined) return html`<p class="caution">${warning}</p>`;
  if (rows.length === 0 && counts.every(({ count }) => count === 0))
    return html`<p class="quiet">Nothing of this kind has been collected from your school yet, so there are no numbers to show.</p>`;
  return html`<p class="counts">${counts.map(({ label, count }) => html`<span><b>${formatCount(count)}</b> ${label}</span> `)}</p>`;
}

function renderRows({ scope, columns, rows }: ScopePreview, title: string, folded: boolean): Html | undefined {
  if (rows.length === 0) return undefined;
  const table = renderTable({
    id: `preview-${scope}`,
    caption: html`For example<span class="unseen">: ${title}</span>`,
    columns,
    rows: rows.map((row) => row.map((value) => value || html`<span class="quiet">empty</span>`)),
  });
  return folded
    ? html`<details>
        <summary>Show an example<span class="unseen">: ${title}</span></summary>
        ${table}
      </details>`
    : table;
}

/** What was granted once and is not among what the application asks for today; there is nothing to preview. */
export function renderOtherScope(scope: string): Html {
  const known = Object.hasOwn(scopeDescriptions, scope) ? scopeDescriptions[scope as Scope].description : scope;
  return html`<li class="scope" id="scope-${scope}"><h3>${titleOfScope(scope)}</h3><p>${known}.</p></li>`;
}
