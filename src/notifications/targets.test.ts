// Targets: their ids, how they are listed, and pausing one while a real worker calls a real receiver.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { removeRoster } from '../collection/remove.ts';
import { removeApplication } from '../onboarding/remove-application.ts';
import { enqueueOneOff } from './one-off.ts';
import { enableTarget, pauseTarget, resumeTarget, testTarget } from './steer-target.ts';
import { findTargetId, findTargetKey } from './target-id.ts';
import { findTarget, listTargets } from './targets.ts';
import { removeWebhook } from './webhooks.ts';

const delivering = await useDelivering();
const { db, seal, change, register, settled, run, rows, start } = delivering;
// As a second process would.
await start();
const receiver = await useReceiver();
let school: School;

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool();
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

const oneOff = (path: string) =>
  db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event: 'availability', url: `${receiver.origin}${path}`, body: {} }));
const arrived = () => receiver.arrivals.map(({ url }) => url);
const lanes = async () => (await db<{ key: string }[]>`select key from lane where key ~ '^(webhook|callback|one-off)' order by key`).map(({ key }) => key);
/** Long enough for two workers that look every 50 ms. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 250));

test('an id is the key of a lane, there and back; what is none has none', () => {
  const uuid = '0f8e2a9c-3c1e-4d8c-9f54-5a2b8f7e1d10';
  for (const [key, id] of [
    [`webhook ${uuid}`, uuid],
    ['callback app-1.x', 'callback:app-1.x'],
    ['one-off app_1 https://app.example:8443', 'one-off:app_1:https://app.example:8443'],
  ] as const) {
    assert.equal(findTargetId(key)?.id, id);
    assert.equal(findTargetKey(id), key);
  }
  assert.equal(findTargetKey(uuid.toUpperCase()), `webhook ${uuid}`);
  for (const id of ['', 'x', 'callback:', 'callback:a b', 'callback:a:https://x', 'one-off:a', 'one-off:a:ftp://x', `${uuid}0`, 'mail', "'", 'callback:a\0'])
    assert.equal(findTargetKey(id), undefined, id);
  for (const key of ['mail', 'collect S1 SchoolData', 'webhook ', 'sign-in-link']) assert.equal(findTargetId(key), undefined, key);
});

test('paused while calls are under way: those end, the rest waits over two workers, and goes out in its order when resumed', async () => {
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  receiver.answer = async () => {
    await released;
    return 200;
  };
  await oneOff('/0');
  await until('the first is under way', () => receiver.arrivals.length === 1);
  const id = `one-off:${school.rp}:${receiver.origin}`;
  await run('target pause', {}, id);
  await assert.rejects(run('target pause', {}, id), /paused already/);
  for (const path of ['/1', '/2', '/3', '/4', '/5', '/6']) await oneOff(path);
  release();
  await until('the first has ended', async () => (await rows(school.estab))[0]?.state === 'done');
  await aWhile();
  assert.deepEqual(arrived(), ['/0']);
  const waiting = await findTarget(db, id);
  assert.deepEqual([waiting?.waiting, waiting?.nextAt, waiting?.pausedBy], [6, null, 'the command line']);
  // One at a time, so that the order in which they are sent is that in which they arrive.
  await db`update lane set width = 1`;
  await run('target resume', {}, id);
  await until('all are sent', () => arrived().length === 7);
  await settled(school.estab);
  assert.deepEqual(arrived(), ['/0', '/1', '/2', '/3', '/4', '/5', '/6']);
  await assert.rejects(run('target resume', {}, id), /not paused/);
});

test('a burst of changes behind a pause is one event, also where nothing was sent before; its owner is told why', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  assert.deepEqual(await lanes(), [], 'nothing was sent there yet');
  await run('target pause', {}, id);
  for (let at = 0; at < 3; at += 1) await change(school.estab);
  await delivering.hurry(school.estab);
  await aWhile();
  assert.deepEqual([arrived(), (await rows(school.estab)).map(({ state }) => state)], [[], ['waiting']]);
  const words = /paused by the operator of this service or a developer of the application; what comes meanwhile waits/;
  const registrations = (await (await school.api('GET')).json()) as { Message: string };
  assert.match(registrations.Message, words);
  assert.doesNotMatch(registrations.Message, /Send a test/);
  const { Deliveries } = (await (await school.ask('GET', 'Deliveries?state=waiting')).json()) as { Deliveries: Record<string, unknown>[] };
  assert.deepEqual([Deliveries[0]?.TargetState, Deliveries[0]?.NextAttempt], ['paused', null]);
  assert.match(String(Deliveries[0]?.TargetMessage), words);
  const tested = await school.api('POST', `/${id}/Test`);
  assert.equal(tested.status, 409);
  assert.match(await tested.text(), words);
  await run('target resume', {}, id);
  await settled(school.estab);
  assert.deepEqual(arrived(), ['/hook']);
});

test('an application cannot end a pause: not by registering again, not by a replay', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  await change(school.estab);
  await settled(school.estab);
  await run('target pause', {}, id);
  await register(school, `${receiver.origin}/other`);
  const [row] = await rows(school.estab);
  const replayed = await school.ask('POST', `Deliveries/${row?.id ?? ''}/Replay`);
  assert.equal(replayed.status, 202);
  assert.match(await replayed.text(), /paused by the operator/);
  await aWhile();
  assert.deepEqual(arrived(), ['/hook']);
  await run('target resume', {}, id);
  await settled(school.estab);
  assert.deepEqual(arrived(), ['/hook', '/other']);
});

test('disabled and paused: resumed it is still disabled, enabled it is told what it missed', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  receiver.answer = () => 410;
  await change(school.estab);
  await settled(school.estab);
  await run('target pause', {}, id);
  const ofState = async (state: 'failing' | 'paused' | 'disabled') => (await listTargets(db, { state, most: 10 })).map((one) => one.id);
  assert.deepEqual([await ofState('paused'), await ofState('disabled'), await ofState('failing')], [[id], [id], []]);
  await change(school.estab);
  assert.match((await run('target resume', {}, id)).lines.join(), /not paused any more, but disabled: the receiver answered 410/);
  await aWhile();
  assert.equal(receiver.arrivals.length, 1);
  receiver.answer = () => 200;
  await run('target enable', {}, id);
  await settled(school.estab);
  assert.equal(receiver.arrivals.length, 2, 'of the change that it missed');
  await assert.rejects(run('target enable', {}, id), /not disabled/);
});

test('a test is sent to a registration that may have it, and not to one-off URLs', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  const { delivery } = (await run('target test', {}, id)).data as { delivery: string };
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => [one.id, one.headers['schoolbell-test']]), [[delivery, 'true']]);
  await db.begin((tx) => enqueueOneOff(tx, { estab: school.estab, rp: school.rp, event: 'writeback', url: `${receiver.origin}/once`, body: {} }));
  await assert.rejects(run('target test', {}, `one-off:${school.rp}:${receiver.origin}`), /cannot be tested/);
  await db`update authorisation set state = 'Paused' where estab = ${school.estab}`;
  await assert.rejects(run('target test', {}, id), /is not authorised/);
});

test('the pause ends with what it is of: a registration, an application, a school', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  await run('target pause', {}, id);
  await removeWebhook(db, school.estab, school.rp, id);
  assert.equal(await findTarget(db, id), undefined);
  assert.deepEqual(await db`select from lane where paused_at is not null`.then((all) => all.length), 0);

  const other = await register(school, `${receiver.origin}/hook`);
  await oneOff('/1');
  await settled(school.estab);
  for (const target of [other, `callback:${school.rp}`, `one-off:${school.rp}:${receiver.origin}`]) await run('target pause', {}, target);
  await db`update outbox set state = 'done', settled_at = now() - interval '40 days' where state = 'done'`;
  await removeApplication({ db, seal, publicUrl: 'http://x' } as unknown as Parameters<typeof removeApplication>[0], school.rp);
  assert.deepEqual((await lanes()).filter((key) => key.includes(other) || key.includes(` ${school.rp}`)), []);
  await assert.rejects(run('target pause', {}, `callback:${school.rp}`), /There is no target/);

  const left = await delivering.addSchool();
  const last = await register(left, `${receiver.origin}/hook`);
  await run('target pause', {}, last);
  await removeRoster(db, left.estab);
  assert.equal((await db`select from lane where key = ${`webhook ${last}`}`).length, 0);
});

test('enabled, tested or paused while a change is announced: nobody waits for one who waits for him', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  await change(school.estab);
  await settled(school.estab);
  const steered: [name: string, steer: () => Promise<unknown>][] = [
    ['enable', () => enableTarget(db, id)],
    ['test', () => testTarget(db, id)],
    ['pause', () => pauseTarget(db, id, 'Ann')],
    ['remove', () => removeRoster(db, school.estab)],
  ];
  for (const [name, steer] of steered) {
    await db`update lane set disabled_at = now(), disabled_why = 'gone' where key = ${`webhook ${id}`}`;
    await db`update webhook set missed_at = now() where estab = ${school.estab}`;
    let steering: Promise<unknown> = Promise.resolve();
    await db.begin(async (tx) => {
      await tx`select from webhook where estab = ${school.estab} for no key update`;
      let over = false;
      steering = steer().finally(() => (over = true));
      steering.catch(() => {});
      await until(`${name} waits or is over`, async () => over || (await db`select from pg_locks where not granted and locktype = 'transactionid'`).length > 0);
      await tx`update lane set host = host where key = ${`webhook ${id}`}`;
    }, { repeatable: false });
    await assert.doesNotReject(steering, name);
  }
});

test('paused while what it is of is being removed: there is no such target, and no pause stays behind', async () => {
  const id = await register(school, `${receiver.origin}/hook`);
  await db`update authorisation set state = 'Revoked' where estab = ${school.estab}`;
  const deciding = { db, seal, publicUrl: 'http://x' } as unknown as Parameters<typeof removeApplication>[0];
  const removed: [target: string, remove: () => Promise<unknown>][] = [
    [id, () => removeWebhook(db, school.estab, school.rp, id)],
    [`callback:${school.rp}`, () => removeApplication(deciding, school.rp)],
  ];
  for (const [target, remove] of removed) {
    const { key } = await pauseTarget(db, target, 'Ann');
    await resumeTarget(db, target);
    const waiting = async () => (await lockWaits(db)).length;
    let [removing, pausing]: Promise<unknown>[] = [];
    // Whoever has the lane stops the removal between what it is of and the lane itself.
    await db.begin(async (tx) => {
      await tx`select from lane where key = ${key} for update`;
      removing = remove();
      await until(`the removal of ${target} is under way`, async () => (await waiting()) === 1);
      let over = false;
      pausing = pauseTarget(db, target, 'Ann').finally(() => (over = true));
      pausing.catch(() => {});
      await until(`the pause of ${target} waits or is over`, async () => over || (await waiting()) === 2);
    }, { repeatable: false });
    await removing;
    await assert.rejects(pausing ?? Promise.resolve(), /There is no target/);
    assert.deepEqual(await db`select key from lane where paused_at is not null`, []);
  }
});

test('listed by key: every target once over all pages, narrowed by application, school and state', async () => {
  const second = await delivering.addSchool();
  const [one, two] = [await register(school, `${receiver.origin}/1`), await register(second, `${receiver.origin}/2`)];
  await oneOff('/x');
  await settled(school.estab);
  const seen: string[] = [];
  for (let after: string | undefined, more = true; more; after = seen.at(-1)) {
    const page = await listTargets(db, { after, most: 2 });
    seen.push(...page.map(({ id }) => id));
    more = page.length === 2;
  }
  assert.equal(new Set(seen).size, seen.length);
  for (const id of [one, two, `callback:${school.rp}`, `one-off:${school.rp}:${receiver.origin}`]) assert.ok(seen.includes(id), id);
  const ids = async (asked: Partial<Parameters<typeof listTargets>[1]>) => (await listTargets(db, { most: 50, ...asked })).map(({ id }) => id);
  assert.deepEqual(await ids({ rp: school.rp }), [`callback:${school.rp}`, `one-off:${school.rp}:${receiver.origin}`, one]);
  assert.deepEqual(await ids({ estab: second.estab }), [two]);
  assert.deepEqual(await ids({ rp: school.rp, estab: second.estab }), []);
  await db`update lane set failing_since = now()`;
  assert.deepEqual(await ids({ rp: school.rp, state: 'failing' }), [`one-off:${school.rp}:${receiver.origin}`]);
  await change(second.estab);
  await db`update lane set failing_since = now()`;
  assert.deepEqual(await ids({ estab: second.estab, state: 'failing' }), [two]);
  const { lines, data } = await run('target list', { rp: school.rp });
  assert.match(lines[0] ?? '', /^ID +RP +ESTAB/);
  assert.equal((data as unknown[]).length, 3);
  await assert.rejects(run('target list', { state: 'odd' }), /must be one of failing, paused, disabled/);
});
