// Readers of long lists: one that stops reading is cut off by a reset, a fair one is not, others do not wait for
// either, and whatever a reader does, the database connection of its stream comes free.
import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { rootA, rootB, useService } from '../../test/service.ts';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';

const estab = '9990001';
const service = await useService({}, { slowReader: { bytesPerSecond: 64 * 1024, seconds: 1 } });
await service.addSchool(estab, demoPackage());
const client = await service.addClient('app', [estab]);
const [tokenA, tokenB] = [await client.tokenA(), await client.tokenB(estab)];
const usual = await useService();
await usual.addSchool(estab, demoPackage());
const usualToken = await (await usual.addClient('app', [estab])).tokenB(estab);
/** More than the process reads whole lists at once. */
const manyReaders = 20;

/** A whole list, not read yet. */
function open(root: string, path: string, token: string, { url } = service): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${url}${root}${path}`, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${path}: ${response.statusCode}`));
    }).on('error', reject);
  });
}
const openWhole = () => open(rootB, '/enrollments', tokenB);

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
  const until = Date.now() + seconds * 1000;
  let taken = 0;
  const started = Date.now();
  response.on('error', () => {});
  while (Date.now() < until && !response.destroyed && !response.readableEnded) {
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

const isWhole = ({ body, complete }: Read) => complete && (JSON.parse(body) as { enrollments: unknown[] }).enrollments.length === total;

function assertCutOff(read: Read): void {
  assert.equal(read.complete, false, 'the list ended as if it were whole');
  assert.ok(read.fault === 'ECONNRESET' || read.fault === undefined, read.fault);
  assert.throws(() => void JSON.parse(read.body), 'what was read is well-formed');
}

/** Connections that a list still holds. */
async function held(): Promise<number> {
  const [row] = await service.db<{ count: number }[]>`select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`;
  return row?.count ?? -1;
}

/** What was asked just before its reader went away may still be on its way, so it has to stay free for a while. */
async function allReleased(): Promise<void> {
  let free = 0;
  for (const until = Date.now() + 10_000; free < 5 && Date.now() < until; await pause(50)) free = (await held()) === 0 ? free + 1 : 0;
  assert.equal(free, 5, 'connections are still held');
}

/** A quarter faster than the usual limit, for longer than it allows; the other tests run meanwhile. */
const steady = readPaced(await open(rootB, '/enrollments', usualToken, usual), 80 * 1024, 48);
const first = await readOn(await openWhole());
const total = (JSON.parse(first.body) as { enrollments: unknown[] }).enrollments.length;

test('the list is long enough not to fit into the buffers on the way', () => {
  assert.ok(first.body.length > 5 * 1024 * 1024, `${first.body.length} bytes`);
  assert.ok(isWhole(first));
});

test('a reader that stops is cut off, in both variants, of a whole list as of a long page', async () => {
  const asked = [[rootA, '/enrollments', tokenA], [rootB, '/enrollments', tokenB], [rootB, '/enrollments?limit=99999&sort=role', tokenB]] as const;
  const reads = await Promise.all(asked.map(async ([root, path, token]) => pausedFor(await open(root, path, token), 4_000)));
  for (const read of reads) assertCutOff(read);
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
  const slow = await Promise.all(Array.from({ length: 4 }, openWhole));
  for (const response of slow) response.pause();
  const until = Date.now() + 1_500;
  while (Date.now() < until) {
    for (const path of ['/users?limit=100', "/users?limit=5&filter=familyName~'a'", '/orgs', '/schools/org-9990001']) {
      const asked = performance.now();
      const response = await client.b(estab, path);
      await response.arrayBuffer();
      assert.equal(response.status, 200);
      assert.ok(performance.now() - asked < 2_000, `${path} took ${Math.round(performance.now() - asked)} ms`);
    }
  }
  for (const read of await Promise.all(slow.map((response) => pausedFor(response, 2_500)))) assertCutOff(read);
  await allReleased();
});

test('more slow readers than there are connections, and then a whole list', async () => {
  const slow = Array.from({ length: manyReaders }, async () => pausedFor(await openWhole(), 4_000));
  for (const read of await Promise.all(slow)) assertCutOff(read);
  await allReleased();
  assert.ok(isWhole(await readOn(await openWhole())));
});

test('readers that go away in the middle leave nothing behind', async () => {
  for (let round = 0; round < 5; round += 1) {
    await Promise.all(Array.from({ length: manyReaders }, async (_, at) => {
      const response = await openWhole();
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

test('under the usual limit a reader of 80 KiB a second is not cut off', { timeout: 90_000 }, async () => {
  const read = await steady;
  assert.ok(isWhole(read), `cut off after ${read.body.length} of ${first.body.length} bytes: ${read.fault}`);
});
