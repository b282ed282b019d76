// A school's pages as HTTP: who comes in, what a form must carry, what every page says to the browser, what one school
// sees of another, and what two people at once, a stale page or hostile names can bring about.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { hiddenIn, postForm, rosteringToken, useOnboarding, type Visitor } from '../../test/onboarding.ts';
import { smallPackage } from '../../test/small-school.ts';
import { rootB } from '../../test/service.ts';
import { sealedAs } from '../access/sealed-as.ts';

const onboarding = await useOnboarding();
const { db, service, url, events, authorisations, stored } = onboarding;
let application: Awaited<ReturnType<typeof onboarding.addAsking>>;
let other: typeof application;
let schools = 0;

before(async () => {
  application = await onboarding.addAsking('app');
  other = await onboarding.addAsking('other');
});

/** A school with data, asked by the application. */
async function addAsked(options: { data?: boolean } = {}): Promise<{ estab: string; id: string; visitor: Visitor; path: string }> {
  const estab = `P${(schools += 1)}`;
  await service.addSchool(estab, options.data === false ? undefined : smallPackage());
  await application.invite(estab);
  const id = await onboarding.openRequest(estab, 'app');
  return { estab, id, visitor: await onboarding.signIn(estab), path: `/school/requests/${id}` };
}

/** A school that has approved, and the secret that the application has. */
async function addSharing(options: { data?: boolean } = {}) {
  const asked = await addAsked(options);
  assert.equal((await asked.visitor.decide(asked.path, { decision: 'approve', scopes: ['Staff'] })).status, 303);
  return { ...asked, secret: await secretOf(asked.estab), page: '/school/applications/app' };
}

async function secretOf(estab: string): Promise<string> {
  const event = (await stored(estab)).at(-1);
  assert.ok(event?.body);
  return new URLSearchParams(service.seal.open(event.body, sealedAs.authenticationEvent(estab, 'app', event.id))).get('schoolSecret') ?? '';
}

const tokenStatus = async (estab: string, secret: string) => (await rosteringToken(url, 'app', estab, secret)).status;
async function reader(estab: string, secret: string): Promise<(path: string) => Promise<number>> {
  const { access_token: token } = (await (await rosteringToken(url, 'app', estab, secret)).json()) as { access_token: string };
  return async (path) => (await fetch(`${url}${rootB}${path}`, { headers: { authorization: `Bearer ${token}` } })).status;
}

// ---- Coming in ----------------------------------------------------------------------------------------------------

test('without a session, with a made-up, an expired or an ended one, every page leads to /school and nothing is done', async () => {
  const { estab, visitor, path } = await addAsked();
  const pages = ['/school/home', path, '/school/applications/app', '/school/source'];
  const forms = [
    path, '/school/applications/app', '/school/source/provider', '/school/source/approve', '/school/source/refresh', '/school/source/upload',
    '/school/sign-out',
  ];
  await db`update school_session set expires_at = now() - interval '1 second' where estab = ${estab}`;
  const ended = await onboarding.signIn(estab);
  assert.equal((await ended.post('/school/sign-out', {})).headers.get('location'), '/school');
  const madeUp = ['', 'A'.repeat(43), '%00', '..%00~A'].map((value) => `schoolbell_school=${value}`);
  for (const cookie of ['', ...madeUp, visitor.cookie, ended.cookie]) {
    for (const page of pages) {
      const response = await fetch(`${url}${page}`, { headers: { cookie }, redirect: 'manual' });
      assert.deepEqual([response.status, response.headers.get('location')], [303, '/school'], `${page} with "${cookie}"`);
    }
    for (const form of forms)
      assert.equal(
        (await postForm(`${url}${form}`, cookie, { token: visitor.token, decision: 'approve', action: 'pause' })).headers.get('location'),
        '/school',
        form,
      );
  }
  assert.deepEqual([...(await authorisations(estab))], []);
});

test('a session is a cookie for these pages alone, out of reach of scripts and other sites, for twelve hours', async () => {
  const { estab } = await addAsked();
  const { makeSignInLink } = await import('./links.ts');
  const response = await fetch(`${url}/school/open/${await makeSignInLink(db, estab)}`, { redirect: 'manual' });
  const cookie = new RegExp(`^schoolbell_school=${estab}~[\\w-]{43}; Path=/school; Max-Age=43200; HttpOnly; SameSite=Lax$`);
  assert.match(response.headers.get('set-cookie') ?? '', cookie);
  const [row] = await db<
    { hours: number }[]
  >`select extract(epoch from expires_at - now()) / 3600 as hours from school_session where estab = ${estab} order by created_at desc limit 1`;
  assert.ok(row && row.hours > 11.9 && row.hours <= 12);
});

test('links that were made up, of the wrong length or expired say so with 404', async () => {
  const { estab } = await addAsked();
  const { makeSignInLink } = await import('./links.ts');
  const link = await makeSignInLink(db, estab);
  await db`update school_link set expires_at = now() where estab = ${estab}`;
  const strange = ['%00', 'é', '%00~A', 'é~A', '~', `~${link}`, `${'e'.repeat(33)}~A`, `none~${'A'.repeat(43)}`];
  for (const token of [link, 'A'.repeat(43), 'x', ...strange, `${link}x`, "'; drop table school_link; --"]) {
    const response = await fetch(`${url}/school/open/${encodeURIComponent(token).replaceAll('%25', '%')}`, { redirect: 'manual' });
    assert.ok([404, 400].includes(response.status), `${token}: ${response.status}`);
    assert.equal(response.headers.get('set-cookie'), null);
  }
});

test('a link and a cookie name their school, and open nothing at another', async () => {
  const [own, others] = [await addAsked(), await addAsked()];
  const { makeSignInLink } = await import('./links.ts');
  const elsewhere = (key: string) => key.replace(`${own.estab}~`, `${others.estab}~`);
  const status = async (key: string) => (await fetch(`${url}/school/open/${key}`, { redirect: 'manual' })).status;
  const link = await makeSignInLink(db, own.estab);
  assert.deepEqual([await status(elsewhere(link)), await status(link.replace(`${own.estab}~`, '')), await status(link)], [404, 404, 303]);
  const at = async (cookie: string) => (await fetch(`${url}/school/home`, { headers: { cookie }, redirect: 'manual' })).status;
  const { cookie } = own.visitor;
  assert.deepEqual([await at(elsewhere(cookie)), await at(cookie.replace(`${own.estab}~`, '')), await at(cookie)], [303, 303, 200]);
});

// ---- Forms --------------------------------------------------------------------------------------------------------

test('a form without a token, with a wrong one or that of another session is refused with 403, and nothing is done', async () => {
  const { estab, visitor, path, page } = await (async () => ({ ...(await addSharing()), page: '/school/applications/app' }))();
  await other.invite(estab);
  const request = `/school/requests/${await onboarding.openRequest(estab, 'other')}`;
  const colleague = await onboarding.signIn(estab);
  const before = JSON.stringify([await events(estab), await authorisations(estab), await stored(estab), await onboarding.mailsOf(estab)]);
  const forms: [path: string, fields: Record<string, string>][] = [
    [request, { decision: 'approve' }],
    [request, { decision: 'decline' }],
    [path, { decision: 'approve' }],
    [page, { action: 'scopes' }],
    [page, { action: 'pause' }],
    [page, { action: 'resume' }],
    [page, { action: 'revoke' }],
    ['/school/source/provider', { url: 'https://mis.example/', clientId: 'a', clientSecret: 'b' }],
    ['/school/source/approve', {}],
    ['/school/source/refresh', {}],
    ['/school/sign-out', {}],
  ];
  for (const [form, fields] of forms) {
    for (const token of ['', 'x', 'A'.repeat(43), colleague.token])
      assert.equal((await postForm(`${url}${form}`, visitor.cookie, { ...fields, token })).status, 403, `${form} ${JSON.stringify(fields)} ${token}`);
    assert.equal((await postForm(`${url}${form}`, visitor.cookie, fields)).status, 403, form);
  }
  for (const token of ['', '?token=', '?token=x', `?token=${colleague.token}`]) {
    const form = new FormData();
    form.append('token', visitor.token);
    form.append('package', new Blob(['PK']), 'a.zip');
    assert.equal(
      (await fetch(`${url}/school/source/upload${token}`, { method: 'POST', headers: { cookie: visitor.cookie }, body: form, redirect: 'manual' })).status,
      403,
      token,
    );
  }
  assert.equal(JSON.stringify([await events(estab), await authorisations(estab), await stored(estab), await onboarding.mailsOf(estab)]), before);
  assert.equal((await db`select from upload where estab = ${estab}`).length, 0);
  assert.equal((await visitor.get('/school/home')).status, 200);
});

test('every page, also one that refuses, has a strict policy and is not kept', async () => {
  const { visitor, path, page } = { ...(await addAsked()), page: '/school/applications/app' };
  const shared = await addSharing();
  const answers = [
    await visitor.get('/school'), await visitor.get('/school/home'), await visitor.get(path), await visitor.get(page),
    await visitor.get('/school/source'), await shared.visitor.get(page), await visitor.get('/school/open/x'),
    await postForm(`${url}/school`, '', { estab: 'x' }), await postForm(`${url}${path}`, visitor.cookie, {}),
    await visitor.decide(path, { decision: 'perhaps' }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 404, 200, 200, 404, 200, 403, 400],
  );
  for (const { headers, url: at } of answers) {
    const policy = headers.get('content-security-policy') ?? '';
    for (const rule of ["default-src 'none'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      assert.ok(policy.includes(rule), `${at}: ${policy}`);
    assert.doesNotMatch(policy, /unsafe|\*|https?:|script-src/);
    assert.deepEqual(
      ['x-content-type-options', 'referrer-policy', 'cache-control', 'content-type'].map((name) => headers.get(name)),
      ['nosniff', 'no-referrer', 'no-store', 'text/html; charset=utf-8'],
      at,
    );
  }
});

// ---- One school and another ---------------------------------------------------------------------------------------

test("another school's requests and applications are not there, whether guessed or known", async () => {
  const asked = await addAsked();
  const shared = await addSharing();
  const stranger = (await addAsked({ data: false })).visitor;
  for (const id of [asked.id, shared.id, randomUUID(), 'x', '%00', '..%2F..', "' or 1=1 --"]) {
    for (const status of [
      (await stranger.get(`/school/requests/${id}`)).status,
      (await stranger.post(`/school/requests/${id}`, { decision: 'approve' })).status,
    ])
      assert.ok([404, 400].includes(status), `${id}: ${status}`);
  }
  assert.equal((await stranger.get('/school/applications/app')).status, 404);
  for (const action of ['pause', 'resume', 'revoke', 'scopes'])
    assert.ok([404, 409].includes((await stranger.post('/school/applications/app', { action })).status), action);
  assert.doesNotMatch(await stranger.text('/school/home'), new RegExp(`${asked.id}|${shared.id}|School ${shared.estab}`));
  assert.deepEqual((await authorisations(shared.estab)).map(({ state }) => state), ['Approved']);
  assert.deepEqual([...(await authorisations(asked.estab))], []);
});

// ---- Deciding -----------------------------------------------------------------------------------------------------

test('two people who approve at once make one authorisation, one secret, one event; the other is told', async () => {
  const { estab, visitor, path } = await addAsked();
  const people = [visitor, ...(await Promise.all([1, 2, 3].map(() => onboarding.signIn(estab))))];
  const statuses = (await Promise.all(people.map((one) => one.decide(path, { decision: 'approve' })))).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 303).length, 1, String(statuses));
  assert.ok(
    statuses.every((status) => [303, 404, 409].includes(status)),
    String(statuses),
  );
  assert.deepEqual(
    [(await authorisations(estab)).length, (await stored(estab)).length, (await db`select from school_secret where estab = ${estab}`).length],
    [1, 1, 1],
  );
  assert.deepEqual(
    (await events(estab)).map(({ state }) => state),
    ['Invited', 'Live'],
  );
});

test('one approves and one declines at once: one of the two holds', async () => {
  const { estab, visitor, path } = await addAsked();
  const colleague = await onboarding.signIn(estab);
  const answers = await Promise.all([visitor.decide(path, { decision: 'approve' }), colleague.decide(path, { decision: 'decline' })]);
  assert.equal(answers.filter(({ status }) => status === 303).length, 1);
  const [invitation] = await db<{ state: string }[]>`select state from invitation where estab = ${estab}`;
  assert.equal((await authorisations(estab)).length, invitation?.state === 'Approved' ? 1 : 0);
  assert.equal((await stored(estab)).length, invitation?.state === 'Approved' ? 1 : 0);
});

test('an approval does not wait for a collection that goes on', async () => {
  const { estab, visitor, path } = await addAsked();
  await db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for update`;
    await tx`update component_database set refreshing_since = now() where estab = ${estab}`;
    assert.equal((await visitor.decide(path, { decision: 'approve' })).status, 303);
  });
  assert.deepEqual([(await authorisations(estab)).length, (await stored(estab)).length], [1, 1]);
});

test('to decline shares nothing, tells nobody and writes a receipt; the link is dead', async () => {
  const { estab, visitor, path } = await addAsked();
  assert.equal((await visitor.decide(path, { decision: 'decline' })).status, 303);
  assert.deepEqual([...(await authorisations(estab))], []);
  assert.deepEqual([...(await stored(estab))], []);
  assert.deepEqual(
    (await onboarding.mailsOf(estab)).map(({ to, subject }) => [to, subject.split(':')[0]]),
    [
      [`office@${estab}.example`, `Application app asks for data of School ${estab}`],
      [`office@${estab}.example`, 'Receipt'],
    ],
  );
  assert.equal((await visitor.decide(path, { decision: 'approve' })).status, 404);
});

test('what is required cannot be left out, what is not asked for cannot be slipped in, and an odd decision is none', async () => {
  const { estab, visitor, path } = await addAsked();
  for (const fields of [{}, { decision: '' }, { decision: 'yes' }] as Record<string, string>[]) assert.equal((await visitor.decide(path, fields)).status, 400);
  await visitor.decide(path, { decision: 'approve', scopes: ['Identity', 'Contact', 'nonsense'] });
  assert.deepEqual((await authorisations(estab)).map(({ scopes }) => scopes), [['School', 'Student', 'Contact']]);
});

test('what was asked for after the page was shown is not approved with it', async () => {
  const estab = `P${(schools += 1)}`;
  await service.addSchool(estab, smallPackage());
  await other.invite(estab, { ScopesToAuthorise: ['School'] });
  const path = `/school/requests/${await onboarding.openRequest(estab, 'other')}`;
  const visitor = await onboarding.signIn(estab);
  const shown = await visitor.text(path);
  await db`update invitation set invited_at = now() - interval '2 hours' where estab = ${estab}`;
  await other.invite(estab, { ScopesToAuthorise: ['School', 'Student', 'Contact'] });
  assert.equal((await visitor.post(path, { ...hiddenIn(shown), decision: 'approve' })).status, 409);
  assert.deepEqual([...(await authorisations(estab))], []);
});

test('approving again: new scopes at once, a new secret, the old one for another day', async () => {
  const { estab, visitor, secret } = await addSharing();
  const read = await reader(estab, secret);
  assert.deepEqual([await read('/users/a1'), await read('/users/s1')], [404, 200]);
  await application.invite(estab, { ScopesToAuthorise: 'School,Student,Staff,Contact' });
  const path = `/school/requests/${await onboarding.openRequest(estab, 'app')}`;
  assert.deepEqual((await authorisations(estab)).map(({ scopes }) => scopes), [['School', 'Student', 'Staff']]);
  await visitor.decide(path, { decision: 'approve', scopes: ['Contact'] });
  assert.deepEqual([await read('/users/a1'), await read('/users/s1')], [200, 404]);
  const renewed = await secretOf(estab);
  assert.notEqual(renewed, secret);
  assert.deepEqual([await tokenStatus(estab, secret), await tokenStatus(estab, renewed)], [200, 200]);
  await db`update school_secret set valid_until = ${earlier(db, 'valid_until', '24 hours')} where estab = ${estab}`;
  assert.deepEqual([await tokenStatus(estab, secret), await tokenStatus(estab, renewed), await read('/orgs')], [401, 200, 401]);
});

test('narrow, pause, resume and revoke hold for the next request; waiting calls are stopped, and the pages say so', async () => {
  const { estab, visitor, secret, page } = await addSharing();
  const read = await reader(estab, secret);
  assert.equal((await visitor.post(page, { action: 'scopes' })).status, 303);
  assert.deepEqual([await read('/users/s1'), await read('/users/p1')], [404, 200]);
  await visitor.post(page, { action: 'scopes', scopes: ['Staff', 'Identity'] });
  assert.deepEqual((await authorisations(estab)).map(({ scopes }) => scopes), [['School', 'Student', 'Staff']]);
  assert.match(await visitor.text(page), /1 message for this application still to be delivered/);

  const paused = await visitor.post(page, { action: 'pause' });
  assert.deepEqual([await read('/users'), await tokenStatus(estab, secret)], [403, 401]);
  assert.deepEqual((await stored(estab)).map(({ state }) => state), ['cancelled']);
  const shown = await visitor.text(paused.headers.get('location') ?? '');
  assert.match(shown, /Paused\. From this moment nothing can be read, and messages that were waiting were stopped/);
  assert.match(shown, /id="waiting-calls">None</);

  await visitor.post(page, { action: 'resume' });
  assert.deepEqual([await read('/users'), (await stored(estab)).map(({ state }) => state)], [200, ['cancelled', 'waiting']]);
  await visitor.post(page, { action: 'revoke' });
  assert.deepEqual([await read('/users'), await tokenStatus(estab, secret), (await stored(estab)).at(-1)?.state], [403, 401, 'cancelled']);
  for (const action of ['pause', 'resume', 'scopes']) assert.equal((await visitor.post(page, { action })).status, 409, action);
  assert.deepEqual(
    (await events(estab)).map(({ state, actor }) => `${state} ${actor}`),
    ['Invited application', 'Live school', 'Scopes changed school', 'Scopes changed school', 'Paused school', 'Resumed school', 'Revoked school'],
  );
  assert.equal((await onboarding.mailsOf(estab)).filter(({ subject }) => subject.startsWith('Receipt')).length, 6);
});

test('a school is not told to use the command line', async () => {
  const { visitor, page } = await addSharing();
  await visitor.post(page, { action: 'revoke' });
  assert.doesNotMatch(await (await visitor.post(page, { action: 'pause' })).text(), /--rp|authorise /);
});
