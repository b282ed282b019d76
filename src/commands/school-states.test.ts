// Covers how a school stands as a whole, in the list of schools, and pausing it, resuming it and sending it a link.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useOnboarding } from '../../test/onboarding.ts';
import { testSecretKey } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { listTroubledSchools } from '../collection/troubled-schools.ts';
import { countSchoolStates } from '../onboarding/school-states.ts';

const onboarding = await useOnboarding();
const { service, db, url } = onboarding;
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url };
const { schoolbell, json, assertFails } = useCommands(settings);

type Listed = { estab: string; state: string; applications: number; pupils: number };
const stateOf = async (estab: string) => (await json<Listed[]>('school list')).find((one) => one.estab === estab)?.state;

test('a school is new, invited, waiting, installing, live, and whatever goes wrong after that', async () => {
  const asking = await onboarding.addAsking('asks');
  await service.addSchool('s');
  assert.equal(await stateOf('s'), 'New');
  await json('invite --rp asks --estab s');
  assert.equal(await stateOf('s'), 'Invited');
  await json('authorise --rp asks --estab s');
  assert.equal(await stateOf('s'), 'Waiting');
  await json('school edit --estab s --connector csv');
  assert.equal(await stateOf('s'), 'Empty', 'somebody has to upload a package');
  await db`update component_database set refreshing_since = now() where estab = 's'`;
  assert.equal(await stateOf('s'), 'Installing', 'one has come');
  await db`update component_database set refreshing_since = null where estab = 's'`;
  await json('school edit --estab s --connector csv --folder', service.dataDir);
  assert.equal(await stateOf('s'), 'Installing', 'a folder is read without anybody');
  await service.load('s', smallPackage());
  const [listed] = await json<Listed[]>('school list --state live');
  assert.deepEqual([listed?.estab, listed?.applications, (listed?.pupils ?? 0) > 0], ['s', 1, true]);
  const set = async (change: 'failing' | 'held' | 'stale' | 'fine') => {
    const status = change === 'failing' ? 'Error' : change === 'held' ? 'Paused' : 'OK';
    const expires = change === 'stale' ? new Date(Date.now() - 3 * 3_600_000) : null;
    await db`update component_database set status = ${status}, expires_at = ${expires} where estab = 's'`;
  };
  for (const [change, state] of [['failing', 'Failing'], ['held', 'Held'], ['stale', 'Stale'], ['fine', 'Live']] as const) {
    await set(change);
    assert.equal(await stateOf('s'), state);
  }
  await json('pause --rp asks --estab s');
  assert.equal(await stateOf('s'), 'Paused');
  await json('revoke --rp asks --estab s');
  assert.equal(await stateOf('s'), 'Ready');
  await asking.invite('named-by-asks');
  assert.equal(await stateOf('named-by-asks'), 'Proposed');
  assert.deepEqual(await countSchoolStates(db), { Ready: 1, Proposed: 1 });
  await assertFails(/--state "odd": must be one of Proposed, Held/, 'school list --state odd');
  assert.deepEqual(await json('school refuse --estab named-by-asks'), { estab: 'named-by-asks', name: 'School named-by-asks', applications: ['asks'] });
  await assertFails(/there is no establishment named-by-asks/, 'school refuse --estab named-by-asks');
});

test('what the list calls failing or stale is what needs somebody on the overview, a refused package and a paused school among it', async () => {
  await onboarding.addAsking('pauses');
  for (const estab of ['t1', 't2', 't3', 't4', 't5']) await service.addSchool(estab, smallPackage());
  await json('authorise --rp pauses --estab t4');
  await json('pause --rp pauses --estab t4');
  await db`update component_database set told = 'refused', told_at = now() where estab = 't1' and name = 'SchoolData'`;
  await db`update component_database set status = 'Timeout' where estab = 't2'`;
  await db`update component_database set status = 'Paused' where estab = 't3'`;
  await db`update component_database set expires_at = now() - interval '3 hours' where estab = 't4'`;
  const needs = (await listTroubledSchools(db, 100)).map(({ estab, trouble }) => [estab, trouble]).toSorted();
  assert.deepEqual(needs, [['t1', 'failing'], ['t2', 'failing'], ['t3', 'held'], ['t4', 'stale']]);
  const states = await Promise.all(['t1', 't2', 't3', 't4', 't5'].map(stateOf));
  assert.deepEqual(states, ['Failing', 'Failing', 'Held', 'Stale', 'Ready']);
  await db`update establishment set connector = 'demo' where estab = 't2'`;
  const { out } = await schoolbell('status');
  assert.match(out, /School t1: the package that came last could not be taken over[^]*?import list --estab t1[^]*?import --estab t1 <zip>/);
  assert.match(out, /School t2: the roster cannot be collected[^]*?collect --estab t2,/);
});

test('a school is paused with all its applications; what it paused itself stays paused when it is resumed', async () => {
  await service.addSchool('p', smallPackage());
  for (const rp of ['one', 'two', 'three']) await onboarding.addAsking(rp);
  for (const rp of ['one', 'two', 'three']) await json(`authorise --rp ${rp} --estab p`);
  const visitor = await onboarding.signIn('p');
  assert.equal((await visitor.post('/school/applications/two', { action: 'pause' })).status, 303);
  const paused = await json<{ applications: string[] }>('school pause --estab p');
  assert.deepEqual(paused.applications, ['one', 'three']);
  assert.deepEqual((await onboarding.authorisations('p')).map(({ state }) => state), ['Paused', 'Paused', 'Paused']);
  assert.deepEqual((await onboarding.events('p')).filter(({ state }) => state === 'Paused').map(({ rp, actor }) => [rp, actor]), [
    ['two', 'school'], ['one', 'operator'], ['three', 'operator'],
  ]);
  await assertFails(/nothing to pause/, 'school pause --estab p');
  assert.match((await schoolbell('school resume --estab p')).out, /^resumed at p: one, three$/m);
  assert.deepEqual((await onboarding.authorisations('p')).map(({ rp, state }) => [rp, state]), [['one', 'Approved'], ['three', 'Approved'], ['two', 'Paused']]);
  await assertFails(/paused its applications itself/, 'school resume --estab p');
  assert.match((await schoolbell('school show --estab p')).out, /^state +Live: [^]*^two +Paused by the school /m);
  await assertFails(/there is no establishment nobody/, 'school show --estab nobody');
  await assertFails(/there is no establishment nobody/, 'school pause --estab nobody');
});

test('a link goes to the address of record, five an hour, and to no school that nobody has confirmed', async () => {
  await service.addSchool('l');
  for (let sent = 0; sent < 5; sent += 1) assert.deepEqual(await json('school link --estab l'), { estab: 'l', to: 'office@l.example' });
  assert.deepEqual((await onboarding.mailsOf('l')).map(({ to }) => to), Array.from({ length: 5 }, () => 'office@l.example'));
  await assertFails(/5 links\b.*within the hour/, 'school link --estab l');
  await db`update establishment set confirmed_at = null where estab = 'l'`;
  await assertFails(/nobody has confirmed it/, 'school link --estab l');
});

test('optional scopes are taken away and given back without a new secret', async () => {
  await service.addSchool('o', smallPackage());
  await onboarding.addAsking('options');
  const { schoolSecret } = await json<{ schoolSecret: string }>('authorise --rp options --estab o');
  assert.deepEqual((await json<{ scopes: string[] }>('scopes --rp options --estab o --scopes Contact')).scopes, ['School', 'Student', 'Contact']);
  assert.deepEqual((await json<{ scopes: string[] }>('scopes --rp options --estab o --scopes', '')).scopes, ['School', 'Student']);
  const secrets = await db`select from school_secret where estab = 'o' and valid_until is null`;
  assert.deepEqual([secrets.length, schoolSecret.startsWith('sb_school_')], [1, true]);
  await assertFails(/"Odd" is not a scope/, 'scopes --rp options --estab o --scopes Odd');
  await assertFails(/not authorised any more/, 'scopes --rp options --estab l --scopes Staff');
});

test('the trail of one school, of one kind', async () => {
  const kinds = new Set((await json<{ kind: string; estab: string }[]>('audit --estab p')).map(({ kind, estab }) => `${kind} ${estab}`));
  assert.deepEqual([...kinds], ['operator p', 'decision p']);
  assert.ok((await json<unknown[]>('audit --rp one')).length > 0);
  assert.deepEqual(await json('audit --estab p --kind identity'), []);
  await assertFails(/--kind "odd": must be one of operator, decision/, 'audit --kind odd');
});
