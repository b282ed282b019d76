// The primary of two servers is killed twenty times under imports, deliveries, writebacks and reads, and the other one takes over:
// nothing that was acknowledged is lost, nobody waits too long or is told anything but to come again, and no process is restarted.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { drill } from './failover/drill.ts';
import { openTwoServers } from './two-servers.ts';

const options = { timeout: 600_000, skip: process.platform === 'linux' ? false : 'looks at processes through /proc' };

test('a primary that is lost twenty times under load loses nothing else', options, async (context) => {
  const servers = await openTwoServers({ synchronous: true });
  after(() => servers.close());
  const { faults, ...report } = await drill({ ...servers, databaseReadUrl: servers.databaseUrl }, { times: 20, tell: (line) => context.diagnostic(line) });
  context.diagnostic(JSON.stringify(report));
  assert.deepEqual(faults, []);
  assert.equal(report.found, report.acknowledged);
});
