// Each action on the deliveries, targets and developers of an application, done by its form in a real browser by a developer of it. Nobody
// works meanwhile, so that what was asked for still waits when it is looked at.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../test/clicked.ts';
import { enter } from '../../../test/console.ts';
import { useDelivering } from '../../../test/delivery.ts';

const delivering = await useDelivering({ worker: false });
const { service, db, register, change } = delivering;
const { url } = service;
const [first, second] = [await delivering.addSchool(), await delivering.addSchool()];
const [name = '', value = ''] = (await enter(service, 'developer', 'dev@app.example', [first.rp])).cookie.split('=');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
await page.context().addCookies([{ name, value, url }]);
const target = await register(first, 'http://127.0.0.1:65535/first');
await register(second, 'http://127.0.0.1:65535/second');
for (const { estab } of [first, second]) await change(estab);
const idOf = async (estab: string) => (await delivering.rows(estab))[0]?.id ?? '';
const [call, other] = [await idOf(first.estab), await idOf(second.estab)];
const owner = { estab: first.estab, rp: first.rp };
const own = `/console/applications/${first.rp}`;
const targetPage = `${own}/targets/${target}`;
const state = async (id: string) => (await db<{ state: string }[]>`select state from outbox where id = ${id}`)[0]?.state;
const fail = (...ids: string[]) => db`update outbox set state = 'failed', settled_at = now() where id = any(${ids})`;
const lane = async () => (await db<{ paused: boolean; disabled: boolean }[]>`
  select paused_at is not null as paused, disabled_at is not null as disabled from lane where key = ${`webhook ${target}`}`)[0];
const developers = async () => (await db<{ name: string }[]>`
  select a.sign_in_name as name from console_developer d join console_account a on a.id = d.account where d.rp = ${first.rp} order by 1`)
  .map((one) => one.name);

clickEach('developers', db, opened, {
  async '/console/applications/:rp/deliveries/replay-failed'() {
    await fail(call, other);
    await open('/console');
    assert.equal(new URL(page.url()).pathname, own);
    await page.locator(`main a[href="${own}/deliveries"]`).click();
    await send('replay-failed', { 'Failed since (UTC)': '2020-01-01T00:00' });
    assert.deepEqual([await state(call), await state(other)], ['waiting', 'failed'], 'what is of another application stays as it is');
    assert.match(await read('#notice'), /^1 /);
    return [{ rp: first.rp, detail: { since: '2020-01-01T00:00' } }];
  },
  async '/console/applications/:rp/deliveries/:id/replay'() {
    await fail(call);
    await open(`${own}/deliveries?state=failed`);
    await page.locator(`main a[href="${own}/deliveries/${call}"]`).click();
    await send('replay');
    assert.equal(await state(call), 'waiting');
    return [{ ...owner, subject: call }];
  },
  async '/console/applications/:rp/targets/:id/pause'() {
    await open(`${own}/webhooks`);
    await page.locator(`main a[href="${targetPage}"]`).first().click();
    await send('pause');
    assert.deepEqual([(await lane())?.paused, await read('h2 .badge')], [true, 'Paused']);
    return [{ ...owner, subject: target }];
  },
  async '/console/applications/:rp/targets/:id/resume'() {
    await open(targetPage);
    await send('resume');
    assert.deepEqual([(await lane())?.paused, await read('h2 .badge')], [false, 'OK']);
    return [{ ...owner, subject: target }];
  },
  async '/console/applications/:rp/targets/:id/enable'() {
    await db`update lane set disabled_at = now(), disabled_why = 'gone' where key = ${`webhook ${target}`}`;
    await open(`${own}/targets?state=disabled`);
    await page.locator(`main a[href="${targetPage}"]`).first().click();
    assert.equal(await read('h2 .badge'), 'Disabled');
    await send('enable');
    assert.deepEqual([(await lane())?.disabled, await read('h2 .badge')], [false, 'OK']);
    return [{ ...owner, subject: target }];
  },
  async '/console/applications/:rp/targets/:id/test'() {
    await open(targetPage);
    await send('test');
    const sent = await db<{ id: string }[]>`select id from outbox where estab = ${first.estab} and payload ->> 'event' = 'test'`;
    assert.deepEqual(sent.map(({ id }) => `${own}/deliveries/${id}`), [new URL(page.url()).pathname]);
    return [{ ...owner, subject: target }];
  },
  async '/console/applications/:rp/targets/:id/replay-failed'() {
    await fail(call, other);
    await open(targetPage);
    await send('replay-failed', { 'Failed since (UTC)': '2020-01-01T00:00' });
    assert.deepEqual([await state(call), await state(other)], ['waiting', 'failed']);
    return [{ ...owner, subject: target, detail: { since: '2020-01-01T00:00' } }];
  },
  async '/console/applications/:rp/developers/invite'() {
    await open(`${own}/developers`);
    await send('invite-developer', { Name: 'Eve <Adams>', 'E-mail address': 'Eve@App.example' });
    assert.deepEqual(await developers(), ['dev@app.example', 'eve@app.example']);
    assert.match(await read('#developers'), /Eve <Adams>.*eve@app\.example.*Invited/);
    return [{ rp: first.rp, subject: 'Eve@App.example' }];
  },
  async '/console/applications/:rp/developers/remove'() {
    await open(`${own}/developers`);
    await page.getByRole('button', { name: 'Remove Eve <Adams>' }).waitFor();
    await send('remove-1');
    assert.deepEqual(await developers(), ['dev@app.example']);
    return [{ rp: first.rp, subject: 'eve@app.example' }];
  },
});

test('each line of it has the name of who did it', async () => {
  const actors = await db<{ actor: string }[]>`select distinct actor from audit_event where via = 'console'`;
  assert.deepEqual(actors.map(({ actor }) => actor), ['dev@app.example']);
});
