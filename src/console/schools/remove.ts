// In charge of removing a school: what would go is seen first, and its number is typed.
import { countSchool } from '../../collection/count-school.ts';
import { describeCollection } from '../../collection/pages/database-words.ts';
import { html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { formatCount } from '../../http/pages/figures.ts';
import { renderTable } from '../../http/pages/table.ts';
import { removeSchool } from '../../onboarding/remove-school.ts';
import { renderDoing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { schoolPath, schoolRoute, schoolsPath } from '../links.ts';
import type { Action, Page } from '../visit.ts';
import { estabOf, renderSchoolHead, requireTyped, schoolOf, typedOr } from './around.ts';

const path = `${schoolRoute}/remove`;
/** Beyond that it is enough to know that there are more: nobody waits for a million marks to be counted. */
const countedMost = 10_000;

export const removeSchoolPage: Page = {
  path,
  async show(parts, visit) {
    const school = await schoolOf(parts, visit);
    const counts = Object.entries(await countSchool(parts.db, school.estab, countedMost + 1));
    const body = html`${renderSchoolHead(school, 'school')}
<section class="card" aria-labelledby="remove"><h2 id="remove">Remove the school for good</h2>
<p>Applications can read nothing from that moment, and nothing of this comes back: export the roster first if anybody may need it. What stays is a record
of the erasure: what went, how much and when, not whose it was.</p>
${
  counts.length === 0
    ? html`<p>There is nothing yet that would go with it.</p>`
    : renderTable({
        id: 'losses',
        caption: 'What would go',
        columns: ['What', { label: 'How many', number: true }],
        rows: counts.map(([what, count]) => [describeCollection(what), count > countedMost ? `more than ${formatCount(countedMost)}` : formatCount(count)]),
      })
}
${renderDoing(visit, {
  path: `${schoolPath(school.estab)}/remove/now`,
  id: 'remove-school',
  look: 'danger',
  label: 'Remove the school for good',
  body: renderInput({ name: 'confirm', label: `Type ${school.estab} to go on`, type: 'text', autocomplete: 'off', value: typedOr(visit, 'confirm', '') }),
}) ?? html`<p>Your role is viewer: an admin can remove schools.</p>`}</section>`;
    return renderConsole(visit, { title: `Remove ${school.name}`, section: 'schools', back: { path: schoolPath(school.estab), label: school.name }, body });
  },
};

export const removeSchoolAction: Action = {
  path: `${path}/now`,
  name: 'school remove',
  done: 'The school is removed.',
  async run({ changes, config }, visit, form) {
    requireTyped(form.one('confirm'), estabOf(visit));
    await removeSchool(changes, config.dataDir, estabOf(visit));
    return { to: schoolsPath };
  },
};
