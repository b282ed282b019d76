// Covers readings of changes: when they are asked for, with which filter, what is remembered for the next one, and
// when everything is read instead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSchool, fakeUser, useFakeProvider, type Reply } from '../../../../test/fake-provider.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound } from '../../../http/outbound.ts';
import { Problems } from '../../problem.ts';
import { createOneRosterConnector, pageLimits } from './oneroster-connector.ts';
import { scopesToAsk } from './scopes.ts';

const fake = await useFakeProvider();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pageLimits);
test.after(() => outbound.close());
test.beforeEach(() => fake.behave());

const day = 24 * 60 * 60 * 1000;
const noon = Date.parse('2026-09-10T12:00:00.000Z');
const clock = (at: number) => (_: unknown, reply: Reply) => void (reply.headers.date = new Date(at).toUTCString());
const known = { since: '2026-09-01T08:00:00.000Z', fullAt: '2026-09-09T12:00:00.000Z', deltas: true };

async function read(state: Record<string, unknown>, { full = false, now = noon } = {}) {
  fake.asked = [];
  const reading = await createOneRosterConnector({
    url: fake.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state, outbound, now: () => now, pause: async () => {},
  }).openRoster({ full });
  const rows: string[] = [];
  for (const { read } of reading.collections) for await (const batch of read(new Problems(), noRoster)) rows.push(...batch.rows.map((row) => row.sourcedId));
  return {
    rows, modes: new Set(reading.collections.map(({ mode }) => mode)), filters: new Set(fake.asked.map(({ filter }) => filter)),
    state: reading.state?.(),
  };
}
/** What else a reading leaves. */
const provider = () => ({
  tokenUrl: `${fake.url}/token`, scope: scopesToAsk('1.1', undefined)[0], by: 'basic', found: { url: fake.url, version: '1.1', tokenUrl: undefined },
});
const changedAt = (at: number, dateLastModified: string) => ({ ...fakeUser(at), dateLastModified });

test('the first reading is a full one and leaves the newest date; the next asks for what changed from then on', async () => {
  fake.misbehave = clock(noon);
  fake.data.users?.push(changedAt(40, '2026-09-02T10:00:00.000+02:00'));
  const first = await read({});
  assert.deepEqual([first.rows.length, [...first.modes], [...first.filters]], [48, ['bulk'], [null]]);
  assert.deepEqual(first.state, { since: '2026-09-02T10:00:00.000+02:00', fullAt: '2026-09-10T12:00:00.000Z', deltas: true, ...provider() });

  fake.data.users?.push(changedAt(41, '2026-09-03T08:00:00Z'), { ...changedAt(42, '2026-09-02T23:00:00Z'), status: 'tobedeleted' });
  const second = await read(first.state ?? {}, { now: noon + day });
  assert.deepEqual([second.rows, [...second.modes]], [['u00040', 'u00041', 'u00042'], ['delta']]);
  assert.deepEqual([...second.filters], ["dateLastModified>='2026-09-02T10:00:00.000+02:00'"]);
  assert.ok(
    fake.asked.every(({ query }) => query.endsWith('&sort=sourcedId&orderBy=asc&filter=dateLastModified%3E%3D%272026-09-02T10%3A00%3A00.000%2B02%3A00%27')),
  );
  assert.deepEqual(second.state, { ...first.state, since: '2026-09-03T08:00:00Z' });
});

test('dates are compared as instants, and the next reading never begins before the last', async () => {
  fake.misbehave = clock(noon);
  fake.data.users = [changedAt(1, '2026-09-05T01:00:00+02:00'), changedAt(2, '2026-09-04T23:30:00Z'), changedAt(3, '2026-09-05T00:00:00+01:00')];
  assert.equal((await read({})).state?.since, '2026-09-04T23:30:00Z');
  assert.equal((await read({ ...known, since: '2026-09-08T00:00:00Z' })).state?.since, '2026-09-08T00:00:00Z');
  assert.equal((await read({ ...known, since: '2026-09-08T00:00:00Z' }, { full: true })).state?.since, '2026-09-08T00:00:00Z');
});

test('what changes during a reading is asked for again, since it may have been read before it changed', async () => {
  fake.misbehave = clock(noon);
  fake.data.users?.push(changedAt(40, '2026-09-10T12:00:07.123Z'), changedAt(41, '2026-09-10T12:00:03.000Z'));
  assert.equal((await read({})).state?.since, '2026-09-10T12:00:00.000Z');
});

test('everything is read when it is asked for, when it was long ago, and when nothing is known', async () => {
  const full: [Record<string, unknown>, { full?: boolean; now?: number }?][] = [
    [{}], [known, { full: true }], [known, { now: Date.parse(known.fullAt) + 7 * day }], [{ ...known, fullAt: undefined }], [{ ...known, since: undefined }],
    [{ ...known, since: "x' or status='active" }], [{ ...known, fullAt: 'long ago' }], [{ ...known, deltas: false }],
  ];
  for (const [state, how] of full) {
    const { modes, filters } = await read(state, how);
    assert.deepEqual([[...modes], [...filters]], [['bulk'], [null]], JSON.stringify([state, how]));
  }
  assert.deepEqual([...(await read(known, { now: Date.parse(known.fullAt) + 7 * day - 1 })).modes], ['delta']);
});

test('a provider that refuses the filter is read in full, and not asked for changes again until everything was wanted', async () => {
  fake.misbehave = ({ filter, collection }, reply) => void (filter !== null && collection === 'courses' && (reply.status = 400));
  const refused = await read(known);
  assert.deepEqual([refused.rows.length, [...refused.modes], refused.state?.deltas, refused.state?.fullAt], [47, ['bulk'], false, '2026-09-10T12:00:00.000Z']);
  const next = await read(refused.state ?? {});
  assert.deepEqual([[...next.filters], next.state?.deltas], [[null], false]);
  assert.equal((await read(next.state ?? {}, { full: true })).state?.deltas, true);
});

test('without a date in every record there are no changes to ask for', async () => {
  for (const dateLastModified of [undefined, null, '', 'yesterday', 1_788_000_000]) {
    fake.data.enrollments = fakeSchool().enrollments?.map((one, at) => (at === 3 ? { ...one, dateLastModified } : one));
    const { state } = await read({});
    assert.deepEqual([state?.since, state?.deltas], [undefined, false]);
  }
});

test('changes without a single record leave the state as it was', async () => {
  fake.misbehave = clock(noon);
  const { rows, state } = await read({ ...known, since: '2026-09-08T00:00:00Z' });
  assert.deepEqual([rows, state], [[], { ...known, since: '2026-09-08T00:00:00Z', ...provider() }]);
});
