// In charge of the pages of one surface: what it is with all its operations, the operations of one tag, and its schemas.
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderTabs } from '../../http/pages/tabs.ts';
import { listOperations, type Tag } from '../document.ts';
import type { Surface } from '../describe-surfaces.ts';
import { pathOf } from '../surfaces.ts';
import { renderFields } from './fields.ts';
import { renderDocs } from './layout.ts';
import { operationPath, schemasPath, shortName, surfacePath, tagPath } from './links.ts';
import { idOf, renderHeaderList, renderOperation, titleOf, type Placed } from './operation.ts';
import { renderProse } from './prose.ts';

export function placeOperations({ name, document }: Surface): readonly Placed[] {
  return listOperations(document.paths).map((one) => ({ ...one, document, surface: name }));
}

const ofTag = (surface: Surface, tag: Tag) => placeOperations(surface).filter(({ operation }) => operation.tags?.includes(tag.name));

export function renderSurface(surface: Surface): string {
  const { name, document: { info, tags, servers, components } } = surface;
  return renderDocs({
    title: shortName(info.title),
    section: surfacePath(name),
    body: html`<h1>${shortName(info.title)}</h1>
<p>${info.summary}</p>
${renderProse(info.description)}
<p>At <code>${servers[0]?.url}</code>. As OpenAPI 3.1, for generators: <a href="${pathOf(name)}">${pathOf(name)}</a>.
${Object.keys(components.schemas).length > 0 && html`Its <a href="${schemasPath(name)}">schemas</a> have a page of their own.`}</p>
${tags.length === 0 && renderEmpty('This surface has no operations that are described.')}
${tags.map(
  (tag) => html`<section class="card"><h2><a href="${tagPath(name, tag.name)}">${shortName(tag.name)}</a></h2>
${renderProse(tag.description)}
${renderContents(ofTag(surface, tag), (placed) => operationPath(name, tag.name, idOf(placed)), true)}</section>
`,
)}`,
  });
}

/** own: an address with the operation's name leads here too. */
function renderContents(placed: readonly Placed[], addressOf: (one: Placed) => string, own = false): Html {
  return html`<ul class="contents">${placed.map(
    (one) => html`<li${own && html` id="${idOf(one)}"`}><a href="${addressOf(one)}">${titleOf(one)}</a>
<span class="quiet">${one.verb.toUpperCase()} ${one.path}</span></li>
`,
  )}</ul>`;
}

export function renderTag(surface: Surface, tag: Tag): string {
  const { name, document } = surface;
  const placed = ofTag(surface, tag);
  return renderDocs({
    title: `${shortName(tag.name)} – ${shortName(document.info.title)}`,
    section: surfacePath(name),
    body: html`<p class="back"><a href="${surfacePath(name)}">${shortName(document.info.title)}</a></p>
<h1>${shortName(tag.name)}</h1>
${renderWays(surface, tagPath(name, tag.name))}
${renderProse(tag.description)}
<nav class="card" aria-label="Operations">${renderContents(placed, (one) => `#${idOf(one)}`)}</nav>
${placed.map(renderOperation)}
${renderHeaderList(placed)}`,
  });
}

/** To the other parts of the surface. */
function renderWays({ name, document: { info, tags, components } }: Surface, open: string): Html {
  const ways = tags.map((tag) => ({ path: tagPath(name, tag.name), label: shortName(tag.name) }));
  const schemas = Object.keys(components.schemas).length > 0 ? [{ path: schemasPath(name), label: 'Schemas' }] : [];
  return renderTabs({ label: shortName(info.title), tabs: [...ways, ...schemas], open });
}

export function renderSchemas(surface: Surface): string {
  const { name, document } = surface;
  const schemas = Object.entries(document.components.schemas);
  return renderDocs({
    title: `Schemas – ${shortName(document.info.title)}`,
    section: surfacePath(name),
    body: html`<p class="back"><a href="${surfacePath(name)}">${shortName(document.info.title)}</a></p>
<h1>Schemas</h1>
${renderWays(surface, schemasPath(name))}
<nav class="card" aria-label="Schemas"><ul class="names">${schemas.map(([one]) => html`<li><a href="#${one}">${one}</a></li>`)}</ul></nav>
${schemas.map(
  ([one, schema]) => html`<section class="card" id="${one}" aria-labelledby="${one}-title"><h2 id="${one}-title">${one}</h2>
${renderProse(schema.description as string | undefined)}
${renderFields(name, { id: `${one}-fields`, caption: `Fields of ${one}`, schema })}</section>
`,
)}`,
  });
}
