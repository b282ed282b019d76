// In charge of the list of operators: who may come to the console, who is invited to, and whether all need a second factor.
import { cutPage } from '../../http/cut-page.ts';
import { cutText } from '../../http/cut-text.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderInput, renderSelect } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { addressOf, renderPager } from '../../http/pages/pager.ts';
import { renderTable } from '../../http/pages/table.ts';
import { isAdminKept } from '../../operators/admin.ts';
import { invitationDays } from '../../operators/mails.ts';
import { inviteOperator, listOperators, requireSecondFactorOfAll, type OperatorLine, type OperatorParts } from '../../operators/operators.ts';
import { isSecondFactorRequired } from '../../operators/second-factor.ts';
import { renderDoing } from '../doing.ts';
import { pageLength, renderConsole } from '../layout.ts';
import { operatorPath, operatorsPath } from '../links.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { mayChange, type Action, type ConsoleParts, type Page, type Visit } from '../visit.ts';

export const operatorParts = ({ config }: ConsoleParts, { operator }: Visit): OperatorParts =>
  ({ publicUrl: config.publicUrl, adminKept: isAdminKept(config), by: operator });
export const roleChoices = [
  { value: 'viewer', label: 'Viewer: sees everything, changes nothing' },
  { value: 'admin', label: 'Admin: sees and changes everything' },
] as const;

/** The page says which way. */
const ruleChanged = 'Who needs a second factor was changed.';

export const operatorsPage: Page = {
  path: operatorsPath,
  async show(parts, visit) {
    const after = visit.query.one('after');
    const [rows, required] = [await listOperators(parts.db, { after, most: pageLength + 1 }), await isSecondFactorRequired(parts.db)];
    const { shown, last } = cutPage(rows, pageLength);
    const next = last && addressOf(operatorsPath, { after: last.signInName });
    const notice = visit.notice === ruleChanged ? (required ? 'Everybody needs a second factor now.' : 'Everybody may choose now.') : visit.notice;
    return renderConsole({ ...visit, notice }, {
      title: 'Operators',
      section: 'operators',
      body: html`<h1>Operators</h1>
${renderList(shown, parts.now())}
${renderPager({ first: after === '' ? undefined : operatorsPath, next })}
<div class="halves">${mayChange(visit) && renderInvite(visit, parts.config.mail !== undefined)}${renderRule(visit, required)}</div>`,
    });
  },
};

function renderList(rows: readonly OperatorLine[], now: number): Html {
  return renderTable({
    id: 'operators',
    caption: 'Who may come to the console',
    stacked: true,
    columns: ['Name', 'Signs in as', 'Role', 'Second factor', 'Last signed in'],
    rows: rows.map((one) => [
      html`<a href="${operatorPath(one.signInName)}">${one.name}</a>`,
      one.signInName,
      renderRole(one),
      one.hasSecondFactor ? renderBadge({ badge: 'On', tone: 'good' }) : renderBadge({ badge: 'Off', tone: 'off' }),
      one.invited ? renderBadge({ badge: 'Invited', tone: 'wait' }) : renderAgo(one.lastSignedIn, now),
    ]),
  });
}

export const renderRole = ({ role }: Pick<OperatorLine, 'role'>) => (role === 'admin' ? 'Admin' : 'Viewer');

function renderInvite({ token, typed }: Visit, sends: boolean): Html {
  return html`<section class="card" aria-labelledby="invite-title"><h2 id="invite-title">Invite somebody</h2>
<p>They ${sends ? 'get a mail with' : 'need'} a link, with which they choose a password. It opens once, within ${invitationDays} days.</p>
${!sends && renderNotMailed()}
${renderForm({
  path: `${operatorsPath}/invite`,
  token,
  id: 'invite',
  body: html`${renderInput({ name: 'name', label: 'Name', type: 'text', autocomplete: 'off', value: typed?.one('name') })}
${renderInput({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'off', value: typed?.one('email') })}
${renderSelect({ name: 'role', label: 'Role', value: typed?.one('role') ?? 'viewer', choices: roleChoices })}
<button type="submit">Invite</button>`,
})}</section>`;
}

function renderRule(visit: Visit, required: boolean): Html {
  const [badge, words, label] = required
    ? [renderBadge({ badge: 'Required', tone: 'good' }), 'Whoever has none sets it up before anything else opens.', 'Leave it to each']
    : [renderBadge({ badge: 'Up to each', tone: 'off' }), 'If you require it, whoever has none, you included, sets it up first.', 'Require it of everybody'];
  const body = html`<input type="hidden" name="required" value="${required ? 'no' : 'yes'}">`;
  const doing = renderDoing(visit, { path: `${operatorsPath}/rule`, id: 'rule', look: 'second', label, body });
  return html`<section class="card" aria-labelledby="rule-title"><h2 id="rule-title">Second factor ${badge}</h2><p>${words}</p>${doing}</section>`;
}

export const operatorsActions: readonly Action[] = [
  {
    path: `${operatorsPath}/invite`,
    name: 'operator add',
    done: 'The invitation is written.',
    about: (_visit, form) => ({ subject: cutText(form.one('email'), 254), detail: { role: cutText(form.one('role'), 20) } }),
    async run(parts, visit, form) {
      const given = { name: form.one('name'), email: form.one('email'), role: form.one('role'), by: visit.operator.name };
      const { signInName } = await inviteOperator(parts.changes, operatorParts(parts, visit), given);
      return { to: operatorPath(signInName) };
    },
  },
  {
    path: `${operatorsPath}/rule`,
    name: 'operator second-factor',
    done: ruleChanged,
    about: (_visit, form) => ({ detail: { required: form.one('required') === 'yes' } }),
    async run(parts, visit, form) {
      await requireSecondFactorOfAll(parts.changes, operatorParts(parts, visit), form.one('required') === 'yes');
      return { to: operatorsPath };
    },
  },
];
