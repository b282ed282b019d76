// Covers how the client calls: one token for all who ask, obtained again when it ends or is refused; what is tried again, for how
// long, and what never is; and that every wait can be ended.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useService } from '../../test/service.ts';
import { createClient, SchoolbellError, type ClientOptions, type Roster } from './index.ts';
import { backoffMs, parseRetryAfter, sleep } from './retry.ts';

let clock = Date.now();
const service = await useService({ RATE_LIMIT_PER_MINUTE: '5' }, { now: () => clock });
await service.addSchool('N1', join(import.meta.dirname, '../../test/fixtures/small-school'));
let applications = 0;

/** More than any of these needs: what would go on for ever fails here. */
const mostCalls = 200;

type Sent = { path: string; token: string };
type Fetch = NonNullable<ClientOptions['fetch']>;

/** An application of its own, so that limits do not meet; `between` may answer in place of the service. */
async function openRosters(between: (sent: Sent, go: () => Promise<Response>, init: RequestInit) => Promise<Response> = (_, go) => go()) {
  const rp = `app${(applications += 1)}`;
  const given = await service.addClient(rp, ['N1']);
  const sent: Sent[] = [];
  const pauses: number[] = [];
  const fetching: Fetch = (url, init) => {
    const one = { path: new URL(url).pathname, token: (init.headers as Record<string, string>).authorization ?? '' };
    sent.push(one);
    assert.ok(sent.length <= mostCalls, 'it calls without end');
    return between(one, () => fetch(url, init), init);
  };
  const client = createClient({
    url: `${service.url}/`, rp, fetch: fetching, now: () => clock,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      pauses.push(ms);
      assert.ok(pauses.length <= mostCalls, 'it waits without end');
      clock += ms;
    },
  });
  const rosters: Roster[] = [client.roster(given), client.school({ estab: 'N1', secret: given.schoolSecrets.N1 ?? '' }).roster];
  return { rp, given, client, rosters, sent, pauses, tokens: () => sent.filter(({ path }) => path.endsWith('/token')).length };
}

const isToken = ({ path }: Sent) => path.endsWith('/token');
const count = ({ raw }: Roster, signal?: AbortSignal) => raw.count('users', { signal });

test('one token serves all who ask at once, until it is about to end', async () => {
  for (const variant of [0, 1]) {
    const { rosters, tokens, sent } = await openRosters();
    const roster = rosters[variant] as Roster;
    await Promise.all(Array.from({ length: 4 }, () => count(roster)));
    assert.equal(tokens(), 1);
    clock += 3600_000 - 61_000;
    await count(roster);
    assert.equal(tokens(), 1, 'it is used for as long as it is good');
    clock += 2_000;
    await Promise.all([count(roster), count(roster)]);
    assert.equal(tokens(), 2, 'and not on its last minute');
    assert.equal(sent.length, 9);
  }
});

test('a school that is asked for again goes on with its token, and another secret has its own', async () => {
  const { client, given, tokens } = await openRosters();
  const at = (secret = given.schoolSecrets.N1 ?? '') => client.school({ secret, estab: 'N1' }).roster;
  await count(at());
  await count(client.school({ estab: 'N1', secret: given.schoolSecrets.N1 ?? '' }).roster);
  assert.equal(tokens(), 1);
  await assert.rejects(count(at('sb_school_wrong')), { code: 'invalid_client' });
  assert.equal(tokens(), 2);
});

test('a token that fails to come is asked for again by the next', async () => {
  const { rosters, tokens } = await openRosters((one, go) => (isToken(one) && tokens() === 1 ? Promise.resolve(new Response('{', { status: 200 })) : go()));
  await assert.rejects(count(rosters[1] as Roster), { code: 'unreadable' });
  assert.equal((await count(rosters[1] as Roster)).total, 12);
});

test('a refused token is renewed once, as each variant refuses it: 401; 400, or 403 without any', async () => {
  const bad = { wrong: 'Bearer of.no.token', none: undefined };
  for (const [variant, how, status] of [[0, 'wrong', 400], [0, 'none', 403], [1, 'wrong', 401], [1, 'none', 401]] as const) {
    let spoil = 1;
    const statuses: number[] = [];
    const { rosters, tokens, sent } = await openRosters(async (one, go, init) => {
      if (isToken(one)) return go();
      const headers = init.headers as Record<string, string>;
      if (spoil-- > 0) {
        if (bad[how] === undefined) delete headers.authorization;
        else headers.authorization = bad[how];
      }
      const answer = await go();
      statuses.push(answer.status);
      return answer;
    });
    assert.equal((await count(rosters[variant] as Roster)).total, 12);
    assert.deepEqual([statuses, tokens(), sent.length], [[status, 200], 2, 4]);
    spoil = 5;
    await assert.rejects(count(rosters[variant] as Roster), { name: 'SchoolbellError', status });
    assert.equal(spoil, 3, 'once, and no more');
  }
});

test('what is wrong with the credential is said as it is', async () => {
  const { rp, client } = await openRosters();
  const wrong = client.school({ estab: 'N1', secret: 'sb_school_wrong' }).roster;
  await assert.rejects(count(wrong), { status: 401, code: 'invalid_client', name: 'SchoolbellError' });
  await assert.rejects(count(client.roster({ clientId: rp, clientSecret: 'no' })), { status: 401, code: 'invalid_client' });
  assert.throws(() => createClient({ url: 'schoolbell.example', rp }), { code: 'invalid_request', message: /must begin with https/ });
});

test('a revoked authorisation is refused without asking for another token', async () => {
  const { rp, rosters, tokens } = await openRosters();
  await count(rosters[1] as Roster);
  await service.db`update authorisation set state = 'Paused' where estab = 'N1' and rp = ${rp}`;
  await assert.rejects(count(rosters[1] as Roster), (error) => {
    assert.ok(error instanceof SchoolbellError);
    assert.deepEqual([error.status, tokens()], [403, 1]);
    return true;
  });
});

test('the limit of requests is waited for, as long as it says', async () => {
  for (const variant of [0, 1]) {
    clock = Math.ceil(clock / 60_000) * 60_000 + 10_000;
    const { rosters, pauses } = await openRosters();
    for (let at = 0; at < 7; at += 1) assert.equal((await count(rosters[variant] as Roster)).total, 12);
    assert.equal(pauses.length, 1);
    assert.ok((pauses[0] ?? 0) > 40_000 && (pauses[0] ?? 0) <= 50_000, String(pauses[0]));
  }
});

test('no wait is longer than allowed: who would wait longer is told when to come again', async () => {
  for (const [variant, status, seconds, expected] of [[1, 429, 121, 0], [1, 503, 50, 2], [0, 503, 50, 2], [0, 400, 50, 2]] as const) {
    const busy = () => Promise.resolve(new Response('busy', { status, headers: { 'retry-after': String(seconds) } }));
    const { rosters, pauses, tokens } = await openRosters((one, go) => (isToken(one) ? go() : busy()));
    await assert.rejects(count(rosters[variant] as Roster), { status, retryAfterMs: seconds * 1000, code: `http_${status}` });
    assert.deepEqual([pauses.length, tokens()], [expected, 1], 'a busy service has not refused the token');
  }
});

test('a busy service is asked again: 503, and in variant A 400 with a Retry-After, in seconds or as a date', async () => {
  for (const [variant, status] of [[0, 400], [0, 503], [1, 503]] as const) {
    let busy = 2;
    const { rosters, pauses, tokens } = await openRosters(async (one, go) => {
      if (isToken(one) || busy-- <= 0) return go();
      return new Response('busy', { status, headers: { 'retry-after': busy === 1 ? '7' : new Date(clock + 9_000).toUTCString() } });
    });
    assert.equal((await count(rosters[variant] as Roster)).total, 12);
    assert.equal(tokens(), 1);
    assert.equal(pauses[0], 7_000);
    assert.ok((pauses[1] ?? 0) > 7_900 && (pauses[1] ?? 0) <= 9_000);
  }
});

test('a token is asked for again while the service is busy, in the form of each variant', async () => {
  for (const [variant, status] of [[0, 400], [1, 503]] as const) {
    let busy = 1;
    const { rosters, pauses } = await openRosters((one, go) =>
      isToken(one) && busy-- > 0 ? Promise.resolve(new Response('busy', { status, headers: { 'retry-after': '5' } })) : go());
    assert.equal((await count(rosters[variant] as Roster)).total, 12);
    assert.deepEqual(pauses, [5_000]);
  }
});

test('without an answer what only reads is tried four times; gateways that found nobody count the same', async () => {
  const fails = { network: () => Promise.reject(new TypeError('fetch failed')), http_502: () => Promise.resolve(new Response('', { status: 502 })) };
  for (const [code, fail] of Object.entries(fails)) {
    let faults = 3;
    const { rosters, pauses, sent } = await openRosters((one, go) => (isToken(one) || faults-- <= 0 ? go() : fail()));
    assert.equal((await count(rosters[1] as Roster)).total, 12);
    assert.equal(pauses.length, 3);
    faults = 100;
    sent.length = 0;
    await assert.rejects(count(rosters[1] as Roster), { code });
    assert.equal(sent.length, 4);
  }
});

test('pauses grow, are spread and stay below ten seconds; what is no Retry-After is none', () => {
  assert.deepEqual([1, 2, 3, 9].map((tries) => backoffMs(tries, () => 1)), [250, 500, 1000, 10_000]);
  assert.deepEqual([1, 2].map((tries) => backoffMs(tries, () => 0)), [125, 250]);
  const now = Date.parse('2026-11-16T12:00:00Z');
  const cases = [
    ['0', 0], [' 12 ', 12_000], ['Mon, 16 Nov 2026 12:00:30 GMT', 30_000], ['Mon, 16 Nov 2026 11:00:00 GMT', 0], ['soon', undefined], ['-1x', undefined],
  ] as const;
  for (const [value, expected] of cases) assert.equal(parseRetryAfter(value, now), expected, value);
  assert.equal(parseRetryAfter(null, now), undefined);
});

test('an answer that breaks off in its middle is no answer', async () => {
  let whole = false;
  const server = createServer((request, response) => {
    if (request.url?.includes('token')) return void response.end(JSON.stringify({ access_token: 't', expires_in: 3600 }));
    response.writeHead(200, { 'x-total-count': '1', 'x-roster-version': '1-aaaaaaaa', 'content-type': 'application/json' });
    const text = '{"users":[{"sourcedId":"a"}]}';
    if (whole) return void response.end(text);
    whole = true;
    response.write(text.slice(0, 10), () => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  const { roster } = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, rp: 'x' }).school({ estab: 'y', secret: 'z' });
  assert.deepEqual((await roster.pages('users').next()).value?.records, [{ sourcedId: 'a' }], 'it is asked for again');
});

test('every wait can be ended: for a token, for an answer, between tries; and by itself', async () => {
  const never = createServer(() => {}).listen(0, '127.0.0.1');
  await once(never, 'listening');
  after(() => {
    never.closeAllConnections();
    never.close();
  });
  const url = `http://127.0.0.1:${(never.address() as AddressInfo).port}`;
  const silent = createClient({ url, rp: 'x', timeoutMs: 50, tries: 2, sleep: () => Promise.resolve() }).school({ estab: 'y', secret: 'z' }).roster;
  await assert.rejects(count(silent), { code: 'timeout', status: undefined, message: /took longer than 50 ms/ });

  const reason = new Error('changed my mind');
  const patient = createClient({ url, rp: 'x' }).school({ estab: 'y', secret: 'z' }).roster;
  await assert.rejects(count(patient, AbortSignal.abort(reason)), reason);
  const waiting = new AbortController();
  const asked = once(never, 'request');
  const counted = count(patient, waiting.signal);
  await asked;
  waiting.abort(reason);
  await assert.rejects(counted, reason);

  const leaving = new AbortController();
  const { rosters } = await openRosters((one, go) => {
    if (isToken(one)) return go();
    leaving.abort(reason);
    return Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '60' } }));
  });
  await assert.rejects(count(rosters[1] as Roster, leaving.signal), reason);
});

test('what is abandoned before it begins asks for nothing, and a token that nobody waits for any more is given up', async () => {
  const asked: AbortSignal[] = [];
  const { rosters } = await openRosters((one, go, { signal }) => {
    if (!isToken(one) || asked.length > 1) return go();
    asked.push(signal as AbortSignal);
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
  });
  const roster = rosters[1] as Roster;
  const reason = new Error('changed my mind');
  await assert.rejects(count(roster, AbortSignal.abort(reason)), reason);
  assert.equal(asked.length, 0);
  for (const round of [1, 2]) {
    const [first, second] = [new AbortController(), new AbortController()];
    const counted = [first, second].map(({ signal }) => count(roster, signal));
    first.abort(reason);
    await assert.rejects(counted[0] as Promise<unknown>, reason);
    assert.deepEqual([asked.length, asked.at(-1)?.aborted], [round, false], 'another still waits');
    second.abort(reason);
    await assert.rejects(counted[1] as Promise<unknown>, reason);
    assert.equal(asked.at(-1)?.aborted, true);
  }
  assert.equal((await count(roster)).total, 12, 'and the next asks anew');
});

test('limits longer than a timer can hold are no limits', async () => {
  const { given, rp } = await openRosters();
  const patient = createClient({ url: service.url, rp, timeoutMs: Infinity, now: () => clock });
  assert.equal((await count(patient.roster(given))).total, 12);
  const leaving = new AbortController();
  const slept = sleep(2 ** 40, leaving.signal).then(() => 'woke up', () => 'left');
  // A timer that goes off at once would have done so before this one.
  await new Promise((resolve) => setTimeout(resolve, 20));
  leaving.abort();
  assert.equal(await slept, 'left');
});

test('why there is no answer is said, also where every address of a name failed', async () => {
  const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
  const { rosters } = await openRosters((one, go) => (isToken(one) ? go() : Promise.reject(new TypeError('fetch failed', { cause }))));
  await assert.rejects(count(rosters[1] as Roster), { code: 'network', message: /fetch failed \(ECONNREFUSED\)/ });
});

test('credentials of long ago are forgotten, those in use are not', () => {
  const client = createClient({ url: 'https://schoolbell.example', rp: 'x' });
  const at = (secret: number) => client.school({ estab: '1', secret: String(secret) });
  const [first, used] = [at(-1), at(-2)];
  for (let secret = 0; secret < 10_000; secret += 1) {
    at(secret);
    assert.equal(at(-2), used);
  }
  assert.notEqual(at(-1), first);
});

test('no token follows a redirect to who knows where', async () => {
  let followed = 0;
  const elsewhere = createServer((_, response) => {
    followed += 1;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  const to = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
  const moved = createServer((request, response) => {
    if (request.url?.includes('token')) response.end(JSON.stringify({ access_token: 't', expires_in: 3600 }));
    else response.writeHead(302, { location: to }).end();
  }).listen(0, '127.0.0.1');
  await once(moved, 'listening');
  after(() => [elsewhere, moved].forEach((server) => server.close()));
  const { roster } = createClient({ url: `http://127.0.0.1:${(moved.address() as AddressInfo).port}`, rp: 'x' }).school({ estab: 'y', secret: 'z' });
  await assert.rejects(count(roster), { status: 302, code: 'http_302', message: new RegExp(`redirect to ${to}, which is not followed`) });
  assert.equal(followed, 0);
});
