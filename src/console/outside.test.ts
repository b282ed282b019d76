// Walks what stands before the console and is in none of its two tables: where one signs in and out, shows a second factor, chooses
// a password, asks for a link, and the demo's click. And that every address of the console is either there or in a table.
import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../test/console.ts';
import { keepLog } from '../../test/log-lines.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Seen } from '../../test/visitor.ts';
import { inboxRoute } from '../notifications/inbox/address.ts';
import { holdLimits } from '../notifications/inbox/hold.ts';
import { makeSignInLink } from '../onboarding/links.ts';
import { sendForgotten } from '../operators/links.ts';
import { actions, consoleRoutes, pages } from './routes.ts';
import type { ConsoleParts } from './visit.ts';

const log = keepLog();
const { service, enter } = await useConsole({ LOG_LEVEL: 'info', DEMO: 'on', ADMIN_PASSWORD: 'a password that is set' }, { logTo: log });
const { db, url } = service;
const name = 'ada@trust.example';
const invited = '/console/operators/invited';
await service.addSchool('3805001');
let id = '';
/** Longer than anything else takes. */
const hashingMs = 10_000_000;

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  await db`delete from outbox where estab = ''`;
  await addOperator(db, 'admin');
  id = await addOperator(db, name);
});

const linkOf = async () => new URL(await db.begin((tx) => sendForgotten(tx, url, { id, name: 'Ada', email: name }))).pathname;
const bare = (path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, { redirect: 'manual', ...init, headers: { accept: 'text/html', ...init.headers } });
const sessions = async () => (await db`select from console_session`).length;

/** Whoever adds an address that is in neither table says here what it is, and tries it below; that of an inbox is tried with the inboxes. */
const outside = [
  'GET /console/forgotten', `GET ${invited}/:token`, 'GET /console/second-factor', 'GET /console/sign-in',
  'POST /console/demo', 'POST /console/forgotten', `POST ${invited}/:token`, 'POST /console/second-factor', 'POST /console/sign-in', 'POST /console/sign-out',
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => `${method} ${inboxRoute}`),
];

test('every address of the console is in a table, or known here', async () => {
  const app = Fastify();
  const [found, patient]: [string[], string[]] = [[], []];
  app.addHook('onRoute', ({ method, path, config }) => {
    found.push(...[method].flat().map((one) => `${one} ${path}`));
    if ((config?.longestMs ?? 0) > hashingMs) patient.push(path);
  });
  consoleRoutes(app, { hashing: { longestMs: hashingMs }, uploads: {}, holds: holdLimits, config: { publicUrl: url } } as unknown as ConsoleParts);
  await app.ready();
  const tables = new Set([...pages.map(({ path }) => `GET ${path}`), ...actions.map(({ path }) => `POST ${path}`)]);
  assert.deepEqual(found.filter((one) => !tables.has(one) && !one.startsWith('HEAD ')).toSorted(), outside.toSorted());
  const hashing = ['/console/account/password', '/console/account/second-factor/off', '/console/account/second-factor/renew', '/console/sign-in'];
  assert.deepEqual(patient.toSorted(), [...hashing, `${invited}/:token`].toSorted(), 'whoever waits for a turn at hashing is given the time for it');
});

test('each page before the console is in no frame, kept nowhere, runs no script and tells nobody its address', async () => {
  await db`insert into console_rule (name, required) values ('second factor', true)`;
  const half = await signIn(url, name);
  const seen: [string, Seen | Response][] = [['second factor', await half.open('/console/second-factor')]];
  await db`delete from console_rule`;
  for (const path of ['/console/sign-in', '/console/forgotten', await linkOf(), `${invited}/none`]) seen.push([path, await bare(path)]);
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  seen.push(['wrong password', await visitor.send('/console/sign-in', { name, password: 'wrong' })], ['asked', await visitor.send('/console/forgotten')]);
  seen.push(['no token', await visitor.send('/console/demo', { token: 'x' })]);
  for (const [what, { headers }] of seen) {
    const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    assert.deepEqual(
      ['content-security-policy', 'cache-control', 'referrer-policy', 'x-content-type-options', 'cross-origin-opener-policy'].map((one) => headers.get(one)),
      [policy, 'no-store', 'no-referrer', 'nosniff', 'same-origin'],
      what,
    );
  }
});

test('no form before the console is taken without the token of its page, with the cookie of a school or with another’s', async () => {
  const link = await linkOf();
  const opened = await bare(`/school/open/${await makeSignInLink(db, '3805001')}`);
  const school = opened.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const admin = await enter('admin');
  const fields = { name, password: goodPassword, repeated: goodPassword, email: name };
  for (const path of ['/console/sign-in', '/console/forgotten', link, '/console/demo']) {
    const before = await sessions();
    for (const cookie of ['', school, admin.cookie, 'schoolbell_form=', 'schoolbell_form=x']) {
      for (const token of ['', admin.token]) {
        const answer = await bare(path, { method: 'POST', headers: { cookie }, body: new URLSearchParams({ ...fields, token }) });
        assert.equal(answer.status, 403, `${path} ${cookie}`);
      }
    }
    assert.equal(await sessions(), before, path);
  }
  assert.deepEqual(await db`select from outbox where estab = '' and kind = 'operator-link'`, []);
  for (const cookie of [school, school.replace('schoolbell_school', 'schoolbell_console')])
    for (const method of ['GET', 'POST'])
      assert.match((await bare('/console/second-factor', { method, headers: { cookie } })).headers.get('location') ?? '', /^\/console\/sign-in/);
  assert.equal((await bare('/console/sign-out', { method: 'POST', headers: { cookie: admin.cookie } })).status, 403);
  assert.equal((await admin.get('/console')).status, 200);
});

test('the log has neither the secret of a link nor anything behind a question mark', async () => {
  const [link, visitor] = [await linkOf(), createVisitor(url)];
  const secret = link.split('/').at(-1) ?? '';
  await visitor.open(link);
  await visitor.open(`${link}/?t=${secret}`);
  await bare(link.toUpperCase().replace(secret.toUpperCase(), secret), { method: 'PUT' });
  await visitor.send(link, { password: goodPassword, repeated: goodPassword });
  const admin = await enter('admin');
  await bare(`/console/schools/3805001/source/upload/send?token=${admin.token}`, { method: 'POST', headers: { cookie: admin.cookie }, body: new FormData() });
  await admin.get('/console/sign-in?to=/console/behind-the-mark');
  assert.match(log.text(), /"route":"\/console\/operators\/invited\/:token"/);
  assert.match(log.text(), /upload\/send/);
  for (const unsaid of [secret, admin.token, 'behind-the-mark', goodPassword]) assert.ok(!log.text().includes(unsaid), unsaid);
});

test('whoever chooses a password with a browser that somebody is signed in with ends that session', async () => {
  await addOperator(db, 'eve@trust.example', 'viewer');
  const visitor = await signIn(url, 'eve@trust.example');
  const before = visitor.twin();
  const link = await linkOf();
  await visitor.open(link);
  assert.equal((await visitor.send(link, { password: goodPassword, repeated: goodPassword })).status, 303);
  assert.match((await before.open('/console')).location ?? '', /sign-in/);
});

test('signing out whose line cannot be written is not done', async () => {
  const visitor = await signIn(url, name);
  await visitor.open('/console');
  await db`alter table audit_event rename to audit_event_gone`;
  try {
    assert.equal((await visitor.twin().send('/console/sign-out')).status, 500);
  } finally {
    await db`alter table audit_event_gone rename to audit_event`;
  }
  assert.equal((await visitor.open('/console')).status, 200);
});
