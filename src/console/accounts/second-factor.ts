// In charge of the page between the password and the console: whoever has a second factor shows it there, and whoever needs one
// sets it up. Nothing else opens before.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { audited } from '../../access/audit-trail.ts';
import { formToken, requireFormToken } from '../../http/form-token.ts';
import { readFields, readForm } from '../../http/forms.ts';
import { html, type Html } from '../../http/html.ts';
import { GoTo } from '../../http/page-error.ts';
import { redirect } from '../../http/page-reply.ts';
import { renderForm } from '../../http/pages/form.ts';
import type { Query } from '../../http/query.ts';
import { enrol, prove, type Shown as ProofShown } from '../../operators/second-factor.ts';
import { findOperator, type Operator } from '../../operators/sessions.ts';
import { hidden, provePath, signInPath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';
import { codeInput, factorParts, pendingOf, renderEnrolling, renderRecoveryCodes } from './factor-forms.ts';
import { cookiesOf, knownBrowser, orAgain, ownPath, sendCard } from './outside.ts';

export function secondFactorRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  scope.get(provePath, hidden, async (request, reply) => {
    const to = ownPath(readFields(request.query as Query).one('to'));
    const operator = await requireUnproven(parts, request, to);
    return show(parts, reply, operator, { to });
  });
  scope.post(provePath, hidden, async (request, reply) => {
    const form = readForm(request);
    const to = ownPath(form.one('to'));
    const operator = await requireUnproven(parts, request, to);
    requireFormToken(operator.key, form.one('token'));
    const given = { typed: form.one('code'), sealed: form.one('sealed'), address: request.ip, known: knownBrowser(parts, request) };
    return orAgain(
      reply,
      () => (operator.hasSecondFactor ? proveAndGo(parts, reply, operator, { ...given, to }) : enrolAndGo(parts, reply, operator, { ...given, to })),
      (problem) => show(parts, reply, operator, { to, problem, sealed: given.sealed }),
    );
  });
}

/** Who has shown it already goes on. */
async function requireUnproven({ db }: ConsoleParts, request: FastifyRequest, to: string): Promise<Operator> {
  const operator = await findOperator(db, request);
  if (!operator) throw new GoTo(`${signInPath}?to=${encodeURIComponent(to)}`);
  if (operator.proven) throw new GoTo(to);
  return operator;
}

type Given = ProofShown & { sealed: string; to: string };

/** With the pool for passwords: codes are guessed at too. */
async function proveAndGo(parts: ConsoleParts, reply: FastifyReply, operator: Operator, { to, ...shown }: Given): Promise<FastifyReply> {
  const opened = await prove(parts.tries, factorParts(parts), operator, shown);
  return redirect(reply.header('set-cookie', cookiesOf(parts, opened)), to);
}

async function enrolAndGo(parts: ConsoleParts, reply: FastifyReply, operator: Operator, { typed, sealed, address, to }: Given): Promise<FastifyReply> {
  const actor = { name: operator.signInName, via: 'console', from: address } as const;
  const { codes, opened } = await audited(parts.changes, actor, { action: 'switch second factor on' }, () =>
    enrol(parts.changes, factorParts(parts), operator, { sealed, typed, address }));
  return sendCard(reply.header('set-cookie', cookiesOf(parts, opened)), {
    title: 'Your recovery codes',
    body: renderRecoveryCodes(codes, { path: to, label: 'I have kept them: to the console' }),
  });
}

type Shown = { to: string; problem?: string; sealed?: string };

async function show(parts: ConsoleParts, reply: FastifyReply, operator: Operator, { to, problem, sealed = '' }: Shown): Promise<FastifyReply> {
  const token = formToken(operator.key);
  const leave = renderForm({ path: '/console/sign-out', token, id: 'sign-out', body: html`<button type="submit" class="second">Sign out</button>` });
  const [title, body] = operator.hasSecondFactor
    ? ['Your second factor', renderProving(token, to)] as const
    : ['Set up a second factor', html`<p>An admin requires a second factor of everybody who comes to the console.</p>
${await renderEnrolling({ path: provePath, token, pending: pendingOf(parts, operator, sealed), hidden: renderTo(to) })}`] as const;
  return sendCard(reply, { title, problem, body: html`${body}\n<hr>\n<p class="quiet">You are ${operator.name}.</p>${leave}` });
}

const renderTo = (to: string) => html`<input type="hidden" name="to" value="${to}">`;

function renderProving(token: string, to: string): Html {
  return renderForm({
    path: provePath,
    token,
    id: 'prove',
    body: html`${renderTo(to)}${codeInput('The six digits that your app shows, or one of your recovery codes.')}<button type="submit">Go on</button>`,
  });
}
