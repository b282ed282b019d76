// Each action on where a school's data comes from and on an import that is held, done by its form in a real browser.
import assert from 'node:assert/strict';
import { beforeEach } from 'node:test';
import { openPage } from '../../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../../test/clicked.ts';
import { useConsole } from '../../../../test/console.ts';
import { zip } from '../../../../test/onboarding.ts';
import { rootB, useService } from '../../../../test/service.ts';
import { smallPackage, smallSchool, user } from '../../../../test/small-school.ts';
import { until } from '../../../../test/until.ts';
import { saveSource } from '../../../collection/change-source.ts';
import { takeUpload } from '../../../collection/uploads.ts';

const { service, enter } = await useConsole({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db, url, seal } = service;
const provider = await useService();
await provider.addSchool('MIS', smallPackage());
const client = await provider.addClient('schoolbell', ['MIS']);
const [name = '', value = ''] = (await enter('admin')).cookie.split('=');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
await page.context().addCookies([{ name, value, url }]);
let count = 0;
let estab = '';
let school = '';

beforeEach(async () => {
  estab = `S${(count += 1)}`;
  school = `/console/schools/${estab}`;
  await service.addSchool(estab);
});

const given = () => ({ 'Address of the provider': `${provider.url}${rootB}`, 'Client ID': 'schoolbell|MIS', 'Client secret': client.schoolSecrets.MIS ?? '' });
const provided = { kind: 'oneroster', url: `${provider.url}${rootB}`, clientId: 'schoolbell|MIS' };
const folder = { kind: 'folder', folder: service.dataDir };
const connector = async () => (await db<{ connector: string | null }[]>`select connector from establishment where estab = ${estab}`)[0]?.connector;
const wanted = async () =>
  (await db<{ topic: string; payload: { partial?: boolean } }[]>`
    select topic, payload from outbox where estab = ${estab} and kind = 'collect' and state = 'waiting' order by topic`);
const pupils = (number: number) => smallPackage({ users: [...smallSchool.users, ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student'))] });

async function useDemo(): Promise<void> {
  await db.begin((tx) => saveSource(tx, seal, estab, { kind: 'demo' }));
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  await db`update outbox set state = 'done', settled_at = now() where estab = ${estab}`;
}

let working: Promise<void> | undefined;

/** A package by which 110 pupils would go is uploaded, held, and decided on by that form. */
async function decide(form: string): Promise<{ id: string; decision: string | null }> {
  await db`update outbox set state = 'cancelled', settled_at = now() where state = 'waiting'`;
  await (working ??= service.work());
  await service.load(estab, pupils(120));
  await takeUpload(db, estab, (async function* () { yield await zip(pupils(10)); })(), { dataDir: service.dataDir });
  const held = () => db<{ id: string; decision: string | null }[]>`select id, decision from import_run where estab = ${estab} and outcome = 'held'`;
  await until('it is held', async () => (await held()).length === 1);
  await open(school);
  await page.locator(`main a[href="${school}/held"]`).first().click();
  await send(form);
  return (await held())[0] ?? assert.fail('it is there');
}
const records = async () => (await db`select from roster_user where estab = ${estab} and status = 'active'`).length;

clickEach('source', db, opened, {
  async '/console/schools/:estab/source/save'() {
    await open(`${school}/source`);
    await send('source-oneroster', given(), 'Test and save');
    assert.deepEqual([await connector(), (await wanted()).map(({ topic }) => topic)], ['oneroster', ['collect SchoolData']]);
    for (const [form, expected] of [['uploads', 'csv'], ['demo', 'demo'], ['none', null]] as const) {
      await open(`${school}/source`);
      await send(`source-${form}`);
      assert.equal(await connector(), expected);
    }
    await open(`${school}/source`);
    await send('source-folder', { Folder: service.dataDir }, 'Test and save');
    assert.match(await read('main'), new RegExp(service.dataDir));
    return [provided, { kind: 'uploads' }, { kind: 'demo' }, { kind: 'none' }, folder].map((detail) => ({ estab, detail }));
  },
  async '/console/schools/:estab/source/test'() {
    await open(`${school}/source`);
    await send('source-oneroster', given(), 'Only test');
    assert.match(await read('#notice'), /8 users/);
    assert.equal(await connector(), null);
    await send('source-folder', { Folder: service.dataDir }, 'Only test');
    assert.equal(await page.locator('#notice').count(), 1);
    assert.equal(await connector(), null);
    return [provided, folder].map((detail) => ({ estab, detail }));
  },
  async '/console/schools/:estab/source/collect'() {
    await useDemo();
    await open(`${school}/source`);
    await send('collect', {}, 'Only attendance');
    assert.deepEqual((await wanted()).map(({ topic }) => topic), ['collect Attendance']);
    await send('collect', {}, 'Collect now');
    assert.deepEqual((await wanted()).map(({ topic }) => topic), ['collect Attendance', 'collect SchoolData']);
    return ['Attendance', 'all'].map((database) => ({ estab, detail: { database } }));
  },
  async '/console/schools/:estab/source/demo-mode'() {
    await useDemo();
    await open(`${school}/source`);
    await send('demo-mode-form', { 'How the demo’s MIS behaves': 'offline' });
    assert.equal(await read('#demo-mode'), 'offline');
    return [{ estab, detail: { mode: 'offline' } }];
  },
  async '/console/schools/:estab/source/upload/send'() {
    for (const partial of [true, false]) {
      await open(`${school}/source`);
      await page.locator(`main a[href="${school}/source/upload"]`).first().click();
      await page.locator('#package').setInputFiles({ name: 'roster.zip', mimeType: 'application/zip', buffer: Buffer.from(await zip(smallPackage())) });
      await send('upload', { 'Leave out records that break a rule': partial });
      assert.deepEqual((await wanted()).map(({ payload }) => payload.partial ?? false), [partial]);
    }
    return [{ estab, detail: { partial: true } }, { estab }];
  },
  async '/console/schools/:estab/held/approve'() {
    const { id, decision } = await decide('approve-held');
    assert.equal(decision, 'approved');
    await until('they are gone', async () => (await records()) === 18);
    return [{ estab, subject: id }];
  },
  async '/console/schools/:estab/held/discard'() {
    const { id, decision } = await decide('discard-held');
    assert.equal(decision, 'discarded');
    assert.deepEqual([await wanted(), await records()], [[], 128]);
    return [{ estab, subject: id }];
  },
});
