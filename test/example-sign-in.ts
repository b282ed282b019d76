// In charge of signing somebody of the demo in, as a browser would for an application, so that there are tokens to show.
import { createHash, randomBytes } from 'node:crypto';
import { askApp } from './ask-app.ts';
import type { Asking } from './ask-described.ts';

const redirect = 'https://app.example/signed-in';
const password = 'seven green lanterns';
const person = { userName: 'h.dsilva', presenceId: 'p-57efbd6e77f5adfced390fd0' };

/** A login of the demo school, with a password that is no secret. */
export async function makeLogin({ app, demo }: Asking): Promise<{ userName: string; password: string }> {
  const headers = { authorization: basic(`${demo.rp}|${demo.estab}`, demo.schoolSecret) };
  const post = (operation: string, payload: object) => askApp(app, { method: 'POST', url: `/api/v1/Identity/${operation}`, headers, payload });
  await post('CreateLogin', { OrgId: demo.estab, PresenceId: person.presenceId });
  await post('ResetPassword', { username: person.userName, password, ChangeAtNextLogin: false });
  return { userName: person.userName, password };
}

export const basic = (user: string, secret: string) => `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;

/** What the application is sent back with, to be exchanged. */
export async function signIn(asking: Asking): Promise<Record<string, string>> {
  const { app, db, demo } = asking;
  const { userName } = await makeLogin(asking);
  await db`update application set redirect_uris = ${[redirect]} where rp = ${demo.rp}`;
  const verifier = randomBytes(32).toString('base64url');
  const cookies = new Map<string, string>();
  const go = async (to: string, form?: Record<string, string>) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { pathname, search } = new URL(to, 'http://x');
    const headers = { cookie, ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) };
    const sent = form ? { payload: String(new URLSearchParams(form)) } : {};
    const response = await askApp(app, { method: form ? 'POST' : 'GET', url: `${pathname}${search}`, headers, ...sent });
    for (const one of response.cookies) cookies.set(one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1));
    return { location: String(response.headers.location ?? ''), body: response.body };
  };
  const asked = new URLSearchParams({
    client_id: demo.clientId, redirect_uri: redirect, response_type: 'code', scope: 'openid profile email',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256',
  });
  const { location: interaction } = await go(`/oidc/auth?${asked.toString()}`);
  const [, token = ''] = /name="token" value="([^"]+)"/.exec((await go(interaction)).body) ?? [];
  const signedIn = await go(interaction, { token, estab: demo.estab, username: userName, password });
  const { location } = await go(signedIn.location);
  const code = new URL(location).searchParams.get('code') ?? '';
  return { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier };
}
