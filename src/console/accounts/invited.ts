// In charge of the page that the link of an invitation, or of a forgotten password, opens: one chooses a password, and is signed in.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SchoolbellError } from '../../errors.ts';
import { giveFormToken, requireGivenToken } from '../../http/form-token.ts';
import { readForm } from '../../http/forms.ts';
import { html } from '../../http/html.ts';
import { redirect } from '../../http/page-reply.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { choosePassword, requireLinked, type Linked } from '../../operators/links.ts';
import { operatorsPath } from '../links.ts';
import { hidden, provePath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';
import { cookiesOf, hashes, orAgain, sendCard, sessionBefore } from './outside.ts';

const path = `${operatorsPath}/invited`;
/** Named so that the log of requests leaves it out. */
const tokenOf = (request: FastifyRequest) => (request.params as { token: string }).token;

export function invitedRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { changes, hashing, config: { publicUrl } } = parts;
  scope.get(`${path}/:token`, hidden, async (request, reply) => {
    return show(parts, request, reply, await requireLinked(changes, tokenOf(request), request.ip));
  });
  scope.post(`${path}/:token`, hashes(parts), async (request, reply) => {
    requireGivenToken(request);
    const form = readForm(request);
    const linked = await requireLinked(changes, tokenOf(request), request.ip);
    const choose = async () => {
      const password = requireSame(form.exact('password'), form.exact('repeated'));
      const given = { token: tokenOf(request), password, address: request.ip, publicUrl, before: sessionBefore(request) };
      const opened = await choosePassword(changes, hashing.anyone, given);
      return redirect(reply.header('set-cookie', cookiesOf(parts, opened)), opened.proven ? '/console' : provePath);
    };
    return orAgain(reply, choose, (problem) => show(parts, request, reply, linked, problem));
  });
}

export function requireSame(password: string, repeated: string): string {
  if (password !== repeated) throw new SchoolbellError('unprocessable', 'The two passwords are not the same.');
  return password;
}

export const passwordHint = 'At least 12 characters, and not one that everybody uses.';

function show({ config }: ConsoleParts, request: FastifyRequest, reply: FastifyReply, linked: Linked, problem?: string): FastifyReply {
  const token = giveFormToken(request, reply, config.publicUrl);
  return sendCard(reply, {
    title: linked.first ? 'Choose a password' : 'Choose a new password',
    problem,
    body: html`<p>${linked.name}, you sign in to the console as <strong id="sign-in-name">${linked.signInName}</strong>.</p>
${renderForm({
  path: `${path}/${encodeURIComponent(tokenOf(request))}`,
  token,
  id: 'choose-password',
  body: html`<input type="hidden" name="name" value="${linked.signInName}" autocomplete="username">
${renderInput({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: passwordHint })}
${renderInput({ name: 'repeated', label: 'The same again', type: 'password', autocomplete: 'new-password' })}
<button type="submit">Save and sign in</button>`,
})}`,
  });
}
