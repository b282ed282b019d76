// In charge of identity for tests: two small schools, applications with every kind of credential, operations asked as
// callers ask them, and links out of the mails that are kept.
import assert from 'node:assert/strict';
import { addApplication } from '../src/access/applications.ts';
import { authorise, changeState, type AuthorisationState } from '../src/access/authorisations.ts';
import { managementToken } from './onboarding.ts';
import { useService, type Client } from './service.ts';
import { smallPackage, smallSchool, user, type Row } from './small-school.ts';

export type Asked = {
  method?: string;
  query?: string | Record<string, string>;
  body?: unknown;
  authorization?: string | undefined;
  headers?: Record<string, string>;
};
export type User = Record<
  'Id' | 'DisplayName' | 'FirstName' | 'Surname' | 'LastLoggedIn' | 'UserName' | 'Roles' | 'PresenceType' | 'WorkEmail' | 'Email',
  string
>;
export type Failure = { Message: null; ExceptionType: string; ExceptionMessage: string; InnerException: null };

/** p1 and s1 have an e-mail, the rest of the small school has none; s3 is an administrator. */
export const withOffice = (more: readonly Row[] = [], without: readonly string[] = []) =>
  smallPackage({
    users: [
      ...smallSchool.users.filter(({ sourcedId }) => !without.includes(sourcedId ?? '')),
      user('s3', 'administrator', { email: 's3@school.example', givenName: 'Philippa', familyName: 'Featherstone' }),
      ...more,
    ],
    enrollments: smallSchool.enrollments.filter(({ userSourcedId }) => !without.includes(userSourcedId ?? '')),
  });

export const basic = (name: string, secret: string) => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;

export async function useIdentity(env: Record<string, string> = {}, parts: Parameters<typeof useService>[1] = {}) {
  const service = await useService(env, parts);
  const { db, url, seal } = service;
  await service.addSchool('one', withOffice());
  await service.addSchool('two', withOffice());
  const client: Client = await service.addClient('app', ['one', 'two']);
  const school = basic('app|one', client.schoolSecrets['one'] ?? '');
  const management = basic('app', client.managementSecret);

  /** As the school `one`, unless another credential is given. */
  function ask(
    operation: string,
    { method = operation.toLowerCase() === 'getusers' ? 'GET' : 'POST', query = {}, body, authorization = school, headers = {} }: Asked = {},
  ): Promise<Response> {
    const text = typeof query === 'string' ? query : new URLSearchParams(query).toString();
    return fetch(`${url}/api/v1/Identity/${operation}${text === '' ? '' : `?${text}`}`, {
      method,
      headers: { ...(authorization === '' ? {} : { authorization }), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  async function answer<T>(operation: string, asked: Asked = {}): Promise<T> {
    const response = await ask(operation, asked);
    assert.equal(response.status, 200, await response.clone().text());
    return (await response.json()) as T;
  }

  async function refused(status: number, operation: string, asked: Asked = {}): Promise<Failure> {
    const response = await ask(operation, asked);
    assert.equal(response.status, status, `${operation} ${JSON.stringify(asked)}: ${response.status} ${await response.clone().text()}`);
    const failure = (await response.json()) as Failure;
    assert.deepEqual(Object.keys(failure), ['Message', 'ExceptionType', 'ExceptionMessage', 'InnerException']);
    return failure;
  }

  const users = (authorization = school) => answer<User[]>('GetUsers', { authorization });

  async function person(firstName: string, authorization = school): Promise<User> {
    const found = (await users(authorization)).find((one) => one.FirstName === firstName);
    assert.ok(found, `${firstName} is not listed`);
    return found;
  }

  async function makeLogin(firstName: string, estab = 'one'): Promise<User> {
    const authorization = basic(`app|${estab}`, client.schoolSecrets[estab] ?? '');
    await answer('CreateLogin', { authorization, query: { OrgId: estab, PresenceId: (await person(firstName, authorization)).Id } });
    return person(firstName, authorization);
  }

  return {
    service, db, url, client, school, management, ask, answer, refused, users, person, makeLogin,
    /** A login with a password that is the person's own. */
    async makeRegistered(firstName: string, password: string, estab = 'one'): Promise<User> {
      const made = await makeLogin(firstName, estab);
      await answer('ResetPassword', { authorization: basic(`app|${estab}`, client.schoolSecrets[estab] ?? ''), query: { username: made.UserName, password } });
      return made;
    },
    token: async (kind: 'school' | 'management', estab = 'one') => {
      if (kind === 'management') return managementToken(url, 'app', client.managementSecret);
      const response = await fetch(`${url}/api/oauth/GetToken`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ estab, relyingParty: 'app', password: client.schoolSecrets[estab] }),
      });
      return ((await response.json()) as { token: string }).token;
    },
    change: (rp: string, estab: string, to: AuthorisationState) => changeState(db, { rp, estab, from: ['Approved', 'Paused', 'Revoked'], to }),
    /** An application with one school and redirect addresses. */
    async addSignOn(rp: string, estabs: readonly string[], redirectUris: readonly string[], scopes = 'School,Identity') {
      const application = await addApplication(db, seal, { rp, name: `Application ${rp}`, callbackUrl: 'http://127.0.0.1:9/events', scopes, redirectUris });
      for (const estab of estabs) await authorise(db, { rp, estab });
      return application;
    },
    /** The links in the mails to an address, oldest first, sent or not. */
    async links(to: string): Promise<string[]> {
      const rows = await db<{ body: Buffer | null }[]>`select body from outbox where kind = 'mail' and payload ->> 'to' = ${to} order by seq`;
      return rows.map(({ body }) => registrationLink(body ? (JSON.parse(body.toString('utf8')) as { text: string }).text : ''));
    },
    audited: (estab: string) =>
      db<
        { rp: string | null; operation: string; id: string | null; outcome: string }[]
      >`select rp, operation, presence_id as id, outcome from identity_audit where estab = ${estab} order by number`,
  };
}

export function registrationLink(text: string): string {
  const [link] = /http:\S+\/register\/\S+/.exec(text) ?? [];
  assert.ok(link, `no link in: ${text}`);
  return link;
}

/** A browser's form without a browser: the cookie and the token of the page at `path`. */
export async function openForm(
  url: string,
  path: string,
  cookies: readonly string[] = [],
): Promise<{ cookie: string; token: string; post(fields: Record<string, string>, to?: string): Promise<Response> }> {
  const response = await fetch(`${url}${path}`, { headers: { cookie: cookies.join('; ') }, redirect: 'manual' });
  const cookie = [...cookies, ...response.headers.getSetCookie().map((one) => one.split(';', 1)[0] ?? '')].join('; ');
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(await response.text()) ?? [];
  return {
    cookie,
    token,
    post: (fields, to = path) =>
      fetch(`${url}${to}`, {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ token, ...fields }),
        redirect: 'manual',
      }),
  };
}

export async function signIn(url: string, estab: string, username: string, password: string): Promise<Response> {
  const form = await openForm(url, '/login');
  return form.post({ estab, username, password });
}

export const sessionCookie = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((one) => one.split(';', 1)[0] ?? '')
    .find((one) => one.startsWith('schoolbell_login=')) ?? '';
