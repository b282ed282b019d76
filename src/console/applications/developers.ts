// In charge of the page of an application's developers: who may come to its pages, inviting one more, and letting one go.
import { cutText } from '../../http/cut-text.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { inviteDeveloper, listDevelopers, removeDeveloper, type DeveloperLine } from '../../operators/developers.ts';
import { invitationDays } from '../../operators/mails.ts';
import { operatorParts } from '../accounts/operators.ts';
import { renderDoing } from '../doing.ts';
import { applicationPath, applicationRoute } from '../links.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { isDeveloper, mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { openApplication, renderApplicationPage } from './place.ts';

const path = `${applicationRoute}/developers`;

export const developersPage: Page = {
  path,
  developers: true,
  async show({ db, config, now }, visit) {
    const application = await openApplication(db, visit);
    const developers = await listDevelopers(db, { rp: application.rp });
    const at = `${applicationPath(application.rp)}/developers`;
    return renderApplicationPage(visit, application, {
      title: 'Developers',
      tab: '/developers',
      body: html`<p>They sign in here as well, see this application and nothing else, look after its webhooks and deliveries, replace its secrets, and
invite one another.</p>
${developers.length > 0 ? renderDevelopers(visit, developers, at, now()) : renderEmpty('Nobody yet. Whoever is invited will be listed here.')}
${mayChange(visit) && renderInvite(visit, at, config.mail !== undefined)}`,
    });
  },
};

/** When somebody was last here may have been for another application: that is for the operator. */
function renderDevelopers(visit: Visit, developers: readonly DeveloperLine[], at: string, now: number): Html {
  const whole = !isDeveloper(visit);
  return renderTable({
    id: 'developers',
    caption: 'By their addresses',
    stacked: true,
    columns: ['Name', 'Signs in as', 'State', ...(whole ? ['Second factor', 'Last signed in'] : []), ...(mayChange(visit) ? ['Change'] : [])],
    rows: developers.map((one, row) => [
      html`<bdi>${one.name}</bdi>`,
      one.signInName,
      renderBadge(one.invited ? { badge: 'Invited', tone: 'wait' } : { badge: 'Active', tone: 'good' }),
      ...(whole ? [one.hasSecondFactor ? 'on' : 'off', renderAgo(one.lastSignedIn, now)] : []),
      ...(mayChange(visit) ? [renderChanges(visit, one, at, row)] : []),
    ]),
  });
}

function renderChanges(visit: Visit, { signInName, name, email, invited }: DeveloperLine, at: string, row: number): HtmlValue {
  if (signInName === visit.operator.signInName) return html`<span class="quiet">this is you</span>`;
  const again = html`<input type="hidden" name="name" value="${name}"><input type="hidden" name="email" value="${email}">`;
  return html`<div class="actions">${invited && renderDoing(visit, {
    path: `${at}/invite`, id: `again-${row}`, look: 'second', label: html`Send it again<span class="unseen"> to ${name}</span>`, body: again,
  })}
${renderDoing(visit, {
    path: `${at}/remove`, id: `remove-${row}`, look: 'danger', label: html`Remove<span class="unseen"> ${name}</span>`,
    body: html`<input type="hidden" name="address" value="${signInName}">`,
  })}</div>`;
}

function renderInvite(visit: Visit, at: string, sends: boolean): Html {
  const { typed } = visit;
  return html`<section class="card" aria-labelledby="invite-title"><h2 id="invite-title">Invite a developer</h2>
<p>They ${sends ? 'get a mail with' : 'need'} a link, with which they choose a password. It opens once, within ${invitationDays} days. Who has an account for
another application already is only told.</p>
${!sends && renderNotMailed(isDeveloper(visit))}
${renderDoing(visit, {
  path: `${at}/invite`,
  id: 'invite-developer',
  label: 'Invite',
  body: html`${renderInput({ name: 'name', label: 'Name', type: 'text', autocomplete: 'off', value: typed?.one('name') })}
${renderInput({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'off', value: typed?.one('email') })}`,
})}</section>`;
}

const longestAddress = 254;

export const developersActions: readonly Action[] = [
  {
    path: `${path}/invite`,
    name: 'developer add',
    done: 'The invitation is written.',
    developers: true,
    about: (_visit, form) => ({ subject: cutText(form.one('email'), longestAddress) }),
    async run(parts, visit, form) {
      const { rp } = await openApplication(parts.db, visit);
      await inviteDeveloper(parts.changes, operatorParts(parts, visit), { rp, name: form.one('name'), email: form.one('email'), by: visit.operator.name });
      return { to: `${applicationPath(rp)}/developers` };
    },
  },
  {
    path: `${path}/remove`,
    name: 'developer remove',
    done: 'The developer is removed, and signed out everywhere.',
    developers: true,
    about: (_visit, form) => ({ subject: cutText(form.one('address'), longestAddress) }),
    async run(parts, visit, form) {
      const { rp } = await openApplication(parts.db, visit);
      await removeDeveloper(parts.changes, operatorParts(parts, visit), { rp, signInName: form.one('address') });
      return { to: `${applicationPath(rp)}/developers` };
    },
  },
];
