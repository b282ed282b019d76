// In charge of the data endpoints of a school: rows typed by endpoint, in one answer or in pages that belong together, and
// waiting until data is fresh.
import type { Abortable, Call, Values } from './call.ts';
import type { Callbacks } from './callbacks.ts';
import { pathPart, type DatabaseState, type DbStatus, type Pagination } from './envelope.ts';
import { SchoolbellError, VersionGone } from './errors.ts';
import type { Endpoints, Scope } from './rows.ts';
import type { Session } from './session.ts';

export type EndpointName = keyof Endpoints;
export type RowOf<E extends EndpointName> = Endpoints[E]['row'];
type ById = { [E in EndpointName]: Endpoints[E]['byId'] extends true ? E : never }[EndpointName];

/** updatedSince: what changed after it, and the ids gone since. pageSize: left out, all rows come in one answer. */
export type DataOptions<E extends EndpointName, F> = Endpoints[E]['params'] & {
  select?: readonly F[] | undefined;
  updatedSince?: string | Date | undefined;
  pageSize?: number | undefined;
} & Abortable;
/** Where an endpoint needs a parameter, so does the call. */
type Given<E extends EndpointName, O> = Record<never, never> extends Endpoints[E]['params'] ? [options?: O] : [options: O];

export type DataPage<R> = {
  rows: R[];
  /** Ids that have gone; undefined unless updatedSince was given. */
  deleted: string[] | undefined;
  total: number;
  databases: DatabaseState[];
};

/** waitMs: twelve minutes; the service takes ten at most. */
export type ReadyOptions = Abortable & { callbacks: Callbacks; waitMs?: number | undefined };

export type SchoolData = {
  data<E extends EndpointName, F extends keyof RowOf<E> = keyof RowOf<E>>(
    endpoint: E,
    ...given: Given<E, DataOptions<E, F>>
  ): AsyncGenerator<Pick<RowOf<E>, F>>;
  /** The same page by page, with what has gone and how the databases stand. */
  dataPages<E extends EndpointName, F extends keyof RowOf<E> = keyof RowOf<E>>(
    endpoint: E,
    ...given: Given<E, DataOptions<E, F>>
  ): AsyncGenerator<DataPage<Pick<RowOf<E>, F>>>;
  row<E extends ById>(endpoint: E, id: string, options?: Abortable): Promise<RowOf<E> | undefined>;
  /** Waits until what is not fresh was collected. AllOK false: the rest says why, and what was collected before is served all the same. */
  ready<E extends EndpointName>(endpoint: E, params: Endpoints[E]['params'], options: ReadyOptions): Promise<DbStatus>;
  databases(options?: Abortable): Promise<DbStatus>;
  /** What the token opens at present. */
  details(options?: Abortable): Promise<Details>;
};

export type Details = { Estab: string; Name: string | null; RelyingParty: string; Scopes: Scope[]; Expires: string };

const usualWaitMs = 12 * 60_000;

type Options = Values & { select?: readonly string[]; updatedSince?: string | Date; pageSize?: number; signal?: AbortSignal };
type Body = Record<string, unknown> & { __pagination__: [Pagination]; __dbStatus__: DatabaseState[]; meta: [{ Version: number }] };

/** @internal */
export function createSchoolData(session: Session, estab: string): SchoolData {
  const root = `/api/v1/School/${pathPart(estab)}`;

  async function* dataPages(endpoint: string, options = {} as Options): AsyncGenerator<DataPage<unknown>> {
    const { select, updatedSince, signal, ...params } = options;
    const query = { ...params, select: select?.join(','), updatedSince: updatedSince instanceof Date ? updatedSince.toISOString() : updatedSince };
    let before: string | undefined;
    for (let page = 1; ; page += 1) {
      const asked: Call = { path: `${root}/${endpoint}`, query: page === 1 ? query : { ...query, page }, signal };
      const body = await session.json<Body>(asked);
      const { __pagination__: [{ PageSize, PageCount, RowCount }], __dbStatus__: databases, meta } = body;
      const rows = body[endpoint] as unknown[] | undefined;
      const due = Math.max(0, Math.min(PageSize, RowCount - (page - 1) * PageSize));
      if (rows?.length !== due)
        throw new SchoolbellError(`GET ${asked.path} gave ${rows?.length ?? 'no'} rows on page ${page} where ${due} were due.`, { code: 'incomplete' });
      const state = JSON.stringify([RowCount, meta[0].Version, databases.map((one) => [one.LastUpdated, one.RowCount])]);
      if (before !== undefined && before !== state)
        throw new VersionGone(`${endpoint} changed between two pages: begin again, or leave pageSize out.`, { code: 'walk_changed' });
      before = state;
      yield { rows, deleted: body[`${endpoint}_deleted`] as string[] | undefined, total: RowCount, databases };
      if (page >= PageCount) return;
    }
  }

  async function* data(endpoint: string, options?: Options): AsyncGenerator<unknown> {
    for await (const page of dataPages(endpoint, options)) yield* page.rows;
  }

  async function row(endpoint: string, id: string, { signal }: Abortable = {}): Promise<unknown> {
    const found = await session.find<Record<string, unknown[]>>({ path: `${root}/${endpoint}/${pathPart(id)}`, signal });
    return found?.[endpoint]?.[0];
  }

  async function ready(endpoint: string, params: Values, { callbacks, waitMs = usualWaitMs, signal }: ReadyOptions): Promise<DbStatus> {
    // Matched by a key of our own, so that a call that comes before the answer to this request is not lost.
    const wait = callbacks.expect();
    const over = new AbortController();
    const leave = () => over.abort(signal?.reason);
    signal?.addEventListener('abort', leave, { once: true });
    try {
      await session.send({ path: `${root}/${endpoint}`, query: { ...params, callbackUrl: wait.url }, signal });
      signal?.throwIfAborted();
      const late = session.settings.sleep(waitMs, over.signal).then(() => {
        throw new SchoolbellError(`No callback for ${endpoint} came within ${waitMs} ms; request the data directly.`, { code: 'timeout' });
      });
      return await Promise.race([wait.arrived, late]);
    } finally {
      over.abort();
      wait.forget();
      signal?.removeEventListener('abort', leave);
    }
  }

  return {
    data,
    dataPages,
    row,
    ready,
    databases: ({ signal } = {}) => session.json({ path: '/api/v1/Databases', signal }),
    details: ({ signal } = {}) => session.json({ path: '/api/v1/TokenDetails', signal }),
  } as SchoolData;
}
