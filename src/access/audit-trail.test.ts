// Tests a line of the trail of operators: it never stands in the way of what was done, never outgrows its table, and shows what was cut off.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { audited, listAudited, noteLook, type Actor } from './audit-trail.ts';

const { db } = await useDatabase();
const actor: Actor = { name: 'ann', via: 'console', from: '::1' };
const newest = async () => (await listAudited(db, { most: 1 }))[0];

beforeEach(() => db`truncate audit_event`);

test('what is done stays done, with what came of it, where its line cannot be ended: that looks cut off', async () => {
  await db.unsafe(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$;
    create trigger fail before update on audit_event for each row execute function fail()`);
  try {
    assert.equal(await audited(db, actor, { action: 'rotate' }, async () => 'a new secret'), 'a new secret');
    await assert.rejects(audited(db, actor, { action: 'rotate' }, () => Promise.reject(new Error('why'))), /why/);
  } finally {
    await db.unsafe('drop function fail cascade');
  }
  assert.deepEqual((await listAudited(db, { most: 9 })).map(({ outcome, message }) => [outcome, message]), [[null, null], [null, null]]);
});

test('the line is there before the work begins, and whatever becomes of the work’s own transaction', async () => {
  const work = () => db.begin(async (tx) => {
    assert.equal((await newest())?.outcome, null);
    await tx`select 1 / 0`;
  });
  await assert.rejects(audited(db, actor, { action: 'divide' }, work), /division by zero/);
  const line = await newest();
  assert.deepEqual([line?.action, line?.outcome, line?.message], ['divide', 'failed', 'division by zero']);
});

test('whatever is typed into an address or a form is cut, so that it can be written and read', async () => {
  const long = randomBytes(20_000).toString('base64');
  const detail = { long, many: Array.from({ length: 99 }, () => long) };
  await noteLook(db, { ...actor, name: long }, { action: 'look', estab: long, rp: long, subject: long, detail });
  const line = await newest();
  assert.deepEqual([line?.actor, line?.estab, line?.rp, line?.subject].map((one) => one?.length), [300, 64, 64, 300]);
  assert.ok(JSON.stringify(line?.detail).length < 20_000);
});

test('a cut through a character leaves what the database takes', async () => {
  const long = `${'x'.repeat(299)}\u{1f600}`;
  const detail = { one: long, many: [long] };
  const refuse = () => Promise.reject(new Error(`${'x'.repeat(200)}${long}`));
  await assert.rejects(audited(db, { ...actor, name: long }, { action: 'look', subject: long, detail }, refuse));
  const line = await newest();
  const cut = `${'x'.repeat(299)}\ufffd`;
  assert.deepEqual([line?.actor, line?.subject, line?.detail, line?.message?.length], [cut, cut, { one: cut, many: [cut] }, 500]);
});

test('an address is written down without user, password and query, in what was given and in why it was refused', async () => {
  const given = 'https://me:p@ss@mis.example/ims?key=s3cret#s3cret';
  const detail = { url: given, more: [`see ${given} now`] };
  await assert.rejects(audited(db, actor, { action: 'set source', detail }, () => Promise.reject(new Error(`“${given}” is no address`))), /p@ss/);
  const line = await newest();
  assert.deepEqual(line?.detail, { url: 'https://mis.example/ims', more: ['see https://mis.example/ims now'] });
  assert.equal(line?.message, '“https://mis.example/ims” is no address');
});
