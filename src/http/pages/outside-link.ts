// In charge of addresses that somebody else gave: a link shows where it leads, and leads nowhere but to the web or to a
// mailbox. What is neither is text.
import { html, type Html } from '../html.ts';

/** The host as it is called in the end, so that nothing before it can pretend to be one. */
export function renderOutsideLink(text: string): Html {
  const at = URL.canParse(text) ? new URL(text) : undefined;
  if (!at || !['http:', 'https:'].includes(at.protocol) || at.username !== '' || at.password !== '') return html`<bdi>${text}</bdi>`;
  const rest = `${at.pathname}${at.search}`;
  return html`<a href="${at.href}" rel="noreferrer noopener external"><bdi>${at.host}</bdi>${rest !== '/' && html`<bdi class="rest">${rest}</bdi>`}</a>`;
}

export function renderMailLink(text: string): Html {
  return /^[^\s@,;:/<>()"?&]+@[^\s@,;:/<>()"?&]+$/.test(text) ? html`<a href="mailto:${encodeURI(text)}"><bdi>${text}</bdi></a>` : html`<bdi>${text}</bdi>`;
}
