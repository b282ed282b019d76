// Readers of long lists: one that stops reading is cut off by a reset, a fair one is not, others do not wait for
// either, and whatever a reader does, the database connection of its stream comes free.
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/until.ts';
import { rootA, rootB, useService } from '../../test/service.ts';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';
import { policies } from '../db/policies.ts';
import { wholeListsPerApplication } from '../rostering/routes.ts';
import { slowReaderLimit, type SlowReaderLimit } from './slow-reader.ts';

const estab = '9990001';
const strict: SlowReaderLimit = { bytesPerSecond: 64 * 1024, seconds: 1 };
/** What holds for the requests from then on. */
const limit = { ...strict };
const service = await useService({}, { slowReader: limit });
await service.addSchool(estab, demoPackage());
const client = await service.addClient('app', [estab]);
const [tokenA, tokenB] = [await client.tokenA(), await client.tokenB(estab)];
/** Two more readers than there are connections, of three applications: each may read only so many whole lists at once. */
const tokensOfThree = [tokenB, ...(await Promise.all(['second', 'third'].map(async (rp) => (await service.addClient(rp, [estab])).tokenB(estab))))];
const manyReaders = Array.from({ length: policies.lists.max + 2 }, (_, at) => tokensOfThree[at % tokensOfThree.length]);

/** The server's side of each connection, by the reader's port. */
const connections = new Map<number | undefined, Socket>();
service.app.server.on('connection', (socket) => connections.set(socket.remotePort, socket));
beforeEach(() => void Object.assign(limit, strict));

/** A whole list, not read yet. */
function open(root: string, path: string, token: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${service.url}${root}${path}`, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else void response.setEncoding('utf8').toArray().then((body) => reject(new Error(`${path}: ${response.statusCode} ${body.join('')}`)), reject);
    }).on('error', reject);
  });
}
const openWhole = (token = tokenB) => open(rootB, '/enrollments', token);

type Read = { body: string; complete: boolean; fault: string | undefined };

function readOn(response: IncomingMessage): Promise<Read> {
  return new Promise((resolve) => {
    const received: Buffer[] = [];
    let fault: string | undefined;
    response.on('data', (data: Buffer) => received.push(data));
    response.once('error', (error: NodeJS.ErrnoException) => (fault = error.code));
    response.once('close', () => resolve({ body: Buffer.concat(received).toString(), complete: response.complete, fault }));
    response.resume();
  });
}

async function readPaced(response: IncomingMessage, bytesPerSecond: number, seconds: number): Promise<Read> {
  const received: Buffer[] = [];
  const end = Date.now() + seconds * 1000;
  let taken = 0;
  const started = Date.now();
  response.on('error', () => {});
  while (Date.now() < end && !response.destroyed && !response.readableEnded) {
    const due = ((Date.now() - started) / 1000) * bytesPerSecond;
    while (taken < due) {
      const piece = response.read() as Buffer | null;
      if (piece === null) break;
      received.push(piece);
      taken += piece.length;
    }
    await pause(20);
  }
  const rest = response.destroyed || response.readableEnded ? { body: '', complete: response.complete, fault: undefined } : await readOn(response);
  return { ...rest, body: Buffer.concat(received).toString() + rest.body };
}

async function pausedFor(response: IncomingMessage, ms: number): Promise<Read> {
  response.pause();
  await pause(ms);
  return readOn(response);
}

/** Reads nothing until the server has ended the connection, and then what had come. */
async function pausedUntilCutOff(response: IncomingMessage): Promise<Read> {
  response.pause();
  const connection = connections.get(response.socket.localPort);
  await until('the server has cut it off', () => connection?.destroyed === true);
  return readOn(response);
}

const isWhole = ({ body, complete }: Read) => complete && (JSON.parse(body) as { enrollments: unknown[] }).enrollments.length === total;

function assertCutOff(read: Read): void {
  assert.equal(read.complete, false, 'the list ended as if it were whole');
  assert.ok(read.fault === 'ECONNRESET' || read.fault === undefined, read.fault);
  assert.throws(() => void JSON.parse(read.body), 'what was read is well-formed');
}

/** Connections that a list still holds. */
async function held(): Promise<number> {
  const [row] = await service.db<
    { count: number }[]
  >`select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`;
  return row?.count ?? -1;
}

/** What was asked just before its reader went away may still be on its way, so it has to stay free for a while. */
async function allReleased(): Promise<void> {
  let free = 0;
  await until('no connection is held any more', async () => {
    await pause(50);
    free = (await held()) === 0 ? free + 1 : 0;
    return free === 5;
  }, held);
}

const first = await readOn(await openWhole());
const total = (JSON.parse(first.body) as { enrollments: unknown[] }).enrollments.length;

test('the list is long enough not to fit into the buffers on the way', () => {
  assert.ok(first.body.length > 5 * 1024 * 1024, `${first.body.length} bytes`);
  assert.ok(isWhole(first));
});

test('a reader that stops is cut off, in both variants, of a whole list as of a long page', async () => {
  // Nothing else ends what a reader leaves standing: one with more time, who came before, is still there afterwards.
  limit.seconds = 600;
  const patient = await openWhole();
  patient.pause();
  Object.assign(limit, strict);
  const asked = [[rootA, '/enrollments', tokenA], [rootB, '/enrollments', tokenB], [rootB, '/enrollments?limit=99999&sort=role', tokenB]] as const;
  const reads = await Promise.all(asked.map(async ([root, path, token]) => pausedUntilCutOff(await open(root, path, token))));
  for (const read of reads) assertCutOff(read);
  assert.equal(connections.get(patient.socket.localPort)?.destroyed, false);
  patient.on('error', () => {}).destroy();
  await allReleased();
});

test('a reader at a fair rate gets the whole list', async () => {
  const read = await readPaced(await openWhole(), 3 * 1024 * 1024, 10);
  assert.equal(read.fault, undefined);
  assert.ok(isWhole(read), `${read.body.length} of ${first.body.length} bytes`);
});

test('a pause shorter than the limit is forgiven', async () => {
  const read = await pausedFor(await openWhole(), 500);
  assert.ok(isWhole(read), `${read.body.length} of ${first.body.length} bytes`);
});

test('others are not delayed meanwhile', async () => {
  limit.seconds = 600;
  const slow = await Promise.all(Array.from({ length: 4 }, () => openWhole()));
  for (const response of slow) response.pause();
  for (const path of ['/users?limit=100', "/users?limit=5&filter=familyName~'a'", '/orgs', '/schools/org-9990001']) {
    const response = await client.b(estab, path);
    await response.arrayBuffer();
    assert.equal(response.status, 200);
  }
  assert.deepEqual(slow.map(({ socket }) => connections.get(socket.localPort)?.destroyed), slow.map(() => false), 'they were waited for all the while');
  for (const response of slow) response.on('error', () => {}).destroy();
  await allReleased();
});

test('more slow readers than there are connections, and then a whole list', async () => {
  assert.ok(manyReaders.length <= tokensOfThree.length * wholeListsPerApplication);
  const slow = manyReaders.map(async (token) => pausedUntilCutOff(await openWhole(token)));
  for (const read of await Promise.all(slow)) assertCutOff(read);
  await allReleased();
  assert.ok(isWhole(await readOn(await openWhole())));
});

test('readers that go away in the middle leave nothing behind', async () => {
  for (let round = 0; round < 2; round += 1) {
    await Promise.all(manyReaders.map(async (token, at) => {
      const response = await openWhole(token);
      response.on('error', () => {});
      if (at % 3 > 0) await new Promise((resolve) => response.once('data', resolve));
      if (at % 3 === 2) await pause(at * 5);
      response.destroy();
    }));
  }
  await allReleased();
  const [whole, page] = [await readOn(await openWhole()), await client.b(estab, '/users?limit=1')];
  assert.ok(isWhole(whole));
  assert.equal(page.status, 200);
});

test('requests that are given up before the answer begins leave nothing behind', async () => {
  for (let round = 0; round < 30; round += 1) {
    const asked = get(`${service.url}${rootB}/enrollments?sort=user.sourcedId`, { agent: false, headers: { authorization: `Bearer ${tokenB}` } });
    asked.on('error', () => {}).on('response', (response) => response.on('error', () => {}));
    await pause(round);
    asked.destroy();
  }
  await allReleased();
  assert.ok(isWhole(await readOn(await openWhole())));
});

test('a reader a quarter faster than the limit is not cut off, although it takes bytes in bursts', async () => {
  Object.assign(limit, { bytesPerSecond: 512 * 1024, seconds: 4 });
  const read = await readPaced(await openWhole(), 640 * 1024, 6);
  assert.ok(isWhole(read), `cut off after ${read.body.length} of ${first.body.length} bytes: ${read.fault}`);
});

test('the usual limit is 64 KiB a second, over half a minute', () => assert.deepEqual(slowReaderLimit, { bytesPerSecond: 64 * 1024, seconds: 30 }));
