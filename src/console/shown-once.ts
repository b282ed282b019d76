// In charge of how a new secret is shown: this once, in the answer to the form that asked for it, and on no page that can be
// opened again. A form that leads here names what it replaces, so that a reload makes no second one.
import { html, type Html, type HtmlValue } from '../http/html.ts';

export type OnceShown = Readonly<{ id: string; label: string; value: string }>;
/** secrets: with what belongs to them. more: what to do with them. back: where one goes on. */
export type ShownOnce = Readonly<{ secrets: readonly OnceShown[]; more?: HtmlValue; back: { path: string; label: string } }>;

export function renderShownOnce({ secrets, more, back }: ShownOnce): Html {
  const many = secrets.length > 1;
  return html`<div class="box step" role="status"><p><strong>${many ? 'These are' : 'This secret is'} shown this once.</strong> Put what stands here where
it will be kept before you leave this page. Nobody can show it again; what is lost can only be replaced.</p></div>
<div class="card">
${secrets.map(renderSecret)}
${more}
</div>
<p><a class="button" href="${back.path}">I have kept ${many ? 'them' : 'it'}: ${back.label}</a></p>`;
}

/** A field, so that the keyboard reaches it and has all of it to copy; a browser is asked not to remember it. */
function renderSecret({ id, label, value }: OnceShown): Html {
  return html`<div class="field"><label for="${id}">${label}</label>
<input type="text" class="secret" id="${id}" value="${value}" readonly autocomplete="off" spellcheck="false"></div>`;
}
