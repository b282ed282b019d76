// Covers inboxes from both sides: what comes over the network and what is handed over in the process, how each is answered, what is
// kept and for how long, and that nothing but an inbox of one's own is reached by their addresses.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { beforeEach, test } from 'node:test';
import { enter } from '../../../test/console.ts';
import { useReceiver } from '../../../test/delivery.ts';
import { lockWaits } from '../../../test/lock-waits.ts';
import { useService } from '../../../test/service.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { until } from '../../../test/until.ts';
import { rotateApplicationSecret } from '../../access/applications.ts';
import { createOutbound, type Outbound } from '../../http/outbound.ts';
import { approve } from '../../onboarding/approve.ts';
import { editApplication } from '../../onboarding/edit-application.ts';
import { enqueueOneOff } from '../one-off.ts';
import { renderSignature } from '../sign.ts';
import { findInbox, inboxUrl } from './address.ts';
import { listCalls, requireCall } from './calls.ts';
import { createHandOver } from './hand-over.ts';
import { createHold } from './hold.ts';
import { addInbox, editInbox, removeInbox, type Inbox } from './inboxes.ts';
import { judgeSignature } from './judge-signature.ts';
import { inboxLimits } from './receive.ts';

const slowMs = 300;
// Nothing on this machine may be called: what arrives here was handed over.
const service = await useService({}, { holds: { slowMs, neverMs: 600, most: 2, mostOfOne: 2 } });
const { db, url, seal, addSchool, addClient } = service;
const school = 'inbox1';
await addSchool(school, smallPackage());
const client = await addClient('reader', [school]);
const other = await addClient('other', [school]);
const make = (name: string, answer = '200', rp = 'reader') => addInbox(db, seal, { rp, name, answer });
const at = ({ key }: Pick<Inbox, 'key'>) => inboxUrl(url, key);
const callsOf = (inbox: Inbox) => listCalls(db, seal, inbox, 200);
const clear = async () => {
  await db`delete from inbox`;
};
beforeEach(clear);

test('whatever comes is kept and answered, and shows nothing of a browser’s session', async () => {
  const inbox = await make('Any');
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const body = method === 'GET' ? {} : { body: '{"a":1}', headers: { 'content-type': 'application/json' } };
    const answer = await fetch(`${at(inbox)}?a=%zz&b=1`, { method, ...body });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/plain; charset=utf-8'], method);
  }
  const odd = { cookie: 'schoolbell_console=abc', authorization: 'Bearer abc.def', 'content-type': 'text/html; charset=nonsense', accept: 'text/html' };
  assert.equal((await fetch(at(inbox), { method: 'POST', headers: odd, body: '<script>alert(1)</script>' })).status, 200);
  const kept = await callsOf(inbox);
  assert.deepEqual(kept.map(({ method }) => method), ['POST', 'OPTIONS', 'DELETE', 'PATCH', 'PUT', 'POST', 'GET']);
  assert.match(kept[1]?.path ?? '', /\?a=%zz&b=1$/);
  const [last] = kept;
  const headers = Object.fromEntries(last?.headers ?? []);
  assert.deepEqual([headers.cookie, headers.authorization, last?.verdict, last?.address], [undefined, 'Bearer …', 'none', '127.0.0.1']);
  const { body } = await requireCall(db, seal, inbox, last?.seq ?? '');
  assert.equal(body.toString(), '<script>alert(1)</script>');
  const stored = Buffer.concat((await db<{ head: Buffer; body: Buffer }[]>`select head, body from inbox_call`).flatMap((row) => [row.head, row.body]));
  assert.ok(!stored.includes('alert') && !stored.includes(Buffer.from('alert(1)').toString('base64').slice(0, 8)), 'it is sealed');
});

test('an inbox answers as it was told', async () => {
  const inbox = await make('Told');
  for (const [answer, status] of [['500', 500], ['410', 410], ['slow', 200], ['200', 200]] as const) {
    await editInbox(db, { rp: 'reader', id: inbox.id, answer });
    const begun = performance.now();
    assert.equal((await fetch(at(inbox), { method: 'POST' })).status, status);
    if (answer === 'slow') assert.ok(performance.now() - begun >= slowMs - 5);
  }
  await editInbox(db, { rp: 'reader', id: inbox.id, answer: 'never' });
  await assert.rejects(fetch(at(inbox), { method: 'POST' }), /fetch failed/);
  assert.deepEqual((await callsOf(inbox)).map(({ answer }) => answer), ['never', '200', 'slow', '410', '500']);
});

test('so many are kept waiting at once in a process, and the others are told at once', async () => {
  const inbox = await make('Room', 'never');
  // On a slow machine the two are given up before the third comes.
  await until('a third finds no room', async () => {
    await db`delete from inbox_call`;
    const waiting = [0, 1].map(() => httpRequest(at(inbox), { method: 'POST' }).on('error', () => {}));
    for (const one of waiting) one.end();
    await until('two wait', async () => (await callsOf(inbox)).length === 2);
    const third = await fetch(at(inbox), { method: 'POST' }).catch(() => undefined);
    // Whoever goes away leaves room.
    for (const one of waiting) one.destroy();
    if (third) assert.deepEqual([third.status, third.headers.get('retry-after')], [503, '10']);
    return third !== undefined;
  });
  await editInbox(db, { rp: 'reader', id: inbox.id, answer: 'slow' });
  await until('there is room', async () => (await fetch(at(inbox), { method: 'POST' })).status === 200);
});

test('an inbox that never answers leaves room for those of others', async () => {
  const hold = createHold({ most: 3, mostOfOne: 2 });
  const longMs = 600_000;
  const stop = new AbortController();
  const { signal } = stop;
  const held = [hold('a', longMs, signal), hold('a', longMs, signal)];
  assert.equal(await hold('a', longMs, signal), false, 'of one inbox');
  held.push(hold('b', longMs, signal));
  assert.equal(await hold('c', longMs, signal), false, 'of all');
  stop.abort();
  assert.deepEqual(await Promise.all(held), [true, true, true]);
  assert.equal(await hold('c', 1, new AbortController().signal), true);
});

test('what is unknown is not there; a person is led to the page, after signing in', async () => {
  const inbox = await make('Person');
  const browser = { redirect: 'manual', headers: { accept: 'text/html,*/*;q=0.8' } } as const;
  const stranger = await fetch(at(inbox), browser);
  assert.deepEqual([stranger.status, stranger.headers.get('location')], [303, `/console/sign-in?to=${encodeURIComponent(`/console/inbox/${inbox.key}`)}`]);
  const viewer = await enter(service, 'viewer');
  const known = await viewer.get(`/console/inbox/${inbox.key}`);
  assert.deepEqual([known.status, known.location], [303, `/console/applications/reader/inboxes/${inbox.id}`]);
  assert.equal((await viewer.get(`/console/inbox/${'x'.repeat(43)}`)).status, 404);
  const half = await enter(service, 'viewer', 'half');
  await db`update console_session set proven = false where account = (select id from console_account where sign_in_name = 'half')`;
  const proving = `/console/second-factor?to=${encodeURIComponent(`/console/inbox/${inbox.key}`)}`;
  assert.equal((await half.get(`/console/inbox/${inbox.key}`)).location, proving, 'who has shown no second factor learns nothing');
  for (const key of ['x'.repeat(43), 'short', '%00', `${inbox.key}x`, inbox.key.toLowerCase() === inbox.key ? 'y' : inbox.key.toLowerCase()])
    assert.equal((await fetch(`${url}/console/inbox/${key}`, { method: 'POST' })).status, 404, key);
  const signed = await fetch(at(inbox), { ...browser, headers: { ...browser.headers, 'webhook-id': 'msg_1' } });
  assert.equal(signed.status, 200, 'what has a webhook-id is a call, whatever it accepts');
  assert.equal((await callsOf(inbox)).length, 1);
});

test('a flood fills nothing: so many a minute, of each so much, and of all the newest', async () => {
  const inbox = await make('Flood');
  const post = (body: string) => fetch(at(inbox), { method: 'POST', body });
  assert.equal((await post('x'.repeat(200_000))).status, 200);
  const [large] = await callsOf(inbox);
  assert.deepEqual([large?.bytes, (await requireCall(db, seal, inbox, large?.seq ?? '')).body.length], [200_000, inboxLimits.keptBytes]);
  assert.equal((await post('x'.repeat(2_000_000))).status, 413);
  // The minute may end meanwhile.
  await until('the last of a minute is taken, and no more', async () => {
    await db`update inbox set minute = date_trunc('minute', now()), minute_calls = ${inboxLimits.callsPerMinute - 1}`;
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('flood')));
    const refused = answers.filter(({ status }) => status === 429);
    for (const one of refused) assert.match(one.headers.get('retry-after') ?? '', /^\d{1,2}$/);
    return refused.length === 4;
  });
  await db`update inbox set minute_calls = 0`;
  for (let call = 0; call < inboxLimits.keptCalls; call += 1) assert.equal((await post('one of many')).status, 200);
  const full = (minute: string) =>
    db`update inbox set minute = date_trunc('minute', now()) + ${minute}::interval, minute_calls = ${inboxLimits.callsPerMinute}`;
  // One that was read just before the next minute began counts there.
  await full('1 minute');
  assert.equal((await post('too many')).status, 429);
  // The server's clock was put back.
  await full('1 hour');
  assert.equal((await post('back in time')).status, 200);
  await full('-1 hour');
  assert.equal((await post('the newest')).status, 200);
  const kept = await callsOf(inbox);
  assert.deepEqual([kept.length, (await requireCall(db, seal, inbox, kept[0]?.seq ?? '')).body.toString()], [inboxLimits.keptCalls, 'the newest']);
});

test('an application has a few inboxes, each with a name of its own', async () => {
  for (const name of ['1', '2', '3', '4', '5']) await make(name);
  await assert.rejects(make('6'), /has 5 inboxes, and no more/);
  await make('1', '200', 'other');
  await clear();
  const both = await Promise.allSettled([make('Same'), make('Same')]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  await assert.rejects(make(' '), /--name: 1 to 60/);
  await assert.rejects(make('x', '201'), /--answer "201": must be one of 200, 500, 410, slow, never/);
  await assert.rejects(make('x', '200', 'nobody'), /no application nobody/);
});

test('an inbox that is removed while it takes a call is unknown to the caller, on both ways', async () => {
  for (const way of ['outside', 'handed over'] as const) {
    const inbox = await make('Going');
    const handOver = createHandOver(db, seal, url, createOutbound([]));
    let answer: Promise<{ status: number | undefined }> | undefined;
    await db.begin(async (tx) => {
      await tx`lock table inbox_call in share mode`;
      answer = way === 'outside' ? fetch(at(inbox), { method: 'POST', body: 'x' })
        : handOver.call({ method: 'POST', url: at(inbox), headers: {}, body: Buffer.from('x') });
      await until('it is about to be added', async () => (await lockWaits(db, '%inbox_call%')).length > 0);
      await tx`delete from inbox where id = ${inbox.id}`;
    });
    assert.equal((await answer)?.status, 404, way);
    await handOver.close();
  }
});

test('a signature is right, old, ended, too old, wrong or none', async () => {
  const secrets = [0, 1, 2].map(() => `whsec_${randomBytes(32).toString('base64')}`);
  const [now = '', before = '', ended = ''] = secrets;
  const known = [{ text: now, valid: true }, { text: before, valid: true }, { text: ended, valid: false }];
  const body = Buffer.from('{"a":1}');
  const sign = (by: readonly string[], timestamp = 1_000_000) => ({
    'webhook-id': 'msg_1', 'webhook-timestamp': String(timestamp), 'webhook-signature': renderSignature('msg_1', timestamp, body, by),
  });
  const judge = (headers: Record<string, string>, seconds = 1_000_010) => judgeSignature({ headers, body, seconds }, known);
  assert.deepEqual(
    [judge(sign([now])), judge(sign([before, now])), judge(sign([before])), judge(sign([ended]))],
    ['right', 'right', 'old', 'ended'],
  );
  assert.deepEqual([judge(sign([now]), 1_000_301), judge(sign([now]), 999_699), judge(sign([now]), 1_000_300)], ['too-old', 'too-old', 'right']);
  assert.equal(judge(sign([`whsec_${randomBytes(32).toString('base64')}`])), 'wrong');
  assert.equal(judge({ ...sign([now]), 'webhook-id': 'msg_2' }), 'wrong');
  assert.equal(judge({ ...sign([now]), 'webhook-timestamp': 'soon' }), 'wrong');
  assert.equal(judge({ 'webhook-signature': 'v1,x' }), 'wrong');
  assert.equal(judge({ 'webhook-id': 'msg_1' }), 'none');
});

test('however many signatures a stranger gives, the body is gone through once for each secret', () => {
  const known = [{ text: `whsec_${randomBytes(32).toString('base64')}`, valid: true }];
  const body = Buffer.alloc(4 * 1024 * 1024);
  const measureOnce = (signatures: number) => {
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x '.repeat(signatures) };
    const begun = performance.now();
    assert.equal(judgeSignature({ headers, body, seconds: 1 }, known), 'wrong');
    return performance.now() - begun;
  };
  const measure = (signatures: number) => Math.min(...[0, 1, 2].map(() => measureOnce(signatures)));
  // Three thousand are to cost nothing near three thousand times as much as one.
  const [one, many] = [measure(1), measure(3_000)];
  assert.ok(many < one * 200, `${one} ms and ${many} ms`);
});

test('a call from outside that is signed is judged, by whichever secret, and its repeats are counted', async () => {
  const inbox = await make('Signed');
  const secret = client.signingSecret;
  const send = async (by: string, id: string) => {
    const [clock] = await db<{ seconds: number }[]>`select floor(extract(epoch from now()))::int as seconds`;
    const seconds = clock?.seconds ?? 0;
    const headers = { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': renderSignature(id, seconds, Buffer.from('x'), [by]) };
    await fetch(at(inbox), { method: 'POST', body: 'x', headers });
  };
  await send(secret, 'msg_a');
  const newer = await rotateApplicationSecret(db, seal, 'reader', 'signing');
  for (const by of [secret, newer, newer]) await send(by, 'msg_a');
  await send(other.signingSecret, 'msg_b');
  await db`update application_secret set valid_until = now() - interval '1 minute' where rp = 'reader' and kind = 'signing' and valid_until is not null`;
  await send(secret, 'msg_c');
  assert.deepEqual((await callsOf(inbox)).toReversed().map(({ verdict, repeats }) => [verdict, repeats]),
    [['right', 0], ['old', 1], ['right', 2], ['right', 3], ['wrong', 0], ['ended', 0]]);
});

const key = 'k'.repeat(43);

test('an address is one of ours exactly, or it is none', () => {
  const ours = (given: string, publicUrl = 'http://10.0.0.5:8080') => findInbox(publicUrl, given)?.key;
  for (const given of [`/${key}`, `/${key}?a=1`, `/${key}?`, `/${key}?x=/../..`]) assert.equal(ours(`http://10.0.0.5:8080/console/inbox${given}`), key, given);
  for (const given of [`HTTP://10.0.0.5:8080/console/inbox/${key}`, `http://10.0.0.5:8080/console/inbox/${key}#part`]) assert.equal(ours(given), key, given);
  assert.equal(ours(`https://bell.example/base/console/inbox/${key}`, 'https://bell.example/base'), key);
  assert.equal(ours(`https://bell.example./console/inbox/${key}`, 'https://bell.example'), undefined, 'another name');
  assert.equal(ours(`https://BELL.example:443/console/inbox/${key}`, 'https://bell.example'), key);
  for (const given of [
    `http://10.0.0.5:8080/console/inbox/${key}/`, `http://10.0.0.5:8080/console/inbox/${key}/../x`, `http://10.0.0.5:8080/console/inbox/../inbox/${key}`,
    `http://10.0.0.5:8080/console/inbox/%2e%2e/x`, `http://10.0.0.5:8080/console/inbox/${key}%2f..`, `http://10.0.0.5:8080/console/inbox%2f${key}`,
    `http://10.0.0.5:8080/console/inbox/%6b${'k'.repeat(42)}`, `http://10.0.0.5:8080//console/inbox/${key}`, `http://10.0.0.5:8080/Console/inbox/${key}`,
    `http://10.0.0.5:8081/console/inbox/${key}`, `http://10.0.0.5/console/inbox/${key}`, `https://10.0.0.5:8080/console/inbox/${key}`,
    `http://10.0.0.50:8080/console/inbox/${key}`, `http://a@10.0.0.5:8080/console/inbox/${key}`, `http://10.0.0.5:8080@evil.example/console/inbox/${key}`,
    `http://10.0.0.5:8080\\@evil.example/console/inbox/${key}`, `http://evil.example/http://10.0.0.5:8080/console/inbox/${key}`,
    `http://10.0.0.5:8080/console/inbox/${key}k`, `http://10.0.0.5:8080/console/inbox/`, `http://10.0.0.5:8080/console/inbox/${key};a`, 'nonsense',
    ` http://10.0.0.5:8080/console/inbox/${key}`, `http://10.0.0.5:8080/console/inbox/${key}\n`, `http://10.0.0.5:8080/x?/console/inbox/${key}`,
  ]) assert.equal(ours(given), undefined, given);
});

test('an application has its own inboxes called, though the service has a private address, and nothing else there', async () => {
  const [own, foreign] = [await make('Own'), await make('Foreign', '200', 'other')];
  const register = async (target: string) => {
    const answer = await client.s(school, 'Webhook', { method: 'POST', body: JSON.stringify({ url: target, DatabaseName: 'SchoolData', Method: 'POST' }) });
    return [answer.status, ((await answer.json()) as { ExceptionMessage: string | null }).ExceptionMessage] as const;
  };
  const noInbox = /has no such inbox; the console shows the address/;
  assert.equal((await register(`${at(own)}?via=webhook`))[0], 201);
  for (const [target, why] of [
    [at(foreign), noInbox], [inboxUrl(url, key), noInbox], [`${at(own)}/../x`, /loopback address/], [`${at(own)}/`, /loopback address/],
    [`${url}/console/inbox/%2e%2e/sign-in`, /loopback address/], [`${url}/healthz`, /loopback address/],
    [at(own).replace('//', '//me@'), /user name/], [at(own).replace(/:\d+\//, ':9999/'), /loopback address/],
  ] as const) {
    const [status, message] = await register(target);
    assert.equal(status, 400, target);
    assert.match(message ?? '', why, target);
  }
  const later = (target: string) => client.s(school, `Students?callbackUrl=${encodeURIComponent(target)}`);
  assert.deepEqual([(await later(at(own))).status, (await later(at(foreign))).status], [202, 400]);
  const marks = (target: string) => client.s(school, `School/${school}/Attendance`, {
    method: 'POST', body: JSON.stringify({ Marks: [{}], callback: [{ Url: target }] }),
  });
  assert.match(await (await marks(at(foreign))).text(), noInbox);
  assert.doesNotMatch(await (await marks(at(own))).text(), noInbox);
  const edit = (callbackUrl: string) =>
    editApplication({ db, seal, publicUrl: url, allowed: [] }, 'reader', { callbackUrl }, { name: 'admin', isDeveloper: false });
  await assert.rejects(edit(at(foreign)), noInbox);
  await edit(at(own));
});

test('what is sent to an inbox arrives there, signed, with the school secret, and nothing leaves the process', async () => {
  const inbox = await make('Arrives');
  await editApplication({ db, seal, publicUrl: url, allowed: [] }, 'reader', { callbackUrl: at(inbox) }, { name: 'admin', isDeveloper: false });
  await db`delete from outbox`;
  await service.work();
  try {
    await approve({ db, seal, publicUrl: url }, { estab: school, rp: 'reader', actor: 'operator' });
    await db.begin((tx) => enqueueOneOff(tx, { estab: school, rp: 'reader', event: 'writeback', url: `${at(inbox)}?TrackingId=1`, body: { a: 1 } }));
    await until('both are there', async () => (await callsOf(inbox)).length >= 2, () => db`select state, payload from outbox where kind = 'call'`);
    const calls = await callsOf(inbox);
    assert.ok(calls.every(({ verdict, address }) => verdict === 'right' && address === null), JSON.stringify(calls));
    const bodies = await Promise.all(calls.map(async ({ seq }) => (await requireCall(db, seal, inbox, seq)).body.toString()));
    const form = new URLSearchParams(bodies.find((body) => body.includes('schoolSecret')) ?? assert.fail(bodies.join(' ')));
    assert.match(form.get('schoolSecret') ?? '', /^sb_school_/);
    assert.ok(bodies.includes('{"a":1}'));
    await until('it is settled', async () => (await db`
      select from outbox o join outbox_attempt a on a.estab = o.estab and a.id = o.id
      where o.estab = ${school} and o.payload ->> 'event' = 'writeback' and o.state = 'done' and (a.detail ->> 'status')::int = 200`).length === 1);
  } finally {
    await service.rest();
  }
});

test('handed over, a call ends as one over the network does, and every other address is the guard’s', async () => {
  const inbox = await make('Handed');
  const receiver = await useReceiver();
  const asked: string[] = [];
  const guarded = createOutbound([]);
  const outbound: Outbound = { call: (one) => (asked.push(one.url), guarded.call(one)), close: () => guarded.close() };
  const handOver = createHandOver(db, seal, url, outbound, { slowMs: 50, neverMs: 100, most: 1, mostOfOne: 1 });
  const call = (target: string) => handOver.call({ method: 'POST', url: target, headers: { 'webhook-id': 'msg_1' }, body: Buffer.from('x') });
  try {
    for (const [answer, status] of [['200', 200], ['500', 500], ['410', 410], ['slow', 200]] as const) {
      await editInbox(db, { rp: 'reader', id: inbox.id, answer });
      const result = await call(at(inbox));
      assert.deepEqual([result.status, result.error, result.timings.total >= (answer === 'slow' ? 45 : 0)], [status, undefined, true]);
    }
    await editInbox(db, { rp: 'reader', id: inbox.id, answer: 'never' });
    // Whichever comes first waits; on a slow machine it is given up before the other comes.
    await until('one waits and the other finds no room', async () => {
      const both = await Promise.all([call(at(inbox)), call(at(inbox))]);
      const ended = both.map(({ status, error, headers }) => error?.class ?? `${status} ${headers['retry-after']}`).toSorted();
      assert.ok(ended.every((one) => one === 'timeout' || one === '503 10'), ended.join());
      return ended[0] === '503 10' && ended[1] === 'timeout';
    });
    const came = (await callsOf(inbox)).length;
    assert.deepEqual(asked, []);
    assert.equal((await call(inboxUrl(url, key))).status, 404);
    for (const target of [`${at(inbox)}/../x`, `${receiver.origin}/`, at(inbox).replace('127.0.0.1', 'localhost'), `${url}/console/inbox/..%2fx`]) {
      const { error } = await call(target);
      assert.equal(error?.class, 'blocked_address', target);
    }
    assert.deepEqual([asked.length, receiver.arrivals.length, (await callsOf(inbox)).length], [4, 0, came]);
    await removeInbox(db, 'reader', inbox.id);
    assert.equal((await call(at(inbox))).status, 404);
  } finally {
    await handOver.close();
  }
});

test('who is kept waiting holds up no end of the service, and has an answer before it', async () => {
  const inbox = await make('Ends', 'slow');
  const longMs = 600_000;
  const joined = await service.join({}, { holds: { slowMs: longMs, neverMs: longMs, most: 2, mostOfOne: 2 } });
  const waiting = fetch(inboxUrl(joined.url, inbox.key), { method: 'POST' });
  await until('it waits', async () => (await callsOf(inbox)).length === 1);
  await joined.app.close();
  assert.equal((await waiting).status, 200);
});
