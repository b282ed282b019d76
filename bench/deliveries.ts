// In charge of the figures of deliveries: against bare keep-alive POSTs from the same process, from commit to call, and
// what a claim costs with a million rows waiting for later.
import { createServer } from 'node:http';
import { Agent } from 'undici';
import { createSeal } from '../src/access/seal.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound } from '../src/http/outbound.ts';
import { callKind } from '../src/notifications/webhooks.ts';
import { createDelivery } from '../src/notifications/deliver.ts';
import { claimWork } from '../src/outbox/claim.ts';
import { enqueue, type NewWork } from '../src/outbox/enqueue.ts';
import { startWorker } from '../src/outbox/worker.ts';
import { benchSecretKey, estab, medianMs, ratio, type Bench } from './bench.ts';
import { dropIndexes } from './indexes.ts';

const deliveries = 10_000;
const hosts = 8;
const lanesPerHost = 8;
const body = Buffer.from(JSON.stringify({ Estab: estab, DatabaseName: 'SchoolData', padding: 'x'.repeat(200) }));

export async function benchDeliveries(bench: Bench): Promise<void> {
  let received = 0;
  let onReceived = (_id: string) => {};
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => {
      received += 1;
      response.end('ok');
      onReceived(String(request.headers['webhook-id']));
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '0.0.0.0', resolve));
  const address = receiver.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const url = (at: number) => `http://127.0.0.${1 + (at % hosts)}:${port}/event`;

  const agent = new Agent({ connections: 16 });
  const bareStarted = performance.now();
  await Promise.all(
    Array.from({ length: 16 * hosts }, async (_, lane) => {
      for (let at = lane; at < deliveries; at += 16 * hosts) {
        const response = await agent.request({
          origin: `http://127.0.0.${1 + (at % hosts)}:${port}`,
          path: '/event',
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        await response.body.dump();
      }
    }),
  );
  const bare = deliveries / ((performance.now() - bareStarted) / 1000);
  await agent.destroy();

  await bench.db`insert into lane (key, host, width, lasting, next_at) select 'bench ' || n, '127.0.0.' || (1 + n % ${hosts}), 4, false, now()
    from generate_series(0, ${hosts * lanesPerHost - 1}) n`;
  // Each is due at an instant of its own, as when it is put in: of equal ones the index would keep a list, whose dead rows are read again by every claim.
  await bench.db`
    insert into outbox (estab, id, rp, kind, lane, payload, body, due_at)
    select ${estab}, 'msg_' || n, 'bench', ${callKind}, 'bench ' || (n % ${hosts * lanesPerHost}), jsonb_build_object('event', 'bench', 'method', 'POST',
      'url', 'http://127.0.0.' || (1 + n % ${hosts}) || ':' || ${port}::int || '/event', 'contentType', 'application/json'), ${body}, clock_timestamp()
    from generate_series(1, ${deliveries}) n`;
  await bench.db`analyze outbox, lane`;
  received = 0;
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']));
  const started = performance.now();
  const worker = await startWorker({
    db: bench.work,
    handlers: { [callKind]: createDelivery(bench.work, createSeal([benchSecretKey]), outbound, 'bench') },
    log: console,
  });
  for (;;) {
    // Asked only at the end: counting is work for the database too.
    const [row] = received < deliveries ? [] : await bench.db`select count(*)::int as left from outbox where state <> 'done'`;
    if (row?.left === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const rate = deliveries / ((performance.now() - started) / 1000);
  bench.add(
    'deliveries, signed and logged: share of bare POSTs',
    `${ratio(rate / bare)} (${Math.round(rate)} of ${Math.round(bare)} a second, ${received} calls for ${deliveries})`,
    '>= 0.45',
    rate / bare >= 0.45,
  );

  const taken: number[] = [];
  for (let at = 0; at < 200; at += 1) {
    const work: NewWork = {
      estab,
      rp: 'bench',
      kind: callKind,
      lane: { key: 'bench latency', host: '127.0.0.1', width: 4, lasting: false },
      payload: { event: 'bench', method: 'POST', url: url(0), contentType: 'application/json' },
      body,
    };
    const arrived = new Promise<void>((resolve) => (onReceived = () => resolve()));
    await bench.db.begin((tx) => enqueue(tx, work));
    const committed = performance.now();
    await arrived;
    taken.push(performance.now() - committed);
  }
  const sorted = taken.toSorted((a, b) => a - b);
  bench.add('from commit to call, milliseconds', `median ${sorted[100]?.toFixed(1)}, p99 ${sorted[197]?.toFixed(1)}`);
  await worker.stop();
  await outbound.close();
  receiver.closeAllConnections();
  receiver.close();

  const claims = () => medianMs(() => claimWork(bench.work, 60, 64), 301);
  const none = await claims();
  await bench.db`insert into lane (key, host, width, lasting, next_at) select 'later ' || n, 'h' || n % 100, 4, true, now() + interval '1 day'
    from generate_series(1, 1000) n`;
  await bench.db.begin(async (tx) => {
    // What they refer to is not looked up a million times.
    await tx`set local session_replication_role = 'replica'`;
    const indexes = await dropIndexes(tx, 'outbox');
    await tx`
      insert into outbox (estab, id, rp, kind, lane, payload, due_at)
      select ${estab}, 'later_' || n, 'bench', ${callKind}, 'later ' || (1 + n % 1000), '{}', now() + interval '1 day' from generate_series(1, 1000000) n`;
    await tx`set local maintenance_work_mem = '512MB'`;
    for (const index of indexes) await tx.unsafe(index);
  });
  await bench.db`analyze outbox, lane`;
  await claims();
  const million = await claims();
  bench.add(
    'claim with 1,000,000 rows waiting for later: time of none',
    `${ratio(million / none)} (${million.toFixed(2)} ms)`,
    '<= 1.2',
    million / none <= 1.2,
  );
}
