// Covers what an application learns of its own schools: the list with each of the nine states, and the events that tell of
// every decision, to whoever wants them, whatever becomes of the receiver and of the authorisation.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { useOnboarding, type Visitor } from '../../test/onboarding.ts';
import { smallPackage } from '../../test/small-school.ts';
import { setConnector } from '../collection/connector-settings.ts';
import { expireInvitations } from './invitations.ts';

type School = Record<string, unknown> & { Estab: string; State: string; Scopes: string[] };
type Asking = Awaited<ReturnType<typeof onboarding.addAsking>>;

const onboarding = await useOnboarding();
const { db, service, url, receiver, run, arrived, stored, forms, hurry } = onboarding;
await service.work();
const scopes = 'School,Student,Staff:optional';
let count = 0;
let estab = '';
let rp = '';
let asking: Asking;
let visitor: Visitor;

beforeEach(async () => {
  count += 1;
  [estab, rp] = [`E${count}`, `app${count}`];
  receiver.answer = () => 200;
  await service.addSchool(estab);
  asking = await onboarding.addAsking(rp, scopes);
  await db`update application set state_events = true where rp = ${rp}`;
  visitor = await onboarding.signIn(estab);
});

async function list(path = ''): Promise<School[]> {
  const response = await asking.manage('GET', undefined, path);
  const body = (await response.json()) as { Schools: School[]; ExceptionMessage: string | null };
  assert.deepEqual([response.status, body.ExceptionMessage], [200, null]);
  return body.Schools;
}

const one = async (of = estab) => {
  const [school, ...more] = await list(`/${of}`);
  assert.ok(school && more.length === 0);
  assert.deepEqual((await list()).find(({ Estab }) => Estab === of), school);
  return school;
};
const decide = async (decision: 'approve' | 'decline') => {
  const path = `/school/requests/${await onboarding.openRequest(estab, rp)}`;
  assert.equal((await visitor.decide(path, { decision, scopes: ['Staff'] })).status, 303);
};
const gotForms = (number: number) => arrived(`${number} forms`, () => forms(rp).length >= number, () => stored(estab));
const settled = () =>
  arrived('nothing waits', async () => (await stored(estab)).every(({ state }) => !['waiting', 'running'].includes(state)), () => stored(estab));
const told = () => forms(rp).map(({ status, scopes: left }) => [status, left]);

test('each of the nine states is reached and told, with scopes and dates', async () => {
  const states: string[] = [];
  const see = async (state: string, of = estab) => {
    const school = await one(of);
    assert.equal(school.State, state, JSON.stringify(school));
    states.push(state);
    return school;
  };
  assert.deepEqual(await list(), []);
  await asking.invite(`new-${estab}`);
  const proposed = await see('Proposed', `new-${estab}`);
  assert.deepEqual(Object.keys(proposed), [
    'Estab', 'SchoolName', 'State', 'Scopes', 'ScopesAsked', 'Proposed', 'Invited', 'Expires', 'Approved', 'Live', 'Changed',
  ]);
  assert.deepEqual([proposed.SchoolName, proposed.Scopes, proposed.ScopesAsked, proposed.Invited], [
    `School new-${estab}`, [], ['School', 'Student', 'Staff'], null,
  ]);

  await asking.invite(estab, { SchoolName: 'as the application calls it' });
  const invited = await see('Invited');
  assert.deepEqual([invited.SchoolName, invited.Scopes, invited.Approved], ['as the application calls it', [], null]);
  assert.ok(Date.parse(String(invited.Expires)) - Date.parse(String(invited.Invited)) > 29 * 86_400_000);
  await decide('decline');
  assert.deepEqual((await see('Declined')).Scopes, []);

  await run('invite', { rp, estab });
  assert.equal((await one()).State, 'Invited');
  await db`update invitation set expires_at = now() where estab = ${estab} and state = 'Invited'`;
  await see('Expired');
  await expireInvitations(db);
  assert.equal((await one()).State, 'Expired');

  await run('invite', { rp, estab });
  await decide('approve');
  const approved = await see('Approved');
  assert.deepEqual([approved.SchoolName, approved.Scopes, approved.Live], [`School ${estab}`, ['School', 'Student', 'Staff'], null]);
  assert.match(String(approved.Approved), /^\d{4}-\d\d-\d\dT/);
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder: undefined }));
  await see('Installing');
  await service.load(estab, smallPackage());
  await arrived('it is live', async () => (await list(`/${estab}`))[0]?.State === 'Live', list);
  assert.match(String((await see('Live')).Live), /^\d{4}-\d\d-\d\dT/);
  await run('pause', { rp, estab });
  assert.deepEqual((await see('Paused')).Scopes, ['School', 'Student', 'Staff']);
  await run('resume', { rp, estab });
  assert.equal((await one()).State, 'Live');
  await run('revoke', { rp, estab });
  assert.deepEqual((await see('Revoked')).Scopes, []);
  assert.deepEqual(new Set(states), new Set(['Proposed', 'Invited', 'Approved', 'Installing', 'Live', 'Paused', 'Declined', 'Revoked', 'Expired']));

  await db`update invitation set invited_at = now() - interval '2 hours' where estab = ${estab}`;
  await asking.invite(estab);
  assert.equal((await one()).State, 'Invited', 'asked again after it was revoked');
  await asking.manage('DELETE', undefined, `/${estab}`);
  assert.equal((await one()).State, 'Revoked', 'what was taken back is as if it had not been asked');
});

test('an application sees its own schools alone, with a management token alone', async () => {
  await run('authorise', { rp, estab });
  const other = await onboarding.addAsking(`other${count}`, scopes);
  assert.deepEqual(await (await other.manage('GET')).json(), { Schools: [], Message: null, ExceptionType: null, ExceptionMessage: null, InnerException: null });
  for (const path of [`/${estab}`, '/nowhere', '/%00']) assert.equal((await other.manage('GET', undefined, path)).status, 404, path);
  assert.equal((await other.manage('DELETE', undefined, '/%00')).status, 400);
  await asking.invite(`gone-${estab}`);
  await asking.manage('DELETE', undefined, `/gone-${estab}`);
  assert.equal((await asking.manage('GET', undefined, `/gone-${estab}`)).status, 404, 'taken back');
  const client = await service.addClient(`school${count}`, [estab]);
  const token = (await (await fetch(`${url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ estab, relyingParty: client.rp, password: client.schoolSecrets[estab] }),
  })).json()) as { token: string };
  for (const [headers, status] of [[{ authorization: `Bearer ${token.token}` }, 401], [{}, 401]] as const)
    assert.equal((await fetch(`${url}/api/Manage/SchoolRegister`, { headers })).status, status);
  const put = await asking.manage('PUT');
  assert.deepEqual([put.status, put.headers.get('allow')], [405, 'GET, POST, HEAD']);
});

test('who wants it is told of pausing, resuming, narrowing and revoking: the form without the secret, signed, with the state', async () => {
  await service.load(estab, smallPackage());
  await run('authorise', { rp, estab, scopes: 'School,Student,Staff' });
  await gotForms(1);
  await run('pause', { rp, estab });
  await gotForms(2);
  await run('resume', { rp, estab });
  await gotForms(3);
  assert.equal((await visitor.post(`/school/applications/${rp}`, { action: 'scopes', scopes: [] })).status, 303);
  await gotForms(4);
  await run('revoke', { rp, estab });
  await gotForms(5);
  await settled();
  assert.deepEqual(told().slice(1), [
    ['Paused', 'School,Student,Staff'], ['Live', 'School,Student,Staff'], ['Live', 'School,Student'], ['Revoked', ''],
  ]);
  for (const form of forms(rp).slice(1)) {
    const { status: _, scopes: __, ...rest } = form;
    assert.deepEqual(rest, {
      schoolId: estab, schoolEmail: `office@${estab}.example`, schoolName: `School ${estab}`, templateScopes: 'School,Student,Staff',
      thirdParty: 'Schoolbell', partnerId: rp, installcomplete: 'true',
    });
  }
  for (const { headers, body } of receiver.arrivals.filter(({ url: at }) => at === `/${rp}`)) verifyWebhook(headers, body, asking.signingSecret);
  await run('revoke', { rp, estab });
  await pause(200);
  assert.equal(forms(rp).length, 5, 'what changes nothing is not told');
});

test('who wants it is told that a school has declined, and nothing about the school that it did not know', async () => {
  await asking.invite(estab);
  await decide('decline');
  await gotForms(1);
  assert.deepEqual(forms(rp), [{
    schoolId: estab, schoolEmail: 'someone@elsewhere.example', schoolName: `School ${estab}`, templateScopes: 'School,Student,Staff', scopes: '',
    thirdParty: '', partnerId: rp, installcomplete: 'false', status: 'Declined',
  }]);
});

test('who does not want it gets the forms of an approval alone', async () => {
  await db`update application set state_events = false where rp = ${rp}`;
  await asking.invite(estab);
  await decide('decline');
  await run('authorise', { rp, estab });
  await gotForms(1);
  for (const what of ['pause', 'resume', 'revoke']) await run(what, { rp, estab });
  await settled();
  assert.deepEqual(forms(rp).map(({ status, installcomplete }) => [status, installcomplete]), [[undefined, 'false']]);
});

test('a receiver that is down hears of the last state when it is up again, also of a revocation, and of nothing before it', async () => {
  await service.load(estab, smallPackage());
  await run('authorise', { rp, estab });
  await gotForms(1);
  await settled();
  receiver.answer = () => 503;
  for (const what of ['pause', 'resume', 'revoke']) {
    const before = forms(rp).length;
    await run(what, { rp, estab });
    await gotForms(before + 1);
    await arrived('it waits to be tried again', async () => (await stored(estab)).at(-1)?.attempts === 1, () => stored(estab));
  }
  receiver.answer = () => 200;
  const before = forms(rp).length;
  await hurry();
  await settled();
  assert.deepEqual(told().slice(before), [['Revoked', '']]);
  assert.deepEqual((await stored(estab)).map(({ state }) => state), ['done', 'cancelled', 'cancelled', 'done']);
});

test('one that fails only after the next has arrived is not tried again; two in a moment are both told', async () => {
  await run('authorise', { rp, estab });
  await gotForms(1);
  await settled();
  let fail: () => void = () => {};
  receiver.answer = (arrival) =>
    arrival.body.includes('status=Paused') ? new Promise((resolve) => (fail = () => resolve(503))) : 200;
  await run('pause', { rp, estab });
  await gotForms(2);
  await run('resume', { rp, estab });
  await gotForms(3);
  fail();
  await arrived('it has failed', async () => (await stored(estab))[1]?.attempts === 1, () => stored(estab));
  receiver.answer = () => 200;
  await hurry();
  await settled();
  assert.deepEqual(told().slice(1).map(([status]) => status), ['Paused', 'Approved']);
  await run('pause', { rp, estab });
  await run('resume', { rp, estab });
  await gotForms(5);
  await settled();
  assert.deepEqual(new Set(told().slice(3).map(([status]) => status)), new Set(['Paused', 'Approved']));
});

test('a revocation that could not be told is not told after a new approval', async () => {
  await run('authorise', { rp, estab });
  await gotForms(1);
  receiver.answer = (arrival) => (arrival.body.includes('status=Revoked') ? 503 : 200);
  await run('revoke', { rp, estab });
  await gotForms(2);
  await arrived('it has failed', async () => (await stored(estab))[1]?.attempts === 1, () => stored(estab));
  await run('authorise', { rp, estab });
  await gotForms(3);
  receiver.answer = () => 200;
  await hurry();
  await settled();
  assert.deepEqual(told().map(([status]) => status), [undefined, 'Revoked', undefined]);
});

test('the event is part of the decision: one that fails leaves none behind', async () => {
  await run('authorise', { rp, estab });
  await gotForms(1);
  await db.unsafe(
    `create function break_receipt() returns trigger language plpgsql as $$
      begin if new.payload ->> 'subject' like 'Receipt%' then raise 'the disk is full'; end if; return new; end $$`,
  );
  await db.unsafe('create trigger break_receipt before insert on outbox for each row execute function break_receipt()');
  try {
    await assert.rejects(run('pause', { rp, estab }), /disk is full/);
  } finally {
    await db.unsafe('drop function break_receipt cascade');
  }
  assert.deepEqual([(await stored(estab)).length, (await one()).State], [1, 'Approved']);
});

test('the last word can be sent again, also that it was revoked; an earlier one cannot, and stays as it was', async () => {
  const replay = async (at: number) => {
    const id = (await stored(estab))[at]?.id ?? '';
    const response = await asking.manage('POST', {}, `/../../v1/Deliveries/${id}/Replay`);
    return [response.status, ((await response.json()) as { ExceptionMessage: string | null }).ExceptionMessage];
  };
  await run('authorise', { rp, estab });
  await gotForms(1);
  for (const [at, what] of ['pause', 'resume', 'revoke'].entries()) {
    await run(what, { rp, estab });
    await gotForms(at + 2);
  }
  await settled();
  assert.deepEqual(await replay(3), [202, null]);
  await gotForms(5);
  const [status, why] = await replay(2);
  assert.equal(status, 409);
  assert.match(String(why), /newer event of the same school/);
  await settled();
  assert.deepEqual(told().slice(1).map(([state]) => state), ['Paused', 'Approved', 'Revoked', 'Revoked']);
  assert.deepEqual((await stored(estab)).map(({ state }) => state), ['done', 'done', 'done', 'done']);
});
