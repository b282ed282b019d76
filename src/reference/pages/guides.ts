// In charge of the guides as pages of the reference.
import { posix } from 'node:path';
import { html, type HtmlValue } from '../../http/html.ts';
import { anchorOf, guideFiles, isHeading, nameOfGuide, textOf, type Guide, type GuideGroup } from '../guides.ts';
import { pathOf, surfaces } from '../surfaces.ts';
import { renderDocs } from './layout.ts';
import { guidePath, guidesPath } from './links.ts';
import { renderMarkdown, type Place } from './markdown.ts';

/** The address of a service that was just started, as the files have it. */
const written = 'http://127.0.0.1:8080';

export function renderGuides(groups: readonly GuideGroup[]): string {
  return renderDocs({
    title: 'Guides',
    section: guidesPath,
    body: html`<h1>Guides</h1>
<p>One page for each thing that has to be done. Their commands can be pasted in order, and are run by a test, as they stand.</p>
${groups.map(({ label, guides }) => html`<section class="card"><h2>${label}</h2>
<ul class="contents">${guides.map(({ name, title, summary }) => html`<li><a href="${guidePath(name)}">${title}</a><p>${summary}</p></li>\n`)}</ul>
</section>
`)}`,
  });
}

export function renderGuide(guide: Guide, publicUrl: string): string {
  return renderDocs({
    title: guide.title,
    section: guidesPath,
    body: html`<p class="back"><a href="${guidesPath}">Guides</a></p>
<h1>${guide.title}</h1>
${renderContents(guide)}
<div class="guide">
${renderMarkdown(guide.tokens, placeOf(guide.file, publicUrl))}</div>`,
  });
}

const fewestToList = 3;

function renderContents({ tokens }: Guide): HtmlValue {
  const parts = tokens.filter(isHeading).filter(({ depth }) => depth === 2);
  if (parts.length < fewestToList) return undefined;
  const links = parts.map((part) => html`<li><a href="#${anchorOf(part)}">${textOf(part)}</a></li>`);
  return html`<nav aria-label="On this page"><ul class="kinds">${links}</ul></nav>`;
}

function placeOf(file: string, publicUrl: string): Place {
  return {
    inPlace: (text) => text.replaceAll(written, publicUrl),
    findAddress: (href) => findAddress(file, href),
  };
}

const served = new Map<string, string>([
  ['README.md', '/README.md'],
  ...surfaces.map(({ name }): [string, string] => [pathOf(name).slice(1), pathOf(name)]),
  ...Object.values(guideFiles).flat().map((file): [string, string] => [file, guidePath(nameOfGuide(file))]),
]);

/** Of another guide, of what is served beside them, of this service, or elsewhere; other files of the repository have none. */
function findAddress(file: string, href: string): string | undefined {
  if (href.startsWith('#')) return href;
  if (href.startsWith(`${written}/`)) return href.slice(written.length);
  if (href.startsWith('https://')) return href;
  const [to = '', anchor] = href.split('#');
  const address = served.get(posix.join(posix.dirname(file), to));
  return address !== undefined && anchor !== undefined ? `${address}#${anchor}` : address;
}
