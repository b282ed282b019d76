// Deliveries by real processes that are lost: killed at every step, with two workers, many times; or cut off from the
// database under load. Every event arrives under one id, and no kill repeats an event more than once.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until as untilHolds } from '../../test/until.ts';
import { useService } from '../../test/service.ts';
import { announceChange, sendTest } from './announce.ts';
import { registerWebhook, type Webhook } from './webhooks.ts';

const secretKey = 'a key for tests that is long enough';
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8', SECRET_KEY: secretKey });
const { db, databaseUrl } = service;
const estab = '9990001';
await service.addSchool(estab);

// ---- The receiver -------------------------------------------------------------------------------------------------

let arrived = new Map<string, number>();
const receiver = createServer((request, response) => {
  const id = String(request.headers['webhook-id']);
  arrived.set(id, (arrived.get(id) ?? 0) + 1);
  setTimeout(() => response.writeHead(204).end(), 20);
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const { port } = receiver.address() as AddressInfo;

// ---- Workers ------------------------------------------------------------------------------------------------------

type Running = { child: ChildProcess; output(): string; exited: Promise<string> };
const children = new Set<ChildProcess>();
type Name = 'crash worker' | 'cut off' | 'deaf';
const names: Name[] = ['crash worker', 'cut off', 'deaf'];

function launch(told: { step?: string; nth?: string; name?: Name } = {}): Running {
  const args = Object.entries({ estab, ...told }).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { DATABASE_URL: databaseUrl, SECRET_KEY: secretKey, OUTBOUND_ALLOW: '127.0.0.0/8', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../test/crash-worker.ts'), ...args], { stdio: ['ignore', 'pipe', 'inherit'], env });
  children.add(child);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const exited = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => {
      children.delete(child);
      resolve(String(signal ?? code));
    });
  });
  return { child, output: () => text, exited };
}

async function ready(worker: Running): Promise<Running> {
  await until('the worker is ready', () => worker.output().includes('ready'));
  return worker;
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await untilHolds(what, holds, () => db`select state, attempts, count(*)::int from outbox group by 1, 2`);
}

/** What a process that was killed had asked for is done all the same, and ends a little later than the process. */
async function endWorkers(): Promise<void> {
  for (const child of children) child.kill('SIGKILL');
  await until('nothing works for them any more', async () => {
    const left = await db`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and application_name like any(${names.map((name) => `schoolbell ${name}%`)})`;
    return children.size === 0 && left.length === 0;
  });
}
afterEach(endWorkers);
after(() => {
  receiver.closeAllConnections();
  receiver.close();
});

// ---- Events -------------------------------------------------------------------------------------------------------

let webhooks: Webhook[] = [];
const applications = ['one', 'two', 'three'];
for (const rp of applications) await service.addClient(rp, [estab]);

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane, webhook`;
  arrived = new Map();
  webhooks = [];
  for (const rp of applications)
    webhooks.push((await registerWebhook(db, { estab, rp, databaseName: 'SchoolData', url: `http://127.0.0.1:${port}/${rp}`, method: 'GET' })).webhook);
});

/** One event to each registration, under ids of their own. */
const send = () => db.begin(async (tx) => {
  const ids: string[] = [];
  for (const webhook of webhooks) ids.push(await sendTest(tx, webhook));
  return ids;
});
const announce = () => db.begin((tx) => announceChange(tx, estab, 'SchoolData'));
const allDone = async () => (await db`select from outbox where state <> 'done'`).length === 0;
const hurry = async () => {
  await db`update outbox set due_at = now() where state = 'waiting'`;
  await db`update lane set next_at = now() where next_at is not null`;
};

/** The lease of a worker that has died ends now; gives what it had taken. */
async function endLease(dead: Running): Promise<string[]> {
  const claims = [...dead.output().matchAll(/claim (\S+)/g)].map(([, claim = '']) => claim);
  assert.ok(claims.length > 0, `it died at its work: ${dead.output()}`);
  return (
    await db<
      { id: string }[]
    >`update outbox set lease_until = now() - interval '1 second' where claim = any(${claims}::uuid[]) and state = 'running' returning id`
  ).map(({ id }) => id);
}

// ---- Killed -------------------------------------------------------------------------------------------------------

test('killed before the commit nothing was there; killed after it everything is', async () => {
  assert.equal(await launch({ step: 'before commit' }).exited, 'SIGKILL');
  assert.equal((await db`select from outbox`).length, 0);
  assert.equal(await launch({ step: 'after commit' }).exited, 'SIGKILL');
  assert.equal((await db`select from outbox`).length, webhooks.length);
  await ready(launch());
  await hurry();
  await until('all are delivered', allDone);
  assert.deepEqual([...arrived.values()], webhooks.map(() => 1));
});

const steps = ['claimed', 'calling', 'answered'] as const;
/** As many as there are pairs of a step and a piece of work. */
const kills = 12;

test(`two workers, ${kills} kills each after claim, during call and after answer: every event arrives under one id, at most one repeat per kill`, async () => {
  const sent = new Set<string>();
  const hit = new Map<string, number>();
  let round = 0;
  const loseWorkers = async () => {
    while (round < kills) {
      round += 1;
      const [step, nth] = [steps[round % steps.length] ?? 'claimed', 1 + (round % 4)];
      for (let time = 0; time < 2; time += 1) for (const id of await send()) sent.add(id);
      const worker = launch({ step, nth: String(nth) });
      const dead = await Promise.race([worker.exited, pause(120_000, 'still running', { ref: false })]);
      assert.equal(dead, 'SIGKILL', worker.output());
      for (const id of await endLease(worker)) hit.set(id, (hit.get(id) ?? 0) + 1);
    }
  };
  await Promise.all([loseWorkers(), loseWorkers()]);
  await Promise.all([ready(launch()), ready(launch())]);
  await until('all are delivered', allDone);
  assert.deepEqual([...arrived.keys()].toSorted(), [...sent].toSorted());
  for (const [id, times] of arrived) assert.ok(times <= 1 + (hit.get(id) ?? 0), `${id} arrived ${times} times and was lost ${hit.get(id) ?? 0} times`);
  const repeats = [...arrived.values()].reduce((sum, times) => sum + times - 1, 0);
  assert.ok(repeats > 0, 'kills during and after calls must have repeated some');
});

test('a worker dies at an event while the data changes again: the change is told under a new id, and others go on', async () => {
  await announce();
  await hurry();
  const worker = launch({ step: 'answered' });
  assert.equal(await worker.exited, 'SIGKILL');
  await announce();
  await endLease(worker);
  const first = new Set(arrived.keys());
  await ready(launch());
  await hurry();
  await until('nothing is left to do', async () => (await db`select from outbox where state in ('waiting', 'running')`).length === 0);
  assert.ok([...arrived.keys()].filter((id) => !first.has(id)).length >= webhooks.length, 'each registration is told of the second change');
});

// ---- Standing still -----------------------------------------------------------------------------------------------

for (const step of ['still in a claim', 'still with work']) {
  test(`a worker stands ${step}: another does everything meanwhile, once, and it does nothing twice when it goes on`, async () => {
    const sent = await send();
    const frozen = launch({ step });
    await until('it stands still', () => frozen.output().includes('still'));
    await ready(launch());
    await until('all are delivered', allDone);
    assert.deepEqual(Object.fromEntries(arrived), Object.fromEntries(sent.map((id) => [id, 1])));
    frozen.child.kill('SIGCONT');
    const more = await send();
    await until('it works again, with the other', async () => (await allDone()) && (step === 'still with work' || frozen.output().includes('ready')));
    assert.deepEqual(Object.fromEntries(arrived), Object.fromEntries([...sent, ...more].map((id) => [id, 1])));
  });
}

// ---- Cut off ------------------------------------------------------------------------------------------------------

test('connections that end under load lose nothing: the worker recovers by itself', async () => {
  const worker = await ready(launch({ name: 'cut off' }));
  const sent = new Set<string>();
  for (let time = 0; time < 60; time += 1) for (const id of await send()) sent.add(id);
  for (const share of [0.1, 0.3, 0.5]) {
    await until('the load is under way', () => arrived.size > sent.size * share);
    await until(
      'its connections are ended',
      async () => (await db`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'schoolbell cut off %'`).length > 0,
    );
  }
  await until('all are delivered and settled', async () => {
    // What was claimed by a statement whose answer was lost comes free when its lease ends; what the worker holds does not.
    await db`update outbox set lease_until = now() - interval '1 second' where state = 'running' and lease_until > now()`;
    return allDone();
  });
  assert.deepEqual([...arrived.keys()].toSorted(), [...sent].toSorted());
  assert.equal(worker.child.exitCode, null);
});

test('when the listening connection dies, or a notice is lost, polling still delivers', async () => {
  await ready(launch({ name: 'deaf' }));
  const ended = await db`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'schoolbell deaf % listening'`;
  assert.equal(ended.length, 1);
  await send();
  // Without the notice that goes with it.
  await db`insert into outbox (estab, id, rp, kind, lane, payload, due_at) select estab, 'msg_unheard', rp, kind, lane, payload, now() from outbox
      where rp = 'one'`;
  await db`update lane set next_at = now()`;
  await until('all are delivered', allDone);
  assert.deepEqual([arrived.size, arrived.get('msg_unheard')], [webhooks.length + 1, 1]);
});
