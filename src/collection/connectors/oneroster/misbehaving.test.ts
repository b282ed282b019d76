// Covers providers that misbehave: whatever they do, the roster is whole or it is as it was, and the fault is said in
// words. Every pull is forced past the deletion guard, so that only the connector stands between a fault and the roster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSchool, fakeUser, useFakeProvider, type Asked, type Reply } from '../../../../test/fake-provider.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { useService } from '../../../../test/service.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound, type Outbound } from '../../../http/outbound.ts';
import { allResources, collections } from '../../../roster/collections.ts';
import { MisError } from '../../connector.ts';
import { importRoster } from '../../import.ts';
import { Problems } from '../../problem.ts';
import { createOneRosterConnector, pageLimits, type OneRosterParts } from './oneroster-connector.ts';

const { db, addSchool, dataDir } = await useService();
const fake = await useFakeProvider();
const allowed = parseAllowList(['127.0.0.0/8']);
const outbound = createOutbound(allowed, pageLimits);
const hasty = createOutbound(allowed, { ...pageLimits, totalMs: 1_500 });
test.after(() => Promise.all([outbound.close(), hasty.close()]));
/** For providers that never answer: the list that hangs is soon given up so many times, and everything else is waited for. */
const impatient = (tries: number): Outbound => ({
  call: (call) => (/\/users\?limit=10&/.test(call.url) && waits.length < tries ? hasty : outbound).call(call),
  close: async () => {},
});
let schools = 0;
let waits: number[] = [];

function connect(more: Partial<OneRosterParts> = {}) {
  const pause = async (ms: number) => void waits.push(ms);
  return createOneRosterConnector({
    url: fake.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state: {}, outbound, pause, pageSize: 10, ...more,
  });
}
const pull = (estab: string, more: Partial<OneRosterParts> = {}) =>
  importRoster(db, () => connect(more).openRoster({ full: true }), { estab, partial: false, force: true, dataDir, shrinkLimitPercent: 20 });

/** A school that has everything of the provider as it is when it behaves. */
async function newSchool(): Promise<string> {
  const estab = `F${(schools += 1)}`;
  await addSchool(estab);
  fake.behave();
  const report = await pull(estab);
  assert.deepEqual([report.outcome, report.added], ['done', 47], JSON.stringify(report.problems));
  waits = [];
  fake.asked = [];
  fake.logins = [];
  return estab;
}

async function contents(estab: string): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const table of ['roster', 'roster_version', ...allResources.map((resource) => resource.table)])
    tables[table] = [...(await db`select to_jsonb(t) as row from ${db(table)} t where estab = ${estab} order by to_jsonb(t)::text collate "C"`)];
  return tables;
}

type Misbehaviour = (asked: Asked, reply: Reply) => void;
const users = (change: (reply: Reply, asked: Asked) => void): Misbehaviour => (asked, reply) => void (asked.collection === 'users' && change(reply, asked));
const walked = (change: (reply: Reply, asked: Asked) => void) => users((reply, asked) => void (asked.limit > 1 && change(reply, asked)));
let switched = false;

type More = { status?: string; later?: boolean; waits?: number; walks?: number; by?: Outbound };
const faults: [name: string, misbehave: Misbehaviour, words: RegExp, more?: More][] = [
  ['truncates', users((reply, { offset }) => void (offset >= 10 && (reply.records = []))), /announced 30 users and delivered 10/],
  ['gives nothing at all', users((reply) => void (reply.records = [])), /announced 30 users and delivered 0/],
  ['has no page where there must be one', users((reply, { offset }) => void (offset >= 10 && (reply.status = 404))), /announced 30 users and delivered 10/],
  ['repeats a record on another page', users((reply, { offset }) => void (offset === 10 && (reply.records[0] = fakeUser(3)))), /"u00003" of users twice/],
  ['repeats a record on one page', users((reply) => void (reply.records[1] &&= reply.records[0] ?? {})), /"u00000" of users twice/],
  ['repeats a page', users((reply, { offset }) => void (offset === 20 && (reply.records = fakeSchool().users?.slice(10, 20) ?? []))), /of users twice/],
  [
    'orders each page in its own way',
    users(
      (reply, { offset, limit }) =>
        void (
          offset === 10 &&
          (reply.records =
            fakeSchool()
              .users?.toReversed()
              .slice(offset + 10, offset + 10 + limit) ?? [])
        ),
    ),
    /of users twice/,
  ],
  ['announces one too many', users((reply) => void (reply.total = 31)), /announced 31 users and delivered 30/],
  ['announces one too few', users((reply) => void (reply.total = 29)), /announced 29 users and delivered 30/],
  ['announces too few, at the end of a page', users((reply) => void (reply.total = 20)), /announced 20 users and delivers more/],
  ['announces none', users((reply) => void (reply.total = 0)), /announced 0 users and delivered 10/],
  ['announces no number', users((reply) => void (reply.total = Number.NaN)), /announced "NaN" users/],
  [
    'announces another total on every page',
    users((reply, { offset }) => void (reply.total = 30 + offset)),
    /changed while it was read: it announced 30 users, and then 40/,
    { walks: 3 },
  ],
  ['stops to announce', walked((reply) => void (reply.total = undefined)), /changed while it was read: it announced no number/],
  [
    'answers in HTML',
    users((reply) => Object.assign(reply, { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } })),
    /answer for users is not JSON \(text\/html, 20 bytes\)/,
  ],
  ['answers with half a document', walked((reply) => void (reply.body = '{"users":[{"sourcedId":"u0000')), /answer for users is not JSON/],
  [
    'answers in another encoding',
    walked((reply) => void (reply.body = Buffer.from('{"users":[{"sourcedId":"\u00e9"}]}', 'latin1'))),
    /answer for users is not JSON/,
  ],
  ['answers without the key', users((reply) => void (reply.body = { students: reply.records })), /no list of records under "users"/],
  ['answers with an object for a list', users((reply) => void (reply.body = { users: {} })), /no list of records under "users"/],
  ['answers with null for a record', users((reply) => void (reply.body = { users: [null] })), /no list of records under "users"/],
  ['answers 401 for ever', (_, reply) => void (reply.status = 401), /not let this client id read orgs \(401\)/, { later: false }],
  ['refuses users', users((reply) => void (reply.status = 403)), /not let this client id read users \(403\).*Ask the provider/, { later: false }],
  ['has no users', users((reply) => void (reply.status = 404)), /no users at http.*Check its address/, { later: false }],
  [
    'has moved',
    (_, reply) => Object.assign(reply, { status: 301, headers: { location: 'https://new.example/' } }),
    /moved orgs \(301\) to https:\/\/new\.example/,
    { later: false },
  ],
  [
    'fails a rule of its own',
    users((reply) => Object.assign(reply, { status: 400, body: 'limit is too\r\nlarge' })),
    /refused to give users \(400\): limit is too large/,
  ],
  [
    'repeats the token that it refuses',
    users((reply) => Object.assign(reply, { status: 400, body: '{"headers":{"authorization":"Bearer ab.c-d_e=="}}' })),
    /refused to give users \(400\): {"headers":{"authorization":"Bearer …"}}$/,
  ],
  ['is out of order for ever', users((reply) => void (reply.status = 503)), /out of order at present \(503\); it was tried 4 times/, { waits: 3 }],
  ['is too busy for ever', users((reply) => void (reply.status = 429)), /called less often \(429\)/, { waits: 3 }],
  ['drops the connection in the middle', walked((reply) => void (reply.end = 'broken')), /broke off in the middle of an answer/, { waits: 3 }],
  [
    'hangs',
    walked((reply) => void (reply.end = 'never')),
    /did not answer in time \(no complete answer within 1\.5 s\)/,
    { status: 'Timeout', waits: 3, by: impatient(4) },
  ],
];
for (const [name, misbehave, words, { status = 'Error', later = true, waits: pauses = 0, walks, by = outbound } = {}] of faults) {
  test(`a provider that ${name} changes nothing, and it is said`, async () => {
    const estab = await newSchool();
    const before = await contents(estab);
    // Something to merge, so that a fault that goes unnoticed shows.
    fake.data.orgs = [{ ...fake.data.orgs?.[0], name: 'Another name' }];
    fake.misbehave = misbehave;
    await assert.rejects(
      pull(estab, { outbound: by }),
      (error) =>
        error instanceof MisError &&
        words.test(error.message) &&
        assert.deepEqual([error.status, error.later, waits.length], [status, later, pauses]) === undefined,
    );
    assert.deepEqual(await contents(estab), before);
    if (walks !== undefined)
      assert.equal(fake.asked.filter(({ collection, limit, offset }) => collection === 'users' && limit > 1 && offset === 0).length, walks);
  });
}

/** Each passes by itself: the pull ends well, with everything. */
const hiccups: [name: string, misbehave: Misbehaviour, pauses: [number, number][], by?: Outbound][] = [
  ['clamps the limit to 7', (_, reply) => void (reply.records = reply.records.slice(0, 7)), []],
  [
    'orders its records in its own way',
    users(
      (reply, { offset, limit }) =>
        void (reply.records =
          fakeSchool()
            .users?.toReversed()
            .slice(offset, offset + limit) ?? []),
    ),
    [],
  ],
  ['has no page behind the last record', (_, reply) => void (reply.records.length === 0 && (reply.status = 400)), []],
  ['answers 401 once', users((reply, { authorization }) => void (authorization === 'Bearer token1' && (reply.status = 401))), []],
  [
    'is busy for seven seconds',
    users((reply, { offset }) => void (offset === 10 && waits.length < 1 && Object.assign(reply, { status: 429, headers: { 'retry-after': '7' } }))),
    [[7000, 7000]],
  ],
  [
    'asks for an hour',
    users((reply, { offset }) => void (offset === 10 && waits.length < 1 && Object.assign(reply, { status: 503, headers: { 'retry-after': '3600' } }))),
    [[60_000, 60_000]],
  ],
  [
    'is out of order three times',
    users((reply) => void (waits.length < 3 && (reply.status = 503))),
    [
      [800, 1200],
      [4000, 6000],
      [12_000, 18_000],
    ],
  ],
  ['drops the connection once', walked((reply) => void (waits.length < 1 && (reply.end = 'broken'))), [[800, 1200]]],
  ['hangs once', walked((reply) => void (waits.length < 1 && (reply.end = 'never'))), [[800, 1200]], impatient(1)],
  ['refuses demographics', (asked, reply) => void (asked.collection === 'demographics' && (reply.status = 403)), []],
  [
    'has no demographics, in words',
    (asked, reply) => void (asked.collection === 'demographics' && Object.assign(reply, { status: 400, headers: { 'content-type': 'text/plain' } })),
    [],
  ],
  [
    'changes its total once',
    users((reply, { offset }) => {
      if (offset === 10 && !switched) [switched, reply.total] = [true, 29];
    }),
    [],
  ],
];
for (const [name, misbehave, pauses, by = outbound] of hiccups) {
  test(`a provider that ${name} is read to the end`, async () => {
    const estab = await newSchool();
    fake.data.orgs = [{ ...fake.data.orgs?.[0], name: 'Another name' }];
    fake.misbehave = misbehave;
    switched = false;
    const { outcome, added, changed, removed, collections: counts } = await pull(estab, { outbound: by });
    assert.deepEqual([outcome, added, changed, removed], ['done', 0, 1, 0]);
    assert.equal(counts.users?.unchanged, 30);
    assert.equal(waits.length, pauses.length);
    for (const [at, [least, most]] of pauses.entries()) assert.ok((waits[at] ?? 0) >= least && (waits[at] ?? 0) <= most, `pause ${at}: ${waits[at]}`);
  });
}

test('a provider that announces no total is read, and nothing is removed for being absent', async () => {
  const estab = await newSchool();
  fake.data = { ...fakeSchool(8), enrollments: fakeSchool().enrollments?.map((one, at) => (at === 1 ? { ...one, status: 'inactive' } : one)) };
  fake.misbehave = (_, reply) => void (reply.total = undefined);
  const { outcome, changed, removed, collections: counts } = await pull(estab, { pageSize: 3 });
  assert.deepEqual([outcome, changed, removed], ['done', 0, 1]);
  assert.deepEqual([counts.users?.mode, counts.users?.unchanged, counts.enrollments?.removed], ['delta', 8, 1]);
  fake.misbehave = () => {};
  fake.data.enrollments = fake.data.enrollments?.slice(0, 8);
  const counted = await pull(estab);
  assert.deepEqual([counted.outcome, counted.collections.users?.removed], ['done', 22], 'with a total the absent are removed');
});

test('a total that changes once much was handed over ends the reading, and nothing is handed over twice', async () => {
  fake.behave();
  fake.data = fakeSchool(30_000);
  fake.misbehave = walked((reply, { offset }) => void (offset === 25_000 && (reply.total = 29_999)));
  const reading = await connect({ pageSize: 5000 }).openRoster({ full: true });
  const handedOver: string[] = [];
  const read = async () => {
    for await (const batch of reading.collections.find(({ resource }) => resource === collections.users)?.read(new Problems(), noRoster) ?? [])
      handedOver.push(...batch.rows.map((row) => row.sourcedId));
  };
  await assert.rejects(read, (error) => error instanceof MisError && error.later && /changed while it was read/.test(error.message));
  assert.equal(new Set(handedOver).size, handedOver.length);
  assert.equal(handedOver.length, 25_000);
  assert.deepEqual([reading.totalBytes, reading.bytesRead()], [100 * 30_017, 100 * 25_000]);
});

test('faults of records are named, and the pull is refused', async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  fake.misbehave = users((reply, { offset }) => void (offset === 10 && (reply.records[2] = { ...fakeUser(12), role: 'pupil' })));
  const report = await pull(estab);
  assert.equal(report.outcome, 'refused');
  assert.deepEqual({ ...report.problems[0], rule: '' }, { file: 'users', line: 13, column: 'role', value: 'pupil', rule: '' });
  assert.deepEqual(await contents(estab), before);
});

test('an address that may not be called, and one where nobody answers', async () => {
  const estab = await newSchool();
  const guarded = createOutbound([], pageLimits);
  await assert.rejects(
    pull(estab, { outbound: guarded }),
    (error) => error instanceof MisError && !error.later && /may not be called.*loopback/.test(error.message),
  );
  await assert.rejects(
    pull(estab, { url: 'ftp://host/' }),
    (error) => error instanceof MisError && !error.later && /may not be called.*http/.test(error.message),
  );
  await guarded.close();
  assert.equal(waits.length, 0);
  fake.stop();
  await assert.rejects(
    pull(estab),
    (error) => error instanceof MisError && error.later && error.status === 'Error' && /could not be reached/.test(error.message),
  );
  assert.equal(waits.length, 3);
});
