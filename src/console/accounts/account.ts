// In charge of an operator's own page: name, password, second factor, and where they are signed in.
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { renderTable } from '../../http/pages/table.ts';
import { adminName } from '../../operators/admin.ts';
import { changePassword } from '../../operators/change-password.ts';
import { editOperator } from '../../operators/operators.ts';
import { endSessionsOf, listSessions, type Role, type SessionLine } from '../../operators/sessions.ts';
import { renderConsole } from '../layout.ts';
import type { Action, Page, Visit } from '../visit.ts';
import { passwordHint, requireSame } from './invited.ts';
import { factorPath } from './factor-page.ts';
import { operatorParts } from './operators.ts';
import { cookiesOf, longestHashingMs } from './outside.ts';

const path = '/console/account';

export const accountPage: Page = {
  path,
  developers: true,
  async show({ db, now }, visit) {
    const sessions = await listSessions(db, visit.operator);
    return renderConsole(visit, {
      title: 'Your account',
      section: 'account',
      body: html`<h1>Your account</h1>
<div class="halves">
${renderWho(visit)}
${renderFactor(visit)}
${renderPassword(visit)}
</div>
${renderSessions(visit, sessions, now())}`,
    });
  },
};

const roleWords: Readonly<Record<Role, string>> = {
  admin: 'Admin: sees and changes everything',
  viewer: 'Viewer: sees everything, changes nothing',
  developer: 'Developer: sees and looks after the applications that they are invited to',
};

function renderWho({ operator, token, typed }: Visit): Html {
  return html`<section class="card" aria-labelledby="who-title"><h2 id="who-title">You</h2>
${renderFacts([
  ['You sign in as', operator.signInName],
  ['Role', roleWords[operator.role]],
])}
${renderForm({
  path: `${path}/rename`,
  token,
  id: 'rename',
  body: html`${renderInput({ name: 'name', label: 'Name', type: 'text', autocomplete: 'name', value: typed?.one('name') || operator.name })}
<button type="submit" class="second">Save</button>`,
})}</section>`;
}

function renderFactor({ operator }: Visit): Html {
  const [words, label] = operator.hasSecondFactor
    ? ['After your password you are asked for a code of your authenticator app.', 'Recovery codes, and switching it off']
    : ['With one, a password that somebody has seen opens nothing. You need an authenticator app on your phone.', 'Set up a second factor'];
  const badge = operator.hasSecondFactor ? renderBadge({ badge: 'On', tone: 'good' }) : renderBadge({ badge: 'Off', tone: 'off' });
  return html`<section class="card" aria-labelledby="factor-title"><h2 id="factor-title">Second factor ${badge}</h2>
<p>${words}</p><p><a class="button" href="${factorPath}">${label}</a></p></section>`;
}

const ofAdmin = html`<p>The password of <code>admin</code> is a setting of the service. To change it, set <code>ADMIN_PASSWORD</code> in the environment of the
service and start it again; sessions that the old one opened end then. Where it is not set, the password that the first start made is in the file
<code>admin.password</code> in the data directory.</p>`;

function renderPassword({ operator, token }: Visit): Html {
  const form = renderForm({
    path: `${path}/password`,
    token,
    id: 'password-form',
    body: html`<input type="hidden" name="username" value="${operator.signInName}" autocomplete="username">
${renderInput({ name: 'present', label: 'Present password', type: 'password', autocomplete: 'current-password' })}
${renderInput({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: passwordHint })}
${renderInput({ name: 'repeated', label: 'The same again', type: 'password', autocomplete: 'new-password' })}
<button type="submit" class="second">Change the password</button>
<p class="quiet">Everywhere else you are signed out.</p>`,
  });
  return html`<section class="card" aria-labelledby="password-title"><h2 id="password-title">Password</h2>
${operator.signInName === adminName ? ofAdmin : form}</section>`;
}

function renderSessions({ token }: Visit, sessions: readonly SessionLine[], now: number): Html {
  const table = renderTable({
    id: 'sessions',
    caption: 'Each ends by itself after twelve hours.',
    columns: ['From', 'Since', 'State'],
    rows: sessions.map(({ address, created, own, proven }) => [
      html`<span class="id">${address}</span>`,
      renderAgo(created, now),
      own ? renderBadge({ badge: 'This one', tone: 'good' }) : proven ? 'Open' : renderBadge({ badge: 'Second factor not shown', tone: 'wait' }),
    ]),
  });
  const button = html`<button type="submit" class="second">Sign out everywhere else</button>`;
  const end = renderForm({ path: `${path}/end-others`, token, id: 'end-others', body: button });
  return html`<section class="card" aria-labelledby="sessions-title"><h2 id="sessions-title">Where you are signed in</h2>
${table}${sessions.length > 1 && end}</section>`;
}

export const accountActions: readonly Action[] = [
  {
    path: `${path}/rename`,
    name: 'change own name',
    done: 'Your name is saved.',
    may: 'self',
    about: ({ operator }, form) => ({ detail: { name: form.one('name'), before: operator.name } }),
    async run(parts, visit, form) {
      await editOperator(parts.changes, operatorParts(parts, visit), visit.operator.signInName, { name: form.one('name') });
      return { to: path };
    },
  },
  {
    path: `${path}/password`,
    name: 'change own password',
    done: 'Your password is changed. Everywhere else you are signed out.',
    may: 'self',
    longestMs: (parts) => longestHashingMs(parts, 2),
    async run(parts, { operator, request, reply }, form) {
      const { changes, hashing, config } = parts;
      const password = requireSame(form.exact('password'), form.exact('repeated'));
      const given = { present: form.exact('present'), password, address: request.ip, publicUrl: config.publicUrl };
      reply.header('set-cookie', cookiesOf(parts, await changePassword(changes, hashing.known, operator, given)));
      return { to: path };
    },
  },
  {
    path: `${path}/end-others`,
    name: 'end own other sessions',
    done: 'Everywhere else you are signed out.',
    may: 'self',
    async run({ changes }, { operator }) {
      await endSessionsOf(changes, operator.id, operator.key);
      return { to: path };
    },
  },
];
