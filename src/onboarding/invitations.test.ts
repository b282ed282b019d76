// Invitations: who may invite whom with what, where the mail goes, how often, and when a link opens no more; by
// SchoolRegister and by the operator's commands.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { linkIn, managementToken, useOnboarding, type Answered } from '../../test/onboarding.ts';
import { smallPackage } from '../../test/small-school.ts';
import { expireInvitations } from './invitations.ts';
import { makeInvitationLink } from './links.ts';

const onboarding = await useOnboarding();
const { db, service, url, run, events, authorisations, mailsOf, mailsTo, arrived } = onboarding;
await service.work();
let count = 0;
let estab = '';
let rp = '';
let application: Awaited<ReturnType<typeof onboarding.addAsking>>;

beforeEach(async () => {
  count += 1;
  [estab, rp] = [`I${count}`, `app${count}`];
  application = await onboarding.addAsking(rp);
});

const named = (more: object = {}) => ({ Estab: estab, SchoolName: `School ${estab}`, SchoolContactEmail: 'spy@elsewhere.example', ...more });
const known = () => service.addSchool(estab, smallPackage());
const invitation = async () =>
  (
    await db<
      { state: string; required: string[]; optional: string[]; decidedBy: string | null; days: number }[]
    >`select state, required_scopes as required, optional_scopes as optional, decided_by as "decidedBy", round(extract(epoch
        from expires_at - invited_at) / 86400)::int as days from invitation where estab = ${estab} order by created_at desc`
  )[0];
const history = async () => (await events(estab)).map(({ state, actor }) => `${state} ${actor}`);
const invitesMailed = async () => (await mailsOf(estab)).filter(({ subject }) => subject.includes('asks for data')).length;
const later = (minutes: number) =>
  db`update invitation set invited_at = ${earlier(db, 'invited_at', `${minutes} minutes`)}, created_at = ${earlier(db, 'created_at', `${minutes} minutes`)},
      expires_at = ${earlier(db, 'expires_at', `${minutes} minutes`)} where estab = ${estab}`;
async function register(body: unknown): Promise<{ status: number; schools: Answered['Schools'] }> {
  const response = await application.manage('POST', body);
  return { status: response.status, schools: ((await response.json()) as Answered).Schools };
}
async function newLink(): Promise<string> {
  return `${url}/school/open/${await makeInvitationLink(db, estab, await onboarding.openRequest(estab, rp))}`;
}
const opens = async (link: string) => (await fetch(link, { redirect: 'manual' })).status === 303;

// ---- Who ----------------------------------------------------------------------------------------------------------

test('only a management token with a valid secret invites', async () => {
  await known();
  const { data } = await run('authorise', { rp, estab });
  const schoolToken = async () => {
    const response = await fetch(`${url}/api/oauth/GetToken`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ estab, relyingParty: rp, password: (data as { schoolSecret: string }).schoolSecret }),
    });
    return ((await response.json()) as { token: string }).token;
  };
  const revoked = await managementToken(url, rp, application.managementSecret);
  const post = async (authorization?: string) =>
    (
      await fetch(`${url}/api/Manage/SchoolRegister`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(authorization ? { authorization } : {}) },
        body: JSON.stringify({ Schools: [named()] }),
      })
    ).status;
  assert.equal(await post(`Bearer ${revoked}`), 200);
  await run('rotate', { rp, secret: 'management' });
  assert.deepEqual(
    [
      await post(), await post(`Idaas ${await schoolToken()}`), await post(`Idaas ${revoked}`), await post('Idaas x'), await post('Basic eDp5'),
      await post('Idaas'),
    ],
    [401, 401, 401, 401, 401, 401],
  );
});

test('an application withdraws its own invitations alone', async () => {
  await known();
  await application.invite(estab);
  const stranger = await onboarding.addAsking(`stranger${count}`);
  assert.equal((await stranger.manage('DELETE', undefined, `/${estab}`)).status, 404);
  assert.equal((await application.manage('DELETE', undefined, `/${estab}`)).status, 200);
  assert.equal((await application.manage('PUT')).status, 405);
});

// ---- What ---------------------------------------------------------------------------------------------------------

test('one school that is wrong does not keep the others from being invited; each is told what is wrong', async () => {
  await known();
  const good = named();
  const wrong: [given: unknown, words: RegExp][] = [
    [{ ...good, Estab: 'no spaces' }, /estab "no spaces"/i],
    [{ ...good, Estab: { $ne: 1 } }, /Estab/],
    [{ ...good, Estab: 'x'.repeat(501) }, /Estab/],
    [{ ...good, Estab: 'a\u0000b' }, /Estab/],
    [{ ...good, Estab: undefined }, /Estab, or LeaCode and DfesCode/],
    [{ ...good, Estab: '', LeaCode: '380' }, /LeaCode and DfesCode/],
    [{ ...good, SchoolName: ' ' }, /SchoolName/],
    [{ ...good, SchoolContactEmail: null }, /SchoolContactEmail/],
    [{ ...good, Estab: 'unknown1', SchoolContactEmail: 'nobody' }, /not an e-mail/],
    [{ ...good, ScopesToAuthorise: ['Nonsense'] }, /not a scope/],
    [{ ...good, ScopesToAuthorise: ['Identity'] }, /not among the scopes/],
    [{ ...good, ScopesToAuthorise: { a: 1 } }, /must be a list/],
    [null, /Estab/],
    ['x', /Estab/],
    [[], /Estab/],
  ];
  const { status, schools } = await register({ Schools: [...wrong.map(([given]) => given), good] });
  assert.equal(status, 200);
  for (const [at, [given, words]] of wrong.entries()) {
    assert.equal(schools[at]?.Status, 'Error', JSON.stringify(given));
    assert.match(schools[at]?.Message ?? '', words, JSON.stringify(given));
  }
  assert.deepEqual([schools.at(-1)?.Status, (await invitation())?.state], ['OK', 'Invited']);
});

test('bodies that are no list of 1 to 100 schools are refused with 400', async () => {
  for (const body of [
    {},
    [],
    'x',
    5,
    null,
    { Schools: {} },
    { Schools: [] },
    { Schools: null },
    { Schools: Array.from({ length: 101 }, (_, at) => named({ Estab: `M${at}` })) },
  ])
    assert.equal((await application.manage('POST', body)).status, 400, JSON.stringify(body).slice(0, 50));
  assert.equal((await db`select from establishment where estab like 'M%'`).length, 0);
  const token = await managementToken(url, rp, application.managementSecret);
  for (const [body, type, status] of [
    ['{', 'application/json', 400],
    ['Schools=1', 'text/plain', 415],
  ] as const)
    assert.equal(
      (await fetch(`${url}/api/Manage/SchoolRegister`, { method: 'POST', headers: { authorization: `Idaas ${token}`, 'content-type': type }, body })).status,
      status,
    );
});

test('keys in any case, and a school by LeaCode and DfesCode, as text or as numbers', async () => {
  const { schools } = await register({ schools: [{ leacode: 380, DFESCODE: '4002', schoolname: 'A', schoolcontactemail: 'a@b.example' }] });
  assert.deepEqual(schools.map(({ Estab, Status }) => [Estab, Status]), [['3804002', 'OK']]);
});

test('ScopesToAuthorise as a list, a string, null or empty; what the application marks optional stays optional', async () => {
  await known();
  const all = [
    ['School', 'Student'],
    ['Staff', 'Contact'],
  ];
  for (const [given, expected] of [
    [
      ['School', 'Staff'],
      [['School'], ['Staff']],
    ],
    ['School, Contact', [['School'], ['Contact']]],
    [null, all],
    [[], all],
    ['', all],
  ] as const) {
    await application.invite(estab, { ScopesToAuthorise: given });
    const asked = await invitation();
    assert.deepEqual([asked?.required, asked?.optional], expected, JSON.stringify(given));
    await later(61);
  }
});

test('what is refused leaves no school behind', async () => {
  assert.equal((await application.invite(estab, { ScopesToAuthorise: 'Nonsense' })).Status, 'Error');
  await assert.rejects(run('invite', { rp: 'nobody', estab, name: 'A', email: 'a@b.example' }), /no application nobody/);
  const long = run('invite', { rp, estab, name: 'A', email: 'a@b.example', reason: 'x'.repeat(1001) });
  await assert.rejects(long, /^SchoolbellError: --reason: 1000 characters are the most$/);
  assert.equal((await db`select from establishment where estab = ${estab}`).length, 0);
});

// ---- Where the mail goes ------------------------------------------------------------------------------------------

test('a known school is asked at its address of record, whatever the application names', async () => {
  await known();
  assert.equal((await application.invite(estab)).Message, "An invitation was sent to the school's address of record.");
  await arrived('the mail', () => mailsTo(`office@${estab}.example`).length === 1);
  assert.deepEqual([(await mailsOf(estab)).map(({ to }) => to), mailsTo('spy@elsewhere.example').length], [[`office@${estab}.example`], 0]);
  assert.deepEqual(
    [{ ...(await db`select name, email from establishment where estab = ${estab}`)[0] }, (await invitation())?.days],
    [{ name: `School ${estab}`, email: `office@${estab}.example` }, 30],
  );
});

test('an unknown school waits for the operator; nothing can be mailed, opened or approved before', async () => {
  assert.match((await application.invite(estab)).Message, /operator has been asked to confirm/);
  await application.invite(estab, { SchoolContactEmail: 'second@elsewhere.example' });
  assert.deepEqual([(await mailsOf(estab)).length, (await invitation())?.state, (await authorisations(estab)).length], [0, 'Proposed', 0]);
  const [row] = await db<{ id: string }[]>`select id from invitation where estab = ${estab}`;
  assert.equal(await opens(`${url}/school/open/${await makeInvitationLink(db, estab, row?.id ?? '')}`), false);
  const visitor = await onboarding.signIn(estab);
  assert.equal((await visitor.post(`/school/requests/${row?.id}`, { decision: 'approve', asked: 'School,Student;Staff,Contact' })).status, 404);
  await assert.rejects(run('invite', { rp, estab }), /nobody has confirmed/);
  assert.deepEqual([(await mailsOf(estab)).length, (await authorisations(estab)).length], [0, 0]);
  assert.deepEqual((await run('school confirm', { estab, email: `head@${estab}.example` })).data, {
    estab, name: `School ${estab}`, email: `head@${estab}.example`, invited: 1,
  });
  await arrived('the mail', () => mailsTo(`head@${estab}.example`).length === 1);
  assert.deepEqual([(await mailsOf(estab)).map(({ to }) => to), await opens(linkIn(mailsTo(`head@${estab}.example`)[0]))], [[`head@${estab}.example`], true]);
  await assert.rejects(run('school confirm', { estab: 'nowhere', email: 'a@b.example' }), /no establishment/);
  await assert.rejects(run('school confirm', { estab, email: 'nobody' }), /not an e-mail/);
});

// ---- How often ----------------------------------------------------------------------------------------------------

test('again within the hour, also at once, makes no second mail; after it, one, and both links open', async () => {
  await known();
  await Promise.all(Array.from({ length: 4 }, () => application.invite(estab)));
  assert.equal(await invitesMailed(), 1);
  assert.match((await application.invite(estab)).Message, /within the last hour/);
  const first = await newLink();
  await later(61);
  assert.equal((await application.invite(estab)).Message, "An invitation was sent to the school's address of record.");
  assert.deepEqual([await invitesMailed(), await opens(first), await opens(await newLink())], [2, true, true]);
});

test('to withdraw and ask again, or to ask again after a refusal, is no way to flood a school', async () => {
  await known();
  for (let time = 0; time < 3; time += 1) {
    await application.invite(estab);
    await application.manage('DELETE', undefined, `/${estab}`);
  }
  assert.equal(await invitesMailed(), 1);
  await later(61);
  await application.invite(estab);
  await (await onboarding.signIn(estab)).decide(`/school/requests/${await onboarding.openRequest(estab, rp)}`, { decision: 'decline' });
  assert.equal((await application.invite(estab)).Status, 'Error');
  assert.equal(await invitesMailed(), 2);
});

test('what the school authorises already is not asked again; asking for more makes a request, and the grant stays', async () => {
  await known();
  await run('authorise', { rp, estab, scopes: 'School,Student' });
  assert.match((await application.invite(estab, { ScopesToAuthorise: ['School'] })).Message, /authorises this already/);
  await application.invite(estab, { ScopesToAuthorise: ['School', 'Staff'] });
  assert.deepEqual([(await invitation())?.state, (await authorisations(estab))[0]?.scopes], ['Invited', ['School', 'Student']]);
  await (await onboarding.signIn(estab)).decide(`/school/requests/${await onboarding.openRequest(estab, rp)}`, { decision: 'decline' });
  assert.deepEqual((await authorisations(estab)).map(({ state, scopes }) => [state, scopes]), [['Approved', ['School', 'Student']]]);
});

// ---- Until when ---------------------------------------------------------------------------------------------------

test('a link opens until the decision, the withdrawal or thirty days', async () => {
  await known();
  // Nothing expires by itself meanwhile.
  await service.rest();
  for (const [end, state] of [
    [async () => (await onboarding.signIn(estab)).decide(`/school/requests/${await onboarding.openRequest(estab, rp)}`, { decision: 'decline' }), 'Declined'],
    [() => application.manage('DELETE', undefined, `/${estab}`), 'Withdrawn'],
    [() => run('invite', { rp, estab, withdraw: true }), 'Withdrawn'],
    [() => later(30 * 24 * 60), 'Invited'],
    [async () => (await later(30 * 24 * 60), expireInvitations(db)), 'Expired'],
    [() => run('authorise', { rp, estab }), 'Approved'],
  ] as const) {
    await later(61);
    await application.invite(estab);
    const link = await newLink();
    const path = `/school/requests/${await onboarding.openRequest(estab, rp)}`;
    assert.equal(await opens(link), true, state);
    await end();
    assert.deepEqual([await opens(link), (await invitation())?.state], [false, state]);
    const visitor = await onboarding.signIn(estab);
    assert.deepEqual(
      [(await visitor.get(path)).status, (await visitor.post(path, { decision: 'approve', asked: 'School,Student;Staff,Contact' })).status],
      [404, 404],
      state,
    );
  }
  assert.deepEqual(await history(), [
    'Invited application', 'Declined school', 'Invited application', 'Withdrawn application', 'Invited application', 'Withdrawn operator',
    'Invited application', 'Invited application', 'Expired service', 'Invited application', 'Live operator',
  ]);
  await service.work();
});

// ---- The operator -------------------------------------------------------------------------------------------------

test('the operator invites: the school is added confirmed, mailed at once, and the link is printed', async () => {
  const { data } = await run('invite', { rp, estab, name: 'New School', email: `office@${estab}.example`, reason: 'A trial' });
  const { link, ...shown } = data as { link: string };
  assert.deepEqual(shown, { rp, estab, state: 'Invited' });
  await arrived('the mail', () => mailsTo(`office@${estab}.example`).length === 1);
  assert.equal(linkIn(mailsTo(`office@${estab}.example`)[0]), link);
  assert.match(mailsTo(`office@${estab}.example`)[0]?.text ?? '', /“A trial”/);
  assert.ok(await opens(link));
  await run('invite', { rp, estab });
  assert.equal(await invitesMailed(), 2, 'the operator may repeat it');
  type Mails = { estab: string; state: string; text: string | null }[];
  await arrived('it is listed as sent', async () =>
    ((await run('mails')).data as Mails).some((one) => one.estab === estab && one.state === 'sent' && one.text === null));
});

test('authorise, pause, resume and revoke are in the record as the operator, and only possible in order', async () => {
  await known();
  await assert.rejects(run('pause', { rp, estab }), /has not authorised/);
  await run('authorise', { rp, estab });
  for (const name of ['pause', 'pause', 'resume', 'resume', 'revoke', 'revoke']) await run(name, { rp, estab });
  await assert.rejects(run('resume', { rp, estab }), /approve it again/);
  assert.deepEqual(await history(), ['Live operator', 'Paused operator', 'Resumed operator', 'Revoked operator']);
  assert.deepEqual(
    (await mailsOf(estab)).map(({ subject }) => subject.replace(/.*” /, '')),
    [
      `may read data of School ${estab}`,
      `was paused by School ${estab}`,
      `may read data again of School ${estab}`,
      `may no longer read data of School ${estab}`,
    ],
  );
});
