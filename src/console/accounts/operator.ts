// In charge of the page of one operator: who they are, and what an admin may do about it.
import { SchoolbellError } from '../../errors.ts';
import { cutText } from '../../http/cut-text.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderFacts } from '../../http/pages/facts.ts';
import { renderSelect } from '../../http/pages/field.ts';
import { renderAgo } from '../../http/pages/moment.ts';
import { adminName, isAdminKept } from '../../operators/admin.ts';
import { editOperator, inviteAgain, removeOperator, requireOperatorLine, type OperatorLine } from '../../operators/operators.ts';
import { renderDoing, type Doing } from '../doing.ts';
import { renderConsole } from '../layout.ts';
import { operatorPath, operatorsPath } from '../links.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { mayChange, type Action, type Page, type Visit } from '../visit.ts';
import { operatorParts, renderRole, roleChoices } from './operators.ts';

const path = `${operatorsPath}/:name`;
const back = { path: operatorsPath, label: 'Operators' } as const;
const nameOf = ({ params }: Visit) => params.name ?? '';

export const operatorPage: Page = {
  path,
  async show({ db, now, config }, visit) {
    const one = await requireOperatorLine(db, nameOf(visit));
    const isKept = one.signInName === adminName && isAdminKept(config);
    return renderConsole(visit, {
      title: one.name,
      section: 'operators',
      back,
      body: html`<h1>${one.name} ${one.invited && renderBadge({ badge: 'Invited', tone: 'wait' })}</h1>
<section class="card" aria-label="Details">${renderFacts([
  ['Signs in as', one.signInName],
  ['Role', renderRole(one)],
  ['Second factor', one.hasSecondFactor ? 'on' : 'off'],
  ['Last signed in', renderAgo(one.lastSignedIn, now())],
  ['Added', html`${renderAgo(one.created, now())} by ${one.createdBy}`],
])}</section>
${mayChange(visit) && renderActions(visit, one, isKept, config.mail !== undefined)}`,
    });
  },
};

function renderActions(visit: Visit, one: OperatorLine, isKept: boolean, sendsMail: boolean): Html {
  const isSelf = one.signInName === visit.operator.signInName;
  return html`<div class="halves">
${one.invited && one.email !== null && renderCard(visit, one, {
  verb: 'invite',
  title: 'The invitation',
  words: html`Earlier links open nothing any more.${!sendsMail && renderNotMailed()}`,
  label: sendsMail ? 'Send it again' : 'Make a new link',
})}
${!isKept && renderCard(visit, one, {
  verb: 'role',
  title: 'Role',
  words: 'The change applies at once: the operator is signed out and has to sign in again.',
  label: 'Change the role',
  body: renderSelect({ name: 'role', label: 'Role', value: visit.typed?.one('role') || one.role, choices: roleChoices }),
})}
${one.hasSecondFactor && !isSelf && renderCard(visit, one, {
  verb: 'reset-second-factor',
  title: 'Second factor',
  words: 'Use this if the operator has lost both their phone and their recovery codes. First check that the request really comes from them.',
  look: 'danger',
  label: 'Reset the second factor',
})}
${isKept
  ? html`<section class="card"><h2>Remove operator</h2>
<p><code>admin</code> is the operator whose password is a setting of the service. It cannot be removed.</p></section>`
  : renderCard(visit, one, {
      verb: 'remove',
      title: 'Remove operator',
      words: `${one.name} is signed out everywhere and cannot sign in again, unless invited again. What they did stays in the audit log.`,
      look: 'danger',
      label: `Remove ${one.name}`,
    })}
</div>`;
}

type Card = { verb: string; title: string; words: HtmlValue } & Pick<Doing, 'label' | 'look' | 'body'>;

function renderCard(visit: Visit, { signInName }: OperatorLine, { verb, title, words, look = 'second', ...doing }: Card): Html {
  return html`<section class="card" aria-labelledby="${verb}-title"><h2 id="${verb}-title">${title}</h2><p>${words}</p>
${renderDoing(visit, { path: `${operatorPath(signInName)}/${verb}`, id: `${verb}-form`, look, ...doing })}</section>`;
}

const about = (visit: Visit) => ({ subject: cutText(nameOf(visit), 254) });

export const operatorActions: readonly Action[] = [
  {
    path: `${path}/invite`,
    name: 'operator invite',
    done: 'A new invitation was created.',
    about,
    async run(parts, visit) {
      await inviteAgain(parts.changes, operatorParts(parts, visit), nameOf(visit), visit.operator.name);
      return { to: operatorPath(nameOf(visit)) };
    },
  },
  {
    path: `${path}/role`,
    name: 'operator edit',
    done: 'The role is changed.',
    about: (visit, form) => ({ ...about(visit), detail: { role: cutText(form.one('role'), 20) } }),
    async run(parts, visit, form) {
      await editOperator(parts.changes, operatorParts(parts, visit), nameOf(visit), { role: form.one('role') });
      return { to: operatorPath(nameOf(visit)) };
    },
  },
  {
    path: `${path}/reset-second-factor`,
    name: 'operator edit',
    done: 'The second factor is reset.',
    about: (visit) => ({ ...about(visit), detail: { resetSecondFactor: true } }),
    async run(parts, visit) {
      // Whoever finds a browser signed in would get rid of it without a code.
      if (nameOf(visit).toLowerCase() === visit.operator.signInName)
        throw new SchoolbellError('conflict', 'Your own second factor is switched off on the page of your account, with a code or your password.');
      await editOperator(parts.changes, operatorParts(parts, visit), nameOf(visit), { resetsSecondFactor: true });
      return { to: operatorPath(nameOf(visit)) };
    },
  },
  {
    path: `${path}/remove`,
    name: 'operator remove',
    done: 'The operator is removed.',
    about,
    async run(parts, visit) {
      await removeOperator(parts.changes, operatorParts(parts, visit), nameOf(visit));
      return { to: operatorsPath };
    },
  },
];
