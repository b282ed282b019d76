// In charge of a button that does something, with what has to be said first: for those who may, and for nobody else.
import { html, type Html, type HtmlValue } from '../http/html.ts';
import { renderForm } from '../http/pages/form.ts';
import { mayChange, type Visit } from './visit.ts';

/** look: how it is drawn. body: what stands before the button, with its fields. */
export type Doing = { path: string; id: string; label: HtmlValue; look?: 'second' | 'danger' | undefined; body?: HtmlValue };

export function renderDoing(visit: Visit, { path, id, label, look, body }: Doing): Html | undefined {
  if (!mayChange(visit)) return undefined;
  const button = html`<button type="submit"${look !== undefined && html` class="${look}"`}>${label}</button>`;
  return renderForm({ path, token: visit.token, id, body: html`${body}${button}` });
}
