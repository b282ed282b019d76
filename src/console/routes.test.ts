// Walks every page and action of the console's tables: who may open it, who may not, and what is refused to a viewer.
import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { test } from 'node:test';
import { useConsole } from '../../test/console.ts';
import { createVisitor } from '../../test/visitor.ts';
import { commands } from '../command-line.ts';
import { signInRoutes } from '../identity/page-routes.ts';
import { makeSignInLink } from '../onboarding/links.ts';
import { schoolPageRoutes, type SchoolPages } from '../onboarding/routes.ts';
import { actions, pages } from './routes.ts';

const { service, enter } = await useConsole({ DEMO: 'on' });
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
await service.addSchool('3805001');

/** Any value will do: who may not is told so before anything is looked for. */
const fill = (path: string) => path.replaceAll(/:\w+/g, 'none');
const bare = (path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, { redirect: 'manual', ...init, headers: { accept: 'text/html', ...init.headers } });

async function schoolCookie(): Promise<string> {
  const opened = await bare(`/school/open/${await makeSignInLink(db, '3805001')}`);
  return opened.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
}

test('paths are said once', () => {
  for (const all of [pages.map(({ path }) => path), actions.map(({ path }) => path)])
    assert.equal(new Set(all).size, all.length, all.filter((one, at) => all.indexOf(one) < at).join(', '));
});

/** An operator's own account, and links that are read: there is no command for these. */
const onlyHere = new Set([
  'change own name', 'change own password', 'end own other sessions', 'switch second factor on', 'make new recovery codes', 'switch second factor off',
  'see links of mail', 'see secrets in inbox', 'try operation',
]);

test('in the trail a deed has the name of its command', () => {
  const known = new Set(commands.map(({ name }) => name));
  const names = [...new Set(actions.map(({ name }) => name))];
  assert.deepEqual(names.filter((name) => !known.has(name)), [...onlyHere]);
});

test('whoever they are, an operator does to their own account alone what needs no role', () => {
  assert.deepEqual(actions.filter(({ may }) => may === 'self').map(({ path }) => path), [
    '/console/account/rename', '/console/account/password', '/console/account/end-others',
    '/console/account/second-factor/on', '/console/account/second-factor/renew', '/console/account/second-factor/off',
  ]);
});

test('what is refused to somebody is said on a page that is there', () => {
  const known = new Set(pages.map(({ path }) => path));
  const from = actions.map(({ path }) => path.slice(0, path.lastIndexOf('/')));
  assert.deepEqual(from.filter((path) => !known.has(path)), []);
});

for (const { path } of pages) {
  test(`GET ${path}: only with a session of the console`, async () => {
    const school = await schoolCookie();
    const strangers: Record<string, string>[] = [{}, { cookie: school }, { cookie: school.replace('schoolbell_school', 'schoolbell_console') }];
    for (const headers of strangers) {
      const answer = await bare(fill(path), { headers });
      assert.equal(answer.status, 303);
      assert.match(answer.headers.get('location') ?? '', /^\/console\/sign-in\?to=/);
    }
  });
}

for (const { path, name, may } of actions) {
  test(`POST ${path} (${name}): not without a session or the form's token, and not by a viewer`, async () => {
    const school = await schoolCookie();
    for (const headers of [{}, { cookie: school }, { cookie: school.replace('schoolbell_school', 'schoolbell_console') }]) {
      const answer = await bare(fill(path), { method: 'POST', headers, body: new URLSearchParams({ token: admin.token }) });
      assert.deepEqual([answer.status, answer.headers.get('location')], [303, '/console/sign-in']);
    }
    for (const token of ['', 'wrong', viewer.token]) assert.equal((await admin.post(fill(path), { token })).status, 403);
    if (may === 'self') return;
    await db`delete from audit_event where actor = 'viewer'`;
    const refused = await viewer.post(fill(path));
    assert.equal(refused.status, 403);
    assert.match(refused.text, /your role is viewer/);
    const lines = await db<{ outcome: string }[]>`select outcome from audit_event where actor = 'viewer' and action = ${name}`;
    assert.deepEqual(lines.map(({ outcome }) => outcome), ['refused']);
  });
}

test('an action about nothing that is there is refused, and a line of the trail', async () => {
  await db`truncate audit_event`;
  const [id, school] = ['00000000-0000-4000-8000-000000000000', 'x'.repeat(4_000)];
  for (const path of [`/console/mail/${id}/send`, `/console/work/${id}/retry`, `/console/schools/${school}/confirm`])
    assert.equal((await admin.post(path)).status, 404, path.slice(0, 40));
  const lines = await db<{ outcome: string }[]>`select outcome from audit_event where actor = 'admin'`;
  assert.deepEqual(lines.map(({ outcome }) => outcome), ['refused', 'refused', 'refused']);
});

/** Whoever comes may open these: what is behind has a secret in its address, or asks who they are. */
const open = new Set([
  'GET /school', 'POST /school', 'GET /school/open/:token', 'GET /login', 'POST /login', 'GET /login/forgotten', 'POST /login/forgotten',
  'GET /register/:token', 'POST /register/:token',
]);

test('a session of the console opens no page of a school and no account, does nothing there, and signs nobody in', async () => {
  const app = Fastify();
  const routes: { method: string; path: string }[] = [];
  app.addHook('onRoute', ({ method, path }) => void (method !== 'HEAD' && routes.push({ method: String(method), path })));
  schoolPageRoutes(app, { uploads: {} } as unknown as SchoolPages);
  signInRoutes(app, { hashing: { longestMs: 1 } } as unknown as Parameters<typeof signInRoutes>[1]);
  await app.ready();
  const key = admin.cookie.slice(admin.cookie.indexOf('=') + 1);
  const names = ['schoolbell_console', 'schoolbell_school', 'schoolbell_login'];
  const closed = routes.filter(({ method, path }) => !open.has(`${method} ${path}`));
  assert.deepEqual([routes.length - closed.length, closed.length > 15], [open.size, true], 'each that is open is there, and many that are not');
  for (const { method, path } of closed) {
    for (const carried of [...names.map((one) => [one]), names]) {
      const visitor = createVisitor(url);
      await visitor.open('/login');
      for (const one of carried) visitor.cookies.set(one, key);
      // A form of a school has the token of its session, that of an account the one which its page was given.
      const token: Record<string, string> = path.startsWith('/school') ? { token: admin.token } : {};
      const answer = method === 'GET' ? await visitor.open(fill(path)) : await visitor.send(`${fill(path)}?token=${admin.token}`, token);
      assert.equal(answer.status, 303, `${method} ${path} with ${carried.join()}`);
      assert.match(answer.location ?? '', /^\/(?:school|login)$/);
    }
  }
});

test('one that is not proven opens nothing', async () => {
  await db`update console_session set proven = false where account = (select id from console_account where sign_in_name = 'viewer')`;
  for (const { path } of pages) assert.equal((await viewer.get(fill(path))).location, '/console/second-factor');
  for (const { path } of actions) assert.equal((await viewer.post(fill(path))).location, '/console/second-factor');
});
