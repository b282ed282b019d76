// In charge of coming to the console and leaving it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { noteLook } from '../access/audit-trail.ts';
import { renderCookie } from '../http/cookies.ts';
import { giveFormToken, requireFormToken, requireGivenToken } from '../http/form-token.ts';
import { readFields, readForm } from '../http/forms.ts';
import { html } from '../http/html.ts';
import { redirect } from '../http/page-reply.ts';
import { renderInput } from '../http/pages/field.ts';
import { renderForm } from '../http/pages/form.ts';
import type { Query } from '../http/query.ts';
import { isAdminKept } from '../operators/admin.ts';
import { consoleCookie, endSession, findOperator } from '../operators/sessions.ts';
import { signIn } from '../operators/try-sign-in.ts';
import { forgottenPath } from './accounts/forgotten.ts';
import { cookiesOf, hashes, knownBrowser, orAgain, ownPath, sendCard, sessionBefore } from './accounts/outside.ts';
import { hidden, provePath, requireConsole, signInPath } from './serve.ts';
import type { ConsoleParts } from './visit.ts';

const refusal = 'Name and password do not belong together, or the account is locked for a while.';

export function signInRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  scope.get(signInPath, hidden, async (request, reply) => {
    const to = readFields(request.query as Query).one('to');
    if ((await findOperator(parts.db, request))?.proven) return redirect(reply, ownPath(to));
    await requireConsole(parts.db);
    return show(parts, request, reply, { name: '', to });
  });
  scope.post(signInPath, hashes(parts), async (request, reply) => {
    requireGivenToken(request);
    await requireConsole(parts.db);
    const form = readForm(request);
    const [name, to] = [form.one('name'), form.one('to')];
    return orAgain(reply, () => tryAndGo(parts, request, reply, { name, password: form.exact('password'), to }), (problem) =>
      show(parts, request, reply, { name, to, problem }));
  });
  scope.post('/console/sign-out', hidden, async (request, reply) => {
    const operator = await findOperator(parts.db, request);
    if (operator) {
      requireFormToken(operator.key, readForm(request).one('token'));
      await parts.changes.begin(async (tx) => {
        await endSession(tx, operator.key);
        await noteLook(tx, { name: operator.signInName, via: 'console', from: request.ip }, { action: 'sign out' });
      });
    }
    return redirect(reply.header('set-cookie', renderCookie(consoleCookie, '', parts.config.publicUrl, 0)), signInPath);
  });
}

type Typed = { name: string; password: string; to: string };

async function tryAndGo(parts: ConsoleParts, request: FastifyRequest, reply: FastifyReply, { name, password, to }: Typed): Promise<FastifyReply> {
  const browser = { address: request.ip, known: knownBrowser(parts, request), before: sessionBefore(request) };
  const given = { name, password, publicUrl: parts.config.publicUrl, ...browser };
  const opened = await signIn(parts.tries, parts.hashing.anyone, given);
  if (!opened) return show(parts, request, reply.code(401), { name, to, problem: refusal });
  return redirect(reply.header('set-cookie', cookiesOf(parts, opened)), opened.proven ? ownPath(to) : `${provePath}?to=${encodeURIComponent(ownPath(to))}`);
}

const demoHint = html`<p class="quiet">This is the demo. The link that the service printed when it started opens the console without a password.</p>`;

type Given = { name: string; to: string; problem?: string };

function show({ config, demoEntry }: ConsoleParts, request: FastifyRequest, reply: FastifyReply, { name, to, problem }: Given): FastifyReply {
  const token = giveFormToken(request, reply, config.publicUrl);
  const form = renderForm({
    path: signInPath,
    token,
    id: 'sign-in',
    body: html`<input type="hidden" name="to" value="${to}">
${renderInput({ name: 'name', label: 'Name or e-mail address', type: 'text', autocomplete: 'username', value: name })}
${renderInput({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button type="submit">Sign in</button>`,
  });
  return sendCard(reply, {
    title: 'Sign in to the console',
    problem,
    body: html`${demoEntry !== undefined && isAdminKept(config) && demoHint}
${form}
<p><a href="${forgottenPath}">Forgotten your password?</a></p>
<p class="quiet">For those who run this service, and for developers of applications. Schools go to <a href="/school">their pages</a>, pupils and staff
<a href="/login">sign in here</a>.</p>`,
  });
}
