// In charge of the page of the sandbox of an application: what is in force, a form for each thing that it can do, and making an application
// to rehearse with. It is there with a demo alone.
import { randomBytes } from 'node:crypto';
import type { Application } from '../../access/applications.ts';
import { SchoolbellError } from '../../errors.ts';
import { cutText } from '../../http/cut-text.ts';
import type { Form } from '../../http/forms.ts';
import { html, type Html } from '../../http/html.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderCheck, renderInput, renderSelect } from '../../http/pages/field.ts';
import { formatExact } from '../../http/pages/moment.ts';
import { addOwnDeveloper } from '../../operators/developers.ts';
import { controls, type Control } from '../../sandbox/controls.ts';
import { makeDemoApplication } from '../../sandbox/demo-application.ts';
import { parseValues, type Field, type Values } from '../../sandbox/field.ts';
import { describeStanding, readStanding } from '../../sandbox/standing.ts';
import { requireWhom, useControl } from '../../sandbox/steer.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { renderShownOnce } from '../shown-once.ts';
import { isDeveloper, type Action, type ConsoleParts, type Page, type Visit } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

const path = `${applicationRoute}/sandbox`;
const labels = { name: 'Name' } as const;
const longestName = 60;

export const sandboxPage: Page = {
  path,
  developers: true,
  async show(parts, visit) {
    const application = await open(parts, visit);
    return renderApplicationPage(visit, application, {
      title: 'Sandbox',
      tab: '/sandbox',
      body: html`${application.demo ? await renderSteering(parts, visit, application) : renderNotDemo()}
${renderMake(visit, application.rp)}`,
    });
  },
};

async function open({ db, config }: ConsoleParts, visit: Visit): Promise<Application> {
  if (!config.demo) throw new SchoolbellError('not_found', 'There is nothing at this address.');
  return openApplication(db, visit);
}

function renderNotDemo(): Html {
  return html`<p>This is no application of the demo: the sandbox does nothing to it. Make one to rehearse with.</p>`;
}

async function renderSteering({ db, now }: ConsoleParts, visit: Visit, { rp }: Application): Promise<Html> {
  const standing = await readStanding(db, await requireWhom(db, rp), now());
  const described = describeStanding(standing, formatExact);
  return html`<p>Rehearse here what goes wrong in life. What is done holds for this application, and for the demo schools that authorise it, which other
applications of the demo read too. What is done to the application ends by itself, after an hour unless you say otherwise. The MIS stays as it was told
unless you say for how many minutes; the clock, and what happened in a school, stay. A reset takes back everything.</p>
<section class="card" aria-labelledby="in-force"><h2 id="in-force">In force</h2>
${renderFacts(Object.entries(described).map(([name, value]) => [capital(name), value]))}</section>
<div class="rehearsing">${controls.map((control) => renderControl(visit, rp, control, { inForce: control.inForce?.(standing) ?? {}, described }))}</div>`;
}

type InForce = Readonly<{ inForce: Values; described: Readonly<Record<string, string>> }>;

function renderControl(visit: Visit, rp: string, control: Control, { inForce, described }: InForce): Html | undefined {
  const { name, title, button, help, fields } = control;
  const form = renderDoing(visit, {
    path: `${applicationPath(rp)}/sandbox/${name}`,
    id: `sandbox-${name}`,
    look: 'second',
    label: button ?? html`Set<span class="unseen"> ${title}</span>`,
    body: fields.map((field) => renderField(visit, name, field, inForce[field.name])),
  });
  return form && html`<section class="card" id="${cardOf(name)}" aria-labelledby="${name}-title"><h2 id="${name}-title">${title}</h2><p>${help}</p>
${visit.query.one('done').endsWith(`-sandbox-${name}`) && renderDone(control, described)}${form}</section>`;
}

const cardOf = (control: string) => `${control}-card`;

/** Beside the button, since what is in force stands far above it. */
function renderDone({ name, of }: Control, described: InForce['described']): Html {
  const concerned = Object.entries(described).filter(([key]) => key === name || (of === 'schools' && key.startsWith('school ')));
  return html`<p><strong>Done.</strong> ${concerned.map(([key, value]) => html`${capital(key)}: ${value}. `)}</p>`;
}

const capital = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** Several forms stand on the page: a field has the name of its own before it. */
const nameOf = (control: string, field: Field) => `${control}-${field.name}`;

/** What was typed stands there again; in the forms beside it, what is in force. */
function renderField({ typed }: Visit, control: string, field: Field, inForce: Values[string]): Html {
  const name = nameOf(control, field);
  const { label, help } = field;
  const value = typed?.all(name)[0] ?? String(inForce ?? '');
  const hint = `${capital(help)}.`;
  if (field.type === 'choice') return renderSelect({ name, label, value, choices: field.choices.map((one) => ({ value: one, label: one })) });
  if (field.type === 'switch') return renderCheck({ name, label, checked: value !== '', hint });
  return renderInput({ name, label, type: 'text', autocomplete: 'off', value, longest: 40, optional: !field.required, hint });
}

/** The end of its id stands in the form, so that a reload makes no second one. */
function renderMake(visit: Visit, rp: string): Html | undefined {
  const form = renderDoing(visit, {
    path: `${applicationPath(rp)}/sandbox/application`,
    id: 'make-demo-application',
    label: 'Make a demo application',
    body: html`<input type="hidden" name="ending" value="${randomBytes(3).toString('hex')}">
${renderInput({ name: 'name', label: labels.name, type: 'text', autocomplete: 'off', longest: longestName, value: visit.typed?.one('name') ?? '' })}`,
  });
  return form && html`<section class="card" aria-labelledby="make-title"><h2 id="make-title">An application to rehearse with</h2>
<p>It is yours, with credentials of its own; the demo school authorises it for everything, and the sandbox may do all of this to it.</p>${form}</section>`;
}

function readGiven({ name, fields }: Control, form: Form) {
  return Object.fromEntries(fields.map((field) => [field.name, form.one(nameOf(name, field))]).filter(([, value]) => value !== ''));
}

function describeAction(control: Control): Action {
  return {
    path: `${path}/${control.name}`,
    name: `sandbox ${control.name}`,
    developers: true,
    done: 'The sandbox does as it was told.',
    about: (_visit, form) => ({ detail: readGiven(control, form) }),
    async run(parts, visit, form) {
      const { rp } = await open(parts, visit);
      const values = parseValues(control, (field) => form.one(nameOf(control.name, field)), ({ label }) => label);
      await useControl(parts.changes, control, await requireWhom(parts.changes, rp), values, parts.now());
      return { to: `${applicationPath(rp)}/sandbox#${cardOf(control.name)}` };
    },
  };
}

export const sandboxActions: readonly Action[] = [
  {
    path: `${path}/application`,
    name: 'sandbox application',
    developers: true,
    labels,
    about: (_visit, form) => ({ detail: { name: cutText(form.one('name'), longestName) } }),
    async run(parts, visit, form) {
      const application = await open(parts, visit);
      const made = await makeDemoApplication(parts.changes, parts.seal, { name: form.one('name'), ending: form.one('ending') });
      // Its maker sees it from now on.
      if (isDeveloper(visit)) await addOwnDeveloper(parts.changes, { account: visit.operator.id, rp: made.rp, by: visit.operator.name });
      return renderApplicationPage(visit, application, {
        title: 'The secrets of the demo application',
        tab: '/sandbox',
        body: html`<h2><bdi>${form.one('name')}</bdi> <span class="id quiet">${made.rp}</span></h2>
${renderShownOnce({
  secrets: [
    { id: 'rp', label: 'Relying party (no secret)', value: made.rp },
    { id: 'estab', label: 'Establishment (no secret)', value: made.estab },
    { id: 'client-id', label: 'Client id (no secret)', value: made.clientId },
    { id: 'client', label: 'Client secret', value: made.clientSecret },
    { id: 'school', label: 'School secret', value: made.schoolSecret },
    { id: 'management', label: 'Management secret', value: made.managementSecret },
    { id: 'signing', label: 'Signing secret', value: made.signingSecret },
  ],
  back: { path: `${applicationPath(made.rp)}/sandbox`, label: 'to its sandbox' },
})}`,
      });
    },
  },
  ...controls.map(describeAction),
];
