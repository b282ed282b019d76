// Covers the two servers that other tests lose: what one has committed the other has, also after each was killed; replay can be held
// back; and a frozen server answers nothing until it is resumed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from './until.ts';
import { openTwoServers } from './two-servers.ts';

const options = { skip: process.platform === 'linux' ? false : 'looks at processes through /proc' };

test('a server that is killed is followed by the other, and follows it', options, async () => {
  const servers = await openTwoServers({ synchronous: true });
  after(() => servers.close());
  const numbers = async (which: 'primary' | 'standby') =>
    (await servers.ask<{ number: number }>(which, 'select number from note order by number')).map(({ number }) => number);
  await servers.ask('primary', 'create table note (number int)');
  for (const number of [1, 2, 3]) {
    await servers.ask('primary', 'insert into note values ($1)', [number]);
    const lost = servers.url('primary');
    await servers.failOver({ ending() {} });
    assert.notEqual(servers.url('primary'), lost);
    assert.deepEqual(await numbers('primary'), [1, 2, 3].slice(0, number));
    await servers.heal();
    assert.equal(servers.url('standby'), lost);
    assert.deepEqual(await numbers('standby'), [1, 2, 3].slice(0, number));
  }
  await servers.pauseReplay();
  await servers.ask('primary', 'insert into note values (4)');
  assert.deepEqual(await numbers('standby'), [1, 2, 3]);
  await servers.resumeReplay();
  await servers.caughtUp();
  assert.deepEqual(await numbers('standby'), [1, 2, 3, 4]);
  servers.freeze('standby');
  let answered = false;
  const waiting = servers.ask('primary', 'insert into note values (5)').then(() => (answered = true));
  await until('the commit waits for the standby', async () =>
    (await servers.ask('primary', `select from pg_stat_activity where wait_event = 'SyncRep'`)).length > 0);
  assert.equal(answered, false);
  servers.resume('standby');
  await waiting;
  await servers.caughtUp();
  assert.deepEqual(await numbers('standby'), [1, 2, 3, 4, 5]);
});
