// Where events with school secrets may go: to https, to plain http only inside OUTBOUND_ALLOW, and after a developer moved the callback URL
// to another host only once the operator has confirmed it. No test makes a call to an address outside this machine.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { enter } from '../../test/console.ts';
import { useReceiver } from '../../test/delivery.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { useOnboarding } from '../../test/onboarding.ts';
import { testSecretKey } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound, type OutboundCall } from '../http/outbound.ts';
import { approve } from '../onboarding/approve.ts';
import { startWorker } from '../outbox/worker.ts';
import { listCallbackTasks } from './callback-tasks.ts';
import { createDelivery } from './deliver.ts';

const onboarding = await useOnboarding();
const { db, service, url, receiver, run } = onboarding;
const { seal } = service;
const elsewhere = await useReceiver();
const admin = await enter(service, 'admin');
const commandLine = useCommands({
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url, OUTBOUND_ALLOW: '127.0.0.0/8',
});
let [rp, estab, number] = ['', '', 0];

beforeEach(async () => {
  number += 1;
  [rp, estab] = [`app-${number}`, `school-${number}`];
  await service.addSchool(estab);
  await service.rest();
  // A test that failed halfway leaves no call behind that a worker of the next test would make.
  await db`update outbox set state = 'cancelled', settled_at = now() where state = 'waiting' and kind = 'call'`;
});

const approveApp = () => approve({ db, seal, publicUrl: url }, { estab, rp, actor: 'operator' });
const callsOf = () => db<{ state: string; attempts: number; uncounted: number; why: string | null }[]>`
  select o.state, o.attempts, o.forgiven as uncounted,
    (select error_class from outbox_attempt a where a.estab = o.estab and a.id = o.id order by number desc limit 1) as why
  from outbox o where o.estab = ${estab} and o.rp = ${rp} and o.kind = 'call' order by o.seq`.then((rows) => rows.map((row) => ({ ...row })));
const mailsTo = async () => (await db<{ to: string }[]>`
  select payload ->> 'to' as to from outbox where kind = 'mail' and rp = ${rp} and payload ->> 'subject' like '%callback URL%' order by 1`).map(({ to }) => to);
const tried = () => until('the call was tried', async () => (await callsOf()).some(({ attempts }) => attempts > 0));

/** A developer at the console, who moves the callback URL. */
async function moveAsDeveloper(callbackUrl: string, name = `dev-${rp}@app.example`): Promise<number> {
  const developer = await enter(service, 'developer', name, [rp]);
  return (await developer.post(`/console/applications/${rp}/edit/save`, { 'callback-url': callbackUrl, contact: 'accomplice@app.example' })).status;
}

test('a call with a secret over plain http is refused before a connection, unless every address is inside OUTBOUND_ALLOW', async () => {
  const outside = '93.184.215.14';
  const names: Record<string, string[]> = { 'mixed.example': ['127.0.0.1', outside], 'inside.example': ['127.0.0.1'], 'public.example': [outside] };
  const resolve = async (name: string) => (names[name] ?? []).map((address) => ({ address, family: 4 }));
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), undefined, resolve);
  try {
    const call = async (target: string) =>
      (await outbound.call({ method: 'POST', url: target, headers: {}, body: Buffer.from('x'), secret: true, totalMs: 3_000 })).error?.class;
    for (const host of ['mixed.example', 'public.example', outside]) assert.equal(await call(`http://${host}:${receiver.port}/`), 'plain_http', host);
    assert.equal(await call(`http://inside.example:${receiver.port}/inside`), undefined);
    assert.equal(await call(`${receiver.origin}/literal`), undefined);
  } finally {
    await outbound.close();
  }
});

test('an application cannot be given a callback URL with plain http outside OUTBOUND_ALLOW', async () => {
  const options = { rp, name: 'App', scopes: 'School' };
  await assert.rejects(run('application add', { ...options, 'callback-url': 'http://93.184.215.14/events' }), /https/);
  const fields = { rp, name: 'App', 'scope-School': 'required', 'callback-url': 'http://93.184.215.14/events' };
  assert.equal((await admin.post('/console/add-application/add', fields)).status, 400);
  assert.deepEqual(await db`select from application where rp = ${rp}`, []);
  await onboarding.addAsking(rp);
  await assert.rejects(run('application edit', { rp, 'callback-url': 'http://93.184.215.14/events' }), /https/);
  await run('application edit', { rp, 'callback-url': 'https://app.example/events' });
  assert.equal(await moveAsDeveloper('http://93.184.215.14/events'), 400);
});

test('nobody can give an application a callback URL that no call could reach; a name without an address is accepted', async () => {
  await onboarding.addAsking(rp);
  const usable = 'https://not-yet.invalid/events';
  for (const bad of ['https://10.0.0.1/x', 'https://user:word@93.184.215.14/x', 'https://93.184.215.14:22/x', 'https://169.254.169.254/']) {
    const refused = /private|link|user name|Port 22/i;
    await assert.rejects(run('application add', { rp: 'new', name: 'App', scopes: 'School', 'callback-url': bad }), refused, bad);
    await assert.rejects(run('application edit', { rp, 'callback-url': bad }), refused, bad);
    const answer = await admin.post(`/console/applications/${rp}/edit/save`, { name: 'App', 'scope-School': 'required', 'callback-url': bad });
    assert.deepEqual([answer.status, refused.test(answer.text)], [400, true], bad);
    assert.equal(await moveAsDeveloper(bad), 400, bad);
  }
  await run('application edit', { rp, 'callback-url': usable });
  await run('application edit', { rp, name: 'Renamed' });
});

test('an http URL outside OUTBOUND_ALLOW is among the open tasks, however many are inside', async () => {
  const add = (name: string, callbackUrl: string) => db`insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    values (${name}, ${name}, ${callbackUrl}, '{School}', '{}', ${name})`;
  for (let at = 0; at < 60; at += 1) await add(`a-${rp}-${at}`, `http://127.0.0.1:8081/${at}`);
  await add(`b-${rp}`, 'http://93.184.215.14/events');
  const tasks = await listCallbackTasks(db, { publicUrl: url, allowed: parseAllowList(['127.0.0.0/8']) }, 1);
  assert.deepEqual(tasks.map((task) => task.rp), [`b-${rp}`]);
  await db`delete from application where rp like ${`%-${rp}%`}`;
});

test('an http URL from before receives events without secrets; those with a secret wait, which is an open task', async () => {
  await onboarding.addAsking(rp, 'School', { callbackUrl: 'http://93.184.215.14/events' });
  await db`update application set state_events = true where rp = ${rp}`;
  const real = createOutbound(parseAllowList([]));
  const calls: OutboundCall[] = [];
  // Calls with a secret go through the guard, which refuses them; the others are recorded here, so that none leaves this machine.
  const recording = {
    ...real,
    call: async (call: OutboundCall) => {
      calls.push(call);
      if (call.secret) return real.call(call);
      return { status: 200, headers: {}, response: Buffer.alloc(0), error: undefined, address: undefined, timings: { total: 1 } };
    },
  };
  const worker = await startWorker({ db, handlers: { call: createDelivery(db, seal, recording, '1.2.3') }, log: { warn() {}, error() {} }, pollMs: 20 });
  try {
    await approveApp();
    await tried();
    assert.deepEqual(await callsOf(), [{ state: 'waiting', attempts: 1, uncounted: 0, why: 'plain_http' }]);
    await run('pause', { estab, rp });
    await until('the state event was sent', () => calls.some(({ secret }) => !secret));
    assert.match((await admin.get('/console')).text, new RegExp(`needs-callback[^]*href="/console/applications/${rp}"`));
    await run('resume', { estab, rp });
  } finally {
    await worker.stop();
    await real.close();
  }
  await run('application edit', { rp, 'callback-url': `${receiver.origin}/${rp}` });
  await service.work();
  await until('the event arrives at the new URL', () => onboarding.forms(rp).some(({ schoolSecret }) => schoolSecret?.startsWith('sb_school_')));
  assert.doesNotMatch((await admin.get('/console')).text, new RegExp(`href="/console/applications/${rp}"`));
});

test("a developer's move to another host: events with a secret wait for the operator, who is shown the change", async () => {
  await onboarding.addAsking(rp);
  await db`update application set state_events = true, contact = 'contact@app.example' where rp = ${rp}`;
  const colleague = await enter(service, 'developer', `colleague-${rp}@app.example`, [rp]);
  await db`update console_account set email = sign_in_name where role = 'developer'`;
  await enter(service, 'developer', `dev-${rp}@app.example`, [rp]);
  await db`update console_account set email = sign_in_name where role = 'developer'`;
  await approveApp();
  assert.equal(await moveAsDeveloper(`${elsewhere.origin}/moved`), 303);
  assert.deepEqual(await mailsTo(), ['accomplice@app.example', `colleague-${rp}@app.example`, 'contact@app.example'], 'the contact of before, too');
  await service.work();
  await tried();
  assert.deepEqual(await callsOf(), [{ state: 'waiting', attempts: 1, uncounted: 0, why: 'callback_unconfirmed' }]);
  const task = new RegExp(`needs-callback[^]*href="/console/applications/${rp}"`);
  assert.match((await admin.get('/console')).text, task);
  const page = (await admin.get(`/console/applications/${rp}`)).text;
  assert.match(page, new RegExp(`dev-${rp}@app.example changed the callback URL`));
  assert.match(page, /id="confirm-callback"/);
  const own = (await colleague.get(`/console/applications/${rp}`)).text;
  assert.deepEqual([own.includes('id="callback-change"'), own.includes('id="confirm-callback"')], [true, false]);
  assert.equal((await colleague.post(`/console/applications/${rp}/confirm-callback`, { 'callback-url': `${elsewhere.origin}/moved` })).status, 404);
  assert.equal((await admin.post(`/console/applications/${rp}/confirm-callback`, { 'callback-url': 'https://another.example/' })).status, 409);
  assert.deepEqual(elsewhere.arrivals.filter(({ url: at }) => at === '/moved'), []);
  await run('application edit', { rp, 'confirm-callback': true });
  const holdsSecret = (body: Buffer) => body.toString().includes('schoolSecret=sb_school_');
  await until('the event arrives', () => elsewhere.arrivals.some(({ url: at, body }) => at === '/moved' && holdsSecret(body)));
  assert.doesNotMatch((await admin.get('/console')).text, task);
});

test('an event that waits for a confirmation ends with its schedule, and is sent when the operator confirms even later', async () => {
  await onboarding.addAsking(rp);
  await approveApp();
  await moveAsDeveloper(`${elsewhere.origin}/late`);
  await service.work();
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    await until(`attempt ${attempt}`, async () => (await callsOf())[0]?.attempts === attempt);
    await db.begin(async (tx) => {
      await tx`update lane set next_at = now() where key = ${`callback ${rp}`}`;
      await tx`update outbox set due_at = now() where estab = ${estab} and rp = ${rp} and state = 'waiting'`;
      await tx`select pg_notify('schoolbell_outbox', '')`;
    });
  }
  assert.deepEqual(await callsOf(), [{ state: 'failed', attempts: 12, uncounted: 0, why: 'callback_unconfirmed' }]);
  const [lane] = await db`select failures, disabled_at, open_until from lane where key = ${`callback ${rp}`}`;
  assert.deepEqual({ ...lane }, { failures: 0, disabled_at: null, open_until: null }, 'the receiver is not blamed');
  await run('application edit', { rp, 'confirm-callback': true });
  await until('the event arrives', () => elsewhere.arrivals.some(({ url: at }) => at === '/late'));
  await until('it is settled', async () => (await callsOf())[0]?.state === 'done');
});

test('of events that ended while they waited for a confirmation, only the latest of a school is sent: earlier secrets have been replaced', async () => {
  await onboarding.addAsking(rp);
  await approveApp();
  await moveAsDeveloper(`${elsewhere.origin}/latest`);
  await service.work();
  const endWaiting = async () => {
    await until('the event waits', async () => (await callsOf()).at(-1)?.state === 'waiting' && (await callsOf()).at(-1)?.why === 'callback_unconfirmed');
    await db`update outbox set state = 'failed', settled_at = now() where estab = ${estab} and rp = ${rp} and state = 'waiting'`;
  };
  await endWaiting();
  await approveApp();
  await endWaiting();
  await run('application edit', { rp, 'confirm-callback': true });
  await until('the latest event arrives', async () => (await callsOf()).at(-1)?.state === 'done');
  assert.deepEqual((await callsOf()).map(({ state }) => state), ['failed', 'done']);
  assert.equal(elsewhere.arrivals.filter(({ url: at }) => at === '/latest').length, 1);
});

test('a confirmation holds only for the URL that the operator saw: one that changes meanwhile is refused, by the console and by the command', async () => {
  await onboarding.addAsking(rp);
  const [seen, swapped] = [`${elsewhere.origin}/seen`, `${elsewhere.origin}/it's;$(swapped)`];
  const confirmedHost = async () => (await db<{ host: string | null }[]>`select confirmed_callback_host as host from application where rp = ${rp}`)[0]?.host;
  const before = new URL(receiver.origin).host;
  await moveAsDeveloper(seen);
  // The console reads the URL before it waits for the row; the developer's change commits while it waits.
  const confirming = await db.begin(async (tx) => {
    await tx`update application set callback_url = ${swapped} where rp = ${rp}`;
    const answer = admin.post(`/console/applications/${rp}/confirm-callback`, { 'callback-url': seen });
    await until('the console waits for the row', async () => (await lockWaits(db, '%from application where rp%')).length > 0);
    return { answer };
  });
  const refused = await confirming.answer;
  assert.equal(refused.status, 409);
  assert.match(refused.text, /The callback URL of [^]* is [^]*swapped[^]* now\. Nothing was changed/);
  assert.equal(await confirmedHost(), before);
  assert.match((await admin.get(`/console/applications/${rp}`)).text, /name="callback-url" value="[^"]*swapped/);

  const edit = ['application', 'edit', '--rp', rp, '--confirm-callback'];
  const changed = await commandLine.run([...edit, '--callback-url', seen]);
  assert.deepEqual([changed.code, changed.out], [1, '']);
  assert.match(changed.err, /swapped\) now\. Nothing was changed/);
  let asked = '';
  const answering = (answer: string, move?: string) => commandLine.run(edit, undefined, async (question) => {
    asked = question;
    if (move !== undefined) await db`update application set callback_url = ${move} where rp = ${rp}`;
    return answer;
  });
  assert.equal((await answering('no')).code, 1);
  assert.match(asked, new RegExp(`is ${elsewhere.origin}/it's;\\$\\(swapped\\)\\.\nThe confirmed host is ${before}`));
  assert.match((await answering('yes', seen)).err, new RegExp(`is ${seen} now\\. Nothing was changed`));
  assert.equal(await confirmedHost(), before);

  await db`update application set callback_url = ${swapped} where rp = ${rp}`;
  const shown = await commandLine.schoolbell(`application show --rp ${rp}`);
  assert.ok(shown.out.includes(`--confirm-callback --callback-url '${elsewhere.origin}/it'\\''s;$(swapped)'`), `the URL is quoted for a shell: ${shown.out}`);
  const done = await commandLine.run([...edit, '--callback-url', swapped]);
  assert.deepEqual([done.code, done.err, await confirmedHost()], [0, '', null]);
  assert.match(done.out, /confirmed the callback URL http.*swapped/);
});

test('a developer who changes the contact first is seen too: the contact of before and the other developers get a mail', async () => {
  await onboarding.addAsking(rp);
  await db`update application set contact = ${`owner-${rp}@app.example`} where rp = ${rp}`;
  const developer = await enter(service, 'developer', `dev-${rp}@app.example`, [rp]);
  await enter(service, 'developer', `other-${rp}@app.example`, [rp]);
  await db`update console_account set email = sign_in_name where role = 'developer'`;
  const save = (contact: string, callbackUrl = `${receiver.origin}/${rp}`) =>
    developer.post(`/console/applications/${rp}/edit/save`, { 'callback-url': callbackUrl, contact });
  const subjectsTo = (name: string) => onboarding.mailsTo(`${name}-${rp}@app.example`).map(({ subject }) => subject);
  await service.work();
  assert.equal((await save(`owner-${rp}@app.example`)).status, 303);
  assert.equal((await save(`accomplice-${rp}@app.example`)).status, 303);
  const contactChanged = `The contact of Application ${rp} was changed`;
  await until('both are told of the contact', () => subjectsTo('owner').length > 0 && subjectsTo('other').length > 0);
  assert.deepEqual(['owner', 'other', 'accomplice', 'dev'].map(subjectsTo), [[contactChanged], [contactChanged], [], []]);
  const [mail] = onboarding.mailsTo(`owner-${rp}@app.example`);
  assert.match(mail?.text ?? '', new RegExp(`by the developer dev-${rp}@app\\.example[^]*Before: owner-${rp}@[^]*Now: accomplice-${rp}@`));
  assert.equal((await save(`accomplice-${rp}@app.example`, `${elsewhere.origin}/moved`)).status, 303);
  await until('the others are told of the callback URL', () => subjectsTo('accomplice').length > 0 && subjectsTo('other').length > 1);
  assert.deepEqual(subjectsTo('owner'), [contactChanged]);
  await run('application edit', { rp, contact: `owner-${rp}@app.example` });
  assert.deepEqual(await db`select from outbox where kind = 'mail' and rp = ${rp} and payload ->> 'to' like 'owner%' and state = 'waiting'`, []);
});

test('a new path on the same host, a way back, and a change by the operator need no confirmation', async () => {
  await onboarding.addAsking(rp);
  const waits = async () => (await db`select from application where rp = ${rp} and confirmed_callback_host is not null`).length > 0;
  await moveAsDeveloper(`${receiver.origin}/${rp}/path`);
  assert.equal(await waits(), false);
  await moveAsDeveloper(`${elsewhere.origin}/moved`);
  assert.equal(await waits(), true);
  await moveAsDeveloper(`${receiver.origin}/${rp}`);
  assert.equal(await waits(), false, 'back at the confirmed host');
  await run('application edit', { rp, 'callback-url': `${elsewhere.origin}/by-operator` });
  assert.equal(await waits(), false);
  await moveAsDeveloper(`${receiver.origin}/${rp}`);
  assert.equal((await admin.post(`/console/applications/${rp}/confirm-callback`, { 'callback-url': `${receiver.origin}/${rp}` })).status, 303);
  await service.work();
  await approveApp();
  await until('the event arrives', () => onboarding.forms(rp).length > 0);
});
