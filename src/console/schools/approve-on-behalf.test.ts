// An approval on behalf of a school starts from the school's last grant: it shows the scopes that the school refused or that were revoked,
// and grants nothing optional unless somebody ticks it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enter } from '../../../test/console.ts';
import { earlier } from '../../../test/earlier.ts';
import { useOnboarding } from '../../../test/onboarding.ts';

const onboarding = await useOnboarding();
const { db, service, run } = onboarding;
const admin = await enter(service, 'admin');
const path = '/console/schools/s/applications/app';
await service.addSchool('s');
const application = await onboarding.addAsking('app');
const fresh = await onboarding.addAsking('fresh');

const asked = 'School,Student,Staff,Contact';
const granted = async (estab = 's', rp = 'app') =>
  (await db<{ scopes: string[] }[]>`select scopes from authorisation where estab = ${estab} and rp = ${rp}`)[0]?.scopes;
const choiceOf = (page: string, scope: string) => new RegExp(`<div class="check"><input type="checkbox" id="grant-${scope}"[^]*?</div>`).exec(page)?.[0] ?? '';
const ticked = (page: string) => ['Staff', 'Contact'].filter((scope) => /<input[^>]* checked/.test(choiceOf(page, scope)));

async function openForm(): Promise<{ page: string; replaces: string }> {
  const page = (await admin.get(path)).text;
  return { page, replaces: /name="replaces" value="([^"]*)"/.exec(page)?.[1] ?? '' };
}

test('a first approval ticks nothing optional', async () => {
  const { page } = await openForm();
  assert.match(choiceOf(page, 'Staff'), /value="Staff"/);
  assert.deepEqual(ticked(page), []);
});

test('after a revocation the form shows what was revoked and refused, and ticks nothing', async () => {
  await application.invite('s');
  const visitor = await onboarding.signIn('s');
  const request = `/school/requests/${await onboarding.openRequest('s', 'app')}`;
  assert.equal((await visitor.decide(request, { decision: 'approve', scopes: ['Staff'], person: 'Ada Hill', role: 'Head' })).status, 303);
  assert.deepEqual(await granted(), ['School', 'Student', 'Staff']);
  await run('revoke', { estab: 's', rp: 'app' });
  const { page, replaces } = await openForm();
  assert.deepEqual(ticked(page), []);
  assert.match(choiceOf(page, 'Staff'), /Revoked/);
  assert.match(choiceOf(page, 'Contact'), /Refused/);
  assert.match(page, /id="last-grant"[^]*School and classes[^]*Students[^]*Staff/);
  assert.equal((await admin.post(`${path}/authorise`, { form: 'approve', asked, replaces })).status, 200);
  assert.deepEqual(await granted(), ['School', 'Student']);
});

test('approving again while access is granted starts from the grant that is in force', async () => {
  await run('scopes', { estab: 's', rp: 'app', scopes: 'Staff' });
  const { page } = await openForm();
  assert.deepEqual(ticked(page), ['Staff']);
  assert.match(choiceOf(page, 'Contact'), /Refused/);
});

test('the command starts from the grant in force as well', async () => {
  await run('authorise', { estab: 's', rp: 'app' });
  assert.deepEqual(await granted(), ['School', 'Student', 'Staff'], 'and does not grant the scope that the school refused');
  await run('revoke', { estab: 's', rp: 'app' });
  await run('authorise', { estab: 's', rp: 'app' });
  assert.deepEqual(await granted(), ['School', 'Student'], 'a revoked scope is granted only by name');
  await run('authorise', { estab: 's', rp: 'app', scopes: 'School,Student,Staff' });
  assert.deepEqual(await granted(), ['School', 'Student', 'Staff']);
  await run('application edit', { rp: 'app', scopes: 'School,Student,Attendance,Contact:optional' });
  await run('authorise', { estab: 's', rp: 'app' });
  assert.deepEqual(await granted(), ['School', 'Student', 'Attendance'], 'the required scopes of today, and nothing optional besides');
});

test('a first approval by the command grants nothing optional, also after the school declined', async () => {
  await service.addSchool('first');
  await run('authorise', { estab: 'first', rp: 'fresh' });
  assert.deepEqual(await granted('first', 'fresh'), ['School', 'Student']);
  await service.addSchool('declined');
  await fresh.invite('declined');
  const visitor = await onboarding.signIn('declined');
  const request = `/school/requests/${await onboarding.openRequest('declined', 'fresh')}`;
  assert.equal((await visitor.decide(request, { decision: 'decline', person: 'Ada Hill', role: 'Head' })).status, 303);
  await run('authorise', { estab: 'declined', rp: 'fresh' });
  assert.deepEqual(await granted('declined', 'fresh'), ['School', 'Student']);
  await onboarding.addAsking('optional', 'School:optional,Staff:optional');
  await assert.rejects(run('authorise', { estab: 'first', rp: 'optional' }), /all scopes [^]* are optional; name those to grant with --scopes: School, Staff/);
  assert.equal(await granted('first', 'optional'), undefined);
});

test('a scope that only the operator left out is not shown as refused by the school', async () => {
  await service.addSchool('operated');
  await application.invite('operated');
  await run('authorise', { estab: 'operated', rp: 'app' });
  await run('revoke', { estab: 'operated', rp: 'app' });
  const page = (await admin.get('/console/schools/operated/applications/app')).text;
  assert.doesNotMatch(choiceOf(page, 'Contact'), /Refused|Revoked/);
});

test('each scope shows its last decision', async () => {
  await service.addSchool('again');
  const visitor = await onboarding.signIn('again');
  const shown = async () => {
    const page = (await admin.get('/console/schools/again/applications/fresh')).text;
    return ['Staff', 'Contact'].map((scope) => /Refused|Revoked|Granted/.exec(choiceOf(page, scope))?.[0]);
  };
  const answer = async (decision: object) => {
    await db`update invitation set invited_at = ${earlier(db, 'invited_at', '2 hours')}, created_at = ${earlier(db, 'created_at', '2 hours')}
      where estab = 'again'`;
    await fresh.invite('again', { ScopesToAuthorise: ['School', 'Student', 'Staff', 'Contact'] });
    const request = `/school/requests/${await onboarding.openRequest('again', 'fresh')}`;
    assert.equal((await visitor.decide(request, { person: 'Ada Hill', role: 'Head', ...decision })).status, 303);
  };
  await answer({ decision: 'approve', scopes: ['Staff'] });
  assert.deepEqual(await shown(), ['Granted', 'Refused']);
  await answer({ decision: 'decline' });
  assert.deepEqual(await shown(), ['Granted', 'Refused'], 'to decline a request for more takes nothing away');
  await run('revoke', { estab: 'again', rp: 'fresh' });
  assert.deepEqual(await shown(), ['Revoked', 'Refused']);
  await answer({ decision: 'decline' });
  assert.deepEqual(await shown(), ['Refused', 'Refused']);
  await run('authorise', { estab: 'again', rp: 'fresh', scopes: 'School,Student,Contact' });
  await run('revoke', { estab: 'again', rp: 'fresh' });
  assert.deepEqual(await shown(), ['Refused', 'Revoked']);
});
