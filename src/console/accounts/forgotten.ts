// In charge of the page for those who have forgotten the password with which they come to the console; it says the same to everybody.
import type { FastifyInstance } from 'fastify';
import { giveFormToken, requireGivenToken } from '../../http/form-token.ts';
import { readForm } from '../../http/forms.ts';
import { html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { askForOperatorLink } from '../../operators/forgotten-password.ts';
import { hidden, requireConsole, signInPath } from '../serve.ts';
import type { ConsoleParts } from '../visit.ts';
import { sendCard } from './outside.ts';

export const forgottenPath = '/console/forgotten';
const back = html`<p><a href="${signInPath}">Back to the sign-in page</a></p>`;
const ofAdmin = html`<p class="quiet">The password of <code>admin</code> is a setting of the service: <code>ADMIN_PASSWORD</code>, or the file
<code>admin.password</code> in its data directory.</p>`;

const notMailed = 'E-mail is not set up on this service, so nothing is mailed: links are under Mail in the console, and the command mails shows them.';

export function forgottenRoutes(scope: FastifyInstance, { db, changes, config }: ConsoleParts): void {
  scope.get(forgottenPath, hidden, async (request, reply) => {
    await requireConsole(db);
    const form = renderForm({
      path: forgottenPath,
      token: giveFormToken(request, reply, config.publicUrl),
      id: 'forgotten',
      body: html`${renderInput({ name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' })}
<button type="submit">${config.mail ? 'Send a link' : 'Ask for a link'}</button>`,
    });
    const where = config.mail ? 'We send a link to the address that you were invited at.' : `${notMailed} After you ask, an operator finds your link there.`;
    const body = html`<p>${where}</p>${form}${ofAdmin}${back}`;
    return sendCard(reply, { title: 'Choose a new password', body });
  });
  scope.post(forgottenPath, hidden, async (request, reply) => {
    requireGivenToken(request);
    await requireConsole(db);
    await askForOperatorLink(changes, request.ip, readForm(request).one('email'));
    if (!config.mail)
      return sendCard(reply, {
        title: 'Ask an operator for your link',
        body: html`<div role="status" id="sent"><p>${notMailed} If somebody who may come here has this address, a link is there now.</p></div>
<p>It opens once, within one hour.</p>${back}`,
      });
    return sendCard(reply, {
      title: 'Look into your mail',
      body: html`<div role="status" id="sent"><p>If somebody who may come here has this address, a link is on its way to it.</p></div>
<p>The link opens once, within one hour. If nothing comes within a few minutes, look into the folder for unwanted mail, or ask whoever invited you.</p>${back}`,
    });
  });
}
