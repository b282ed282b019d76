// In charge of descriptions as pages show them: paragraphs, lists and what is meant literally, out of the little Markdown that they
// are written in. Everything else is text.
import { html, type Html, type HtmlValue } from '../../http/html.ts';

export function renderProse(text: string | undefined): HtmlValue {
  if (text === undefined || text.trim() === '') return undefined;
  return text.trim().split(/\n\s*\n/).map(renderBlock);
}

function renderBlock(block: string): Html {
  const lines = block.split('\n');
  if (!lines.every((line) => /^(?:[-*] |\s+\S)/.test(line))) return html`<p>${renderInline(lines.join(' '))}</p>\n`;
  const items = block.split(/(?:^|\n)[-*] /).slice(1);
  return html`<ul>${items.map((item) => html`<li>${renderInline(item.replaceAll(/\s*\n\s*/g, ' '))}</li>`)}</ul>\n`;
}

/** What stands between backticks is literal, and so are backticks that stand alone. */
export function renderInline(text: string): HtmlValue {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((part) => {
    if (/^`[^`]+`$/.test(part)) return html`<code>${part.slice(1, -1)}</code>`;
    if (/^\*\*[^*]+\*\*$/.test(part)) return html`<strong>${part.slice(2, -2)}</strong>`;
    const [, words, address = ''] = /^\[([^\]]+)\]\(([^)\s]+)\)$/.exec(part) ?? [];
    if (words === undefined) return part;
    return /^(?:https?:\/\/|\/|#)/.test(address) ? html`<a href="${address}">${words}</a>` : words;
  });
}

/** The same without marks, to search in. */
export function plainWords(text: string | undefined): string {
  return (text ?? '').replaceAll(/`|\*\*/g, '').replaceAll(/\[([^\]]+)\]\([^)\s]+\)/g, '$1').replaceAll(/\s+/g, ' ').trim();
}
