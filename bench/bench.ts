// In charge of what the figures share: a cluster with the settings of production, a large school, a service, a load.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { chmodSync, createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { addApplication } from '../src/access/applications.ts';
import { authorise } from '../src/access/authorisations.ts';
import { addEstablishment } from '../src/access/establishments.ts';
import { createSeal } from '../src/access/seal.ts';
import { createApp, createPools } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { connect, type Db } from '../src/db/connect.ts';
import type { Place } from '../src/db/embedded-place.ts';
import { openEmbedded } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { createWorkPools } from '../src/work.ts';
import { freePort } from '../test/free-port.ts';

export type Figure = { name: string; measured: string; goal: string; holds: boolean | undefined };

/** What a value must reach, and what it is to reach; of what is better the smaller it is, at most. */
export type Bars = { bar: number; goal: number; atMost?: true };

export type Bench = {
  db: Db;
  /** The pool that a worker has. */
  work: Db;
  folder: string;
  /** Where the server of the benchmarks lives. */
  place: Place;
  /** Where others find its database. */
  databaseUrl: string;
  app: FastifyInstance;
  url: string;
  token: string;
  requestToken(path?: string): Promise<string>;
  /** Another service on the same database, whose answers are the same bytes. */
  openApp(settings: Record<string, string>): Promise<{ url: string; close(): Promise<void> }>;
  /** What `/bench/constant` answers. */
  sendConstant(body: Buffer): void;
  /** What `/bench/file` streams. */
  sendFile(path: string): void;
  figures: Figure[];
  add(name: string, measured: string, goal?: string, holds?: boolean): void;
  judge(name: string, value: number, measured: string, bars: Bars): void;
  close(): Promise<void>;
};

export const estab = 'bench';
export const benchSecretKey = 'a key for the benchmarks that is long enough';

export async function openBench(): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'schoolbell-bench-'));
  const port = await freePort();
  chmodSync(folder, 0o711);
  const embedded = await openEmbedded(folder);
  const url = embedded.whereAs('superuser')()[0] ?? '';
  const db = connect(embedded.whereAs('superuser'), { max: 10, name: 'bench' });
  const opened: Db[] = [db];
  const openPools = () => {
    const own: Db[] = [];
    const pools = createPools((options) => {
      const pool = connect(embedded.whereAs('serving'), options);
      own.push(pool);
      return pool;
    });
    return { pools, own };
  };
  const { pools, own } = openPools();
  opened.push(...own);
  const workPools = createWorkPools((options) => connect(embedded.whereAs('serving'), options));
  const work = workPools.outbox;
  opened.push(...Object.values(workPools));
  const owner = connect(embedded.whereAs('owner'), { max: 1, name: 'bench' });
  await migrate(owner);
  await owner.end();
  const settings = {
    // With the sandbox, whose page is measured too; no application of the bench is one of the demo.
    DEMO: 'on',
    PORT: String(port),
    DATA_DIR: folder,
    DATABASE_URL: url,
    SECRET_KEY: benchSecretKey,
    TRUST_PROXY: '127.0.0.1/32',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'silent',
    PUBLIC_URL: `http://127.0.0.1:${port}`,
  };
  const config = readConfig(settings);
  const seal = createSeal(config.secretKeys);
  const app = createApp({ config, pools, seal });
  const figures: Figure[] = [];
  const sent: { constant: Buffer; file: string } = { constant: Buffer.alloc(0), file: '' };
  const tell = (figure: Figure) => {
    figures.push(figure);
    const { name, measured, goal, holds } = figure;
    console.log(`${name}: ${measured}${goal && ` (${goal})`}${goal && !holds ? ' MISSED' : ''}`);
  };
  await addEstablishment(db, { estab, name: 'Bench', email: 'bench@school.example' });
  await addApplication(db, seal, { rp: 'bench', name: 'Bench', callbackUrl: 'http://127.0.0.1:9/', scopes: 'School,Student,Staff,Contact', redirectUris: [] });
  const { schoolSecret } = await authorise(db, { rp: 'bench', estab });
  const bench: Bench = {
    db,
    work,
    folder,
    place: embedded.place,
    databaseUrl: url,
    app,
    url: `http://127.0.0.1:${port}`,
    token: '',
    async requestToken(path = '/ims/oneroster/v1p1/auth/token') {
      const authorization = `Basic ${Buffer.from(`bench|${estab}:${schoolSecret}`).toString('base64')}`;
      const response = await fetch(bench.url + path, { method: 'POST', headers: { authorization } });
      return ((await response.json()) as { access_token: string }).access_token;
    },
    async openApp(others) {
      const beside = openPools();
      const besidePort = await freePort();
      const besideApp = createApp({ config: readConfig({ ...settings, ...others, PORT: String(besidePort) }), pools: beside.pools, seal });
      await besideApp.listen({ host: '127.0.0.1', port: besidePort });
      return {
        url: `http://127.0.0.1:${besidePort}`,
        async close() {
          await besideApp.close();
          for (const pool of beside.own) await pool.end({ timeout: 5 });
        },
      };
    },
    sendConstant: (body) => void (sent.constant = body),
    sendFile: (path) => void (sent.file = path),
    figures,
    add(name, measured, goal = '', holds = undefined) {
      tell({ name, measured, goal: goal && `goal ${goal}`, holds });
    },
    judge(name, value, measured, { bar, goal, atMost }) {
      tell({ name, measured, goal: `bar ${bar}, goal ${goal}`, holds: atMost ? value <= bar : value >= bar });
    },
    async close() {
      await app.close();
      for (const pool of opened) await pool.end({ timeout: 5 });
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  app.get('/bench/constant', async (_request, reply) => reply.type('application/json; charset=utf-8').send(sent.constant));
  app.get('/bench/file', async (_request, reply) => reply.type('application/json; charset=utf-8').send(createReadStream(sent.file)));
  await app.listen({ host: '127.0.0.1', port });
  bench.token = await bench.requestToken();
  return bench;
}

/** Where requests go, and as whom. */
export type Door = Pick<Bench, 'url' | 'token'>;

/** Requests a second over 16 connections, from a process of its own. `__n__` in the path is a number never used before, `__below:m__` a random one. */
export async function load({ url, token }: Door, path: string, seconds = 3): Promise<number> {
  return Number(await runChild('load.ts', [url + path, token, String(seconds)]));
}

/** As many requests as are wanted, however long they take. */
export async function loadTimes({ url, token }: Door, path: string, times: number): Promise<number> {
  return Number(await runChild('load.ts', [url + path, token, '', String(times)]));
}

/** What a program of the bench prints, in a process of its own. */
export async function runChild(program: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const chunk of child.stdout) output += String(chunk);
  return output;
}

export async function get(bench: Door, path: string, token = bench.token): Promise<Response> {
  const response = await fetch(bench.url + path, { headers: { authorization: `Bearer ${token}` } });
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Milliseconds of the middle of several runs, one request at a time. */
export async function medianMs(run: (at: number) => Promise<unknown>, times: number): Promise<number> {
  const taken: number[] = [];
  for (let at = 0; at < times; at += 1) {
    const started = performance.now();
    await run(at);
    taken.push(performance.now() - started);
  }
  return taken.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
}

export const ratio = (value: number) => value.toFixed(2);
