// In charge of the pages on which a person signs in, chooses a password, and sees that they are signed in.
import { html, type Html } from '../../http/html.ts';
import { renderInput } from '../../http/pages/field.ts';
import { renderForm } from '../../http/pages/form.ts';
import { renderFrame } from '../../http/pages/frame.ts';
import type { Presence } from '../presences.ts';

type Said = { problem?: string | undefined; notice?: string | undefined };

export type SignIn = Said & { token: string; path: string; estab: string; userName: string; to?: string | undefined };

export function renderSignIn({ token, path, estab, userName, to, ...said }: SignIn): string {
  return renderCard(to === undefined ? 'Sign in' : `Sign in to ${to}`, said, renderForm({
    path,
    token,
    id: 'sign-in',
    body: html`
${renderSchoolInput(estab)}
${renderInput({ name: 'username', label: 'User name', type: 'text', autocomplete: 'username', value: userName })}
${renderInput({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button type="submit">Sign in</button>`,
  }), html`<p><a href="/login/forgotten">Forgotten your password?</a></p>`);
}

const withoutAddress = html`<p>If your school has no e-mail address for you, as is so for many students, ask your school for a new password: the operator of
this service can reset your login for it.</p>`;
const toSignIn = html`<p><a href="/login">Back to the sign-in page</a></p>`;

/** The same whether there is such a login or not. */
export function renderLinkAsked(sendsMail: boolean): string {
  if (!sendsMail) return renderCard('Ask your school for the link', {}, html`<div role="status" id="sent">
<p>E-mail is not set up on this service, so nothing is mailed. If there is such a login, and your school has an e-mail address for it, the operator of this
service has a link for it now.</p></div>
<p>Ask your school to get the link from the operator. It opens once, within one hour.</p>
${withoutAddress}${toSignIn}`);
  return renderCard('Look into your mail', {}, html`<div role="status" id="sent">
<p>If there is such a login, and your school has an e-mail address for it, a link is on its way to that address.</p></div>
<p>The link opens once, within one hour. If nothing comes within a few minutes, look into the folder for unwanted mail.</p>
${withoutAddress}${toSignIn}`);
}

export function renderForgotten({ token, estab, sendsMail }: { token: string; estab: string; sendsMail: boolean }): string {
  const where = sendsMail
    ? html`<p>We send a link to the e-mail address that your school has for you.</p>`
    : html`<p>E-mail is not set up on this service: your school gets the link for you from the operator of the service.</p>`;
  return renderCard('Choose a new password', {}, html`${where}${withoutAddress}
${renderForm({
  path: '/login/forgotten',
  token,
  id: 'forgotten',
  body: html`
${renderSchoolInput(estab)}
${renderInput({ name: 'username', label: 'User name or e-mail address', type: 'text', autocomplete: 'username' })}
<button type="submit">${sendsMail ? 'Send a link' : 'Ask for a link'}</button>`,
})}
${toSignIn}`);
}

const renderSchoolInput = (value: string) =>
  renderInput({ name: 'estab', label: 'School', type: 'text', autocomplete: 'organization', value, hint: 'The name of your school, or its number.' });

export type ChoosePassword = Said & { token: string; path: string; person: Presence; asks: 'first' | 'another' | 'present and another' };

export function renderChoosePassword({ token, path, person, asks, ...said }: ChoosePassword): string {
  const hint = `At least ${person.type === 'Learners' ? 8 : 12} characters, and not one that everybody uses.`;
  const title = asks === 'first' && !person.registered ? 'Choose a password' : 'Choose a new password';
  return renderCard(title, said, html`<p>${person.displayName}, your user name is <strong id="user-name">${person.userName}</strong>.</p>
${renderForm({
  path,
  token,
  id: 'choose-password',
  body: html`
<input type="hidden" name="username" value="${person.userName}" autocomplete="username">
${asks === 'present and another' && renderInput({ name: 'present', label: 'Present password', type: 'password', autocomplete: 'current-password' })}
${renderInput({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint })}
${renderInput({ name: 'repeated', label: 'The same again', type: 'password', autocomplete: 'new-password' })}
<button type="submit">Save</button>`,
})}`);
}

export function renderAccount({ token, person, school, ...said }: Said & { token: string; person: Presence; school: string }): string {
  return renderCard('You are signed in', said, html`<p><strong id="person">${person.displayName}</strong> at ${school}.</p>
<p><a href="/account/password">Choose a new password</a></p>
${renderForm({ path: '/account/sign-out', token, id: 'sign-out', body: html`<button type="submit" class="second">Sign out</button>` })}`);
}

function renderCard(title: string, said: Said, ...body: Html[]): string {
  return renderFrame({ title, ...said, body: html`<section class="card narrow"><h1>${title}</h1>\n${body}</section>` });
}
