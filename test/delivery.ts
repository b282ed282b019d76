// In charge of deliveries for tests: a service with a worker of its own, receivers that record what arrives, schools
// with an application that can register, and ways to wait and to pass time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { NewApplication } from '../src/access/applications.ts';
import type { Seal } from '../src/access/seal.ts';
import { applicationCommands } from '../src/commands/application.ts';
import { authorisationCommands } from '../src/commands/authorisation.ts';
import type { Outcome } from '../src/commands/command.ts';
import { deliveryCommands } from '../src/commands/deliveries.ts';
import { secretCommands } from '../src/commands/secrets.ts';
import { targetCommands } from '../src/commands/target.ts';
import { readConfig } from '../src/config.ts';
import type { Db, Fragment } from '../src/db/connect.ts';
import { parseAllowList } from '../src/http/address-guard.ts';
import { createOutbound, outboundLimits, type OutboundLimits } from '../src/http/outbound.ts';
import { announceChange } from '../src/notifications/announce.ts';
import { createDelivery } from '../src/notifications/deliver.ts';
import { enqueue, type Lane } from '../src/outbox/enqueue.ts';
import { startWorker, type Worker } from '../src/outbox/worker.ts';
import type { TestDatabase } from './database.ts';
import { useService, type Service } from './service.ts';
import { until } from './until.ts';

export type Arrival = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer; id: string; at: number };
export type Answer = (arrival: Arrival, response: ServerResponse) => number | void | Promise<number | void>;
export type Receiver = { origin: string; port: number; arrivals: Arrival[]; answer: Answer };
export type School = {
  estab: string;
  rp: string;
  signingSecret: string;
  /** With the school token, behind /api/v1/. */
  ask(method: string, path: string, body?: object): Promise<Response>;
  /** The same behind /api/v1/Webhook. */
  api(method: string, path?: string, body?: object): Promise<Response>;
  /** With the management token of its application, behind /api/v1/. */
  manage(method: string, path: string): Promise<Response>;
};
/** dueIn: seconds from the last attempt, however long ago that was. */
export type Row = { id: string; state: string; attempts: number; errorClass: string | null; dueIn: number | null };
export type Logged = { details: Record<string, unknown>; message: string };
export type Delivering = Awaited<ReturnType<typeof useDelivering>>;

type Log = Parameters<typeof startWorker>[0]['log'];
type Credentials = Pick<NewApplication, 'rp' | 'managementSecret' | 'signingSecret'> & { estab: string; schoolSecret: string };

type DeliveringOptions = { limits?: OutboundLimits; worker?: false; now?: () => number; database?: TestDatabase };

/** With `worker: false` nobody works until one is started. */
export async function useDelivering({ database, ...options }: DeliveringOptions = {}) {
  // As in the demo, what receivers on loopback addresses answer may be seen.
  const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8', DEMO: 'on' }, database ? { database } : {});
  const { db, seal } = service;
  const warnings: Logged[] = [];
  const errors: Logged[] = [];
  const log = {
    warn: (details: object, message: string) => void warnings.push({ details: { ...details }, message }),
    error: (details: object, message: string) => void errors.push({ details: { ...details }, message }),
  };
  const start = (on: Db = db) => startDelivering(on, seal, { log, limits: options.limits ?? outboundLimits, now: options.now });
  if (options.worker !== false) await start();
  let schools = 0;

  /** A school, and an application that it authorises. */
  async function addSchool(scopes = 'School:optional,Identity'): Promise<School> {
    const estab = `S${(schools += 1)}`;
    await service.addSchool(estab);
    const client = await service.addClient(`app${schools}`, [estab], scopes);
    return signIn({ ...client, estab, schoolSecret: client.schoolSecrets[estab] ?? '' });
  }

  async function signIn({ rp, estab, schoolSecret, ...given }: Credentials): Promise<School> {
    const json = { 'content-type': 'application/json' };
    const getToken = async (body: object) => {
      const granted = await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: json, body: JSON.stringify(body) });
      return { authorization: `Idaas ${((await granted.json()) as { token: string }).token}` };
    };
    const headers = await getToken({ estab, relyingParty: rp, password: schoolSecret });
    const ask: School['ask'] = (method, path, body) =>
      fetch(`${service.url}/api/v1/${path}`, { method, ...(body ? { headers: { ...headers, ...json }, body: JSON.stringify(body) } : { headers }) });
    return {
      estab,
      rp,
      signingSecret: given.signingSecret,
      ask,
      api: (method, path = '', body) => ask(method, `Webhook${path}`, body),
      manage: async (method, path) =>
        fetch(`${service.url}/api/v1/${path}`, { method, headers: await getToken({ relyingParty: rp, password: given.managementSecret }) }),
    };
  }

  /** The application of one school is authorised at another as well. */
  async function joinSchool(school: School, estab: string): Promise<School> {
    const { schoolSecret } = (await runCommand(service, 'authorise', { rp: school.rp, estab }, [])).data as { schoolSecret: string };
    return signIn({ rp: school.rp, estab, schoolSecret, signingSecret: school.signingSecret, managementSecret: '' });
  }

  async function register(school: School, url: string, more: object = {}): Promise<string> {
    const response = await school.api('POST', '', { url, DatabaseName: 'SchoolData', ...more });
    assert.ok(response.status < 300, await response.clone().text());
    return ((await response.json()) as { Webhook: { Id: string }[] }).Webhook[0]?.Id ?? '';
  }

  /** Receipts and authentication events, which commands make as well, are another matter. */
  const notOnboarding = db`kind = 'call' and payload ->> 'event' is distinct from 'authentication'`;

  const rows = async (estab: string) => [
    ...(await db<Row[]>`
      select o.id, state, attempts, extract(epoch from due_at - a.at)::float8 as "dueIn", a.error_class as "errorClass"
      from outbox o
        left join lateral (select at, error_class from outbox_attempt a where a.estab = o.estab and a.id = o.id order by number desc limit 1) a on true
      where o.estab = ${estab} and ${notOnboarding} order by seq`),
  ];

  /** Whatever waits is due now. */
  const hurry = (estab: string) => makeDue(estab, db`state = 'waiting'`);

  async function makeDue(estab: string, which: Fragment): Promise<void> {
    await db.begin(async (tx) => {
      await tx`select from lane where key in (select lane from outbox where estab = ${estab}) order by key for update`;
      const lanes = (await tx<{ lane: string }[]>`update outbox set due_at = now() where estab = ${estab} and ${which} returning lane`).map(({ lane }) => lane);
      await tx`update lane set next_at = now() where next_at is not null and key = any(${lanes})`;
    });
  }

  /** Until nothing is due or under way any more. What was tried already keeps its delay: the first attempt may be over by now. */
  async function settled(estab: string): Promise<void> {
    await makeDue(estab, db`state = 'waiting' and attempts = 0`);
    await until(
      `${estab} is settled`,
      async () =>
        (await db`select from outbox where estab = ${estab} and ${notOnboarding} and (state = 'running' or (state = 'waiting' and due_at <= now()))`).length ===
        0,
      () => rows(estab),
    );
  }

  /** The same, after another attempt of whatever waits. */
  async function retried(estab: string): Promise<void> {
    await hurry(estab);
    await settled(estab);
  }

  /** One call on a lane of its own, beside all registrations. */
  const send = (school: School, url: string, more: { lane?: Partial<Lane>; body?: Buffer; contentType?: string } = {}) => {
    const { body = null, contentType, lane } = more;
    const payload = { event: 'example', method: body ? 'POST' : 'GET', url, ...(contentType ? { contentType } : {}) };
    return db.begin((tx) =>
      enqueue(tx, {
        estab: school.estab,
        rp: school.rp,
        kind: 'call',
        lane: { key: url, host: new URL(url).host, width: 4, lasting: true, ...lane },
        payload,
        body,
      }),
    );
  };

  return {
    service, db, seal, warnings, errors, start, addSchool, joinSchool, register, rows, hurry, settled, retried, send,
    clear: () => clearDeliveries(db),
    change: (estab: string) => db.begin((tx) => announceChange(tx, estab, 'SchoolData')),
    run: (name: string, given: Record<string, string | boolean> = {}, ...positionals: string[]) => runCommand(service, name, given, positionals),
  };
}

/** Nothing is left, and nothing under way: a worker must not lose the lane of what it still holds. */
export async function clearDeliveries(db: Db): Promise<void> {
  await until('nothing is under way', async () => {
    await db`update outbox set state = 'cancelled', settled_at = now() where state = 'waiting' or (state = 'running' and claim is null)`;
    return (await db`select from outbox where state = 'running'`).length === 0;
  });
  await db`delete from outbox`;
  await db`delete from lane`;
  await db`delete from webhook`;
}

async function runCommand({ db, seal }: Service, name: string, options: Record<string, string | boolean>, positionals: string[]): Promise<Outcome> {
  const commands = [...applicationCommands, ...secretCommands, ...authorisationCommands, ...deliveryCommands, ...targetCommands];
  const command = commands.find((one) => one.name === name);
  assert.ok(command, name);
  const { data, ...outcome } = await command.run({ db, seal, config: readConfig({}) }, { options, positionals });
  // As --json would print it.
  return { ...outcome, data: JSON.parse(JSON.stringify(data)) as unknown };
}

async function startDelivering(db: Db, seal: Seal, given: { log: Log; limits: OutboundLimits; now?: (() => number) | undefined }): Promise<Worker> {
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), given.limits);
  const worker = await startWorker({
    db,
    handlers: {
      call: createDelivery(db, seal, outbound, '1.2.3', { answersFrom: parseAllowList(['127.0.0.0/8']), now: given.now }),
      mail: { longestSeconds: 1, run: async () => ({ success: true, state: 'done', detail: {} }) },
    },
    log: given.log,
    pollMs: 50,
  });
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= worker.stop().then(() => outbound.close()));
  after(stop);
  return { stop };
}

/** Answers with the status that `answer` gives; one that gives none has answered by itself. */
export async function useReceiver(answer: Answer = () => 200): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const at = performance.now();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const arrival = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
      id: String(request.headers['webhook-id']),
      at,
    };
    receiver.arrivals.push(arrival);
    const status = await receiver.answer(arrival, response);
    if (typeof status === 'number') response.writeHead(status).end('thank you');
  }).listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { origin: `http://127.0.0.1:${port}`, port, arrivals: [], answer };
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
