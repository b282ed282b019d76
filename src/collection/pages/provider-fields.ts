// In charge of the fields of a OneRoster provider, in every form that connects one.
import { html, type Html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';

/** What was typed before, or is set; never the secret. */
export type ProviderGiven = { url: string; tokenUrl: string; clientId: string };

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
