// In charge of changing what is known of a school.
import { html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { changeSchool } from '../../onboarding/edit-school.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { schoolPath, schoolRoute } from '../links.ts';
import type { Action, Page } from '../visit.ts';
import { estabOf, renderSchoolHead, schoolOf, typedOr } from './around.ts';
import { labels } from './words.ts';

const path = `${schoolRoute}/edit`;

export const editSchoolPage: Page = {
  path,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const form = renderDoing(visit, {
      path: `${schoolPath(school.estab)}/edit/save`,
      id: 'edit-school',
      label: 'Save',
      body: html`${renderInput({ name: 'name', label: labels.name, type: 'text', autocomplete: 'off', value: typedOr(visit, 'name', school.name) })}
${renderInput({
  name: 'email', label: labels.email, type: 'email', autocomplete: 'off', value: typedOr(visit, 'email', school.email),
  hint: 'If it moves, links and sessions of the old address end, and open invitations get a new link for the new one.',
})}
${renderInput({
  name: 'time-zone', label: labels['time-zone'], type: 'text', autocomplete: 'off', value: typedOr(visit, 'time-zone', school.timeZone),
  hint: 'In which its days begin, such as Europe/London.',
})}`,
    });
    const body = html`${renderSchoolHead(school, 'school')}
<section class="card" aria-labelledby="edit"><h2 id="edit">Edit</h2>
${form ?? html`<p>Your role is viewer: an admin can change this.</p>`}</section>`;
    return renderConsole(visit, { title: `Edit ${school.name}`, section: 'schools', back: { path: schoolPath(school.estab), label: school.name }, body });
  },
};

export const editSchoolAction: Action = {
  path: `${path}/save`,
  name: 'school edit',
  done: 'The school is changed.',
  labels,
  about: (_visit, form) => ({ detail: { name: form.one('name'), email: form.one('email'), timeZone: form.one('time-zone') } }),
  async run({ changes, seal, config }, visit, form) {
    const change = { name: form.one('name'), email: form.one('email'), timeZone: form.one('time-zone') };
    await changeSchool({ db: changes, seal, publicUrl: config.publicUrl }, estabOf(visit), change);
    return { to: schoolPath(estabOf(visit)) };
  },
};
