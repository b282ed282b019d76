// In charge of the forms that change where a school's data comes from: each kind of source has one, and what was typed stays
// when it did not work.
import type { SourceSettings } from '../../../collection/connector-settings.ts';
import { demoModes } from '../../../collection/connectors/demo/demo-connector.ts';
import { readProviderFields, renderProviderFields } from '../../../collection/pages/provider-fields.ts';
import { html, type Html, type HtmlValue } from '../../../http/html.ts';
import { renderInput, renderSelect } from '../../../http/pages/field.ts';
import { renderForm } from '../../../http/pages/form.ts';
import { sourcePath, uploadPath } from '../../links.ts';
import { mayChange, type Visit } from '../../visit.ts';

export const formKinds = ['oneroster', 'folder', 'uploads', 'demo', 'none'] as const;
export type FormKind = (typeof formKinds)[number];

const demoWords = {
  normal: 'Normal',
  slow: 'Slow: every answer takes 20 seconds',
  offline: 'Offline: it cannot be reached',
  broken: 'Broken: what it answers cannot be read',
  rejecting: 'Rejecting: it refuses marks',
} as const;

/** Which of the forms is for what is set now. */
export function formKindOf(settings: SourceSettings): FormKind {
  if (settings.kind !== 'csv') return settings.kind;
  return settings.folder === undefined ? 'uploads' : 'folder';
}

export function renderSourceForms(visit: Visit, estab: string, settings: SourceSettings, held: boolean): HtmlValue {
  if (!mayChange(visit)) return html`<p class="quiet">Your role is viewer: an admin changes this.</p>`;
  const now = formKindOf(settings);
  const typed = visit.typed?.one('kind');
  const fold = (kind: FormKind, summary: string, body: Html) =>
    html`<details${(typed === undefined ? now === 'none' && kind === 'oneroster' : typed === kind) && html` open`}>
<summary>${now === kind ? html`Change: ${summary}` : summary}</summary>
${renderForm({
  path: `${sourcePath(estab)}/save`,
  token: visit.token,
  id: `source-${kind}`,
  body: html`<input type="hidden" name="kind" value="${kind}">${body}`,
})}
</details>`;
  return html`${settings.kind === 'demo' && renderDemoMode(visit, estab, settings.mode)}
<h3>${now === 'none' ? 'Connect a source' : 'Change it'}</h3>
<p class="quiet">It is tested first, which can take a moment, and nothing is saved unless it works. What is there now stays until everything was collected
once; if an unusually large part of it would go, that is held until somebody has approved it.</p>
${held && html`<p class="caution">An import waits for approval. Another source drops it.</p>`}
${fold('oneroster', 'A OneRoster provider', renderProvider(visit, estab, settings))}
${fold('folder', 'A folder on this server', renderFolder(visit, estab, settings))}
${now !== 'uploads' && fold('uploads', 'Packages that are uploaded', renderUploads(estab, settings))}
${now !== 'demo' && fold('demo', 'The demonstration school', html`<p>Made-up people, who change by themselves${erased(settings)}.</p>${save('Save')}`)}
${now !== 'none' && fold('none', 'None', html`<p>What was collected stays and is served; nothing more is collected${erased(settings)}.</p>
${save('Disconnect the source', 'danger')}`)}`;
}

const erased = ({ kind }: SourceSettings) => kind === 'oneroster' && ', and the credentials of the provider are erased';
const save = (label: string, look = '') => html`<button type="submit"${look !== '' && html` class="${look}"`}>${label}</button>`;

function renderProvider({ typed }: Visit, estab: string, settings: SourceSettings): Html {
  const again = typed?.one('kind') === 'oneroster' ? readProviderFields(typed) : undefined;
  const set = settings.kind === 'oneroster' ? settings : undefined;
  const now = set && { url: set.url, tokenUrl: set.tokenUrl ?? '', version: set.version ?? '', scope: set.scope ?? '', clientId: set.clientId };
  return html`${renderProviderFields(again ?? now, { whose: 'the MIS', kept: set !== undefined })}${renderTested(estab)}`;
}

function renderFolder({ typed }: Visit, estab: string, settings: SourceSettings): Html {
  const value = typed?.one('kind') === 'folder' ? typed.one('folder') : settings.kind === 'csv' ? settings.folder : undefined;
  const hint = 'An absolute path. It is watched: the package that the MIS writes there is read, and marks are written to it.';
  return html`${renderInput({ name: 'folder', label: 'Folder', type: 'text', autocomplete: 'off', value, hint, longest: 1000 })}${renderTested(estab)}`;
}

function renderUploads(estab: string, settings: SourceSettings): Html {
  const first = html` Or <a href="${uploadPath(estab)}">upload the first package</a>: the provider is left when that is taken.`;
  return html`<p>Nothing is read by itself any more${erased(settings)}.${settings.kind === 'oneroster' && first}</p>${save('Save')}`;
}

function renderTested(estab: string): Html {
  return html`<div class="actions">${save('Test and save')}
<button type="submit" class="second" formaction="${sourcePath(estab)}/test">Only test</button></div>`;
}

/** Only the sandbox sets it; whoever sets another ends it. */
const bySandbox = { value: 'half-written', label: 'Half-written, as the sandbox was told' } as const;

function renderDemoMode({ token }: Visit, estab: string, mode: string): Html {
  return renderForm({
    path: `${sourcePath(estab)}/demo-mode`,
    token,
    id: 'demo-mode-form',
    body: html`${renderSelect({
      name: 'mode',
      label: 'How the demo’s MIS behaves',
      value: mode,
      choices: [...demoModes.map((value) => ({ value, label: demoWords[value] })), ...(mode === 'half-written' ? [bySandbox] : [])],
    })}<button type="submit" class="second">Set</button>`,
  });
}
