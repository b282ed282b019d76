// In charge of adding an application: the form, and the secrets that are shown this once.
import { addApplication } from '../../access/applications.ts';
import { html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { parseAllowList } from '../../http/address-guard.ts';
import { requireCallbackUrl } from '../../notifications/inbox/require-target.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { addApplicationPath, applicationPath, applicationsPath } from '../links.ts';
import { renderShownOnce } from '../shown-once.ts';
import type { Action, Page } from '../visit.ts';
import { describeProfileGiven, labels, readProfile, renderProfileFields } from './profile-form.ts';

const back = { path: applicationsPath, label: 'Applications' };

export const newApplicationPage: Page = {
  path: addApplicationPath,
  async show(_parts, visit) {
    const { typed } = visit;
    const form = renderDoing(visit, {
      path: `${addApplicationPath}/add`,
      id: 'add-application',
      label: 'Add an application',
      body: html`${renderInput({
        name: 'rp', label: labels.rp, type: 'text', autocomplete: 'off', value: typed?.one('rp') ?? '',
        hint: 'Its partner id, which stays: 1 to 64 of A-Z a-z 0-9 . _ -',
      })}
${renderProfileFields(typed)}`,
    });
    return renderConsole(visit, {
      title: 'Add an application',
      section: 'applications',
      back,
      body: html`<h1>Add an application</h1>
<div class="card">${form ?? html`<p>Your role is viewer: ask an admin to add an application.</p>`}</div>`,
    });
  },
};

/** Sent a second time it is refused, as the application is there. */
export const newApplicationAction: Action = {
  path: `${addApplicationPath}/add`,
  name: 'application add',
  labels,
  about: (_visit, form) => ({ rp: form.one('rp').slice(0, 64), detail: describeProfileGiven(form) }),
  async run({ changes, seal, config }, visit, form) {
    const [rp, profile] = [form.one('rp'), readProfile(form)];
    await requireCallbackUrl(changes, { publicUrl: config.publicUrl, allowed: parseAllowList(config.outboundAllow) }, profile.callbackUrl, rp);
    const added = await addApplication(changes, seal, { ...profile, rp });
    return renderConsole(visit, {
      title: 'The secrets of the new application',
      section: 'applications',
      back,
      body: html`<h1><bdi>${form.one('name')}</bdi> is added</h1>
${renderShownOnce({
  secrets: [
    { id: 'client-id', label: 'Client id (no secret)', value: added.clientId },
    { id: 'client', label: 'Client secret', value: added.clientSecret },
    { id: 'management', label: 'Management secret', value: added.managementSecret },
    { id: 'signing', label: 'Signing secret', value: added.signingSecret },
  ],
  back: { path: applicationPath(rp), label: 'to the application' },
})}`,
    });
  },
};
