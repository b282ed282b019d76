// In charge of forms on pages: each carries the token that shows where it came from.
import { html, type Html, type HtmlValue } from '../html.ts';

export function renderForm({ path, token, id, body }: { path: string; token: string; id: string; body: HtmlValue }): Html {
  return html`<form method="post" action="${path}" id="${id}"><input type="hidden" name="token" value="${token}">${body}</form>`;
}
