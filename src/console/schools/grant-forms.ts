// In charge of the forms by which the operator decides about an application for a school: what it may read, asking the
// school, approving on its behalf, a new secret, and stopping it.
import { presentOf } from '../../access/credentials.ts';
import { scopeDescriptions, type Scope } from '../../access/scopes.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { renderBadge, type Badge } from '../../http/pages/badge.ts';
import { renderInput } from '../../http/pages/field.ts';
import type { Grant } from '../../onboarding/grants.ts';
import { renderScopeNames, titleOfScope } from '../../onboarding/pages/scope-list.ts';
import type { ListedSchool } from '../../onboarding/school-states.ts';
import { renderDoing } from '../doing.ts';
import { renderNotMailed } from '../not-mailed.ts';
import { grantPath } from '../links.ts';
import { renderOverlap } from '../overlap.ts';
import { mayChange, type Visit } from '../visit.ts';
import { typedOr } from './around.ts';
import { askingLabels } from './words.ts';

const isOpen = ({ state }: Grant) => state !== undefined && state !== 'Revoked';
const pathOf = ({ estab }: ListedSchool, { application }: Grant) => grantPath(estab, application.rp);
const describe = (scope: string) => (Object.hasOwn(scopeDescriptions, scope) ? scopeDescriptions[scope as Scope].description : scope);

/** What it may read and what it could, in the words that a school reads when it decides. */
export function renderScopes(school: ListedSchool, grant: Grant, visit: Visit): Html {
  const { requiredScopes: required, optionalScopes: optional } = grant.application;
  const others = grant.scopes.filter((scope) => !required.includes(scope) && !optional.includes(scope));
  const open = isOpen(grant);
  const state = (scope: string) => renderDecision(grant, scope) ?? (open && renderBadge({ badge: 'Not granted', tone: 'off' }));
  const fixed = (scope: string) => html`<li class="scope"><h3>${titleOfScope(scope)} ${state(scope)}</h3><p>${describe(scope)}.</p></li>`;
  const choose = open && mayChange(visit) && optional.length > 0;
  const chosen = visit.typed?.all('form')[0] === 'scopes' ? visit.typed.all('scopes') : grant.scopes;
  return html`<section class="card" aria-labelledby="scopes"><h2 id="scopes">${open ? 'What it may read' : 'What it asks for'}</h2>
${required.length + others.length > 0 && html`<p class="quiet">It needs this.</p><ul class="scopes">${[...required, ...(open ? others : [])].map(fixed)}</ul>`}
${optional.length > 0 && html`<p class="quiet">It would like this; a school can refuse it.</p>`}
${
  choose
    ? renderDoing(visit, {
        path: `${pathOf(school, grant)}/scopes`,
        id: 'change-scopes',
        look: 'second',
        label: 'Save what it may read',
        body: html`<input type="hidden" name="form" value="scopes">${renderChoices(grant, chosen, 'may')}`,
      })
    : optional.length > 0 && html`<ul class="scopes">${optional.map(fixed)}</ul>`
}</section>`;
}

const decisionBadges: Readonly<Record<'granted' | 'revoked' | 'refused', Badge>> = {
  granted: { badge: 'Granted', tone: 'good' },
  revoked: { badge: 'Revoked', tone: 'off' },
  refused: { badge: 'Refused by the school', tone: 'wait' },
};

function renderDecision({ decisions }: Grant, scope: string): Html | undefined {
  const decision = decisions[scope];
  return decision && renderBadge(decisionBadges[decision]);
}

function renderChoices(grant: Grant, chosen: readonly string[], prefix: string): Html {
  return html`<fieldset><legend class="unseen">Optional scopes</legend>
${grant.application.optionalScopes.map(
  (scope) => html`<div class="check"><input type="checkbox" id="${prefix}-${scope}" name="scopes" value="${scope}"${chosen.includes(scope) && html` checked`}
aria-describedby="${prefix}-${scope}-hint"><label for="${prefix}-${scope}">${titleOfScope(scope)} ${renderDecision(grant, scope)}</label>
<p class="hint" id="${prefix}-${scope}-hint">${describe(scope)}</p></div>`,
)}</fieldset>`;
}

export function renderDecisions(school: ListedSchool, grant: Grant, visit: Visit, sendsMail: boolean): Html | undefined {
  if (!mayChange(visit)) return undefined;
  const path = pathOf(school, grant);
  const open = isOpen(grant);
  return html`<section class="card" aria-labelledby="decide"><h2 id="decide">Decide</h2>
<div class="halves">
${open && renderHalf(grant.state === 'Paused' ? 'Resume' : 'Pause', renderPause(path, grant, visit))}
${open && renderHalf('New secret', renderRotate(path, grant, visit))}
${open && renderHalf('Revoke', renderRevoke(path, visit))}
${!grant.asked && wantsMore(grant) && renderHalf('Ask the school', renderInvite(path, school, visit, sendsMail))}
${open ? renderApproveAgain(path, grant, visit) : renderHalf('Approve on behalf of the school', renderApprove(path, grant, visit))}
</div></section>`;
}

/** There is something to decide that the school has not granted. */
function wantsMore({ application: { requiredScopes, optionalScopes }, scopes, state }: Grant): boolean {
  return state === undefined || state === 'Revoked' || [...requiredScopes, ...optionalScopes].some((scope) => !scopes.includes(scope));
}

const renderHalf = (title: string, body: HtmlValue) => html`<div><h3>${title}</h3>${body}</div>`;

/** Rarely wanted, and easily taken for something else: folded away, unless it was just tried. */
function renderApproveAgain(path: string, grant: Grant, visit: Visit): Html {
  const tried = visit.typed?.all('form')[0] === 'approve';
  const folded = html`<details${tried && html` open`}><summary>With other scopes, or a new secret</summary>${renderApprove(path, grant, visit)}</details>`;
  return renderHalf('Approve again', folded);
}

function renderInvite(path: string, { email, confirmed }: ListedSchool, visit: Visit, sendsMail: boolean): Html {
  const reason = renderInput({
    name: 'reason', label: askingLabels.reason, type: 'text', autocomplete: 'off', optional: true, value: typedOr(visit, 'reason', ''),
    hint: 'As the school will read it.',
  });
  const when = !confirmed && ', once the school is confirmed';
  const link = sendsMail ? html`A mail with a link goes to <bdi>${email}</bdi>${when}` : html`A link is made for <bdi>${email}</bdi>${when}`;
  return html`<p>${link}; the school reads what is asked for, and decides.</p>
${!sendsMail && renderNotMailed()}
${renderDoing(visit, { path: `${path}/invite`, id: 'invite', label: 'Ask the school', body: reason })}`;
}

/** Ticks no optional scope but those that are granted now: a school that refused a scope, or lost an application, has not agreed to it. */
function renderApprove(path: string, grant: Grant, visit: Visit): Html {
  const { optionalScopes: optional, requiredScopes: required } = grant.application;
  const chosen = visit.typed?.all('form')[0] === 'approve' ? visit.typed.all('scopes') : isOpen(grant) ? grant.scopes : [];
  return html`<p>${
    isOpen(grant)
      ? 'It gets what it asks for today, and a new secret; the old one works for another day.'
      : 'It has the same effect as if the school approved: the application is told, and a receipt is written. Do it only if the school has agreed.'
  } The new secret is shown once.</p>
${renderLastGrant(grant)}
${renderDoing(visit, {
  path: `${path}/authorise`,
  id: 'authorise',
  look: 'second',
  label: isOpen(grant) ? 'Approve again' : 'Approve on behalf of the school',
  body: html`<input type="hidden" name="form" value="approve"><input type="hidden" name="asked" value="${[...required, ...optional].join(',')}">
${renderReplaces(grant)}
${optional.length > 0 && renderChoices(grant, chosen, 'grant')}`,
})}`;
}

function renderLastGrant({ state, scopes, application: { requiredScopes } }: Grant): Html | undefined {
  if (state === undefined) return undefined;
  const added = requiredScopes.filter((scope) => !scopes.includes(scope));
  return html`<p id="last-grant">The last grant of the school was: ${renderScopeNames(scopes)}${state === 'Revoked' && ', until it was revoked'}.${
    added.length > 0 && html` Required since, and granted with this approval: ${renderScopeNames(added)}.`
  }</p>`;
}

/** Names the secret that is replaced: sent again by a reload, the form makes no second one. */
const renderReplaces = ({ secrets }: Grant) => html`<input type="hidden" name="replaces" value="${presentOf(secrets)}">`;

function renderRotate(path: string, grant: Grant, visit: Visit): Html {
  const old = grant.secrets.some(({ validUntil }) => validUntil !== null);
  return html`<p>The school secret is replaced. The new one is shown once, to be handed to the application.</p>
${renderDoing(visit, {
  path: `${path}/rotate`,
  id: 'rotate',
  look: 'second',
  label: 'Make a new school secret',
  body: html`${renderReplaces(grant)}${renderOverlap(visit.typed)}`,
})}
${old && renderDoing(visit, { path: `${path}/end-old`, id: 'end-old', look: 'danger', label: 'End the old one now' })}`;
}

function renderPause(path: string, { state }: Grant, visit: Visit): Html {
  return state === 'Paused'
    ? html`<p>It can read again what it may, with the secret that it has.</p>
${renderDoing(visit, { path: `${path}/resume`, id: 'resume', look: 'second', label: 'Resume' })}`
    : html`<p>From the next request on it can read nothing, and calls that wait for it are stopped. It can be resumed at any time.</p>
${renderDoing(visit, { path: `${path}/pause`, id: 'pause', look: 'second', label: 'Pause' })}`;
}

function renderRevoke(path: string, visit: Visit): Html {
  return html`<p>Its access ends for good, and its secret with it; it would have to be approved again. What it has read stays with the application.</p>
<details id="revoke-step"><summary class="opens">Revoke access</summary>
<p>Access ends at once.</p>${renderDoing(visit, { path: `${path}/revoke`, id: 'revoke', look: 'danger', label: 'Yes, revoke access' })}</details>`;
}
