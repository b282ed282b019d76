// In charge of the fields of a form: a label, a hint, and what stood there when it was sent.
import { html, type Html, type HtmlValue } from '../html.ts';

export type Input = {
  name: string;
  label: string;
  type: 'text' | 'password' | 'url' | 'email' | 'datetime-local';
  autocomplete: string;
  value?: string | undefined;
  hint?: HtmlValue;
  /** May stay empty. */
  optional?: boolean;
  /** Characters. */
  longest?: number;
};

export function renderInput({ name, label, type, autocomplete, value, hint, optional = false, longest = 300 }: Input): Html {
  return html`<div class="field"><label for="${name}">${label}</label>${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<input type="${type}" id="${name}" name="${name}" value="${value}" autocomplete="${autocomplete}" autocapitalize="off" spellcheck="false" maxlength="${longest}"
${!optional && html`required`}${hint && html` aria-describedby="${name}-hint"`}></div>`;
}

export type Lines = { name: string; label: string; value: string; hint: string; rows: number };

/** Several values, one on each line. */
export function renderLines({ name, label, value, hint, rows }: Lines): Html {
  return html`<div class="field"><label for="${name}">${label}</label><p class="hint" id="${name}-hint">${hint}</p>
<textarea id="${name}" name="${name}" rows="${rows}" autocapitalize="off" spellcheck="false" aria-describedby="${name}-hint">
${value}</textarea></div>`;
}

export type Choice = { value: string; label: string };

export type Select = { name: string; label: string; value: string; choices: readonly Choice[]; hint?: string };

export function renderSelect({ name, label, value, choices, hint }: Select): Html {
  return html`<div class="field"><label for="${name}">${label}</label>${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<select id="${name}" name="${name}"${hint !== undefined && html` aria-describedby="${name}-hint"`}>
${choices.map((one) => html`<option value="${one.value}"${one.value === value && html` selected`}>${one.label}</option>`)}
</select></div>`;
}

export function renderCheck({ name, label, checked, hint }: { name: string; label: string; checked: boolean; hint?: string }): Html {
  return html`<div class="check"><input type="checkbox" id="${name}" name="${name}" value="yes"${checked && html` checked`}
${hint !== undefined && html` aria-describedby="${name}-hint"`}>
<label for="${name}">${label}</label>${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}</div>`;
}
