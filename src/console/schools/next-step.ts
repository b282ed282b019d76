// In charge of the one thing to do next about a school, as a sentence with the way to do it.
import type { ComponentDatabase } from '../../collection/component-databases.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { describeSchoolState, type ListedSchool, type SchoolState } from '../../onboarding/school-states.ts';
import { renderDoing } from '../doing.ts';
import { schoolPath } from '../links.ts';
import type { Visit } from '../visit.ts';
import { typedOr } from './around.ts';

/** ours: some of what is paused was not paused by the school itself. */
type Given = { school: ListedSchool; databases: readonly ComponentDatabase[]; ours: boolean; visit: Visit };

const link = (school: ListedSchool, path: string, label: string) => html`<p><a class="button" href="${schoolPath(school.estab)}${path}">${label}</a></p>`;

const steps: Readonly<Record<SchoolState, (given: Given) => HtmlValue>> = {
  Proposed: renderProposed,
  Held: ({ school }) => link(school, '/held', 'See what would be deleted, and decide'),
  Failing: ({ school, databases }) => {
    const said = databases.filter(({ message }) => message !== null);
    const failed = said.filter(({ status }) => ['Error', 'Timeout'].includes(status));
    // A package that was refused leaves the status of what is there.
    const why = (failed.length > 0 ? failed : said).map(({ name, message }) => html`<p><strong>${name}:</strong> <bdi>${message}</bdi></p>`);
    return html`${why}${link(school, '/source', 'See its source')}`;
  },
  Stale: ({ school }) => link(school, '/source', 'See its source'),
  Waiting: ({ school }) => link(school, '/source', 'Connect its data'),
  Invited: () => html`<p>Nothing needs to be done here; the request can be sent again below.</p>`,
  Empty: ({ school }) => link(school, '/source/upload', 'Upload a package'),
  Installing: ({ school }) => link(school, '/source', 'See how far it is'),
  Live: () => undefined,
  Paused: ({ school, ours, visit }) =>
    ours ? renderResume(school, visit) : html`<p>The school has paused them itself. It resumes them, or you do, one by one, below.</p>`,
  Ready: ({ school }) => link(school, '/add-application', 'Add an application'),
  New: ({ school }) => link(school, '/source', 'Connect its data'),
};

function renderProposed({ school, visit }: Given): HtmlValue {
  const path = schoolPath(school.estab);
  const email = renderInput({
    name: 'email', label: 'Address of record', type: 'email', autocomplete: 'off', value: typedOr(visit, 'email', ''),
    hint: html`Find out the address of the school yourself and type it: the person who reads it decides for the school.
The application gave <bdi>${school.email}</bdi>, which nobody has checked.`,
  });
  const confirm = renderDoing(visit, { path: `${path}/confirm`, id: 'confirm', label: 'Confirm the school and its address', body: email });
  const refusal = html`<p>Is it no school, or not theirs to ask? Refused, it goes with all that applications have asked of it. They can name it again.</p>`;
  return confirm && html`${confirm}${renderDoing(visit, { path: `${path}/refuse`, id: 'refuse', look: 'second', label: 'Refuse the school', body: refusal })}`;
}

export const renderResume = ({ estab }: ListedSchool, visit: Visit) =>
  renderDoing(visit, { path: `${schoolPath(estab)}/resume`, id: 'resume-school', label: 'Resume the school' });

const urgent: readonly SchoolState[] = ['Proposed', 'Held', 'Failing', 'Stale', 'Waiting'];

export function renderNextStep(given: Given): Html {
  const { state } = given.school;
  const { text } = describeSchoolState(state);
  const step = steps[state](given);
  if (step === undefined) return html`<p class="quiet" id="next-step">${text}</p>`;
  return html`<section class="${urgent.includes(state) ? 'box step' : 'card'}" id="next-step" aria-label="What to do next"><p>${text}</p>${step}</section>`;
}
