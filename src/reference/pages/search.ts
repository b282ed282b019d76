// The search page of the reference. A script repeats the search as the reader types.
import { html, type Html } from '../../http/html.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { scriptPaths } from '../../http/pages/scripts.ts';
import { search, type SearchIndex, type SearchResult } from '../search.ts';
import { renderDocs, renderSearchForm } from './layout.ts';
import { searchPath } from './links.ts';

const most = 60;
const longestWords = 200;

export function renderSearch(index: SearchIndex, query: string): string {
  const words = query.slice(0, longestWords).trim();
  const { results, total } = search(index, words, most);
  const told = words === '' ? '' : total > most ? `The first ${most} of ${total} places` : `${formatMany(total, 'place')} found`;
  return renderDocs({
    title: words === '' ? 'Search' : `Search: ${words}`,
    section: searchPath,
    search: 'own',
    scripts: [scriptPaths.search],
    body: html`<h1>Search</h1>
<div data-search>${renderSearchForm(words)}</div>
<p class="unseen" id="search-words" role="status">${told}</p>
<div id="found">${renderResults(words, results, told)}</div>`,
  });
}

function renderResults(words: string, results: readonly SearchResult[], told: string): Html {
  if (words === '') return renderEmpty('Type what is to be done, a path, a parameter, a header, a field, a status, or any word of a guide or a description.');
  if (results.length === 0) return renderEmpty(html`Nothing has all of <bdi>“${words}”</bdi>. Try fewer words, or the beginning of one.`);
  return html`<p class="quiet">${told}</p><ul class="contents">${results.map(
    ({ kind, title, where, path, words: said, alike }) => html`<li><a href="${path}">${title}</a> <span class="quiet">${kind}, ${where}${
      alike > 0 && ` and ${alike} more`
    }</span>
${said !== '' && html`<p>${cut(said, words)}</p>`}</li>
`,
  )}</ul>`;
}

const shownLength = 220;

/** Around the first word that was asked for. */
function cut(said: string, words: string): string {
  if (said.length <= shownLength) return said;
  const first = said.toLowerCase().indexOf(words.toLowerCase().split(/[\s,;]+/)[0] ?? '');
  const from = Math.max(0, Math.min(first - 60, said.length - shownLength));
  const start = from === 0 ? 0 : said.indexOf(' ', from) + 1;
  return `${start > 0 ? '… ' : ''}${said.slice(start, start + shownLength).toWellFormed()}${start + shownLength < said.length ? ' …' : ''}`;
}
