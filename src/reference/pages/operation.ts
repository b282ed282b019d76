// In charge of one operation as it is read: what it does, what it takes, what it answers, and how to call it.
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import { credentials, type CredentialName } from '../credentials.ts';
import { resolveReference, type Header, type Media, type Response } from '../document.ts';
import { listCredentials, takeExamples, type Located } from '../sample-request.ts';
import { renderSamples } from '../samples.ts';
import { findExample } from '../schema-example.ts';
import { describeKind, listFields, listLimits, listValues } from '../schema-fields.ts';
import type { SurfaceName } from '../surfaces.ts';
import { renderExample, renderFields, renderKind, renderMeaning } from './fields.ts';
import { credentialPath } from './links.ts';
import { renderInline, renderProse } from './prose.ts';
import { renderProgram } from './program.ts';

/** An operation with the surface that it is of. */
export type Placed = Located & Readonly<{ surface: SurfaceName }>;

export const idOf = ({ verb, path, operation }: Placed): string => operation.operationId ?? `${verb}-${path.replaceAll(/[^A-Za-z0-9]+/g, '-')}`;
export const titleOf = (placed: Placed): string => placed.operation.summary ?? `${placed.verb.toUpperCase()} ${placed.path}`;

export function renderOperation(placed: Placed): Html {
  const { operation, verb, path } = placed;
  const id = idOf(placed);
  return html`<section class="card operation" id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title">${titleOf(placed)} ${operation.deprecated && html`<span class="badge wait">Deprecated</span>`}</h2>
<p class="address"><strong>${verb.toUpperCase()}</strong> <code>${path}</code> <a href="#${id}" aria-label="Link to ${id}">#</a></p>
${renderProse(operation.description)}
${renderSecurity(placed)}
${renderParameters(placed)}
${renderBody(placed)}
${renderAnswers(placed)}
${renderCalls(placed)}
</section>
`;
}

function renderSecurity(placed: Placed): HtmlValue {
  const names = listCredentials(placed);
  if (names.length === 0) return html`<p class="quiet">Needs no credentials.</p>`;
  const link = (name: CredentialName) => html`<a href="${credentialPath(name)}">${credentials[name].name}</a>`;
  return html`<p class="quiet">Needs: ${names.map((name, at) => [at > 0 && ' or ', link(name), html` (<code>${credentials[name].presented}</code>)`])}.</p>`;
}

const places = ['path', 'query', 'header', 'cookie'] as const;

function renderParameters(placed: Placed): HtmlValue {
  const { document, operation: { parameters = [] }, surface } = placed;
  if (parameters.length === 0) return undefined;
  return html`<h3>Takes</h3>${renderTable({
    id: `${idOf(placed)}-parameters`,
    caption: html`<span class="unseen">Parameters of ${idOf(placed)}</span>`,
    columns: ['Name', 'In', 'Type', 'Meaning'],
    rows: parameters.toSorted((a, b) => places.indexOf(a.in) - places.indexOf(b.in)).map((one) => {
      const { schema = {}, description } = one;
      const example = findExample(document, one);
      return [
        html`<code>${one.name}</code>`,
        [one.in, one.required === true && html` <span class="quiet">required</span>`],
        renderKind(surface, describeKind(schema)),
        [
          renderMeaning({ description, values: listValues(schema), limits: listLimits(schema), deprecated: one.deprecated === true }),
          example !== undefined && html` <span class="quiet">For example <code>${String(example)}</code></span>`,
        ],
      ];
    }),
    stacked: true,
  })}`;
}

function renderBody(placed: Placed): HtmlValue {
  const { operation: { requestBody } } = placed;
  if (!requestBody) return undefined;
  return html`<h3>Body</h3>
${renderProse(requestBody.description)}
${Object.entries(requestBody.content).map(([type, media]) => renderMedia(placed, 'Body', type, media))}`;
}

function renderMedia(placed: Placed, what: string, type: string, media: Media): HtmlValue {
  const { document, surface } = placed;
  const id = idOf(placed);
  const label = `${what} of ${id}, ${type}`;
  const example = findExample(document, media);
  const schema = media.schema;
  return [
    schema && listFields(schema).length > 0
      ? renderFields(surface, { id: `${id}-${what}-${type}`.replaceAll(/[^A-Za-z0-9]+/g, '-'), caption: label, schema })
      : html`<p><code>${type}</code>${schema && [': ', renderKind(surface, describeKind(schema))]}</p>`,
    example !== undefined && renderExample(`Example: ${label}`, example),
  ];
}

function renderAnswers(placed: Placed): HtmlValue {
  const { document, operation: { responses } } = placed;
  const id = idOf(placed);
  const all = Object.entries(responses);
  const isError = (status: string) => /^[45]/.test(status);
  return html`<h3>Answers</h3>
${renderTable({
  id: `${id}-answers`,
  caption: html`<span class="unseen">Answers of ${id}</span>`,
  columns: ['Status', 'When', 'Body', 'Headers'],
  rows: all.map(([status, answer]) => [
    html`<strong>${status}</strong>`,
    renderInline(answer.description),
    renderBodies(placed, answer),
    renderHeaders(answer),
  ]),
  stacked: true,
})}
${all.filter(([status]) => !isError(status)).map(([status, { content = {} }]) =>
  Object.entries(content).map(([type, media]) => renderMedia(placed, status, type, media)),
)}
${all.filter(([status]) => isError(status)).map(([status, { content = {} }]) =>
  Object.entries(content).map(([type, media]) => {
    const example = findExample(document, media);
    return example !== undefined && renderExample(`Example: ${status} of ${id}, ${type}`, example);
  }),
)}`;
}

function renderBodies({ surface }: Placed, { content = {} }: Response): HtmlValue {
  return Object.entries(content).map(([type, { schema }], at) => [
    at > 0 && html`<br>`,
    html`<code>${type}</code> `,
    schema && renderKind(surface, describeKind(schema)),
  ]);
}

export const headerId = (name: string): string => `header-${name.toLowerCase()}`;

function renderHeaders({ headers = {} }: Response): HtmlValue {
  return Object.keys(headers).map((name, at) => [at > 0 && ', ', html`<a href="#${headerId(name)}">${name}</a>`]);
}

/** Each once, at the end of the page, though many answers have it. */
export function renderHeaderList(placed: readonly Placed[]): HtmlValue {
  const found = new Map<string, Header>();
  for (const { document, operation } of placed)
    for (const { headers = {} } of Object.values(operation.responses))
      for (const [name, header] of Object.entries(headers)) if (!found.has(name)) found.set(name, resolveReference(document, header));
  if (found.size === 0) return undefined;
  return html`<section class="card" aria-labelledby="headers-title"><h2 id="headers-title">Headers of answers</h2>
${renderTable({
  id: 'headers',
  caption: html`<span class="unseen">Each header of these answers</span>`,
  columns: ['Header', 'Meaning'],
  rows: [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, { description = '', schema = {}, example }]) => [
    html`<code id="${headerId(name)}">${name}</code>`,
    [
      renderMeaning({ description, values: listValues(schema), limits: [], deprecated: false }),
      example !== undefined && html` <span class="quiet">For example <code>${String(example)}</code></span>`,
    ],
  ]),
  stacked: true,
})}</section>`;
}

function renderCalls(placed: Placed): Html {
  const { curl, typescript, python } = renderSamples(placed, takeExamples(placed));
  const id = idOf(placed);
  return html`<h3>Call it</h3>
${renderProgram(`curl: ${id}`, 'curl', curl, true)}
${renderProgram(`TypeScript: ${id}`, 'TypeScript', typescript)}
${renderProgram(`Python: ${id}`, 'Python', python)}`;
}
