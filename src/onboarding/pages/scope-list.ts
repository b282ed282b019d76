// In charge of showing a scope: what it lets an application do, every field that it opens, in the school's own numbers and
// with examples of its own records.
import type { Scope } from '../../access/scopes.ts';
import { html, type Html } from '../../http/html.ts';
import type { ScopePreview, SharedThing } from '../scope-preview.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderTable } from '../../http/pages/table.ts';

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

/** What a scope lets an application do, beside reading. */
const deeds: Readonly<Partial<Record<Scope, { warning: string; list: readonly string[] }>>> = {
  WritebackAttendance: {
    warning: 'This is more than reading: marks that the application enters become marks of your registers.',
    list: ['Enter and change attendance marks of any student, for today and for earlier school days', 'Learn which mark stood there before'],
  },
  Identity: {
    warning: 'This is more than reading: it concerns the logins with which your students and staff sign in.',
    list: [
      'List your students and staff and their logins, whatever else you share',
      'Make logins: each person chooses a password through a link for their work address',
      'Set a new password for a login, and unlock it',
      'Add people who are not in your data, with a login',
      'Have your people sign in to the application, and learn who they are',
    ],
  },
};

export function titleOfScope(scope: string): string {
  return Object.hasOwn(titles, scope) ? titles[scope as Scope] : scope;
}

export function renderScopeNames(scopes: readonly string[]): string {
  return scopes.map(titleOfScope).join(', ') || 'Nothing';
}

/** choice: a check box, if the school can choose. */
export type ShownScope = { preview: ScopePreview; choice?: { checked: boolean; note?: string }; note?: string };

export function renderScope({ preview, choice, note }: ShownScope): Html {
  const { scope, description, things } = preview;
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
      ${renderDeeds(scope)} ${renderCounts(preview)}
    </div>
    ${things.map((thing, at) => renderThing(thing, `fields-${scope}-${at + 1}`, title))}
  </li>`;
}

function renderDeeds(scope: Scope): Html | undefined {
  const deed = deeds[scope];
  if (deed === undefined) return undefined;
  return html`<div class="caution">
    <p>${deed.warning} The application may:</p>
    <ul>
      ${deed.list.map((one) => html`<li>${one}</li>`)}
    </ul>
  </div>`;
}

function renderCounts({ counts }: ScopePreview): Html | undefined {
  if (counts.length === 0) return undefined;
  if (counts.every(({ count }) => count === 0))
    return html`<p class="quiet">
      Nothing of this kind has been collected from your school yet, so there are no numbers and examples. What would be shared is:
    </p>`;
  return html`<p class="counts">${counts.map(({ one, many, count }) => html`<span><b>${formatCount(count)}</b> ${count === 1 ? one : many}</span> `)}</p>`;
}

/** What matters most as a sentence; every field, with an example where there is one, on demand. */
function renderThing({ title, fields }: SharedThing, id: string, scope: string): Html {
  const first = fields.filter((field) => field.first).map(({ label }) => label);
  const others = fields.length - first.length;
  return html`<div class="thing" id="${id}">
    <h4>${title}</h4>
    <p>${first.join(' · ')}${others > 0 && html` <span class="quiet">· and ${formatCount(others)} more</span>`}</p>
    <details>
      <summary>Show ${fields.length === 1 ? 'the field' : `all ${formatCount(fields.length)} fields`}<span class="unseen">: ${scope}, ${title}</span></summary>
      ${renderTable({
        id: `${id}-table`,
        caption: html`${title}<span class="unseen">, ${scope}</span>`,
        columns: ['What is shared', 'For example'],
        rows: fields.map(({ label, names, example }) => [
          html`${label}<br /><code>${names.join(', ')}</code>`,
          example === undefined ? html`<span class="quiet">–</span>` : html`<bdi>${example}</bdi>`,
        ]),
      })}
    </details>
  </div>`;
}
