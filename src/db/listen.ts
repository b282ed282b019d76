// In charge of being told: a connection of its own that listens where writes are taken, is asked now and then whether it still is there, and
// is opened anew when it is not. What is notified meanwhile is missed, so that everybody who listens also looks by itself.
import pg from 'pg';
import { clientClass, socketOf } from './client.ts';
import type { PoolPolicy } from './policies.ts';
import { processTag } from './pool.ts';
import type { ServerFacts, Servers } from './servers.ts';

/** Calls at each notification of a channel. */
export type Listen = (channel: string, call: (payload: string) => void) => Promise<{ unlisten(): Promise<void> }>;

const askEveryMs = 15_000;
const longestAnswerMs = 5_000;
const againMs = { first: 100, longest: 5_000 } as const;

export function createListener(servers: Servers, { name }: PoolPolicy): { listen: Listen; close(): Promise<void> } {
  const calls = new Map<string, Set<(payload: string) => void>>();
  let client: pg.Client | undefined;
  let opening: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let tries = 0;
  let closed = false;

  async function open(): Promise<void> {
    const { place } = servers;
    const Client = clientClass(() => servers.next(), new Set());
    const opened = new Client({ connectionTimeoutMillis: longestAnswerMs, keepAlive: true, application_name: `schoolbell ${name} ${processTag} listening` });
    opened.on('notification', ({ channel, payload = '' }) => {
      for (const call of calls.get(channel) ?? []) call(payload);
    });
    opened.once('end', () => {
      if (client === opened) client = undefined;
      again();
    });
    tries += 1;
    try {
      await opened.connect();
      await requireServer(opened);
      for (const channel of calls.keys()) await ask(opened, `listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      servers.passOver(place);
      socketOf(opened).destroy();
      throw error;
    }
    client = opened;
    tries = 0;
    if (closed || calls.size === 0) await end();
  }

  /** One that does not answer is as good as dead. */
  async function ask(on: pg.Client, text: string): Promise<pg.QueryResult> {
    const late = setTimeout(() => socketOf(on).destroy(), longestAnswerMs);
    return on.query(text).finally(() => clearTimeout(late));
  }

  /** Nothing is notified by a server that takes no writes any more. */
  async function requireServer(on: pg.Client): Promise<void> {
    await servers.examine(async (asks) => (await ask(on, `select ${asks.join(', ')}`)).rows[0] as ServerFacts | undefined);
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
    const asked = client;
    if (asked) void requireServer(asked).catch(() => socketOf(asked).destroy());
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
