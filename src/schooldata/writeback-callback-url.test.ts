// A writeback accepts a callbackUrl in the query as one more callback beside those in the body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { mark, useWriteback } from '../../test/writeback.ts';

const { addSchool } = await useWriteback();
const receiver = await useReceiver();
const told = (trackingId: string) => receiver.arrivals.filter(({ url }) => url.includes(trackingId)).map(({ url }) => url.split(trackingId)[0]).toSorted();
const inQuery = (path: string) => `?callbackUrl=${encodeURIComponent(receiver.origin + path)}`;

test('it is called with the outcome, alone and beside a callback in the body', async () => {
  const school = await addSchool();
  const alone = await school.post([mark(0, '/')], { query: inQuery('/q?a=1&b=2') });
  assert.equal(alone.status, 202);
  await until('the outcome', () => told(alone.TrackingId).length === 1);
  assert.deepEqual(told(alone.TrackingId), ['/q?a=1&b=2&trackingid=']);
  const both = await school.post([mark(1, '/')], { query: inQuery('/q'), callback: [{ Method: 'POST', Url: `${receiver.origin}/body` }] });
  assert.equal(both.status, 202);
  await until('both outcomes', () => told(both.TrackingId).length === 2);
  assert.deepEqual(told(both.TrackingId), ['/body?trackingid=', '/q?trackingid=']);
});

test('a refusal is posted there, and the answer has its TrackingId', async () => {
  const school = await addSchool();
  const refused = await school.post([{ ...mark(0), StudentId: 'nobody' }], { query: inQuery('/refused') });
  assert.deepEqual([refused.status, refused.ExceptionType], [400, 'invalid_marks']);
  await until('the refusal', () => told(refused.TrackingId).length === 1);
  assert.match(receiver.arrivals.find(({ url }) => url.includes(refused.TrackingId))?.url ?? '', /completed=False$/);
});

test('one that cannot be called, or is given twice, is a 400 that names it', async () => {
  const school = await addSchool();
  for (const query of ['?callbackUrl=http%3A%2F%2F10.0.0.1%2F', '?callbackUrl=', `${inQuery('/a')}&callbackUrl=b`]) {
    const { status, ExceptionMessage } = await school.post([mark(0, '/')], { query });
    assert.equal(status, 400, query);
    assert.match(String(ExceptionMessage), /callbackUrl/, query);
  }
  assert.deepEqual(await school.kept(), {});
});

test('an equal body with another callbackUrl is another writeback', async () => {
  const school = await addSchool();
  const key = { 'idempotency-key': 'once' };
  const first = await school.post([mark(0, '/')], { query: inQuery('/one'), headers: key });
  const again = await school.post([mark(0, '/')], { query: inQuery('/one'), headers: key });
  const other = await school.post([mark(0, '/')], { query: inQuery('/two'), headers: key });
  assert.deepEqual([first.status, again.TrackingId, other.status], [202, first.TrackingId, 409]);
});
