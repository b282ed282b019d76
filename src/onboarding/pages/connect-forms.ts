// In charge of the two forms by which a school connects its data.
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';

/** The token stands in the address: a file may come before any field. */
export function renderUpload(token: string): Html {
  return html`<form method="post" action="/school/source/upload?token=${encodeURIComponent(token)}" enctype="multipart/form-data" id="upload">
    <div class="field">
      <label for="package">Package</label>
      <p class="hint" id="package-hint">
        A zip of OneRoster CSV files, 512 MB at most. If anything in it is wrong, nothing is changed and you see what to put right.
      </p>
      <input type="file" id="package" name="package" accept=".zip" required aria-describedby="package-hint" />
    </div>
    <button type="submit">Upload</button>
  </form>`;
}

type Field = { name: string; label: string; hint?: string; type: 'url' | 'text' | 'password'; optional?: true };

const fields: readonly Field[] = [
  { name: 'url', label: 'Address of the provider', hint: 'As your MIS shows it, for example https://mis.example/ims/oneroster/v1p1', type: 'url' },
  { name: 'tokenUrl', label: 'Address for tokens (optional)', hint: 'Only if your MIS shows a second address.', type: 'url', optional: true },
  { name: 'clientId', label: 'Client ID', type: 'text' },
  { name: 'clientSecret', label: 'Client secret', hint: 'It is stored encrypted and never shown again.', type: 'password' },
];

/** What was typed before; never the secret. */
export type Typed = { url: string; tokenUrl: string; clientId: string };

export function renderProvider(token: string, given?: Typed): Html {
  return renderForm({
    path: '/school/source/provider',
    token,
    id: 'provider',
    body: html`${fields.map((field) => renderField(field, given?.[field.name as keyof Typed]))}<button type="submit">Test and connect</button>
      <p class="quiet">The connection is tested first, which can take a moment. Nothing is saved unless it works.</p>`,
  });
}

function renderField({ name, label, hint, type, optional }: Field, value: string | undefined): Html {
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    <input
      type="${type}"
      id="${name}"
      name="${name}"
      value="${value}"
      maxlength="2000"
      autocomplete="off"
      autocapitalize="off"
      spellcheck="false"
      ${!optional && html` required`}${hint && html` aria-describedby="${name}-hint"`}
    />
  </div>`;
}
