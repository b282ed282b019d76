// In charge of what a drill's application receives: every call by its webhook-id, with the moments in which it came.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

export type Delivery = Readonly<{ id: string; path: string; body: string; at: number[] }>;

export type Receiver = {
  origin: string;
  deliveries(): Delivery[];
  close(): void;
};

export async function openReceiver(): Promise<Receiver> {
  const received = new Map<string, Delivery>();
  const server = createServer(async (request, response) => {
    const body = await readText(request);
    const id = String(request.headers['webhook-id']);
    const delivery = received.get(id) ?? { id, path: request.url ?? '', body, at: [] };
    delivery.at.push(performance.now());
    received.set(id, delivery);
    response.writeHead(200).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    deliveries: () => [...received.values()],
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Calls beyond the first of each id, by the gap after which they came. most: of one delivery after one gap. without: before the first gap. */
export type Repetitions = { total: number; perGap: number[]; most: number; without: number };

export function countRepetitions(deliveries: readonly Delivery[], gaps: readonly { from: number }[]): Repetitions {
  const perGap = gaps.map(() => 0);
  let [total, most, without] = [0, 0, 0];
  for (const { at } of deliveries) {
    const own = gaps.map(() => 0);
    for (const moment of at.slice(1)) {
      const last = gaps.findLastIndex(({ from }) => from <= moment);
      total += 1;
      if (last < 0) without += 1;
      if (last < 0) continue;
      perGap[last] = (perGap[last] ?? 0) + 1;
      own[last] = (own[last] ?? 0) + 1;
    }
    most = Math.max(most, ...own);
  }
  return { total, perGap, most, without };
}
