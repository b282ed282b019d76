// Covers the page of backups: how to begin, the plan and how it stands, each backup with what became of it, and asking for one.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { testSecretKey } from '../../../test/service.ts';
import { setBackupPlan } from '../../backup/plan.ts';
import { findNeeds } from '../../needs/needs.ts';
import { readConfig } from '../../config.ts';

const { service, enter } = await useConsole();
const { db, seal, dataDir } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const hostile = '<img src=x onerror=alert(1)>';
const path = '/console/backups';
const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir });

beforeEach(async () => {
  await db`truncate backup_plan, backup_run, audit_event`;
  rmSync(folder, { recursive: true, force: true });
});

const hour = 3_600_000;
const before = (hours: number) => new Date(Date.now() - hours * hour);
const folder = join(dataDir, `backups ${hostile}`);
async function set(hours = 100): Promise<void> {
  await setBackupPlan(db, seal, { folder, everySeconds: 86_400, keep: 14, passphrase: 'x', by: hostile }, before(hours));
  await db`update backup_plan set seen_at = now()`;
}
const ran = async (hours: number, state: string, trouble: string | null = null) => {
  await db`
    insert into backup_run (plan, why, file, host, state, started_at, bytes, took_ms, trouble, gone_at)
    select id, 'plan', folder || ${`/${hours}.backup`}, ${hostile}, ${state}, ${before(hours)}, 5000000, 61000, ${trouble},
      ${trouble === null ? null : before(hours)} from backup_plan`;
};
const needs = async () => (await findNeeds({ db, config })).flatMap((one) => one.needs).filter(({ id }) => id === 'backups');

test('without a plan the page says how to begin, and nothing can be asked for', async () => {
  const { text } = await admin.get(path);
  assert.match(text, /No backups are set up\.[^]*npx schoolbell backup --to &lt;folder&gt; --every 24h --keep 14 --passphrase-file/);
  assert.doesNotMatch(text, /Back up now/);
  const refused = await admin.post(`${path}/now`);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /no backups are set up/i);
  assert.deepEqual(await needs(), [], 'whoever has none is told before going live');
});

test('the plan, how it stands, and each backup with what became of it', async () => {
  await set();
  await ran(30, 'failed', hostile);
  await ran(20, 'good');
  const { text } = await viewer.get(path);
  assert.doesNotMatch(text, /<img/);
  assert.match(text, /All well<\/span> <bdi>the newest good one is 20 hours old, of one every 24 hours/);
  assert.match(text, /the newest 14 good ones/);
  const [table = ''] = /<table id="runs"[^]*<\/table>/.exec(text) ?? [];
  assert.deepEqual([...table.matchAll(/badge \w+">([^<]+)</g)].map(([, word]) => word), ['Good', 'Failed']);
  assert.match(text, /npx schoolbell restore .+20\.backup --passphrase-file/);
  assert.doesNotMatch(text, /Back up now/, 'a viewer only looks');
  assert.deepEqual(await needs(), []);
});

test('one that failed, and one that is too old, need a person, who is led here', async () => {
  await set();
  await ran(40, 'good');
  await ran(2, 'failed', 'no room is left');
  assert.deepEqual((await needs()).map(({ what, urgent }) => [what, urgent]), [['Backups: the last one failed: no room is left', false]]);
  assert.match((await viewer.get('/console')).text, /<a class="do" href="\/console\/backups">See the backups/);
  await db`update backup_run set started_at = started_at - interval '20 hours'`;
  assert.deepEqual((await needs()).map(({ what, urgent }) => [what, urgent]), [
    ['Backups: the newest good one is 60 hours old, of one every 24 hours; the last one failed: no room is left', true],
  ]);
  await db`truncate backup_run`;
  assert.match((await needs())[0]?.what ?? '', /none was good since they were set up 100 hours ago, .+; no worker runs on a machine that has /);
});

test('one is asked for, which stands in the trail; of a copy of a database none is made', async () => {
  await set(0);
  const asked = await admin.post(`${path}/now`);
  assert.deepEqual([asked.status, asked.location], [303, `${path}?done=backups-now`]);
  assert.equal((await db`select from backup_plan where asked_at > now() - interval '1 minute'`).length, 1);
  assert.deepEqual((await db`select action, outcome from audit_event`).map((one) => ({ ...one })), [{ action: 'backup', outcome: 'done' }]);
  assert.equal((await viewer.post(`${path}/now`)).status, 403);
  await db`update backup_plan set database = 'another'`;
  assert.equal((await admin.post(`${path}/now`)).status, 409);
  const { text } = await admin.get(path);
  assert.match(text, /this database is a copy of the one that backups were set up for: none is made of it/);
  assert.equal((await needs()).length, 1);
});
