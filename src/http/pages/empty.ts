// In charge of a place where nothing is yet: what will be there, and how to begin.
import { html, type Html, type HtmlValue } from '../html.ts';

export function renderEmpty(words: HtmlValue, begin?: { path: string; label: string }): Html {
  return html`<div class="card empty"><p>${words}</p>${begin && html`<p><a class="button" href="${begin.path}">${begin.label}</a></p>`}</div>`;
}
