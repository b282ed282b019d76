// An application that proposes a school gains nothing by it: the operator adds the real school over the proposal, types its address,
// and sends the invitation. The number of open proposals of one application is limited.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter, type AtConsole } from '../../test/console.ts';
import { earlier } from '../../test/earlier.ts';
import { useOnboarding, type Answered } from '../../test/onboarding.ts';

const onboarding = await useOnboarding();
const { db, service, run, mailsOf } = onboarding;
const squatter = await onboarding.addAsking('squatter');
const admin: AtConsole = await enter(service, 'admin');

const schoolOf = async (estab: string) =>
  (await db<{ name: string; email: string; confirmed: boolean; connector: string | null }[]>`
    select name, email, confirmed_at is not null as confirmed, connector from establishment where estab = ${estab}`).map((row) => ({ ...row }))[0];
const invitationOf = async (estab: string) =>
  (await db<{ state: string }[]>`select state from invitation where estab = ${estab} and rp = 'squatter'`).map(({ state }) => state);
const needsOf = async () => (await admin.get('/console')).text;

test('school add takes over an unconfirmed proposal, and sends no invitation', async () => {
  await squatter.invite('real', { SchoolName: 'Squatted', SchoolContactEmail: 'me@squatter.example' });
  const { data, lines } = await run('school add', { estab: 'real', name: 'Real School', email: 'office@real.example', connector: 'demo' });
  assert.deepEqual((data as { proposedBy: string[] }).proposedBy, ['squatter']);
  assert.match(lines.join('\n'), /invite --rp squatter --estab real/);
  assert.deepEqual(await schoolOf('real'), { name: 'Real School', email: 'office@real.example', confirmed: true, connector: 'demo' });
  assert.deepEqual([await invitationOf('real'), await mailsOf('real')], [['Proposed'], []]);
  await assert.rejects(run('school add', { estab: 'real', name: 'Again', email: 'a@b.example' }), /exists already/);
});

test('an application that asks again cannot send the invitation itself', async () => {
  await db`update invitation set created_at = ${earlier(db, 'created_at', '2 hours')} where estab = 'real'`;
  await squatter.invite('real', { SchoolName: 'Squatted', SchoolContactEmail: 'me@squatter.example' });
  assert.deepEqual([await invitationOf('real'), await mailsOf('real')], [['Proposed'], []]);
});

test('an application that withdraws and asks again cannot send it either', async () => {
  const ask = () => squatter.invite('real', { SchoolName: 'Squatted', SchoolContactEmail: 'me@squatter.example' });
  await db`update invitation set created_at = now() where estab = 'real'`;
  await squatter.manage('DELETE', undefined, '/real');
  assert.equal((await ask()).Status, 'Error', 'the rest period counts from the proposal');
  await db`update invitation set created_at = ${earlier(db, 'created_at', '2 hours')} where estab = 'real'`;
  await ask();
  assert.deepEqual([(await invitationOf('real')).toSorted(), await mailsOf('real')], [['Proposed', 'Withdrawn'], []]);
});

test('the operator finds the unsent invitation among the open tasks, and sends it', async () => {
  assert.match(await needsOf(), /\/console\/schools\/real\/applications\/squatter/);
  assert.match((await admin.get('/console/schools/real')).text, /id="invite-squatter"/);
  assert.equal((await admin.post('/console/schools/real/applications/squatter/invite')).status, 303);
  assert.deepEqual([(await invitationOf('real')).toSorted(), (await mailsOf('real')).map(({ to }) => to)], [['Invited', 'Withdrawn'], ['office@real.example']]);
  assert.doesNotMatch(await needsOf(), /\/console\/schools\/real\/applications\/squatter/);
});

test('the console takes over a proposal as the command does', async () => {
  await squatter.invite('real-2', { SchoolContactEmail: 'me@squatter.example' });
  const fields = { estab: 'real-2', name: 'Second', email: 'office@second.example', 'time-zone': 'Europe/London', connector: 'none' };
  assert.equal((await admin.post('/console/add-school/add', fields)).status, 303);
  assert.deepEqual(await schoolOf('real-2'), { name: 'Second', email: 'office@second.example', confirmed: true, connector: null });
  assert.deepEqual(await mailsOf('real-2'), []);
});

test('school confirm requires the address to be typed; the proposed address is never taken', async () => {
  await squatter.invite('named', { SchoolContactEmail: 'me@squatter.example' });
  await assert.rejects(run('school confirm', { estab: 'named' }), /--email/);
  const page = (await admin.get('/console/schools/named')).text;
  assert.match(page, /name="email"[^>]* value=""/);
  assert.equal((await admin.post('/console/schools/named/confirm', { email: '' })).status, 400);
  assert.equal((await schoolOf('named'))?.confirmed, false);
  assert.deepEqual(await mailsOf('named'), []);
  await run('school confirm', { estab: 'named', email: 'office@named.example' });
  assert.deepEqual([(await schoolOf('named'))?.email, (await mailsOf('named')).map(({ to }) => to)], ['office@named.example', ['office@named.example']]);
});

test('an application has at most 50 open proposals; the next one is an error in its own row', async () => {
  const many = await onboarding.addAsking('many');
  const other = await onboarding.addAsking('other');
  const propose = async (from: number, count: number) => {
    const Schools = Array.from({ length: count }, (_, at) => ({ Estab: `p-${from + at}`, SchoolName: 'P', SchoolContactEmail: 'a@b.example' }));
    const answer = (await (await many.manage('POST', { Schools })).json()) as Answered;
    return answer.Schools.map(({ Status }) => Status);
  };
  assert.deepEqual(await propose(1, 49), Array(49).fill('OK'));
  const atOnce = (await Promise.all([propose(101, 2), propose(201, 2), propose(301, 2)])).flat();
  assert.deepEqual(atOnce.toSorted(), ['Error', 'Error', 'Error', 'Error', 'Error', 'OK']);
  const [counted] = await db<{ schools: number; open: number }[]>`
    select (select count(*)::int from establishment where estab like 'p-%') as schools,
      (select count(*)::int from invitation where rp = 'many' and state = 'Proposed') as open`;
  assert.deepEqual({ ...counted }, { schools: 50, open: 50 });
  await service.addSchool('confirmed');
  const answer = (await (await many.manage('POST', { Schools: [
    { Estab: 'confirmed', SchoolName: 'C', SchoolContactEmail: 'a@b.example' }, { Estab: 'p-400', SchoolName: 'P', SchoolContactEmail: 'a@b.example' },
  ] })).json()) as Answered;
  assert.deepEqual(answer.Schools.map(({ Status }) => Status), ['OK', 'Error'], 'a confirmed school is no proposal');
  assert.match(answer.Schools[1]?.Message ?? '', /50/);
  assert.equal((await other.invite('p-400')).Status, 'OK', 'another application has room of its own');
  await run('school refuse', { estab: 'p-1' });
  assert.deepEqual(await propose(500, 1), ['OK'], 'a decided proposal makes room');
});

test('a withdrawn proposal leaves no school behind, so that the limit holds', async () => {
  const first = await onboarding.addAsking('first');
  const second = await onboarding.addAsking('second');
  const known = async () => (await db`select from establishment where estab = 'both'`).length;
  const withdraw = async (application: typeof first) => (await application.manage('DELETE', undefined, '/both')).status;
  await first.invite('both');
  await second.invite('both');
  assert.deepEqual([await withdraw(first), await known()], [200, 1], 'the other application still proposes it');
  assert.deepEqual([await withdraw(second), await known()], [200, 0]);
  assert.doesNotMatch(await needsOf(), /schools\/both/);
  assert.equal(await withdraw(second), 404);
  await Promise.all([first.invite('both'), second.invite('both')]);
  assert.deepEqual([await Promise.all([withdraw(first), withdraw(second)]), await known()], [[200, 200], 0], 'also at once');
  await first.invite('both');
  const page = await admin.post('/console/schools/both/applications/first/withdraw');
  assert.deepEqual([page.status, page.location?.startsWith('/console/schools?'), await known()], [303, true, 0]);
});

test('a withdrawn proposal does not remove a school that has more than requests', async () => {
  await squatter.invite('linked');
  await db`update establishment set connector = 'demo' where estab = 'linked'`;
  await squatter.manage('DELETE', undefined, '/linked');
  assert.equal((await schoolOf('linked'))?.confirmed, false);
});
