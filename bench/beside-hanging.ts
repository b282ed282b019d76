// In charge of the figure of a delivery's latency beside a receiver that hangs with 10,000 rows waiting for it.
import { createServer } from 'node:http';
import net, { type Socket } from 'node:net';
import { createSeal } from '../src/access/seal.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound, outboundLimits } from '../src/http/outbound.ts';
import { createDelivery } from '../src/notifications/deliver.ts';
import { callKind } from '../src/notifications/webhooks.ts';
import { enqueue } from '../src/outbox/enqueue.ts';
import { startWorker } from '../src/outbox/worker.ts';
import { benchSecretKey, estab, medianMs, ratio, type Bench } from './bench.ts';

const waiting = 10_000;
const width = 4;
const deliveries = 200;

export async function benchBesideHanging(bench: Bench): Promise<void> {
  let onReceived = () => {};
  const well = createServer((request, response) => request.resume().on('end', () => response.end('ok', () => onReceived())));
  const hung = new Set<Socket>();
  const hanging = net.createServer((socket) => void hung.add(socket.on('error', () => {}).resume()));
  const [wellPort, hangingPort] = [await listen(well), await listen(hanging)];
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), { ...outboundLimits, totalMs: 600_000 });
  const delivery = createDelivery(bench.work, createSeal([benchSecretKey]), outbound, 'bench');
  const worker = await startWorker({ db: bench.work, handlers: { [callKind]: delivery }, log: console });

  const lane = { key: 'bench beside', host: '127.0.0.1', width, lasting: false };
  const payload = { event: 'bench', method: 'GET', url: `http://127.0.0.1:${wellPort}/` };
  const latency = () => medianMs(async () => {
    const arrived = new Promise<void>((resolve) => (onReceived = resolve));
    await bench.db.begin((tx) => enqueue(tx, { estab, rp: 'bench', kind: callKind, lane, payload, body: null }));
    await arrived;
  }, deliveries);
  await latency();
  const before = await latency();
  await bench.db`insert into lane (key, host, width, lasting) values ('bench hanging', '127.3.0.1', ${width}, true)`;
  const left = bench.db.json({ ...payload, url: `http://127.3.0.1:${hangingPort}/` });
  await bench.db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at)
    select ${estab}, 'hanging_' || n, 'bench', ${callKind}, 'bench hanging', ${left}, now() - interval '1 hour' from generate_series(1, ${waiting}) n`;
  await bench.db`update lane set next_at = now() where key = 'bench hanging'`;
  while (hung.size < width) await new Promise((resolve) => setTimeout(resolve, 50));
  const beside = await latency();
  const measured = `${ratio(beside / before)} (${beside.toFixed(1)} ms)`;
  bench.add('from commit to call beside a receiver that hangs, 10,000 rows waiting: time without it', measured, '<= 4', beside / before <= 4);

  await bench.db`delete from outbox where lane = 'bench hanging' and state = 'waiting'`;
  for (const socket of hung) socket.resetAndDestroy();
  await worker.stop();
  await outbound.close();
  await bench.db`delete from outbox where lane in ('bench hanging', 'bench beside')`;
  hanging.close();
  well.closeAllConnections();
  well.close();
}

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
