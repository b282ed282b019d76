// Each action on mails, durable work, keys, deliveries and targets, done by its form in a real browser. Nobody works meanwhile, so
// that what was asked for still waits when it is looked at.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { openPage } from '../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../test/clicked.ts';
import { enter } from '../../../test/console.ts';
import { useDelivering } from '../../../test/delivery.ts';
import { setBackupPlan } from '../../backup/plan.ts';
import { createTokenKeys } from '../../access/token-keys.ts';
import { writeLetter } from '../../mail/letter.ts';
import { enqueueMail } from '../../mail/mail.ts';
import { linkPath, makeSignInLink } from '../../onboarding/links.ts';
import { enqueue } from '../../outbox/enqueue.ts';

const delivering = await useDelivering({ worker: false });
const { service, db, register, change } = delivering;
const { url } = service;
const [name = '', value = ''] = (await enter(service, 'admin')).cookie.split('=');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
await page.context().addCookies([{ name, value, url }]);
const [first, second] = [await delivering.addSchool(), await delivering.addSchool()];
const targets = [await register(first, 'http://127.0.0.1:65535/first'), await register(second, 'http://127.0.0.1:65535/second')];
for (const { estab } of [first, second]) await change(estab);
const [target = ''] = targets;
const idOf = async (estab: string) => (await delivering.rows(estab))[0]?.id ?? '';
const owner = { estab: first.estab, rp: first.rp };
const [call, other] = [await idOf(first.estab), await idOf(second.estab)];

const link = `${url}${linkPath(await makeSignInLink(db, first.estab))}`;
const letter = writeLetter('Come', ['Dear office,', { link, label: 'Open' }]);
const mail = await enqueueMail(db, { estab: first.estab, rp: null, to: 'office@school.example', ...letter });
const work = await enqueue(db, {
  estab: first.estab, rp: null, kind: 'writeback', lane: { key: 'w', host: null, width: 1, lasting: false }, payload: { trackingId: 't' }, body: null,
});
const state = async (id: string) => (await db<{ state: string }[]>`select state from outbox where id = ${id}`)[0]?.state;
const fail = (...ids: string[]) => db`update outbox set state = 'failed', settled_at = now() where id = any(${ids})`;
const lane = async () => (await db<{ paused: boolean; disabled: boolean }[]>`
  select paused_at is not null as paused, disabled_at is not null as disabled from lane where key = ${`webhook ${target}`}`)[0];
const targetPage = `/console/targets/${target}`;

clickEach('service', db, opened, {
  async '/console/mail/:id/links'() {
    await open('/console/mail');
    await page.locator(`main a[href="/console/mail/${mail}"]`).click();
    assert.equal(await page.locator(`main a[href="${link}"]`).count(), 0);
    await send('links');
    assert.equal(await page.locator(`main a[href="${link}"]`).count(), 1);
    return [{ estab: first.estab, subject: mail }];
  },
  async '/console/mail/:id/send'() {
    await fail(mail);
    await open(`/console/mail/${mail}`);
    assert.equal(await read('main dl .badge'), 'Failed');
    await send('send');
    assert.equal(await state(mail), 'waiting');
    assert.equal(await read('main dl .badge'), 'Waiting');
    return [{ estab: first.estab, subject: mail }];
  },
  async '/console/work/:id/retry'() {
    await db`update outbox set due_at = now() + interval '1 day' where id = ${work}`;
    await open('/console/work');
    await page.locator(`main a[href="/console/work/${work}"]`).first().click();
    await send('retry');
    assert.equal((await db`select from outbox where id = ${work} and state = 'waiting' and due_at <= now()`).length, 1);
    return [{ estab: first.estab, subject: work, detail: { kind: 'writeback' } }];
  },
  async '/console/settings/rotate'() {
    const keys = createTokenKeys(db, service.seal);
    const { kid } = await keys.signingKey();
    const trusted = async () => (await db`select from token_key where kid = ${kid} and (trusted_until is null or trusted_until > now())`).length === 1;
    await open('/console/settings');
    await send('rotate');
    assert.deepEqual([(await keys.signingKey()).kid === kid, await trusted()], [false, true]);
    await send('rotate', { 'Refuse what the old keys signed from now on': true });
    assert.equal(await trusted(), false);
    return [{ detail: { now: false } }, { detail: { now: true } }];
  },
  async '/console/backups/now'() {
    const plan = { folder: join(service.dataDir, 'backups'), everySeconds: 86_400, keep: 14, passphrase: 'x', by: 'ann' };
    await setBackupPlan(db, service.seal, plan, new Date());
    await open('/console/backups');
    await send('now');
    assert.equal((await db`select from backup_plan where asked_at is not null`).length, 1);
    assert.match(await read('#notice'), /within a minute/);
    return [{ detail: { now: true } }];
  },
  async '/console/deliveries/replay-failed'() {
    await fail(call, other);
    await open('/console/deliveries');
    await send('replay-failed', { 'Failed since (UTC)': '2020-01-01T00:00', Of: second.rp });
    assert.deepEqual([await state(call), await state(other)], ['failed', 'waiting']);
    await open('/console/deliveries');
    await send('replay-failed', { 'Failed since (UTC)': '2020-01-01T00:00' });
    assert.equal(await state(call), 'waiting');
    assert.match(await read('#notice'), /1/);
    return [{ rp: second.rp, detail: { since: '2020-01-01T00:00' } }, { detail: { since: '2020-01-01T00:00' } }];
  },
  async '/console/deliveries/:id/replay'() {
    await fail(call);
    await open('/console/deliveries?state=failed');
    await page.locator(`main a[href="/console/deliveries/${call}"]`).click();
    await send('replay');
    assert.equal(await state(call), 'waiting');
    return [{ ...owner, subject: call }];
  },
  async '/console/targets/:id/pause'() {
    await open('/console/targets');
    await page.locator(`main a[href="${targetPage}"]`).first().click();
    await send('pause');
    assert.deepEqual([(await lane())?.paused, await read('h1 .badge')], [true, 'Paused']);
    return [{ ...owner, subject: target }];
  },
  async '/console/targets/:id/resume'() {
    await open(targetPage);
    await send('resume');
    assert.deepEqual([(await lane())?.paused, await read('h1 .badge')], [false, 'OK']);
    return [{ ...owner, subject: target }];
  },
  async '/console/targets/:id/enable'() {
    await db`update lane set disabled_at = now(), disabled_why = 'gone' where key = ${`webhook ${target}`}`;
    await open(targetPage);
    assert.equal(await read('h1 .badge'), 'Disabled');
    await send('enable');
    assert.deepEqual([(await lane())?.disabled, await read('h1 .badge')], [false, 'OK']);
    return [{ ...owner, subject: target }];
  },
  async '/console/targets/:id/test'() {
    await open(targetPage);
    await send('test');
    const sent = await db<{ id: string }[]>`select id from outbox where estab = ${first.estab} and payload ->> 'event' = 'test'`;
    assert.deepEqual(sent.map(({ id }) => `/console/deliveries/${id}`), [new URL(page.url()).pathname]);
    return [{ ...owner, subject: target }];
  },
  async '/console/targets/:id/replay-failed'() {
    await fail(call, other);
    await open(targetPage);
    await send('replay-failed', { 'Failed since (UTC)': '2020-01-01T00:00' });
    assert.deepEqual([await state(call), await state(other)], ['waiting', 'failed']);
    return [{ ...owner, subject: target, detail: { since: '2020-01-01T00:00' } }];
  },
});
