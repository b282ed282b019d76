// Tests that no wait grows when the database's clock is set back after the wait was planned.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDatabaseClock } from '../../test/database-clock.ts';
import { claimInTurn } from '../../test/claim.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { limitTokenKeys, rotateTokenKey } from '../access/token-keys.ts';
import { findUsedUp, noteTry, type TryLimit } from '../access/wrong-tries.ts';
import { requestDue } from '../collection/component-databases.ts';
import { requireMailsLeft } from '../identity/mail-limits.ts';
import { limitProviderKeys, rotateProviderKeys } from '../identity/oidc/keys.ts';
import { invite } from '../onboarding/invitations.ts';
import { sweepWaits } from '../schooldata/availability.ts';
import { reclaimExpired } from './claim.ts';
import { inTurn } from './chores.ts';
import { enqueue } from './enqueue.ts';
import { createStepWatch, limitWaits } from './limit-waits.ts';
import { settleWork, type Outcome } from './settle.ts';

const hour = 3_600_000;
const { database, clock } = await useDatabaseClock();
const service = await useService({}, { database });
const { db } = service;
const failure: Outcome = { success: false, state: 'waiting', delaySeconds: 600, errorClass: 'status_500', detail: {} };

const put = (key: string) => db.begin((tx) => enqueue(tx, {
  estab: 'S1', rp: null, kind: 'other', lane: { key, host: null, width: 4, lasting: true }, payload: {}, body: null,
}));
const claimOne = async () => {
  const [work] = await claimInTurn(db, 30, 1);
  assert.ok(work);
  return work;
};
/** Seconds until work of this queue is due, and until its queue is looked at. */
const waitsOf = async (key: string) => {
  const [row] = await db<{ due: number; next: number; open: number | null }[]>`
    select extract(epoch from o.due_at - now())::float8 as due, extract(epoch from l.next_at - now())::float8 as next,
      extract(epoch from l.open_until - now())::float8 as open
    from outbox o join lane l on l.key = o.lane where o.lane = ${key}`;
  return row ?? assert.fail();
};

test('a retry that was planned under the later time keeps its delay, before and after a start of the worker', async () => {
  await clock.setAhead(3 * hour);
  await put('failing');
  await settleWork(db, [{ work: await claimOne(), outcome: failure }]);
  await put('fresh');
  await clock.setAhead(0);
  assert.ok((await waitsOf('failing')).due > 3 * 3600, 'it waits for hours');
  await service.work();
  await until('waits are limited', async () => (await waitsOf('failing')).due <= 600);
  const failing = await waitsOf('failing');
  assert.ok(failing.due > 500 && Math.abs(failing.next - failing.due) < 1, JSON.stringify(failing));
  await until('what was just queued is tried', async () => (await db`select from outbox where lane = 'fresh' and attempts > 0`).length === 1);

  await clock.setAhead(5 * hour);
  await put('later');
  await until('it is tried', async () => (await db`select from outbox where lane = 'later' and attempts > 0 and state = 'waiting'`).length === 1);
  await db`update lane set open_until = now() + interval '15 minutes', openings = 9 where key = 'failing'`;
  await clock.setAhead(0);
  await until('the step is noticed', async () => (await waitsOf('later')).due < 3600 && ((await waitsOf('failing')).open ?? 0) <= 900);
  await service.rest();
});

test('queues that wait no longer than they may are not held, and late ones fifty at a time', async () => {
  await db`delete from outbox`;
  await db`delete from lane`;
  await db`insert into lane (key, width, lasting, next_at) select 'queue ' || n, 4, true, now() + interval '20 seconds' from generate_series(1, 120) n`;
  await db`insert into outbox (estab, id, kind, lane, payload, due_at)
    select 'S1', 'work ' || n, 'other', 'queue ' || n, '{}', now() + interval '20 seconds' from generate_series(1, 120) n`;
  const held = async (work: () => Promise<unknown>) =>
    (await heardStatements(work)).filter((text) => /from lane where[^]*for update skip locked/.test(text)).length;
  assert.equal(await held(async () => assert.equal(await limitWaits(db), true)), 0);
  await db`update outbox set due_at = now() + interval '3 hours' where lane <> 'queue 7'`;
  await db`update lane set next_at = now() + interval '3 hours'`;
  assert.equal(await held(async () => assert.equal(await limitWaits(db), true)), 3);
  const left = await db`
    select from lane join outbox o on o.lane = lane.key where greatest(next_at, due_at) > now() + interval '30 seconds'`;
  assert.equal(left.length, 0);
  await db`update outbox set due_at = now() + interval '3 hours' where lane in ('queue 7', 'queue 8')`;
  await db.begin(async (tx) => {
    await tx`select from lane where key = 'queue 7' for update`;
    assert.equal(await limitWaits(db), false, 'one of them is held');
  });
  assert.equal((await db`select from outbox where due_at > now() + interval '30 seconds'`).length, 1);
  assert.equal(await limitWaits(db), true);
  await db`delete from outbox`;
  await db`delete from lane`;
});

test('a lease of a worker that died under the later time ends', async () => {
  await db`delete from outbox`;
  await clock.setAhead(3 * hour);
  await put('leased');
  await claimOne();
  await clock.setAhead(0);
  assert.equal(await reclaimExpired(db), 0, 'its worker may be alive');
  await clock.setAhead(61_000);
  assert.equal(await reclaimExpired(db), 1);
  await clock.setAhead(0);
});

test('jobs, fetches and waits for data do not wait for the later time', async () => {
  let runs = 0;
  const job = { name: 'test job', everyMs: hour, run: async () => (runs += 1) };
  await clock.setAhead(3 * hour);
  await inTurn(db, job);
  await service.addSchool('fetched');
  await db`update establishment set connector = 'demo' where estab = 'fetched'`;
  await db`insert into component_database (estab, name, status, updated_at, refresh_at)
    values ('fetched', 'SchoolData', 'OK', now(), now() + interval '10 minutes') on conflict (estab, name) do update
    set status = 'OK', updated_at = excluded.updated_at, refresh_at = excluded.refresh_at`;
  await clock.setAhead(0);
  await inTurn(db, job);
  await inTurn(db, job);
  assert.equal(runs, 2);
  assert.equal(await db.begin((tx) => requestDue(tx)), 1);
  assert.equal(await db.begin((tx) => requestDue(tx)), 0);
});

test('a retired key is trusted for no longer than its schedule says', async () => {
  const rotate = (now: boolean) =>
    db.begin(async (tx) => [await rotateTokenKey(tx, service.seal, { now }), await rotateProviderKeys(tx, service.seal, { now })]);
  await rotate(true);
  await clock.setAhead(3 * hour);
  await rotate(false);
  await clock.setAhead(0);
  const hours = async () => (await db<{ hours: number }[]>`
    select extract(epoch from trusted_until - now())::float8 / 3600 as hours from token_key where trusted_until > now() union all
    select extract(epoch from trusted_until - now())::float8 / 3600 from provider_key where trusted_until is not null`).map((row) => Math.round(row.hours));
  assert.deepEqual(await hours(), [28, 16]);
  await Promise.all([limitTokenKeys(db), limitProviderKeys(db)]);
  assert.deepEqual(await hours(), [25, 13]);
});

test('an application that waits for data is answered within ten minutes', async () => {
  await service.addSchool('waited');
  await service.addClient('waiting', ['waited']);
  await clock.setAhead(3 * hour);
  await db`
    insert into availability_wait (estab, rp, endpoint, databases, callback_url, deadline_at, next_check_at)
    values ('waited', 'waiting', 'Students', '{SchoolData}', 'http://127.0.0.1:9/', now() + interval '10 minutes', now() + interval '1 second')`;
  await db`insert into component_database (estab, name, refreshing_since) values ('waited', 'SchoolData', now())
    on conflict (estab, name) do update set refreshing_since = excluded.refreshing_since`;
  await clock.setAhead(0);
  await sweepWaits(db);
  const [wait] = await db<{ seconds: number }[]>`
    select extract(epoch from deadline_at - now())::float8 as seconds from availability_wait where estab = 'waited'`;
  assert.ok((wait?.seconds ?? Infinity) <= 600, JSON.stringify(wait));
});

test('tries and mails that were counted under the later time use up no limit', async () => {
  await service.addSchool('counted');
  const tries: TryLimit = { kind: 'sign-in', what: 'tries', minutes: 1, most: { pair: 3 } };
  const tried = { client: 'counted', address: '127.0.0.1' };
  const limits = () => Promise.all([
    findUsedUp(db, tries, tried),
    db.begin((tx) => requireMailsLeft(tx, 'counted', { mails: 1, presenceId: 'p1' })).then(() => undefined, (error: unknown) => error),
  ]);
  await clock.setAhead(3 * hour);
  for (let time = 0; time < 3; time += 1) {
    await noteTry(db, tries, tried);
    await db`insert into identity_audit (estab, rp, operation, presence_id, outcome) values ('counted', 'app', 'CreateLogin', 'p1', 'done')`;
  }
  assert.equal((await limits()).filter((one) => one !== undefined).length, 2, 'both are used up');
  await clock.setAhead(0);
  assert.deepEqual(await limits(), [undefined, undefined]);
});

test('an application that asked for a school under the later time may ask again', async () => {
  await service.addSchool('elsewhere');
  await service.addSchool('asked');
  await service.addClient('asking', ['elsewhere']);
  const given = { estab: 'asked', rp: 'asking', schoolName: 'Asked', contactEmail: 'a@b.example', reason: null, scopes: undefined, by: 'application' } as const;
  const ask = async () => (await invite(db, 'http://127.0.0.1', given)).state;
  await clock.setAhead(3 * hour);
  assert.deepEqual([await ask(), await ask()], ['Invited', 'AlreadyInvited']);
  await clock.setAhead(0);
  assert.equal(await ask(), 'Invited');
});

test('a step back is told from time that passes, from waiting and from a step ahead', () => {
  let elapsed = 0;
  const wasSetBack = createStepWatch(() => elapsed);
  const at = (ms: number) => new Date(1_000_000_000 + ms);
  const look = (elapsedMs: number, clockMs: number) => ((elapsed = elapsedMs), wasSetBack(at(clockMs)));
  assert.deepEqual([look(0, 0), look(5_000, 5_000), look(10_000, 9_500), look(15_000, 12_000), look(20_000, 99_000), look(25_000, 24_000)],
    [false, false, false, true, false, true]);
});
