// In charge of what the pages of the reference have in common: the way around, the search, and how a page is put together.
import { changesPath } from '../../http/deprecations.ts';
import { html, type Html } from '../../http/html.ts';
import { renderFrame } from '../../http/pages/frame.ts';
import { surfaces } from '../surfaces.ts';
import { docsPath, guidesPath, searchPath, surfacePath, webhooksPath } from './links.ts';

const around: readonly { path: string; label: string }[] = [
  { path: docsPath, label: 'First steps' },
  { path: guidesPath, label: 'Guides' },
  ...surfaces.map(({ name, label }) => ({ path: surfacePath(name), label })),
  { path: webhooksPath, label: 'Webhooks' },
  { path: changesPath, label: 'Changes' },
];

/** section: the address in the way around that is open. search: the page has the form itself. */
export type DocsPage = { title: string; section: string; body: Html; scripts?: readonly string[]; search?: 'own' };

export function renderDocs({ title, section, body, scripts = [], search }: DocsPage): string {
  return renderFrame({
    title,
    owner: 'Reference',
    wide: true,
    top: html`<div class="who"><a href="/">Start page</a> <a href="/console">Console</a></div>
<nav class="around" aria-label="Reference"><ul>
${around.map(({ path, label }) => html`<li><a href="${path}"${path === section && html` aria-current="page"`}>${label}</a></li>`)}
</ul></nav>`,
    body: html`${search === undefined && renderSearchForm('')}${body}`,
    scripts,
  });
}

export function renderSearchForm(words: string): Html {
  return html`<form method="get" action="${searchPath}" class="filters" role="search">
<div class="field"><label for="filter-q">Search the reference</label>
<input type="text" id="filter-q" name="q" value="${words}" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="200"></div>
<div class="field"><button type="submit" class="second">Search</button></div>
</form>`;
}
