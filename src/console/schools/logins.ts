// The page of a school's logins: who has one, which are locked, and unlocking or resetting one.
import { noteRepeatedLook } from '../../access/audit-trail.ts';
import { listLogins, type ListedLogin } from '../../identity/presences.ts';
import { requireLogin, resetLogin, subjectOf, unlockLogin } from '../../identity/steer-login.ts';
import { cutPage } from '../../http/cut-page.ts';
import type { Form } from '../../http/forms.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderEmpty } from '../../http/pages/empty.ts';
import { renderFilters } from '../../http/pages/filters.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { renderDoing } from '../doing.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { loginsPath, mailListPath, schoolRoute, schoolsPath } from '../links.ts';
import { renderShownOnce } from '../shown-once.ts';
import { mayChange, type Action, type ConsoleParts, type Page, type Visit } from '../visit.ts';
import { estabOf, renderSchoolHead, schoolOf } from './around.ts';

const path = `${schoolRoute}/logins`;

export const loginsPage: Page = {
  path,
  async show(parts, visit) {
    const { db, changes, now } = parts;
    const school = await schoolOf(parts, visit);
    const { estab } = school;
    const words = visit.query.one('q').slice(0, 200);
    const locked = visit.query.one('state') === 'locked';
    const after = visit.query.exact('after').slice(0, 300);
    // The words are not recorded: they may be anybody's name.
    await noteRepeatedLook(changes, visit.actor, { action: 'look at logins', estab });
    const { shown, last } = cutPage(await listLogins(db, estab, { words, locked, after, most: pageLength + 1 }), pageLength);
    const at = loginsPath(estab);
    const chosen = { q: words, state: locked ? 'locked' : '' };
    const filters = renderFilters({
      path: at,
      filters: [
        { kind: 'text', name: 'q', label: 'Name or user name', value: words },
        { kind: 'choice', name: 'state', label: 'State', value: chosen.state, all: 'All logins', choices: [{ value: 'locked', label: 'Locked' }] },
      ],
    });
    const none = words !== '' || locked || after !== '' ? 'No login matches.' : 'Nobody at this school has a login yet. Applications create them.';
    return renderConsole(visit, {
      title: `Logins of ${school.name}`,
      section: 'schools',
      back: { path: schoolsPath, label: 'Schools' },
      body: html`${renderSchoolHead(school, 'logins')}
<p class="quiet">Ten wrong passwords lock a login for 15 minutes. Unlocking ends that at once. Resetting also signs the person out everywhere and makes a link
with which they choose a new password; the old password works until then.</p>
${filters}
${shown.length === 0 ? renderEmpty(none) : renderLogins(visit, at, shown, now())}
${renderPager({ first: after === '' ? undefined : addressOf(at, chosen), next: last && addressOf(at, { ...chosen, after: last.userName }) })}`,
    });
  },
};

function renderLogins(visit: Visit, at: string, logins: readonly ListedLogin[], now: number): Html {
  return renderTable({
    id: 'logins',
    stacked: true,
    caption: 'By user name',
    columns: ['User name', 'Name', 'State', 'Last signed in', ...(mayChange(visit) ? ['Change'] : [])],
    rows: logins.map((one, row) => [
      one.userName,
      html`<bdi>${one.displayName}</bdi>`,
      html`${renderBadge(badgeOf(one))}${one.lockedUntil && html` <span class="quiet">until ${renderAgo(one.lockedUntil, now)}</span>`}`,
      renderAgo(one.lastLoggedIn, now),
      ...(mayChange(visit) ? [renderChanges(visit, at, one, row)] : []),
    ]),
  });
}

function badgeOf({ lockedUntil, registered }: ListedLogin): Badge {
  if (lockedUntil) return { badge: 'Locked', tone: 'bad' };
  return registered ? { badge: 'Active', tone: 'good' } : { badge: 'Invited', tone: 'wait' };
}

function renderChanges(visit: Visit, at: string, { id, userName, lockedUntil }: ListedLogin, row: number): HtmlValue {
  const body = html`<input type="hidden" name="login" value="${id}">`;
  const whose = html`<span class="unseen"> ${userName}</span>`;
  return html`<div class="actions">
${lockedUntil && renderDoing(visit, { path: `${at}/unlock`, id: `unlock-${row}`, look: 'second', label: html`Unlock${whose}`, body })}
${renderDoing(visit, { path: `${at}/reset`, id: `reset-${row}`, look: 'second', label: html`Reset${whose}`, body })}</div>`;
}

const which = (visit: Visit, form: Form) => ({ estab: estabOf(visit), id: form.one('login') });
const about = async (visit: Visit, form: Form, { db }: ConsoleParts) => ({ subject: subjectOf(await requireLogin(db, which(visit, form))) });

export const loginActions: readonly Action[] = [
  {
    path: `${path}/unlock`,
    name: 'login unlock',
    done: 'The login is unlocked.',
    about,
    async run({ changes }, visit, form) {
      await unlockLogin(changes, which(visit, form));
      return { to: loginsPath(estabOf(visit)) };
    },
  },
  {
    path: `${path}/reset`,
    name: 'login reset',
    about,
    async run({ changes, config }, visit, form) {
      const { presence, to, link } = await resetLogin(changes, config.publicUrl, which(visit, form));
      const title = 'The login is reset';
      const shown = renderShownOnce({
        secrets: [{ id: 'link', label: 'Link to choose a new password', value: link }],
        more: html`<p><bdi>${presence.displayName}</bdi> is signed out everywhere. ${describeMail(to, config.mail !== undefined)}</p>`,
        back: { path: loginsPath(estabOf(visit)), label: 'back to the logins' },
      });
      return renderConsole(visit, { title, section: 'schools', body: html`<h1>${title}</h1>${shown}` });
    },
  },
];

function describeMail(to: string | null, sends: boolean): Html {
  if (to === null) return html`The school has no e-mail address for this person: hand the link on.`;
  if (sends) return html`The link is mailed to <bdi>${to}</bdi>.`;
  return html`E-mail is not set up, so nothing was mailed to <bdi>${to}</bdi>. Hand the link on; it is also under <a href="${mailListPath}">Mail</a>.`;
}
