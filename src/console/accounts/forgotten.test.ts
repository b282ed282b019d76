// Tests what bounds the way back for a forgotten password: how much of what a stranger types is kept, and how many mails an operator gets.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { earlier } from '../../../test/earlier.ts';
import { until } from '../../../test/until.ts';
import { addOperator, createVisitor } from '../../../test/visitor.ts';

const { service } = await useConsole();
const { db, url } = service;
const email = 'eve@trust.example';

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from outbox where estab = ''`;
  await addOperator(db, email);
});

async function ask(typed: string): Promise<void> {
  const visitor = createVisitor(url);
  await visitor.open('/console/forgotten');
  assert.equal((await visitor.send('/console/forgotten', { email: typed })).status, 200);
}

test('of what a stranger types no more than 300 characters wait for a worker', async () => {
  await ask('x'.repeat(20_000));
  const [kept] = await db<{ person: string }[]>`select payload ->> 'person' as person from outbox where estab = '' and kind = 'operator-link'`;
  assert.equal(kept?.person, 'x'.repeat(300));
});

test('at most five links an hour, also when asked for at once', async () => {
  await service.work();
  const answered = async () => (await db`select from outbox where estab = '' and kind = 'operator-link' and state <> 'done'`).length === 0;
  const mails = async () => (await db`select from outbox where estab = '' and kind = 'mail' and payload ->> 'to' = ${email}`).length;
  await Promise.all(Array.from({ length: 8 }, () => ask(email)));
  await until('an answer to every question', answered);
  assert.equal(await mails(), 5);
  await db`update console_link set created_at = ${earlier(db, 'created_at', '61 minutes')}`;
  await ask(email);
  await until('an answer to the last one', answered);
  assert.equal(await mails(), 6);
});
