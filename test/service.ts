// In charge of a running service for tests: a real server on a real port over a real database, and short ways to add
// schools and applications and to ask it things.
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { addApplication, type NewApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createRequestLines, type RequestLines } from '../src/access/request-lines.ts';
import { scopeNames } from '../src/access/scopes.ts';
import { createSeal, type Seal } from '../src/access/seal.ts';
import { createApp, createPools, createReplicaPools, type AppParts } from '../src/app.ts';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { openPackage, type CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { importRoster } from '../src/collection/import.ts';
import type { ImportReport } from '../src/collection/import-report.ts';
import { readConfig } from '../src/config.ts';
import { connect, type Db, type PoolOptions, type Servers } from '../src/db/connect.ts';
import { policies } from '../src/db/policies.ts';
import { createRequestMeter } from '../src/http/request-meter.ts';
import { createWorkPools, startWork } from '../src/work.ts';
import { useDatabase, type TestDatabase } from './database.ts';
import { freePort } from './free-port.ts';

/** As long as a timer can be: what is kept of requests is written when a test asks for it. */
const neverMs = 2 ** 31 - 1;
export const testSecretKey = 'a key for tests that is long enough';
export const rootA = '/api/ims/oneroster/v1p1';
export const rootB = '/ims/oneroster/v1p1';
export const root12 = '/ims/oneroster/rostering/v1p2';

export type Service = {
  db: Db;
  databaseUrl: string;
  url: string;
  /** Where files go. */
  dataDir: string;
  seal: Seal;
  app: FastifyInstance;
  /** What was asked of it, which the tests have written when they want to see it. */
  lines: RequestLines;
  addSchool(estab: string, given?: string | CsvPackage): Promise<ImportReport | undefined>;
  addClient(rp: string, estabs: readonly string[], scopes?: string): Promise<Client>;
  /** Another process on the same database, as far as what a process remembers goes, until the end of the test file. */
  join(env?: Record<string, string>, parts?: Partial<AppParts>): Promise<{ url: string; app: FastifyInstance }>;
  /** Runs a worker with the chores until the end of the test file. */
  work(env?: Record<string, string>): Promise<void>;
  /** Those workers stop before the end, so that nothing changes by itself. */
  rest(): Promise<void>;
  /** approve: an import that waits for approval is approved, as on the school's page. */
  load(estab: string, given: string | CsvPackage, options?: { partial?: boolean; force?: boolean; approve?: boolean }): Promise<ImportReport>;
};

export type Client = NewApplication & {
  schoolSecrets: Record<string, string>;
  tokenA(): Promise<string>;
  tokenB(estab: string): Promise<string>;
  /** With the secret of a school, or without one with that of the application. */
  token12(estab?: string): Promise<string>;
  /** A request with the school token of an establishment; the path begins behind /api/v1/, of this process or of another. */
  s(estab: string, path: string, init?: RequestInit, at?: string): Promise<Response>;
  /** GET under variant A. */
  a(path: string, headers?: Record<string, string>): Promise<Response>;
  /** GET under variant B, as that establishment's client. */
  b(estab: string, path: string, headers?: Record<string, string>): Promise<Response>;
  v12(estab: string | undefined, path: string, headers?: Record<string, string>): Promise<Response>;
};

/** A machine may be slow: only tests of the limits themselves hold to those of the product. */
function withPatience(options: PoolOptions, patience: number): PoolOptions {
  const limits = ['connectionMs', 'awayMs', 'statementMs', 'lockMs', 'idleInTransactionMs', 'answerMs'] as const;
  return { ...options, ...Object.fromEntries(limits.flatMap((limit) => (options[limit] === undefined ? [] : [[limit, patience * options[limit]]]))) };
}

type Part = 'now' | 'slowReader' | 'lookEveryMs' | 'hashing' | 'holds' | 'largestUpload' | 'demo' | 'demoEntry' | 'logTo' | 'meter' | 'deprecations';
/** database: another one than that of the test cluster, and its servers if there are several. replicas: of it. */
type Parts = Partial<Pick<AppParts, Part>> & { patience?: number; database?: TestDatabase & { servers?: Servers }; replicas?: Servers };

export async function useService(env: Record<string, string> = {}, { patience = 4, database, replicas: standbys, ...parts }: Parts = {}): Promise<Service> {
  const { db, url: databaseUrl, servingUrl = databaseUrl } = database ?? (await useDatabase());
  const opened: Db[] = [];
  const openOn = (where: string | Servers) => (options: PoolOptions) => {
    const pool = connect(where, withPatience(options, patience));
    opened.push(pool);
    return pool;
  };
  const openPool = openOn(database?.servers ?? servingUrl);
  const replicas = standbys && createReplicaPools({ spread: openOn(standbys), one: openOn(standbys) });
  const pools = createPools(openPool);
  const importing = openPool({ ...policies.collections, name: 'test' });
  const port = await freePort();
  const dataDir = mkdtempSync(join(tmpdir(), 'schoolbell-data-'));
  const settings = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'silent', ...env };
  const config = readConfig({ PORT: String(port), ...settings });
  const seal = createSeal(config.secretKeys);
  const meter = parts.meter ?? createRequestMeter();
  const lines = createRequestLines(pools.changes, meter, neverMs);
  const app = createApp({ config, pools, replicas, seal, ...parts, meter, lines });
  await app.listen({ host: '127.0.0.1', port });
  const stops: (() => Promise<void>)[] = [];
  after(async () => {
    for (const stop of stops) await stop();
    await app.close();
    for (const pool of opened) await pool.end({ timeout: 5 });
    rmSync(dataDir, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;

  const load: Service['load'] = async (estab, given, { partial = false, force = false, approve = false } = {}) => {
    const open = async () => openCsvSource(typeof given === 'string' ? await openPackage(given) : given);
    const [id, options] = [randomUUID(), { estab, dataDir, partial, force, shrinkLimitPercent: config.shrinkLimitPercent }];
    const report = await importRoster(importing, open, { ...options, id });
    return approve && report.outcome === 'held' ? importRoster(importing, open, { ...options, approved: id }) : report;
  };

  const workers: (() => Promise<void>)[] = [];

  return {
    db,
    databaseUrl,
    url,
    dataDir,
    seal,
    app,
    lines,
    load,
    async join(others = {}, own = {}) {
      const joining = readConfig({ ...settings, PORT: String(await freePort()), PUBLIC_URL: config.publicUrl, ...others });
      const joined = createApp({ config: joining, pools: createPools(openPool), seal: createSeal(joining.secretKeys), ...parts, ...own });
      stops.push(() => joined.close());
      await joined.listen({ host: '127.0.0.1', port: joining.port });
      return { url: `http://127.0.0.1:${joining.port}`, app: joined };
    },
    async work(others = {}) {
      const workPools = createWorkPools(openPool);
      const own = readConfig({ PORT: String(port), ...settings, ...others });
      const stop = await startWork({ pools: workPools, seal, config: own, log: app.log, ...(parts.now ? { now: parts.now } : {}) });
      let stopped: Promise<void> | undefined;
      const once = () => (stopped ??= stop());
      workers.push(once);
      stops.push(once);
    },
    async rest() {
      await Promise.all(workers.map((stop) => stop()));
    },
    async addSchool(estab, given) {
      await addEstablishment(db, { estab, name: `School ${estab}`, email: `office@${estab}.example` });
      return given === undefined ? undefined : load(estab, given, { approve: true });
    },
    async addClient(rp, estabs, scopes = scopeNames.join(',')) {
      const callbackUrl = 'https://127.0.0.1:9/events';
      const application = await addApplication(db, seal, { rp, name: `Application ${rp}`, callbackUrl, scopes, redirectUris: [] });
      const schoolSecrets: Record<string, string> = {};
      for (const estab of estabs) schoolSecrets[estab] = (await authorise(db, { rp, estab, scopes })).schoolSecret;
      const tokens = new Map<string, Promise<string>>();
      const once = (key: string, make: () => Promise<string>) => {
        const made = tokens.get(key) ?? make();
        tokens.set(key, made);
        return made;
      };
      const tokenA = () => requestToken(`${url}${rootA}/token`, application.clientId, application.clientSecret);
      const tokenB = (estab: string) => requestToken(`${url}${rootB}/auth/token`, `${rp}|${estab}`, schoolSecrets[estab] ?? '');
      const token12 = (estab?: string) =>
        estab === undefined
          ? requestToken(`${url}${root12}/token`, application.clientId, application.clientSecret)
          : requestToken(`${url}${root12}/token`, `${rp}|${estab}`, schoolSecrets[estab] ?? '');
      return {
        ...application,
        schoolSecrets,
        tokenA,
        tokenB,
        token12,
        s: async (estab, path, init = {}, at = url) =>
          fetch(`${at}/api/v1/${path}`, {
            ...init,
            headers: {
              ...(init.body ? { 'content-type': 'application/json' } : {}),
              ...init.headers,
              authorization: `Idaas ${await once(`school ${estab}`, () => schoolToken(url, rp, estab, schoolSecrets[estab] ?? ''))}`,
            },
          }),
        a: async (path, headers = {}) => fetch(`${url}${rootA}${path}`, { headers: { authorization: `Bearer ${await once('A', tokenA)}`, ...headers } }),
        b: async (estab, path, headers = {}) =>
          fetch(`${url}${rootB}${path}`, { headers: { authorization: `Bearer ${await once(estab, () => tokenB(estab))}`, ...headers } }),
        v12: async (estab, path, headers = {}) =>
          fetch(`${url}${root12}${path}`, { headers: { authorization: `Bearer ${await once(`12 ${estab}`, () => token12(estab))}`, ...headers } }),
      };
    },
  };
}

async function schoolToken(url: string, relyingParty: string, estab: string, password: string): Promise<string> {
  const response = await fetch(`${url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ estab, relyingParty, password }),
  });
  return ((await response.json()) as { token: string }).token;
}

async function requestToken(url: string, user: string, password: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` } });
  if (response.status !== 200) throw new Error(`no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}
