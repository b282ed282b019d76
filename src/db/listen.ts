// In charge of being told: a connection of its own that listens, is asked now and then whether it still lives, and is
// opened anew when it does not. What is notified meanwhile is missed, so that everybody who listens also looks by itself.
import pg from 'pg';
import { clientClass, socketOf } from './client.ts';
import type { PoolPolicy } from './policies.ts';
import { processTag, type Where } from './pool.ts';

/** Calls at each notification of a channel. */
export type Listen = (channel: string, call: (payload: string) => void) => Promise<{ unlisten(): Promise<void> }>;

const askEveryMs = 15_000;
const longestAnswerMs = 5_000;
const againMs = { first: 100, longest: 5_000 } as const;

export function createListener(where: Where, { name }: PoolPolicy): { listen: Listen; close(): Promise<void> } {
  const calls = new Map<string, Set<(payload: string) => void>>();
  let client: pg.Client | undefined;
  let opening: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let tries = 0;
  let closed = false;

  async function open(): Promise<void> {
    const addresses = where();
    const Client = clientClass(() => addresses[tries % Math.max(1, addresses.length)] ?? '', new Set());
    const opened = new Client({ connectionTimeoutMillis: longestAnswerMs, keepAlive: true, application_name: `schoolbell ${name} ${processTag} listening` });
    opened.on('notification', ({ channel, payload = '' }) => {
      for (const call of calls.get(channel) ?? []) call(payload);
    });
    opened.once('end', () => {
      if (client === opened) client = undefined;
      again();
    });
    tries += 1;
    await opened.connect();
    try {
      for (const channel of calls.keys()) await ask(opened, `listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      socketOf(opened).destroy();
      throw error;
    }
    client = opened;
    tries = 0;
    if (closed || calls.size === 0) await end();
  }

  /** One that does not answer is as good as dead. */
  async function ask(on: pg.Client, text: string): Promise<void> {
    const late = setTimeout(() => socketOf(on).destroy(), longestAnswerMs);
    await on.query(text).finally(() => clearTimeout(late));
  }

  const openOnce = () => {
    clearTimeout(timer);
    return (opening ??= (client ? Promise.resolve() : open()).finally(() => (opening = undefined)));
  };

  function again(): void {
    if (closed || calls.size === 0) return;
    clearTimeout(timer);
    timer = setTimeout(() => void openOnce().catch(again), Math.min(againMs.longest, againMs.first * 2 ** tries));
  }

  const asking = setInterval(() => {
    if (client) void ask(client, 'select 1').catch(() => {});
  }, askEveryMs).unref();

  async function end(): Promise<void> {
    const ending = client;
    client = undefined;
    if (!ending) return;
    const late = setTimeout(() => socketOf(ending).destroy(), 1_000);
    await ending.end().catch(() => {}).finally(() => clearTimeout(late));
  }

  return {
    async listen(channel, call) {
      const known = calls.get(channel);
      calls.set(channel, (known ?? new Set()).add(call));
      if (!client) await openOnce().catch(again);
      else if (!known) await ask(client, `listen ${pg.escapeIdentifier(channel)}`).catch(() => {});
      return {
        async unlisten() {
          calls.get(channel)?.delete(call);
          if (calls.get(channel)?.size === 0) calls.delete(channel);
          if (calls.size === 0) await end();
        },
      };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      clearInterval(asking);
      await opening?.catch(() => {});
      await end();
    },
  };
}
