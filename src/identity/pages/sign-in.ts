// In charge of the pages on which a person signs in, chooses a password, and sees that they are signed in.
import { html } from '../../http/html.ts';
import type { Presence } from '../presences.ts';
import { renderForm, renderFrame, renderInput } from './frame.ts';

type Said = { problem?: string | undefined; notice?: string | undefined };

export function renderSignIn({ token, path, estab, userName, to, ...said }: Said & { token: string; path: string; estab: string; userName: string; to?: string | undefined }): string {
  return renderFrame({
    title: to === undefined ? 'Sign in' : `Sign in to ${to}`,
    ...said,
    body: renderForm(path, token, html`
${renderInput({ name: 'estab', label: 'School number', type: 'text', autocomplete: 'organization', value: estab })}
${renderInput({ name: 'username', label: 'User name', type: 'text', autocomplete: 'username', value: userName })}
${renderInput({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button type="submit">Sign in</button>`),
  });
}

export function renderChoosePassword({ token, path, person, first, ...said }: Said & { token: string; path: string; person: Presence; first: boolean }): string {
  const hint = person.type === 'Learners' ? 'At least 8 characters, and not one that everybody uses.' : 'At least 12 characters, and not one that everybody uses.';
  return renderFrame({
    title: first ? 'Choose a password' : 'Choose a new password',
    ...said,
    body: html`<p>${person.displayName}, your user name is <strong id="user-name">${person.userName}</strong>.</p>
${renderForm(path, token, html`
<input type="hidden" name="username" value="${person.userName}" autocomplete="username">
${renderInput({ name: 'password', label: 'New password', type: 'password', autocomplete: 'new-password', hint })}
${renderInput({ name: 'repeated', label: 'The same again', type: 'password', autocomplete: 'new-password' })}
<button type="submit">Save</button>`)}`,
  });
}

export function renderAccount({ token, person, school, ...said }: Said & { token: string; person: Presence; school: string }): string {
  return renderFrame({
    title: 'You are signed in',
    ...said,
    body: html`<p><strong id="person">${person.displayName}</strong> at ${school}.</p>
<p><a href="/account/password">Choose a new password</a></p>
${renderForm('/account/sign-out', token, html`<button type="submit" class="second">Sign out</button>`)}`,
  });
}

export function renderSaying(title: string, text: string, link?: { path: string; label: string }): string {
  return renderFrame({ title, body: html`<p>${text}</p>${link && html`<p><a href="${link.path}">${link.label}</a></p>`}` });
}
