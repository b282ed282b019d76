// In charge of adding a school.
import type { ConnectorSetup } from '../../collection/connector-settings.ts';
import { SchoolbellError } from '../../errors.ts';
import { html } from '../../http/html.ts';
import { renderInput, renderSelect } from '../../http/pages/field.ts';
import { addSchool } from '../../onboarding/edit-school.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { addSchoolPath, schoolPath, schoolsPath } from '../links.ts';
import type { Action, Page } from '../visit.ts';
import { typedOr } from './around.ts';
import { labels } from './words.ts';

/** A provider's credentials are tried where they are set: on the page of the school's source. */
const setups: Readonly<Record<string, ConnectorSetup | undefined>> = { none: undefined, csv: { kind: 'csv', folder: undefined }, demo: { kind: 'demo' } };
const defaultZone = 'Europe/London';

export const newSchoolPage: Page = {
  path: addSchoolPath,
  async show(_parts, visit) {
    const typed = (name: string, known = '') => typedOr(visit, name, known);
    const form = renderDoing(visit, {
      path: `${addSchoolPath}/add`,
      id: 'add-school',
      label: 'Add a school',
      body: html`${renderInput({
        name: 'estab', label: labels.estab, type: 'text', autocomplete: 'off', value: typed('estab'),
        hint: 'In England the seven-digit LAESTAB; otherwise 1 to 32 letters, digits, dots, hyphens and underscores. It cannot be changed later.',
      })}
${renderInput({ name: 'name', label: labels.name, type: 'text', autocomplete: 'off', value: typed('name') })}
${renderInput({
  name: 'email', label: labels.email, type: 'email', autocomplete: 'off', value: typed('email'),
  hint: 'Invitations and sign-in links go only to this address. The person who reads its mail decides for the school.',
})}
${renderInput({ name: 'time-zone', label: labels['time-zone'], type: 'text', autocomplete: 'off', value: typed('time-zone', defaultZone) })}
${renderSelect({
  name: 'connector', label: 'Where its data comes from', value: typed('connector', 'none'), hint: 'It can be set or changed at any time, also by the school.',
  choices: [
    { value: 'none', label: 'Not known yet, or a OneRoster provider: set it next' },
    { value: 'csv', label: 'CSV packages that are uploaded' },
    { value: 'demo', label: 'A made-up school whose data moves' },
  ],
})}`,
    });
    const body = html`<h1>Add a school</h1>
<section class="card">${form ?? html`<p>Your role is viewer: an admin can add schools.</p>`}</section>`;
    return renderConsole(visit, { title: 'Add a school', section: 'schools', back: { path: schoolsPath, label: 'Schools' }, body });
  },
};

export const addSchoolAction: Action = {
  path: `${addSchoolPath}/add`,
  name: 'school add',
  done: 'The school is added.',
  labels,
  about: (_visit, form) => ({
    estab: form.one('estab').slice(0, 32),
    detail: { name: form.one('name'), email: form.one('email'), timeZone: form.one('time-zone'), connector: form.one('connector') },
  }),
  async run({ changes, seal }, _visit, form) {
    const kind = form.one('connector');
    if (!Object.hasOwn(setups, kind)) throw new SchoolbellError('invalid_request', 'Choose where its data comes from.');
    const given = { estab: form.one('estab'), name: form.one('name'), email: form.one('email'), timeZone: form.one('time-zone') || defaultZone };
    const { estab } = await addSchool({ db: changes, seal }, given, setups[kind]);
    return { to: schoolPath(estab) };
  },
};
