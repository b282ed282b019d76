// In charge of the fields of a OneRoster provider, in every form that connects one, and of what is typed there.
import type { Form } from '../../http/forms.ts';
import { html, type Html } from '../../http/html.ts';
import { renderInput, renderSelect } from '../../http/pages/field.ts';
import { parseProviderOptions, type ConnectorSetup } from '../connector-settings.ts';
import { oneRosterVersions } from '../connectors/oneroster/discovery.ts';
import { noScope } from '../connectors/oneroster/scopes.ts';

/** What was typed before, or is set; never the secret. */
export type ProviderGiven = { url: string; tokenUrl: string; version: string; scope: string; clientId: string };

export function readProviderFields(form: Form): ProviderGiven {
  return { url: form.one('url'), tokenUrl: form.one('tokenUrl'), version: form.one('version'), scope: form.one('scope'), clientId: form.one('clientId') };
}

export function setupOf({ url, tokenUrl, version, scope, clientId }: ProviderGiven, clientSecret: string): ConnectorSetup {
  return { kind: 'oneroster', url, tokenUrl: tokenUrl || undefined, ...parseProviderOptions({ version, scope }), clientId, clientSecret };
}

const longest = 2000;
const example = 'https://mis.example/ims/oneroster/v1p1';

/** whose: "your MIS", "the MIS". kept: there is a secret, which stays if none is typed. */
export function renderProviderFields(given: ProviderGiven | undefined, { whose, kept }: { whose: string; kept: boolean }): Html {
  const shared = { autocomplete: 'off', longest } as const;
  return html`
${renderInput({
  ...shared,
  name: 'url',
  label: 'Address of the provider',
  type: 'url',
  value: given?.url,
  hint: `As ${whose} shows it, for example ${example}`,
})}
${renderInput({
  ...shared,
  name: 'tokenUrl',
  label: 'Address for tokens (optional)',
  type: 'url',
  value: given?.tokenUrl,
  hint: `Only if ${whose} shows a second address.`,
  optional: true,
})}
${renderSelect({
  name: 'version',
  label: 'OneRoster version',
  value: given?.version ?? '',
  choices: [{ value: '', label: 'Find out' }, ...oneRosterVersions.map((one) => ({ value: one, label: one }))],
})}
${renderInput({
  ...shared,
  name: 'scope',
  label: 'Scope (optional)',
  type: 'text',
  value: given?.scope,
  hint: `Only if ${whose} names one; “${noScope}” asks for tokens without a scope. Otherwise the usual ones are asked for.`,
  optional: true,
})}
${renderInput({ ...shared, name: 'clientId', label: 'Client ID', type: 'text', value: given?.clientId })}
${renderInput({
  ...shared,
  name: 'clientSecret',
  label: kept ? 'Client secret (empty keeps the one that is stored)' : 'Client secret',
  type: 'password',
  hint: 'It is stored encrypted and never shown again.',
  optional: kept,
})}`;
}
