// Authentication events: which forms an application gets and when, that the secret in them is kept sealed and no longer
// than needed, and what becomes of them when the receiver, the school or the database is in the way.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { rosteringToken, useOnboarding, type Visitor } from '../../test/onboarding.ts';
import { smallPackage } from '../../test/small-school.ts';
import { citusUrl } from '../../test/spread-database.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { eraseDelivered } from '../notifications/erase-secrets.ts';
import { approve } from './approve.ts';
import { completeInstallations } from './installation.ts';

const onboarding = await useOnboarding();
const { db, service, url, receiver, run, arrived, stored, forms, authorisations, events, hurry } = onboarding;
await service.work();
let count = 0;
let estab = '';
let rp = '';
let visitor: Visitor;

beforeEach(async () => {
  count += 1;
  [estab, rp] = [`E${count}`, `app${count}`];
  receiver.answer = () => 200;
  await service.addSchool(estab);
  await onboarding.addAsking(rp);
  visitor = await onboarding.signIn(estab);
});

async function approveOnPage(): Promise<void> {
  await run('invite', { rp, estab });
  assert.equal((await visitor.decide(`/school/requests/${await onboarding.openRequest(estab, rp)}`, { decision: 'approve' })).status, 303);
}

const load = () => service.load(estab, smallPackage());
const complete = () => completeInstallations(db, service.seal, estab);
const gotForms = (number: number) =>
  arrived(
    `${number} forms`,
    () => forms(rp).length >= number,
    () => stored(estab),
  );
const settled = () =>
  arrived(
    'nothing is under way',
    async () => (await stored(estab)).every(({ state }) => state !== 'running' && state !== 'waiting'),
    () => stored(estab),
  );
const triedOnce = () =>
  arrived(
    'the first attempt',
    async () => (await stored(estab)).some(({ attempts, state }) => attempts === 1 && state === 'waiting'),
    () => stored(estab),
  );
const sealed = async () =>
  (await db<{ kept: boolean }[]>`select sealed is not null as kept from school_secret where estab = ${estab} order by created_at`).map(({ kept }) => kept);
const bodies = async () => (await stored(estab)).map(({ body }) => body !== null);
const worksWith = async (secret: string | undefined) => (await rosteringToken(url, rp, estab, secret ?? '')).status === 200;

// ---- Which forms --------------------------------------------------------------------------------------------------

test('one on approval and one when the data is there, with the same secret under two ids', async () => {
  await approveOnPage();
  await gotForms(1);
  await load();
  await gotForms(2);
  await settled();
  const [first, second] = forms(rp);
  assert.deepEqual(Object.keys(first ?? {}), [
    'schoolSecret', 'schoolId', 'schoolEmail', 'schoolName', 'templateScopes', 'scopes', 'thirdParty', 'partnerId', 'installcomplete',
  ]);
  assert.deepEqual([first?.installcomplete, first?.thirdParty, second?.installcomplete, second?.thirdParty], ['false', '', 'true', 'Schoolbell']);
  assert.equal(first?.schoolSecret, second?.schoolSecret);
  assert.equal(new Set(receiver.arrivals.filter(({ url: at }) => at === `/${rp}`).map(({ id }) => id)).size, 2);
  assert.ok(await worksWith(second?.schoolSecret));
});

test('a school that is live already: one form at once', async () => {
  await load();
  await approveOnPage();
  await gotForms(1);
  await complete();
  await pause(300);
  assert.deepEqual(forms(rp).map((form) => [form.installcomplete, form.thirdParty]), [['true', 'Schoolbell']]);
  assert.deepEqual((await authorisations(estab)).map(({ installed }) => installed), [true]);
});

test('a connector with two databases: the second form waits for both', async () => {
  await db`update establishment set connector = 'demo' where estab = ${estab}`;
  await db`insert into component_database (estab, name) values (${estab}, 'SchoolData'), (${estab}, 'Attendance')`;
  await approveOnPage();
  await gotForms(1);
  await db`update component_database set status = 'OK', updated_at = now() where estab = ${estab} and name = 'SchoolData'`;
  assert.equal(await complete(), 0);
  assert.deepEqual([forms(rp).length, (await stored(estab)).length], [1, 1]);
  await db`update component_database set status = 'OK', updated_at = now() where estab = ${estab} and name = 'Attendance'`;
  await complete();
  await gotForms(2);
  assert.deepEqual(forms(rp).map(({ installcomplete, thirdParty }) => [installcomplete, thirdParty]), [['false', ''], ['true', 'Schoolbell']]);
});

test('however many look at once, the data is announced once', async () => {
  await approveOnPage();
  await gotForms(1);
  await load();
  await Promise.all(Array.from({ length: 5 }, complete));
  await gotForms(2);
  await settled();
  assert.equal((await stored(estab)).length, 2);
  assert.deepEqual((await events(estab)).map(({ state }) => state), ['Invited', 'Approved', 'Live']);
});

test('the command authorise does the same, and prints the secret of the form', async () => {
  const { data } = await run('authorise', { rp, estab, scopes: 'School,Student' });
  const { schoolSecret, ...shown } = data as Record<string, unknown>;
  assert.deepEqual(shown, { rp, estab, scopes: ['School', 'Student'], state: 'Approved' });
  await gotForms(1);
  await load();
  await gotForms(2);
  assert.deepEqual(
    forms(rp).map((form) => [form.schoolSecret, form.scopes, form.installcomplete]),
    [
      [schoolSecret, 'School,Student', 'false'],
      [schoolSecret, 'School,Student', 'true'],
    ],
  );
  assert.deepEqual(
    (await onboarding.mailsOf(estab)).map(({ subject }) => subject.split(':')[0]),
    ['Receipt'],
  );
});

// ---- One transaction ----------------------------------------------------------------------------------------------

test('an approval that fails at its last step leaves neither authorisation, secret, event nor receipt, and can be repeated', async () => {
  await run('invite', { rp, estab });
  const invitation = await onboarding.openRequest(estab, rp);
  const mails = (await onboarding.mailsOf(estab)).length;
  await db.unsafe(
    `create function break_receipt() returns trigger language plpgsql as $$
      begin if new.payload ->> 'subject' like 'Receipt%' then raise 'the disk is full'; end if; return new; end $$`,
  );
  await db.unsafe('create trigger break_receipt before insert on outbox for each row execute function break_receipt()');
  try {
    await assert.rejects(
      approve({ db, seal: service.seal, publicUrl: url }, { estab, rp, invitation, scopes: 'School,Student', actor: 'school' }),
      /disk is full/,
    );
  } finally {
    await db.unsafe('drop function break_receipt cascade');
  }
  assert.deepEqual(
    [(await authorisations(estab)).length, (await stored(estab)).length, (await sealed()).length, (await onboarding.mailsOf(estab)).length],
    [0, 0, 0, mails],
  );
  assert.equal((await visitor.decide(`/school/requests/${invitation}`, { decision: 'approve' })).status, 303);
  await gotForms(1);
});

test('an application whose callback URL cannot be called does not keep a school from deciding', async () => {
  await db`update application set callback_url = 'http://127.0.0.1:9/events' where rp = ${rp}`;
  await approveOnPage();
  await triedOnce();
  assert.deepEqual((await authorisations(estab)).map(({ state }) => state), ['Approved']);
});

// ---- The secret ---------------------------------------------------------------------------------------------------

test('the secret is stored sealed until the last form has arrived, and then erased everywhere', async () => {
  receiver.answer = () => 503;
  await approveOnPage();
  await gotForms(1);
  const secret = forms(rp)[0]?.schoolSecret ?? '';
  assert.deepEqual([await sealed(), await bodies()], [[true], [true]]);
  const rows = await db`select s.*, o.body, o.payload from school_secret s join outbox o on o.estab = s.estab where s.estab = ${estab}`;
  assert.ok(!JSON.stringify(rows).includes(secret));
  assert.ok(rows.every((row) => !Buffer.from((row.body ?? []) as Uint8Array).includes(secret) && !Buffer.from(row.sealed as Uint8Array).includes(secret)));

  receiver.answer = () => 200;
  await hurry();
  await arrived('the first form', async () => (await stored(estab))[0]?.state === 'done');
  await eraseDelivered(db);
  assert.deepEqual(await sealed(), [true], 'needed for the second form');
  await load();
  await arrived('the last form', async () => (await stored(estab))[1]?.state === 'done');
  assert.deepEqual([await sealed(), await bodies()], [[false], [false, false]]);
  assert.ok(await worksWith(secret));
});

test('a replay of an erased form is refused, with the advice to approve again', async () => {
  await load();
  await approveOnPage();
  await gotForms(1);
  await settled();
  const [form] = await stored(estab);
  await assert.rejects(run('replay', {}, form?.id ?? ''), new RegExp(`erased.*authorise --rp ${rp} --estab ${estab}`));
  assert.equal(forms(rp).length, 1);
});

test('a worker that died right after delivering does not send an empty form', async () => {
  await load();
  await approveOnPage();
  await gotForms(1);
  await settled();
  await db`update outbox set state = 'waiting', settled_at = null where estab = ${estab} and payload ->> 'event' = 'authentication'`;
  await hurry();
  await settled();
  assert.deepEqual([(await stored(estab))[0]?.state, forms(rp).length], ['done', 1]);
});

const onNodes = citusUrl !== undefined && 'no table has a trigger there';

test('a secret that cannot be erased at once is delivered once, and erased later', { skip: onNodes }, async () => {
  await load();
  await db.unsafe(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'away' using errcode = '57P03'; end $$`);
  receiver.answer = async () => {
    await db.unsafe('create or replace trigger fail before update of sealed on school_secret for each row execute function fail()');
    return 200;
  };
  try {
    await approveOnPage();
    await settled();
    assert.deepEqual([(await stored(estab))[0]?.state, forms(rp).length, await sealed(), await bodies()], ['done', 1, [true], [false]]);
    await assert.rejects(eraseDelivered(db), /1 of 1 secrets that have arrived could not be erased/);
  } finally {
    await db.unsafe('drop function fail() cascade');
  }
  await eraseDelivered(db);
  assert.deepEqual([await sealed(), forms(rp).length], [[false], 1]);
});

test('a secret whose form has arrived is erased, and not sent again, although its worker died and the school paused then', async () => {
  await load();
  await approveOnPage();
  await gotForms(1);
  await settled();
  // As if it had died between the form and the secret.
  const [kept] = await db<{ id: string }[]>`select id from school_secret where estab = ${estab}`;
  const text = service.seal.seal('a secret that has arrived', sealedAs.schoolSecret(estab, rp, kept?.id ?? ''));
  await db`update school_secret set sealed = ${text} where estab = ${estab}`;
  await db`
    update outbox set state = 'waiting', settled_at = null, due_at = now() + interval '1 hour' where estab = ${estab} and body is null and kind = 'call'`;
  await run('pause', { rp, estab });
  await run('resume', { rp, estab });
  await settled();
  assert.equal(forms(rp).length, 1);
  await eraseDelivered(db);
  assert.deepEqual(await sealed(), [false]);
});

test('no secret is erased before its last form has arrived', async () => {
  receiver.answer = () => 503;
  await load();
  await approveOnPage();
  await triedOnce();
  await eraseDelivered(db);
  assert.deepEqual([await sealed(), await bodies()], [[true], [true]]);
});

test('neither deliveries nor mails nor logs of attempts show the secret', async () => {
  receiver.answer = () => 500;
  await approveOnPage();
  await gotForms(1);
  const secret = forms(rp)[0]?.schoolSecret ?? 'none';
  await triedOnce();
  const shown = JSON.stringify([
    await run('deliveries', { estab }), await run('mails'), await db`select * from outbox_attempt where estab = ${estab}`,
    await db`select payload from outbox where estab = ${estab}`,
  ]);
  assert.ok(shown.includes(`/${rp}`));
  assert.ok(!shown.includes(secret) && !shown.includes('schoolSecret'));
});

// ---- Obstacles ----------------------------------------------------------------------------------------------------

test('a receiver that is down gets the secret when it is up again; the earlier form does not follow the last', async () => {
  receiver.answer = () => 503;
  await approveOnPage();
  await load();
  await arrived('both were tried', async () => (await stored(estab)).filter(({ attempts }) => attempts > 0).length === 2, () => stored(estab));
  const before = forms(rp).length;
  receiver.answer = () => 200;
  await db`update outbox set due_at = now() + (case when (payload ->> 'last')::boolean then interval '0' else interval '1 hour' end)
      where estab = ${estab} and state = 'waiting'`;
  await db`update lane set next_at = now(), open_until = null, failures = 0`;
  await arrived('the last form', async () => (await stored(estab))[1]?.state === 'done', () => stored(estab));
  await hurry();
  await settled();
  assert.deepEqual(forms(rp).slice(before).map(({ installcomplete }) => installcomplete), ['true']);
  assert.ok(await worksWith(forms(rp).at(-1)?.schoolSecret));
});

test('approving again while the receiver is down: the old secret never arrives after the new one, and is not kept', async () => {
  await load();
  receiver.answer = () => 503;
  await approveOnPage();
  await gotForms(1);
  await triedOnce();
  await run('authorise', { rp, estab });
  receiver.answer = () => 200;
  await hurry();
  await settled();
  await hurry();
  await settled();
  const [old] = forms(rp);
  const taken = forms(rp).at(-1);
  assert.notEqual(taken?.schoolSecret, old?.schoolSecret);
  assert.deepEqual([(await stored(estab)).map(({ state }) => state), await sealed(), await bodies()], [['superseded', 'done'], [false, false], [false, false]]);
});

test('410 at the callback ends the lane, keeps the secret, and a replay opens it again', async () => {
  await load();
  receiver.answer = () => 410;
  await approveOnPage();
  await arrived('the end', async () => (await stored(estab))[0]?.state === 'failed', () => stored(estab));
  const [lane] = await db`select disabled_why from lane where key = ${`callback ${rp}`}`;
  assert.match(String(lane?.disabled_why), /410/);
  assert.deepEqual([await sealed(), await bodies()], [[true], [true]]);
  receiver.answer = () => 200;
  await run('replay', {}, (await stored(estab))[0]?.id ?? '');
  await arrived('the form', async () => (await stored(estab))[0]?.state === 'done', () => stored(estab));
  assert.deepEqual(await sealed(), [false]);
});

test('paused before it arrived: nothing is sent; resumed, the secret arrives, and later the second form', async () => {
  receiver.answer = () => 503;
  await approveOnPage();
  await triedOnce();
  await run('pause', { rp, estab });
  receiver.answer = () => 200;
  const tried = forms(rp).length;
  await hurry();
  await load();
  await pause(300);
  assert.deepEqual([forms(rp).length, (await authorisations(estab))[0]?.installed], [tried, false]);
  // Nobody finds the data there before the first form has arrived: a chore looks every five seconds.
  await db`update component_database set updated_at = null where estab = ${estab}`;
  await run('resume', { rp, estab });
  await gotForms(tried + 1);
  await db`update component_database set updated_at = now() where estab = ${estab}`;
  await complete();
  await arrived('both forms', () => forms(rp).length >= tried + 2, () => stored(estab));
  await settled();
  assert.deepEqual(
    forms(rp)
      .slice(tried)
      .map(({ installcomplete, schoolSecret }) => [installcomplete, schoolSecret === forms(rp)[0]?.schoolSecret]),
    [
      ['false', true],
      ['true', true],
    ],
  );
  assert.deepEqual(await sealed(), [false]);
});

test('revoked before it arrived: nothing is sent, and approving again gives another secret', async () => {
  await load();
  receiver.answer = () => 503;
  await approveOnPage();
  await triedOnce();
  assert.deepEqual((await run('revoke', { rp, estab })).data, { rp, estab, state: 'Revoked', stopped: 1 });
  receiver.answer = () => 200;
  const tried = forms(rp).length;
  await hurry();
  await pause(200);
  assert.equal(forms(rp).length, tried);
  await run('authorise', { rp, estab });
  await gotForms(tried + 1);
  assert.notEqual(forms(rp).at(-1)?.schoolSecret, forms(rp)[0]?.schoolSecret);
  assert.deepEqual([await worksWith(forms(rp)[0]?.schoolSecret), await worksWith(forms(rp).at(-1)?.schoolSecret)], [false, true]);
});
