// In charge of an operator's own second factor: set up, given new recovery codes, switched off.
import { formToken } from '../../http/form-token.ts';
import { html, type Html } from '../../http/html.ts';
import { renderBadge } from '../../http/pages/badge.ts';
import { renderInput } from '../../http/pages/field.ts';
import { formatMany } from '../../http/pages/figures.ts';
import { renderForm } from '../../http/pages/form.ts';
import { countRecoveryCodes, enrol, isSecondFactorRequired, renewRecoveryCodes, switchOff } from '../../operators/second-factor.ts';
import { renderConsole } from '../layout.ts';
import type { Action, Page, Shown, Visit } from '../visit.ts';
import { factorParts, pendingOf, renderEnrolling, renderRecoveryCodes } from './factor-forms.ts';
import { longestHashingMs } from './outside.ts';

export const factorPath = '/console/account/second-factor';
const back = { path: '/console/account', label: 'Your account' } as const;
const fewCodes = 3;

export const factorPage: Page = {
  path: factorPath,
  developers: true,
  async show(parts, visit) {
    const { operator, token } = visit;
    const body = operator.hasSecondFactor
      ? renderOn(visit, await countRecoveryCodes(parts.db, operator.id), await isSecondFactorRequired(parts.db))
      : html`<section class="card narrow"><h1>Set up a second factor</h1>
<p>After your password, the console will ask for a code that only your phone knows.</p>
${await renderEnrolling({ path: `${factorPath}/on`, token, pending: pendingOf(parts, operator, visit.typed?.one('sealed') ?? '') })}</section>`;
    return renderConsole(visit, { title: 'Second factor', section: 'account', body, back });
  },
};

function renderOn({ token }: Visit, left: number, required: boolean): Html {
  return html`<h1>Second factor ${renderBadge({ badge: 'On', tone: 'good' })}</h1>
<div class="halves">
<section class="card" aria-labelledby="codes-title"><h2 id="codes-title">Recovery codes</h2>
<p>${formatMany(left, 'code')} ${left === 1 ? 'is' : 'are'} left of ten. ${left < fewCodes && 'Make new ones soon.'}
New ones take the place of all that you have.</p>
${renderForm({
  path: `${factorPath}/renew`,
  token,
  id: 'renew',
  body: html`${proofInput('renew')}<button type="submit" class="second">Make new codes</button>`,
})}
</section>
<section class="card" aria-labelledby="off-title"><h2 id="off-title">Switch it off</h2>
${required
  ? html`<p>An admin requires a second factor of everybody: it cannot be switched off. If your phone is gone, ask another admin to reset it.</p>`
  : html`<p>Your password alone will open the console again. For another phone, switch it off and set it up anew.</p>
${renderForm({ path: `${factorPath}/off`, token, id: 'off', body: html`${proofInput('off')}<button type="submit" class="danger">Switch off</button>` })}`}
</section>
</div>`;
}

const proofInput = (of: string) => renderInput({ name: `${of}-proof`, label: 'A code, or your password', type: 'password', autocomplete: 'off' });

/** codes: shown this once. key: of the session that the page belongs to now. */
function showCodes(visit: Visit, codes: readonly string[], key = visit.operator.key): Shown {
  return renderConsole({ ...visit, token: formToken(key), operator: { ...visit.operator, hasSecondFactor: true } }, {
    title: 'Your recovery codes',
    section: 'account',
    body: html`<section class="card narrow"><h1>Your recovery codes</h1>
${renderRecoveryCodes(codes, { path: factorPath, label: 'I have kept them' })}</section>`,
  });
}

export const factorActions: readonly Action[] = [
  {
    path: `${factorPath}/on`,
    name: 'switch second factor on',
    may: 'self',
    async run(parts, visit, form) {
      const given = { sealed: form.one('sealed'), typed: form.one('code'), address: visit.request.ip };
      const { codes, opened } = await enrol(parts.changes, factorParts(parts), visit.operator, given);
      visit.reply.header('set-cookie', opened.cookie);
      return showCodes(visit, codes, opened.key);
    },
  },
  {
    path: `${factorPath}/renew`,
    name: 'make new recovery codes',
    may: 'self',
    longestMs: longestHashingMs,
    async run(parts, visit, form) {
      const shown = { typed: form.exact('renew-proof'), address: visit.request.ip };
      return showCodes(visit, await renewRecoveryCodes(parts.changes, factorParts(parts), visit.operator, shown));
    },
  },
  {
    path: `${factorPath}/off`,
    name: 'switch second factor off',
    done: 'The second factor is switched off.',
    may: 'self',
    longestMs: longestHashingMs,
    async run(parts, visit, form) {
      await switchOff(parts.changes, factorParts(parts), visit.operator, { typed: form.exact('off-proof'), address: visit.request.ip });
      return { to: back.path };
    },
  },
];
