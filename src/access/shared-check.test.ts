// One check for all who wait: as many statements as needed and no more, each caller's own verdict, of a moment after they came; what fails
// or stays silent is the concern of those alone who waited for it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { smallPackage } from '../../test/small-school.ts';
import { byName } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import type { Db } from '../db/connect.ts';
import { changeState, rotateSchoolSecret, type AuthorisationState } from './authorisations.ts';
import { createSharedCheck, type Asked, type Checked } from './shared-check.ts';

const schools = ['1000001', '2000002', '3000003'];
const service = await useService();
const { db } = service;
for (const estab of schools) await service.addSchool(estab, smallPackage());
const clients = await Promise.all(['one', 'two', 'three'].map((rp, at) => service.addClient(rp, schools.slice(at))));
await clients[0]?.tokenA();
const [key] = await db<{ kid: string }[]>`select kid from token_key`;

async function askedOf(rp: string, estab?: string): Promise<Asked> {
  const [secret] = estab === undefined
    ? await db<{ id: string }[]>`select id from application_secret where rp = ${rp}`
    : await db<{ id: string }[]>`select id from school_secret where rp = ${rp} and estab = ${estab} order by created_at desc limit 1`;
  return { rp, estab, secretId: secret?.id ?? assert.fail(rp), kid: key?.kid ?? '' };
}

const setState = (rp: string, school: number, to: AuthorisationState) =>
  changeState(db, { rp, estab: schools[school] ?? '', from: ['Approved', 'Paused'], to });

type Statement = () => Promise<unknown[]>;

/** A database whose checks pass by the test, which may count them, hold them up and have them fail. */
function passing(pass: (run: Statement, number: number) => Promise<unknown[]>): Db & { checks(): number } {
  let checks = 0;
  const passed = (strings: TemplateStringsArray, ...values: unknown[]) => {
    const statement = (db as unknown as (...given: unknown[]) => PromiseLike<unknown[]>)(strings, ...values);
    if (!strings[0]?.includes('select ask.place')) return statement;
    checks += 1;
    return pass(async () => statement, checks);
  };
  return Object.assign(passed as unknown as Db, { checks: () => checks, onMoved: db.onMoved });
}

const verdictOf = ({ rows, secretHolds, keyTrusted }: Checked) =>
  [rows.map(({ estab, state, version }) => [estab, state, version]), secretHolds, keyTrusted] as const;

test('those who wait are answered together, by a check that begins after they came', async () => {
  const passed = passing((run) => run());
  const check = createSharedCheck(passed);
  const asked = await askedOf('one', schools[0]);
  const first = check(asked);
  const others = Array.from({ length: 30 }, () => check(asked));
  const all = await Promise.all([first, ...others]);
  assert.equal(passed.checks(), 2, 'one for the first, one for all the others');
  for (const { rows, secretHolds, keyTrusted } of all) {
    assert.equal(rows, all[0]?.rows, 'nothing changed: the same object');
    assert.deepEqual([secretHolds, keyTrusted], [true, true]);
  }
  await check(asked);
  assert.equal(passed.checks(), 3);
});

test('what was revoked before a request came is refused to it, while an earlier check is still on its way', async () => {
  const asked = await askedOf('two', schools[1]);
  const [read, arrival] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const passed = passing(async (run, number) => {
    const rows = await run();
    read.resolve();
    if (number === 1) await arrival.promise;
    return rows;
  });
  const check = createSharedCheck(passed);
  let isAnswered = false;
  const first = check(asked);
  void first.then(() => (isAnswered = true));
  await read.promise;
  await rotateSchoolSecret(db, 'two', schools[1] ?? '', undefined, 0);
  const others = [asked, await askedOf('two', schools[1]), await askedOf('one', schools[1])];
  // The first check stays silent: they do not wait for it.
  assert.deepEqual((await Promise.all(others.map(check))).map(({ secretHolds }) => secretHolds), [false, true, true]);
  assert.equal(isAnswered, false);
  assert.equal(passed.checks(), 2);
  assert.equal((await check(asked)).secretHolds, false);
  arrival.resolve();
  assert.equal((await first).secretHolds, true, 'of the moment at which it was asked');
  assert.equal((await check(asked)).secretHolds, false, 'what came late is not remembered');
});

test('a check that fails fails those alone who waited for it', async () => {
  const [asked, another] = [await askedOf('one', schools[0]), await askedOf('one')];
  const failing = Promise.withResolvers<unknown[]>();
  const begun = Promise.withResolvers<void>();
  const passed = passing((run, number) => {
    if (number === 2) begun.resolve();
    return number === 2 ? failing.promise : run();
  });
  const check = createSharedCheck(passed);
  const first = check(asked);
  const failed = Promise.allSettled([check(asked), check(another)]);
  assert.equal((await first).secretHolds, true);
  await begun.promise;
  const later = check(asked);
  failing.reject(new Error('the connection was lost'));
  assert.equal((await later).secretHolds, true);
  for (const settled of await failed) assert.equal(settled.status, 'rejected');
});

test('different credentials in one check each get what they get alone', async () => {
  await setState('three', 2, 'Paused');
  const good = await Promise.all(clients.flatMap(({ rp }, at) => [askedOf(rp), ...schools.slice(at).map((estab) => askedOf(rp, estab))]));
  const [ofOne = assert.fail(), ofOneSchool = assert.fail()] = good;
  const odd: Asked[] = [
    { ...ofOne, secretId: randomUUID() }, { ...ofOne, kid: 'another' }, { ...ofOne, rp: 'nobody' }, { ...ofOne, rp: 'two' },
    { ...ofOneSchool, estab: schools[1] }, { ...ofOneSchool, estab: '9' }, { ...ofOneSchool, estab: undefined }, { ...ofOneSchool, rp: "o'ne\\\"," },
  ];
  const all = [...good, ...odd];
  const alone = createSharedCheck(db);
  const expected: unknown[] = [];
  for (const asked of all) expected.push(verdictOf(await alone(asked)));
  assert.ok(new Set(expected.map((one) => JSON.stringify(one))).size > 6);
  const passed = passing((run) => run());
  const check = createSharedCheck(passed);
  // Twice: without anything remembered, and with it.
  for (const checks of [2, 4]) {
    const blocking = check(ofOne);
    const shared = await Promise.all([...all, ...all.toReversed()].map(async (asked) => verdictOf(await check(asked))));
    await blocking;
    assert.deepEqual(shared, [...expected, ...expected.toReversed()]);
    assert.equal(passed.checks(), checks);
  }
});

test('what a caller reaches is another object as soon as a roster, a scope or a state is another', async () => {
  const check = createSharedCheck(db);
  const asked = await askedOf('one');
  const first = (await check(asked)).rows;
  assert.equal((await check(asked)).rows, first);
  await service.load(schools[1] ?? '', smallPackage({ courses: [{ sourcedId: 'c1', title: 'Other', orgSourcedId: 'o1' }] }));
  const second = (await check(asked)).rows;
  assert.deepEqual(second.map(({ version }, at) => version - (first[at]?.version ?? 0)), [0, 1, 0]);
  await setState('one', 0, 'Paused');
  assert.deepEqual((await check(asked)).rows.map(({ state }) => state), ['Paused', 'Approved', 'Approved']);
  await setState('one', 0, 'Approved');
  await db`update authorisation set scopes = '{School}' where rp = 'one' and estab = ${schools[0] ?? ''}`;
  assert.deepEqual((await check(asked)).rows[0]?.scopes, ['School']);
});

test('under load, a call after the revocation is refused, and others are not', async () => {
  const [kept, revoked] = [clients[1] ?? assert.fail(), await service.addClient('revoked', [schools[2] ?? ''])];
  const load = { goesOn: true };
  const statuses = new Map([[kept, new Set<number>()], [revoked, new Set<number>()]]);
  const read = async (client: typeof kept) => (await byName.B.read(client, schools[2] ?? '', '/users?limit=2')).status;
  const loops = [kept, revoked, kept, revoked, kept].map(async (client) => {
    while (load.goesOn) statuses.get(client)?.add(await read(client));
  });
  for (let time = 0; time < 4; time += 1) {
    assert.equal(await read(revoked), 200);
    await setState('revoked', 2, 'Paused');
    assert.deepEqual(await Promise.all([read(revoked), read(kept), read(revoked)]), [403, 200, 403]);
    await setState('revoked', 2, 'Approved');
  }
  load.goesOn = false;
  await Promise.all(loops);
  assert.deepEqual([...(statuses.get(kept) ?? [])], [200]);
  assert.deepEqual([...(statuses.get(revoked) ?? [])].toSorted(), [200, 403]);
});

test('of more callers than are remembered the oldest are read anew, and each gets what it reaches', async () => {
  const most = 50_000;
  let sent = 0;
  const passed = passing(async (run) => {
    const rows = (await run()) as { rows: unknown }[];
    sent += rows.filter((row) => row.rows !== null).length;
    return rows;
  });
  const check = createSharedCheck(passed);
  const sentFor = async (all: readonly Asked[]) => {
    sent = 0;
    const checked = await Promise.all(all.map(check));
    return { sent, checked };
  };
  const one = await askedOf('one');
  const expected = verdictOf(await createSharedCheck(db)(one));
  const nobody = (at: number): Asked => ({ ...one, rp: `nobody${at}` });
  const some = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => nobody(from + at));
  const reached = expected[0].length;
  assert.ok(reached > 1);
  assert.equal((await sentFor([one])).sent, 1);
  // Each counts by what it reaches, and one more.
  await sentFor(some(0, most - reached - 1));
  const full = await sentFor([one]);
  assert.deepEqual([full.sent, full.checked.map(verdictOf)], [0, [expected]], 'there is room for just these');
  await sentFor([nobody(most)]);
  const anew = await sentFor([one]);
  assert.deepEqual([anew.sent, anew.checked.map(verdictOf)], [1, [expected]], 'for one more there is not');
  // The room that it had was used for one alone: of the others one had to go.
  const kept = await sentFor(some(1, most - reached - 1));
  assert.equal(kept.sent, 0);
  assert.ok(kept.checked.every(({ rows, secretHolds }) => rows.length === 0 && !secretHolds));
  assert.equal((await sentFor([nobody(0)])).sent, 1);
  assert.deepEqual(verdictOf(await check(one)), expected);
});
