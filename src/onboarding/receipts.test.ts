// The receipts that a school gets for its decisions: each says what the decision changed.
import assert from 'node:assert/strict';
import { before, beforeEach, test } from 'node:test';
import { useOnboarding, type Visitor } from '../../test/onboarding.ts';
import { smallPackage } from '../../test/small-school.ts';

const onboarding = await useOnboarding();
const { db, service, events } = onboarding;
const page = '/school/applications/app';
let application: Awaited<ReturnType<typeof onboarding.addAsking>>;
let visitor: Visitor;
let estab = '';
let count = 0;

before(async () => {
  application = await onboarding.addAsking('app', 'School,Student,Staff:optional,Contact:optional');
});

/** A school that lets the application read staff, which is optional. */
beforeEach(async () => {
  estab = `R${(count += 1)}`;
  await service.addSchool(estab, smallPackage());
  await application.invite(estab);
  visitor = await onboarding.signIn(estab);
  await visitor.decide(`/school/requests/${await onboarding.openRequest(estab, 'app')}`, { decision: 'approve', scopes: ['Staff'] });
});

type Receipt = { subject: string; text: string };
async function receipts(): Promise<Receipt[]> {
  const rows = await db<{ subject: string; body: Buffer }[]>`
    select payload ->> 'subject' as subject, body from outbox where estab = ${estab} and kind = 'mail' and payload ->> 'subject' like 'Receipt%' order by seq`;
  return rows.map(({ subject, body }) => ({ subject, text: (JSON.parse(body.toString()) as { text: string }).text }));
}

/** The receipt for the scopes that are chosen now. */
async function choose(...scopes: string[]): Promise<Receipt> {
  const known = (await receipts()).length;
  assert.equal((await visitor.post(page, { action: 'scopes', scopes })).status, 303);
  const [receipt, ...more] = (await receipts()).slice(known);
  assert.ok(receipt && more.length === 0, 'one receipt');
  return receipt;
}

const part = ({ text }: Receipt, from: string) => text.slice(text.indexOf(from)).split('\n\n').slice(1).filter((line) => line.startsWith('–')).join('\n');

test('a receipt for narrowed access says that the application may read less, and what it lost', async () => {
  const { subject, text } = await choose();
  assert.match(subject, /may now read less data of/);
  assert.doesNotMatch(`${subject} ${text}`, /other data|more data/);
  const [lost = '', left = ''] = text.split('It may still use:');
  assert.match(lost, /It may no longer use:[^]*\(Staff\)/);
  assert.match(left, /\(School\)[^]*\(Student\)/);
  assert.doesNotMatch(left, /\(Staff\)/);
});

test('a receipt for widened access says that the application may read more, and what was added', async () => {
  const { subject, text } = await choose('Staff', 'Contact');
  assert.match(subject, /may now read more data of/);
  assert.match(text, /It may now also use:[^]*\(Contact\)[^]*It may still use:[^]*\(School\)/);
  assert.doesNotMatch(text, /no longer/);
});

test('a receipt for an exchange names both', async () => {
  const receipt = await choose('Contact');
  assert.match(receipt.subject, /may now read other data of/);
  assert.match(part(receipt, 'It may now also use:'), /^[^\n]*\(Contact\)/);
  assert.match(part(receipt, 'It may no longer use:'), /^[^\n]*\(Staff\)/);
});

test('saving the same choice again changes nothing and sends no receipt', async () => {
  const [known, happened] = [(await receipts()).length, (await events(estab)).length];
  assert.equal((await visitor.post(page, { action: 'scopes', scopes: ['Staff'] })).status, 303);
  assert.deepEqual([(await receipts()).length, (await events(estab)).length], [known, happened]);
});
