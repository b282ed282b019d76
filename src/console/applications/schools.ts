// In charge of the schools of an application: page by page how each stands and how old its secret is, and asking one more.
import { cutPage } from '../../http/cut-page.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { applicationSchoolStates, listApplicationSchools, type ApplicationSchool } from '../../onboarding/application-schools.ts';
import { invite } from '../../onboarding/invitations.ts';
import { inviteForApplication } from '../../onboarding/school-register.ts';
import { renderDoing } from '../doing.ts';
import { askingDone, askingLabels, badgeOf } from '../schools/words.ts';
import { pageLength } from '../layout.ts';
import { applicationPath, applicationRoute, grantLink } from '../links.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { isDeveloper, mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

const path = `${applicationRoute}/schools`;
const labels = { estab: 'School number', name: 'Name of the school', email: 'Address of record', rp: 'Application', ...askingLabels } as const;

export const applicationSchoolsPage: Page = {
  path,
  developers: true,
  async show({ db, config, now }, visit) {
    const application = await openApplication(db, visit);
    const at = `${applicationPath(application.rp)}/schools`;
    const [words, after, asked] = [visit.query.one('q'), visit.query.one('after'), visit.query.one('state')];
    const state = applicationSchoolStates.find((one) => one === asked);
    const found = await listApplicationSchools(db, application.rp, { words, state, after, most: pageLength + 1, asApplication: isDeveloper(visit) });
    const { shown: page, last } = cutPage(found, pageLength);
    const chosen = { q: words, state };
    const nothing = words === '' && state === undefined ? 'No school yet. Those that are asked, and how they decided, will be listed here.' : 'None of these.';
    const states = applicationSchoolStates.map((value) => ({ value, label: badgeOf(value).badge }));
    return renderApplicationPage(visit, application, {
      title: 'Schools',
      tab: '/schools',
      body: html`${renderFilters({
        path: at,
        filters: [
          { kind: 'text', name: 'q', label: 'Name or number', value: words },
          { kind: 'choice', name: 'state', label: 'State', value: state ?? '', all: 'Any state', choices: states },
        ],
      })}
${page.length > 0 ? renderSchools(page, application.rp, visit, now()) : renderEmpty(nothing)}
${renderPager({ first: after === '' ? undefined : addressOf(at, chosen), next: last && addressOf(at, { ...chosen, after: last.estab }) })}
${mayChange(visit) && renderInvite(visit, at, config.mail !== undefined)}`,
    });
  },
};

/** A school secret is replaced where the school is: it belongs to both. The school's own pages are the operator's. */
export function renderSchools(schools: readonly ApplicationSchool[], rp: string, visit: Visit, now: number): Html {
  const named = (estab: string, name: string) => (isDeveloper(visit) ? html`<bdi>${name}</bdi>` : grantLink(estab, rp, name));
  return renderTable({
    id: 'schools',
    caption: 'Schools, in the order of their numbers',
    stacked: true,
    columns: ['School', 'State', 'May read', 'Since', 'Secret made'],
    rows: schools.map(({ estab, name, state, scopes, changed, secretMade, oldSecretUntil }) => [
      html`${named(estab, name)}<br><span class="id quiet">${estab}</span>`,
      renderBadge(badgeOf(state)),
      scopes.length === 0 ? html`<span class="quiet">nothing</span>` : scopes.join(', '),
      renderAgo(changed, now),
      html`${renderAgo(secretMade, now, 'none')}${oldSecretUntil && html`<br><span class="quiet">the old one ends ${renderAgo(oldSecretUntil, now)}</span>`}`,
    ]),
  });
}

function renderInvite(visit: Visit, at: string, sendsMail: boolean): Html {
  const value = (name: string) => visit.typed?.one(name) ?? '';
  // An application says both, as it does through the API: it is not told what is known here.
  const ofUnknown = isDeveloper(visit) ? {} : { optional: true, hint: 'If it is not known here yet.' };
  return html`<section class="card" id="invite"><h2>Ask a school</h2>
<p>The school decides by itself${sendsMail ? ': a link goes to its address of record' : ''}. ${isDeveloper(visit)
  ? 'A school that is not known here yet is confirmed by the operator first.'
  : sendsMail && 'It is kept under Mail as well.'}</p>
${!sendsMail && renderNotMailed(isDeveloper(visit))}
${renderDoing(visit, {
  path: `${at}/invite`,
  id: 'invite-school',
  label: 'Ask the school',
  body: html`<div class="asks">
${renderInput({ name: 'estab', label: labels.estab, type: 'text', autocomplete: 'off', value: value('estab'), hint: 'In England the seven-digit LAESTAB.' })}
${renderInput({
  name: 'name', label: labels.name, type: 'text', autocomplete: 'off', value: value('name'), ...ofUnknown,
})}
${renderInput({
  name: 'email', label: labels.email, type: 'email', autocomplete: 'off', value: value('email'), ...ofUnknown,
})}
</div>
${renderInput({
  name: 'reason', label: labels.reason, type: 'text', autocomplete: 'off', optional: true, value: value('reason'),
  hint: 'As the school will read it. May stay empty.',
})}`,
})}</section>`;
}

export const inviteSchoolAction: Action = {
  path: `${path}/invite`,
  name: 'invite',
  developers: true,
  done: askingDone,
  labels,
  about: (_visit, form) => ({
    estab: form.one('estab').slice(0, 32), detail: { name: form.one('name'), email: form.one('email'), reason: form.one('reason') },
  }),
  async run({ db, changes, config }, visit, form) {
    const { rp } = await openApplication(db, visit);
    const asked = {
      rp,
      estab: form.one('estab'),
      schoolName: form.one('name'),
      contactEmail: form.one('email'),
      reason: form.one('reason') || null,
      scopes: undefined,
    };
    if (isDeveloper(visit)) await inviteForApplication(changes, config.publicUrl, asked, labels);
    else await invite(changes, config.publicUrl, { ...asked, by: 'operator' });
    return { to: `${applicationPath(rp)}/schools` };
  },
};
