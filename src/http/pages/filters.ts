// In charge of the form above a list that says which part of it is shown. What is chosen stands in the address, so that a
// link shows the same to somebody else, and works without a script.
import { html, type Html } from '../html.ts';
import type { Choice } from './field.ts';
import { addressOf } from './pager.ts';

/** time: to the minute, by the clock of UTC. */
type Narrowing = { kind: 'text' } | { kind: 'time' } | { kind: 'choice'; all: string; choices: readonly Choice[] };
export type Filter = { name: string; label: string; value: string } & Narrowing;

/** keep: what the list is of, whatever is shown of it. */
export type Filters = { path: string; filters: readonly Filter[]; keep?: Readonly<Record<string, string>> };

export function renderFilters({ path, filters, keep = {} }: Filters): Html {
  const chosen = filters.some(({ value }) => value !== '');
  return html`<form method="get" action="${path}" class="filters" role="search">
${Object.entries(keep).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${filters.map(renderFilter)}
<div class="field"><button type="submit" class="second">Show</button>${chosen && html` <a href="${addressOf(path, keep)}">Show all</a>`}</div>
</form>`;
}

function renderFilter(filter: Filter): Html {
  const id = `filter-${filter.name}`;
  return html`<div class="field"><label for="${id}">${filter.label}</label>
${filter.kind === 'choice' ? renderChoice(id, filter) : renderText(id, filter)}</div>
`;
}

function renderText(id: string, { name, value, kind }: Filter): Html {
  return html`<input type="${kind === 'time' ? 'datetime-local' : 'text'}" id="${id}" name="${name}" value="${value}" autocomplete="off">`;
}

function renderChoice(id: string, { name, value, all, choices }: Extract<Filter, { kind: 'choice' }>): Html {
  const option = (one: Choice) => html`<option value="${one.value}"${one.value === value && html` selected`}>${one.label}</option>`;
  return html`<select id="${id}" name="${name}">${option({ value: '', label: all })}${choices.map(option)}</select>`;
}
