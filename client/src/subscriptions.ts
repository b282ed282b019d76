// In charge of what an application is told: registrations for database events, and the deliveries that were made or failed.
import type { Abortable } from './call.ts';
import { pathPart, type Pagination } from './envelope.ts';
import type { DatabaseName, DeliveryState } from './rows.ts';
import type { Session } from './session.ts';

export type Webhook = {
  Id: string;
  Estab: string;
  RelyingParty: string;
  DatabaseName: DatabaseName;
  Url: string;
  Method: 'GET' | 'POST';
  Created: string;
  Updated: string;
};

/** With POST a small body says which school and database it is about. */
export type Registration = { url: string; database: DatabaseName; method?: 'GET' | 'POST' | undefined };

/** One for each database of a school: registering again replaces it. */
export type Webhooks = {
  /** message: what the service remarks. */
  register(given: Registration, options?: Abortable): Promise<{ webhook: Webhook; message: string | null }>;
  list(options?: Abortable): Promise<Webhook[]>;
  remove(id: string, options?: Abortable): Promise<void>;
  /** Gives the id of the delivery. */
  test(id: string, options?: Abortable): Promise<string>;
};

export type Delivery = {
  Id: string;
  Kind: string;
  Estab: string;
  WebhookId: string | null;
  DatabaseName: DatabaseName | null;
  Method: string | null;
  Url: string | null;
  State: DeliveryState;
  Created: string;
  NextAttempt: string | null;
  Settled: string | null;
  LastStatus: number | null;
  LastError: string | null;
  TargetState: 'ok' | 'failing' | 'paused' | 'disabled';
  TargetMessage: string | null;
  Attempts: number;
};

export type Attempt = {
  At: string;
  Status: number | null;
  Error: string | null;
  Address: string | null;
  Milliseconds: number | null;
  ResponseHeaders: Record<string, string> | null;
  Response: string | null;
};

export type DeliveryOptions = Abortable & {
  state?: DeliveryState | undefined;
  since?: string | Date | undefined;
  until?: string | Date | undefined;
  pageSize?: number | undefined;
};

export type Deliveries = {
  /** Newest first. */
  list(options?: DeliveryOptions): AsyncGenerator<Delivery>;
  /** With every attempt. */
  get(id: string, options?: Abortable): Promise<Omit<Delivery, 'Attempts'> & { Attempts: Attempt[] }>;
  replay(id: string, options?: Abortable): Promise<string>;
};

const webhookRoot = '/api/v1/Webhook';
const deliveryRoot = '/api/v1/Deliveries';

/** @internal */
export function createWebhooks(session: Session): Webhooks {
  return {
    async register({ url, database, method }, { signal } = {}) {
      const body = { url, DatabaseName: database, ...(method ? { Method: method } : {}) };
      const answer = await session.json<{ Webhook: [Webhook]; Message: string | null }>({ method: 'POST', path: webhookRoot, body, repeatable: true, signal });
      return { webhook: answer.Webhook[0], message: answer.Message };
    },
    list: async ({ signal } = {}) => (await session.json<{ Webhook: Webhook[] }>({ path: webhookRoot, signal })).Webhook,
    async remove(id, { signal } = {}) {
      await session.send({ method: 'DELETE', path: `${webhookRoot}/${pathPart(id)}`, signal });
    },
    test: async (id, { signal } = {}) =>
      (await session.json<{ DeliveryId: string }>({ method: 'POST', path: `${webhookRoot}/${pathPart(id)}/Test`, signal })).DeliveryId,
  };
}

/** @internal */
export function createDeliveries(session: Session): Deliveries {
  return {
    async *list({ state, since, until, pageSize, signal } = {}) {
      const time = (value: string | Date | undefined) => (value instanceof Date ? value.toISOString() : value);
      const query = { state, since: time(since), until: time(until), pageSize, page: 1 };
      const seen = new Set<string>();
      for (;;) {
        const body = await session.json<{ Deliveries: Delivery[]; __pagination__: [Pagination] }>({ path: deliveryRoot, query, signal });
        const { Deliveries: found, __pagination__: [{ PageSize }] } = body;
        const fresh = found.filter(({ Id }) => !seen.has(Id));
        yield* fresh;
        const last = found.at(-1);
        if (!last || found.length < PageSize) return;
        // Older than the last, not the next by number: those that were replayed meanwhile are no longer counted, and numbers end at 10,000.
        const next = new Date(Date.parse(last.Created) + 1).toISOString();
        query.page = next === query.until ? query.page + 1 : 1;
        if (query.page === 1) seen.clear();
        for (const { Id } of found) seen.add(Id);
        query.until = next;
      }
    },
    get: async (id, { signal } = {}) =>
      (await session.json<{ Deliveries: [Awaited<ReturnType<Deliveries['get']>>] }>({ path: `${deliveryRoot}/${pathPart(id)}`, signal })).Deliveries[0],
    replay: async (id, { signal } = {}) =>
      (await session.json<{ DeliveryId: string }>({ method: 'POST', path: `${deliveryRoot}/${pathPart(id)}/Replay`, signal })).DeliveryId,
  };
}
