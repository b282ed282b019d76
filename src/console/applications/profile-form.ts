// In charge of the form of what is said about an application and what it asks schools for, and of reading it again.
import type { Application } from '../../access/applications.ts';
import { scopeDescriptions, scopeNames } from '../../access/scopes.ts';
import type { Form } from '../../http/forms.ts';
import { html, type Html } from '../../http/html.ts';
import { renderCheck, renderInput, renderLines, renderSelect } from '../../http/pages/field.ts';

/** What the options of the commands are called here. */
export const labels = {
  rp: 'Id',
  name: 'Name',
  'callback-url': 'Callback URL',
  'redirect-uri': 'Redirect URIs',
  website: 'Website',
  'privacy-notice': 'Privacy notice',
  contact: 'Contact',
} as const;

const asks = [
  { value: 'none', label: 'Does not ask' },
  { value: 'required', label: 'Required' },
  { value: 'optional', label: 'Optional: the school chooses' },
] as const;

/** What was typed, or what is there. whole: with what an application is called and asks for, which is the operator's. */
export function renderProfileFields(typed: Form | undefined, known?: Application, whole = true): Html {
  const value = (name: keyof typeof labels, stored: string | null | undefined) => typed?.one(name) ?? stored ?? '';
  const redirects = typed?.exact('redirect-uri') ?? known?.redirectUris.join('\n') ?? '';
  return html`<fieldset><legend><h2>What schools read about it</h2></legend><div class="asks">
${whole && renderInput({ name: 'name', label: labels.name, type: 'text', autocomplete: 'off', value: value('name', known?.name) })}
${renderInput({
  name: 'website', label: labels.website, type: 'url', autocomplete: 'off', optional: true, value: value('website', known?.website), hint: 'May stay empty.',
})}
${renderInput({
  name: 'privacy-notice', label: labels['privacy-notice'], type: 'url', autocomplete: 'off', optional: true,
  value: value('privacy-notice', known?.privacyNotice), hint: 'May stay empty; schools are told so, and to ask for it.',
})}
${renderInput({
  name: 'contact', label: labels.contact, type: 'email', autocomplete: 'off', optional: true, value: value('contact', known?.contact),
  hint: 'An e-mail address: schools write to it, and it is where mails about failed calls to the application are addressed. May stay empty.',
})}
</div></fieldset>
<fieldset><legend><h2>Where it is called</h2></legend>
${renderInput({
  name: 'callback-url', label: labels['callback-url'], type: 'url', autocomplete: 'off', value: value('callback-url', known?.callbackUrl),
  hint: 'Authentication events go there, with the school secrets.',
})}
${renderLines({
  name: 'redirect-uri', label: labels['redirect-uri'], value: redirects, rows: 3,
  hint: 'Where sign-ins may return to, one on each line. None: nobody can sign in to it through this service.',
})}
${renderCheck({
  name: 'state-events', label: 'Tell it of changes', checked: typed ? typed.one('state-events') === 'yes' : (known?.stateEvents ?? false),
  hint: 'Its callback URL is told of pausing, resuming, narrowing, declining and revoking.',
})}
</fieldset>
${whole && renderScopeFields(typed, known)}`;
}

function renderScopeFields(typed: Form | undefined, known: Application | undefined): Html {
  const stored = (scope: string) => (known?.requiredScopes.includes(scope) ? 'required' : known?.optionalScopes.includes(scope) ? 'optional' : 'none');
  return html`<fieldset><legend><h2>What it asks schools for</h2></legend>
${known && html`<p class="hint">What it no longer asks for is taken from every school at once.
What it newly asks for, no school grants before it approves again.</p>`}
<div class="choices">
${scopeNames.map((scope) => renderSelect({
  name: `scope-${scope}`, label: scope, hint: `${scopeDescriptions[scope].description}.`, value: typed?.one(`scope-${scope}`) ?? stored(scope), choices: asks,
}))}
</div></fieldset>`;
}

/** As the commands take it. */
export function readProfile(form: Form) {
  const asked = scopeNames.flatMap((scope) => {
    const how = form.one(`scope-${scope}`);
    return how === 'required' ? [scope] : how === 'optional' ? [`${scope}:optional`] : [];
  });
  return {
    name: form.one('name'),
    callbackUrl: form.one('callback-url'),
    scopes: asked.join(','),
    redirectUris: form.one('redirect-uri').split(/\s+/).filter((uri) => uri !== ''),
    website: form.one('website'),
    privacyNotice: form.one('privacy-notice'),
    contact: form.one('contact'),
    stateEvents: form.one('state-events') === 'yes',
  };
}

/** What a developer may change of it; what else a form says is not read. */
export function readOwnProfile(form: Form): Omit<ReturnType<typeof readProfile>, 'name' | 'scopes'> {
  const { name: _name, scopes: _scopes, ...own } = readProfile(form);
  return own;
}

/** For the audit trail, which cuts it once its addresses are without passwords: cut before, the end of one would not be seen. */
export function describeProfileGiven(form: Form, whole = true): Record<string, unknown> {
  const { redirectUris, stateEvents, ...texts } = whole ? readProfile(form) : readOwnProfile(form);
  return { ...texts, redirectUris: redirectUris.join(' '), stateEvents };
}

/** Whether that is what it asks for already, in whatever order. */
export function asksTheSame(scopes: string, { requiredScopes, optionalScopes }: Application): boolean {
  const now = [...requiredScopes, ...optionalScopes.map((scope) => `${scope}:optional`)];
  return now.toSorted().join() === scopes.split(',').toSorted().join();
}
