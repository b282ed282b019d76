// Covers the pages of durable work: by kind and state, what is under way and where, what failed and why, chores, and trying again.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useCommands } from '../../../test/commands.ts';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { testSecretKey } from '../../../test/service.ts';
import { setConnector } from '../../collection/connector-settings.ts';
import { processTag } from '../../db/pool.ts';
import { requireWork } from '../../durable-work.ts';
import { claimWork } from '../../outbox/claim.ts';
import { createNoting, inTurn } from '../../outbox/chores.ts';
import { enqueue } from '../../outbox/enqueue.ts';
import { replayOne } from '../../outbox/replay.ts';
import { settleWork, type Outcome } from '../../outbox/settle.ts';

const { service, enter } = await useConsole();
const { db } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const { json, assertFails } = useCommands({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
await service.addSchool('3805001');
const hostile = '<img src=x onerror=alert(1)>';

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane, audit_event, chore`;
});

const put = (kind: string, payload: Record<string, unknown> = {}, key = kind) =>
  enqueue(db, { estab: '3805001', rp: null, kind, lane: { key, host: null, width: 4, lasting: false }, payload, body: null });
const claim = async (id: string) => (await claimWork(db, 60, 64)).find((work) => work.id === id) ?? assert.fail('not claimed');
const settle = async (id: string, outcome: Partial<Outcome>) =>
  settleWork(db, [{ work: await claim(id), outcome: { success: false, state: 'failed', errorClass: 'mis', detail: { message: hostile }, ...outcome } }]);
/** Of the latest attempt, the tone and the word. */
const outcomeOf = (text: string) => /<table id="attempts"[^]*?<span class="badge (\w+)">([^<]+)</.exec(text)?.slice(1).join(' ');
const stateOf = async (id: string) => (await db<{ state: string }[]>`select state from outbox where id = ${id}`)[0]?.state;

test('work of every kind but calls, by kind and state, and whatever it says stays text', async () => {
  assert.match((await viewer.get('/console/work')).text, /will be here as soon as there are any/);
  await put('collect', { database: hostile }, 'a');
  const call = await put('call', { url: 'https://one.example/' }, 'b');
  const strange = await put('kind<b>', {}, 'c');
  const failed = await put('writeback', { trackingId: hostile }, 'd');
  await put('password-link', { person: 'ann@secret.example' }, 'e');
  await settle(failed, {});
  const all = await viewer.get('/console/work');
  assert.equal(all.status, 200);
  assert.doesNotMatch(all.text, /<img|kind<b>|ann@secret/);
  assert.ok(!all.text.includes(call));
  assert.match(all.text, /<a href="\/console\/work\?kind=writeback&#38;state=failed">1<\/a>/);
  for (const [query, ids] of [
    ['?kind=writeback', [failed]], ['?state=failed', [failed]], ['?kind=kind%3Cb%3E', [strange]], ['?kind=call&state=failed', [failed]], ['?estab=none', []],
    ['?estab=3805001&state=failed', [failed]],
  ] as const) {
    const { text } = await viewer.get(`/console/work${query}`);
    assert.deepEqual([...text.matchAll(/href="\/console\/work\/([^"]+)"/g)].map(([, id]) => id), ids, query);
  }
  const one = await viewer.get(`/console/work/${failed}`);
  assert.match(one.text, /&#60;img src=x/);
  assert.equal(outcomeOf(one.text), 'bad Failed');
  assert.match(one.text, /Failed<\/span> <span class="quiet">at the source<\/span>/, 'in words, not as the outbox calls it');
  assert.doesNotMatch(one.text, />message</);
  assert.doesNotMatch(one.text, /<img|<form method="post" action="\/console\/work/);
  for (const id of [call, 'none', encodeURIComponent('a/%b')]) assert.equal((await admin.get(`/console/work/${id}`)).status, 404);
  assert.deepEqual((await json<{ id: string }[]>('work list --kind writeback --state failed')).map(({ id }) => id), [failed]);
  assert.equal((await json<{ id: string }[]>('work list')).length, 4);
  assert.doesNotMatch(JSON.stringify(await json('work list')), /ann@secret/);
  await assertFails(/--state "lost": must be one of/, 'work list --state lost');
});

test('what is under way says since when and in which process, and is not tried again', async () => {
  const id = await put('collect', { database: 'SchoolData' });
  await claim(id);
  const { text } = await admin.get(`/console/work/${id}`);
  assert.match(text, /Under way since/);
  assert.match(text, new RegExp(`process ${process.pid}`));
  assert.doesNotMatch(text, /Try (?:now|again)/);
  const refused = await admin.post(`/console/work/${id}/retry`);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /This is under way right now; look at it again in a moment/);
  await assertFails(/under way right now/, 'work retry', id);
  assert.equal(await stateOf(id), 'running');
  const outcomes = await db<{ via: string; outcome: string }[]>`select via, outcome from audit_event where outcome is not null order by number`;
  assert.deepEqual(outcomes.map((one) => ({ ...one })), [{ via: 'console', outcome: 'refused' }, { via: 'command line', outcome: 'refused' }]);
});

test('what is under way in a process that has ended says so, and that it is taken over by itself', async () => {
  const id = await put('collect', { database: 'SchoolData' });
  await claim(id);
  await db`update outbox set lease_until = now() - interval '1 minute', claimed_by = ${`1${processTag.slice(-4)}`}`;
  const { text } = await viewer.get(`/console/work/${id}`);
  assert.match(text, /Its process has ended/);
  assert.match(text, /process 1, which is not connected any more/);
  assert.match((await admin.post(`/console/work/${id}/retry`)).text, /Any worker that runs takes it over by itself; if none does, start one/);
});

test('what waits is tried now, what failed once more, each as its kind allows', async () => {
  const waiting = await put('sign-in-link', {}, 'a');
  await db`update outbox set due_at = now() + interval '1 hour' where id = ${waiting}`;
  const done = await admin.post(`/console/work/${waiting}/retry`);
  assert.deepEqual([done.status, done.location], [303, `/console/work/${waiting}?done=work-id-retry`]);
  assert.equal((await db`select from outbox where id = ${waiting} and due_at <= now()`).length, 1);
  assert.equal((await viewer.post(`/console/work/${waiting}/retry`)).status, 403);
  const writeback = await put('writeback', { trackingId: 't' }, 'b');
  await settle(writeback, {});
  assert.match((await admin.post(`/console/work/${writeback}/retry`)).text, /it has to send them again/);
  const over = await put('sign-in-link', {}, 'c');
  await settle(over, { success: true, state: 'done' });
  const refused = await admin.post(`/console/work/${over}/retry`);
  assert.match(refused.text, /This is done/);
  assert.equal(outcomeOf(refused.text), 'good Done');
  assert.equal((await admin.post('/console/work/none/retry')).status, 404);
  assert.deepEqual(await replayOne(db, await requireWork(db, over), 'waiting'), [], 'what ended meanwhile is not done twice');
  assert.equal(await stateOf(over), 'done');
});

test('a collection that failed is asked for anew, where there is a source to ask', async () => {
  const failed = await put('collect', { database: 'SchoolData' });
  await settle(failed, {});
  assert.match((await admin.post(`/console/work/${failed}/retry`)).text, /no source that could be asked again/);
  await db.begin((tx) => setConnector(tx, service.seal, '3805001', { kind: 'demo' }));
  await db`update component_database set refreshing_since = null`;
  await db`delete from outbox where id <> ${failed}`;
  await json('work retry', failed);
  const asked = await db<{ id: string; state: string }[]>`select id, state from outbox where kind = 'collect' and id <> ${failed}`;
  assert.deepEqual(asked.map(({ state }) => state), ['waiting']);
});

test('pages follow one another by key, without gap or overlap, and keep what they are narrowed to', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 120; n += 1) ids.push(await put('writeback', { trackingId: `t${n}` }, `lane ${n}`));
  await put('collect', { database: 'SchoolData' });
  await db`update outbox set created_at = '2026-11-01T00:00:00.123456Z' where payload ->> 'trackingId' < 't5'`;
  for (const [filter, more] of [['', 1], ['?kind=writeback', 0], ['?state=waiting&estab=3805001', 1]] as const) {
    const pages = await readToEnd(viewer, `/console/work${filter}`);
    const seen = pages.flatMap((text) => [...text.matchAll(/href="\/console\/work\/([^"]+)"/g)].map(([, id = '']) => id));
    assert.deepEqual([pages.length, seen.length, new Set(seen).size, ids.every((id) => seen.includes(id))], [3, 120 + more, 120 + more, true], filter);
  }
});

test('chores say when they ran, how long it took, when they are due again and what was in their way', async () => {
  await inTurn(db, { name: 'sweeping', everyMs: 3_600_000, run: () => Promise.resolve() });
  await inTurn(db, { name: 'mopping', everyMs: 3_600_000, run: () => Promise.reject(new Error(hostile)) }).catch(() => {});
  const { text } = await viewer.get('/console/work');
  assert.match(text, /sweeping<\/div><\/td><td[^>]*><div>60 minutes<\/div>/);
  await createNoting(db, { name: 'listening', everyMs: 1_000, run: () => Promise.resolve() })();
  await db`update chore set last_at = now() - interval '31 seconds', ran_at = now() - interval '31 seconds' where name = 'listening'`;
  assert.match((await viewer.get('/console/work')).text, /listening<[^]*?[345]\d seconds ago[^]*?all the time; noted once a minute/);
  assert.match(text, /&#60;img src=x/);
  assert.doesNotMatch(text, /<img/);
});

test('how collecting stands is said with one word, on the page of the school and on that of the work', async () => {
  const id = await put('collect', { database: 'SchoolData' });
  for (const state of ['waiting', 'running', 'failed', 'done', 'superseded', 'cancelled']) {
    await db`update outbox set state = ${state}, topic = 'collect SchoolData', lease_until = now() + interval '1 hour' where id = ${id}`;
    const badges = await Promise.all(
      ['/console/schools/3805001/source', `/console/work?state=${state}`].map(async (path) => {
        const { text } = await viewer.get(path);
        return new RegExp(`/console/work/${id}"[^]*?<span class="badge ([^<]*)<`).exec(text)?.[1];
      }),
    );
    assert.ok(badges[0] !== undefined && badges[0] === badges[1], `${state}: ${badges.join(', ')}`);
  }
});
