// One worker, one healthy receiver with an event every 100 ms, and beside it receivers that misbehave in every way: the
// reason stands in the log, the state is right, the healthy one gets everything once, and memory stays flat.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { useDelivering, useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { outboundLimits } from '../http/outbound.ts';

const { db, send, rows, hurry, ...delivering } = await useDelivering({ limits: { ...outboundLimits, totalMs: 10_000 } });
const [wellSchool, badSchool] = [await delivering.addSchool(), await delivering.addSchool()];
const { estab } = badSchool;
const healthy = await useReceiver();

// ---- The healthy one ----------------------------------------------------------------------------------------------

const sent = new Set<string>();
const ending = new AbortController();
let [startRss, peakRss] = [0, 0];
let flowing: Promise<void> = Promise.resolve();

before(() => {
  startRss = process.memoryUsage.rss();
  flowing = (async () => {
    for (; !ending.signal.aborted; await pause(100)) {
      sent.add(await send(wellSchool, `${healthy.origin}/well`));
      peakRss = Math.max(peakRss, process.memoryUsage.rss());
    }
  })();
});
after(() => ending.abort());

// ---- The others ---------------------------------------------------------------------------------------------------

type Answer = (socket: Socket, request: number) => void;
let receivers = 0;

/** A TCP server on an address of its own that answers each request with whatever bytes it likes. */
async function receive(answer: Answer): Promise<string> {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = net.createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}).on('data', () => answer(socket, (requests += 1)));
  });
  const host = `127.0.2.${(receivers += 1)}`;
  await once(server.listen(0, host), 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://${host}:${(server.address() as AddressInfo).port}/bad`;
}

const http = (status: string, headers = '', body: string | Buffer = '') =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${headers}${/content-length|transfer-encoding/i.test(headers) ? '' : `content-length: ${body.length}\r\n`}\r\n`),
    Buffer.from(body),
  ]);
const writes =
  (...parts: (string | Buffer)[]): Answer =>
  (socket) =>
    parts.forEach((part) => socket.write(part));
const resets =
  (head: string | Buffer): Answer =>
  (socket) =>
    void socket.write(head, () => setTimeout(() => socket.resetAndDestroy(), 20));
const repeats =
  (head: string | Buffer, piece: string, everyMs: number): Answer =>
  (socket) => {
    const timer = setInterval(() => socket.write(piece), everyMs);
    socket.once('close', () => clearInterval(timer)).write(head);
  };
const floods =
  (bytes: number): Answer =>
  (socket) => {
    const more = () => {
      while (!socket.destroyed && socket.bytesWritten < bytes && socket.write('x'.repeat(64 * 1024)));
    };
    socket
      .on('drain', more)
      .write(http('200 OK', bytes === Infinity ? 'transfer-encoding: identity\r\nconnection: close\r\n' : `content-length: ${bytes}\r\n`));
    more();
  };

type Expected = { state: 'waiting' | 'done' | 'failed'; errorClass: string | null; message?: RegExp; dueIn?: [from: number, to: number]; status?: number };
const retried = (errorClass: string, more: Partial<Expected> = {}): Expected => ({ state: 'waiting', errorClass, dueIn: [3.9, 6.1], ...more });
const done = (message?: RegExp): Expected => ({ state: 'done', errorClass: null, status: 200, ...(message ? { message } : {}) });
const date = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();
const day = 86_400;

const cases: [behaviour: string, answer: Answer, expected: Expected][] = [
  ...[301, 302, 303, 307, 308, 304].map((status): [string, Answer, Expected] => [
    `answers ${status}`,
    writes(http(`${status} Moved`, 'location: http://169.254.169.254/\r\n')),
    retried('redirect', { status }),
  ]),
  ...[400, 401, 404, 409, 422, 500, 502, 503].map((status): [string, Answer, Expected] => [
    `answers ${status}`,
    writes(http(`${status} No`, '', 'why')),
    retried(`status_${status}`, { status }),
  ]),
  ['answers 410', writes(http('410 Gone')), { state: 'failed', errorClass: 'status_410', status: 410 }],
  ...(
    [
      ['0', 3.9, 6.1],
      ['1', 3.9, 6.1],
      ['120.6', 120, 121],
      ['-1', 3.9, 6.1],
      ['abc', 3.9, 6.1],
      ['1e99', 3.9, 6.1],
      [-600, 3.9, 6.1],
      [90, 60, 91],
      [3653 * day, day - 1, day],
      ['999999999', day - 1, day],
    ] as const
  ).map(([asked, from, to]): [string, Answer, Expected] => [
    `answers 429 with Retry-After ${typeof asked === 'number' ? `of a date ${asked} s from now` : asked}`,
    (socket) => socket.write(http('429 Slow', `retry-after: ${typeof asked === 'number' ? date(asked) : asked}\r\n`)),
    retried('status_429', { dueIn: [from, to] }),
  ]),
  ['answers 503 with Retry-After 300', writes(http('503 Later', 'retry-after: 300\r\n')), retried('status_503', { dueIn: [299, 300] })],
  ['closes at once', (socket) => socket.end(), retried('connection_reset')],
  ['resets before the headers', (socket) => socket.resetAndDestroy(), retried('connection_reset')],
  ['resets within the headers', resets('HTTP/1.1 200 OK\r\nx: '), retried('connection_reset')],
  ['resets after the headers of a 500', resets(http('500 No', 'content-length: 9\r\n')), retried('connection_reset', { status: 500 })],
  ['resets within the body of a 200', resets(http('200 OK', 'content-length: 9\r\n', 'half')), done(/reset/i)],
  ['never answers', () => {}, retried('timeout', { message: /within 10 s/ })],
  ['drips its headers', repeats('HTTP/1.1 200 OK\r\n', 'x', 20), retried('timeout')],
  ['drips the body of a 500', repeats(http('500 No', 'content-length: 99999\r\n'), 'x', 20), retried('timeout', { status: 500 })],
  ['drips the body of a 200', repeats(http('200 OK', 'content-length: 99999\r\n'), 'x', 20), done(/within 10 s/)],
  ['sends a body without end', floods(Infinity), done(/larger/)],
  ['sends 128 MB', floods(128 * 1024 * 1024), done(/larger/)],
  ['sends a gzip bomb', writes(http('200 OK', 'content-encoding: gzip\r\n', gzipSync(Buffer.alloc(48 * 1024 * 1024)))), done()],
  ['promises more than it sends', (socket) => socket.end(http('500 No', 'content-length: 9\r\n', 'half')), retried('connection_reset', { status: 500 })],
  ['sends a length that is no number', writes(http('200 OK', 'content-length: nine\r\n')), retried('protocol_error')],
  ['sends garbage', (socket) => socket.end('\0\x01\x02 garbage \xff\r\n\r\n'), retried('protocol_error')],
  ['sends garbage for chunks', writes(http('500 No', 'transfer-encoding: chunked\r\n', 'zz\r\nbody\r\n')), retried('protocol_error')],
  ['storms with 1xx', repeats('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(50), 5), retried('timeout')],
  ['sends 204 with a body', writes('HTTP/1.1 204 No Content\r\n\r\nbody'), { state: 'done', errorClass: null, status: 204 }],
  ['sends 100 KB of headers', writes(http('200 OK', `x: ${'y'.repeat(100_000)}\r\n`)), retried('protocol_error', { message: /header/i })],
  ['sends a body that is no text', writes(http('500 No', '', Buffer.from([0, 255, 254, 237, 160, 128]))), retried('status_500')],
  [
    'sends headers that are no text',
    writes(Buffer.from('HTTP/1.1 500 No\r\nx: \xff\xfe\xed\xa0\x80\r\ncontent-length: 0\r\n\r\n', 'latin1')),
    retried('status_500'),
  ],
];

async function check(url: string, expected: Expected): Promise<void> {
  const id = await send(badSchool, url);
  const find = async () => (await rows(estab)).find((row) => row.id === id);
  await until('it is settled', async () => Number((await find())?.attempts) > 0, find);
  const row = await find();
  const [logged] =
    await db`select detail ->> 'status' as status, detail ->> 'message' as message, success, next_at is not null as again from outbox_attempt where id = ${id}`;
  assert.deepEqual(
    [row?.state, row?.errorClass, logged?.success, logged?.again],
    [expected.state, expected.errorClass, expected.state === 'done', expected.state === 'waiting'],
    String(logged?.message),
  );
  if (expected.status !== undefined) assert.equal(Number(logged?.status), expected.status);
  if (expected.message) assert.match(String(logged?.message), expected.message);
  if (expected.dueIn) assert.ok(Number(row?.dueIn) > expected.dueIn[0] && Number(row?.dueIn) <= expected.dueIn[1], `due in ${row?.dueIn} s`);
}

// Several at once, so that those that are given up only after their time are waited for together.
suite('a receiver that', { concurrency: 4 }, () => {
  for (const [behaviour, answer, expected] of cases) test(behaviour, async () => check(await receive(answer), expected));
});

test('a receiver that refuses', async () => {
  const server = net.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  await check(`http://127.0.0.1:${port}/`, retried('connection_refused'));
});

test('a receiver that closes kept connections under us costs at most a retry, and loses nothing', async () => {
  const url = await receive((socket, request) =>
    request % 3 === 0 ? socket.resetAndDestroy() : socket.write(http('200 OK'), () => request % 3 === 2 && setTimeout(() => socket.destroy(), 1)),
  );
  const ids: string[] = [];
  for (let time = 0; time < 12; time += 1) ids.push(await send(badSchool, url, { lane: { width: 1 } }));
  const ours = async () => (await rows(estab)).filter((row) => ids.includes(row.id));
  for (let round = 0; round < 6; round += 1) {
    await until(
      'none is due',
      async () => (await db`select from outbox where id = any(${ids}) and (state = 'running' or state = 'waiting' and due_at <= now())`).length === 0,
      ours,
    );
    await db`update lane set open_until = null where key = ${url}`;
    await hurry(estab);
  }
  await until('all are done', async () => (await ours()).every((row) => row.state === 'done'), ours);
});

test('a receiver that fails every other time gets everything in the end', async () => {
  const url = await receive((socket, request) => socket.write(http(request % 2 ? '500 No' : '200 OK')));
  const ids: string[] = [];
  for (let time = 0; time < 20; time += 1) ids.push(await send(badSchool, url));
  const left = async () => (await rows(estab)).filter((row) => ids.includes(row.id) && row.state !== 'done');
  await until(
    'all are done',
    async () => {
      await db`update lane set open_until = null, next_at = now() where key = ${url}`;
      await db`update outbox set due_at = now() where id = any(${ids}) and state = 'waiting'`;
      return (await left()).length === 0;
    },
    left,
  );
});

test('meanwhile the healthy receiver got every event, each once, and memory stayed flat', async () => {
  ending.abort();
  await flowing;
  await until('the last has arrived', () => healthy.arrivals.length >= sent.size);
  assert.deepEqual(healthy.arrivals.map(({ id }) => id).toSorted(), [...sent].toSorted());
  assert.ok(sent.size > 25, `${sent.size} events`);
  assert.ok(peakRss - startRss < 100 * 1024 ** 2, `grew by ${Math.round((peakRss - startRss) / 1024 ** 2)} MB`);
});
