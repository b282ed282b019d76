// In charge of how fields, types and examples look.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import type { Schema } from '../document.ts';
import { describeKind, listFields, type Field, type Kind } from '../schema-fields.ts';
import type { SurfaceName } from '../surfaces.ts';
import { schemaPath } from './links.ts';
import { renderInline } from './prose.ts';

export function renderKind(surface: SurfaceName, kinds: readonly Kind[]): HtmlValue {
  const alternatives = kinds[0]?.words === 'list of' ? [html`list of `, join(surface, kinds.slice(1))] : join(surface, kinds);
  return alternatives;
}

function join(surface: SurfaceName, kinds: readonly Kind[]): HtmlValue {
  return kinds.map(({ words, name }, at) => [
    at > 0 && kinds[at - 1]?.words !== 'list of' ? ' or ' : at > 0 && ' ',
    name === undefined ? words : html`<a href="${schemaPath(surface, name)}">${name}</a>`,
  ]);
}

const capitalise = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}`;

/** What a field or parameter means, with the values and limits that it has. */
export function renderMeaning({ description, values, limits, deprecated }: Pick<Field, 'description' | 'values' | 'limits' | 'deprecated'>): HtmlValue {
  return [
    deprecated && html`<span class="badge wait">Deprecated</span> `,
    description !== undefined && renderInline(description),
    values.length > 0 && [html` One of `, values.map((value, at) => [at > 0 && ', ', value === '' ? 'empty' : html`<code>${value}</code>`]), '.'],
    limits.length > 0 && html` <span class="quiet">${capitalise(limits.join('; '))}.</span>`,
  ];
}

export function renderFields(surface: SurfaceName, { id, caption, schema }: { id: string; caption: string; schema: Schema }): Html {
  const fields = listFields(schema);
  if (fields.length === 0) return html`<p>${caption}: ${renderKind(surface, describeKind(schema))}.</p>`;
  return renderTable({
    id,
    caption,
    columns: ['Field', 'Type', 'Meaning'],
    rows: fields.map((field) => [
      html`<code>${field.path}</code>`,
      [renderKind(surface, field.kind), field.required && html` <span class="quiet">always</span>`],
      renderMeaning(field),
    ]),
    stacked: true,
  });
}

/** label: of what it is an example, unlike any other on the page. */
export function renderExample(label: string, value: unknown): Html {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
  return html`<details><summary>${label}</summary>
<pre class="json" tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre></details>`;
}
