// In charge of Markdown as pages show it. A library takes it apart; what becomes of each part is said here, and whatever is not said
// here, HTML among it, is shown as text.
import type { Token, Tokens } from 'marked';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderTable } from '../../http/pages/table.ts';
import { anchorOf, textOf } from '../guides.ts';

/** findAddress: where a link leads on our pages; undefined: nowhere. inPlace: words for those that hold for the reader. */
export type Place = { findAddress(href: string): string | undefined; inPlace(text: string): string };

/** Names of what is on the page, unlike one another. */
type Counted = Place & { codes: number; tables: number; under: string };

export function renderMarkdown(tokens: readonly Token[], place: Place): HtmlValue {
  const counted = { ...place, codes: 0, tables: 0, under: '' };
  return tokens.map((token) => renderBlock(token, counted));
}

function renderBlock(token: Token, place: Counted): HtmlValue {
  switch (token.type) {
    case 'heading':
      return renderHeading(token as Tokens.Heading, place);
    case 'paragraph':
      // Pictures are of pages that are open beside this one.
      if (token.tokens?.every(({ type }) => type === 'image')) return undefined;
      return html`<p>${renderInline(token.tokens, place)}</p>\n`;
    case 'code':
      return renderCode(token as Tokens.Code, place);
    case 'list':
      return renderList(token as Tokens.List, place);
    case 'table':
      return renderRows(token as Tokens.Table, place);
    case 'space':
      return undefined;
    case 'text':
      return renderInline('tokens' in token ? token.tokens : [token], place);
    default:
      return html`<p>${token.raw}</p>\n`;
  }
}

function renderHeading(heading: Tokens.Heading, place: Counted): Html {
  place.under = textOf(heading);
  const words = renderInline(heading.tokens, place);
  const id = anchorOf(heading);
  return heading.depth <= 2 ? html`<h2 id="${id}">${words}</h2>\n` : html`<h3 id="${id}">${words}</h3>\n`;
}

/** Commands are selected by a click, all of a block. */
function renderCode({ lang, text }: Tokens.Code, place: Counted): Html {
  const label = `${lang === 'sh' ? 'Commands' : 'Text'} ${++place.codes}${place.under === '' ? '' : `: ${place.under}`}`;
  const look = lang === 'sh' ? html` class="json command"` : html` class="json"`;
  return html`<pre${look} tabindex="0" role="region" aria-label="${label}"><code>${place.inPlace(text)}</code></pre>\n`;
}

function renderList({ ordered, items }: Tokens.List, place: Counted): Html {
  const rows = items.map((item) => html`<li>${item.tokens.map((token) => renderBlock(token, place))}</li>\n`);
  return ordered ? html`<ol>${rows}</ol>\n` : html`<ul>${rows}</ul>\n`;
}

function renderRows({ header, rows }: Tokens.Table, place: Counted): Html {
  const id = `table-${++place.tables}`;
  const caption = html`<span class="unseen">Table ${place.tables}${place.under !== '' && `: ${place.under}`}</span>`;
  const cells = rows.map((row) => row.map((cell) => renderInline(cell.tokens, place)));
  return renderTable({ id, caption, columns: header.map(({ tokens }) => tokens.map(textOf).join('')), rows: cells, stacked: true });
}

function renderInline(tokens: readonly Token[] = [], place: Place): HtmlValue {
  return tokens.map((token): HtmlValue => {
    switch (token.type) {
      case 'strong':
        return html`<strong>${renderInline(token.tokens, place)}</strong>`;
      case 'em':
        return html`<em>${renderInline(token.tokens, place)}</em>`;
      case 'codespan':
        return html`<code>${place.inPlace((token as Tokens.Codespan).text)}</code>`;
      case 'link':
        return renderLink(token as Tokens.Link, place);
      case 'image':
        return undefined;
      case 'text':
      case 'escape':
        return place.inPlace((token as Tokens.Text).text);
      default:
        return token.raw;
    }
  });
}

/** What is in the repository alone is named by its path. */
function renderLink({ href, tokens, text }: Tokens.Link, place: Place): HtmlValue {
  const words = renderInline(tokens, place);
  const address = place.findAddress(href);
  if (address !== undefined) return html`<a href="${address}">${words}</a>`;
  const path = href.replace(/^(?:\.\.\/)+/, '');
  return text.replaceAll('`', '') === path ? html`<code>${path}</code>` : html`${words} (<code>${path}</code>)`;
}
