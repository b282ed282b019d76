// In charge of the pages on which a person signs in, chooses a password, and sees that they are signed in.
import { html, type Html } from '../../http/html.ts';
import { renderForm } from '../../http/pages/form.ts';
import { renderFrame } from '../../http/pages/frame.ts';
import type { Presence } from '../presences.ts';

type Said = { problem?: string | undefined; notice?: string | undefined };
type Input = { name: string; label: string; type: 'text' | 'password'; autocomplete: string; value?: string; hint?: string };

export type SignIn = Said & { token: string; path: string; estab: string; userName: string; to?: string | undefined };

export function renderSignIn({ token, path, estab, userName, to, ...said }: SignIn): string {
  return renderCard(to === undefined ? 'Sign in' : `Sign in to ${to}`, said, renderForm({
    path,
    token,
    id: 'sign-in',
    body: html`
${renderInput({ name: 'estab', label: 'School number', type: 'text', autocomplete: 'organization', value: estab })}
${renderInput({ name: 'username', label: 'User name', type: 'text', autocomplete: 'username', value: userName })}
${renderInput({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' })}
<button type="submit">Sign in</button>`,
  }));
}

export type ChoosePassword = Said & { token: string; path: string; person: Presence; asks: 'first' | 'another' | 'present and another' };

export function renderChoosePassword({ token, path, person, asks, ...said }: ChoosePassword): string {
  const hint = `At least ${person.type === 'Learners' ? 8 : 12} characters, and not one that everybody uses.`;
  const title = asks === 'first' ? 'Choose a password' : 'Choose a new password';
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

function renderCard(title: string, said: Said, body: Html): string {
  return renderFrame({ title, ...said, body: html`<section class="card narrow"><h1>${title}</h1>\n${body}</section>` });
}

function renderInput({ name, label, type, autocomplete, value, hint }: Input): Html {
  return html`<div class="field"><label for="${name}">${label}</label>${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
<input type="${type}" id="${name}" name="${name}" value="${value}" autocomplete="${autocomplete}" autocapitalize="off" spellcheck="false" maxlength="300"
required${hint && html` aria-describedby="${name}-hint"`}></div>`;
}
