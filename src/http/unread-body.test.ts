// Requests that are refused before their body was read, on connections that are kept open: the answer arrives whole,
// the connection closes, and nothing behind it waits or has an effect.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { rootB, useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const service = await useService();
const port = Number(new URL(service.url).port);
/** Half of what a request may take, after which the server would end it anyway. */
const soonMs = 15_000;
const alive = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';

type Talk = { send(bytes: string | Buffer): void; answers(): { status: number; head: string; body: string }[]; closed: Promise<'closed'> };

function open(): Talk {
  const received: Buffer[] = [];
  const socket = connect(port, '127.0.0.1');
  socket.on('data', (data) => received.push(data));
  socket.on('error', () => {});
  return {
    send: (bytes) => void (socket.destroyed || socket.write(bytes)),
    answers: () =>
      Buffer.concat(received)
        .toString('utf8')
        .split(/(?=HTTP\/1\.1 \d{3} )/)
        .filter((text) => text.includes('\r\n\r\n') && !text.startsWith('HTTP/1.1 100'))
        .map((text) => {
          const [head = '', body = ''] = text.split('\r\n\r\n');
          return { status: Number(head.slice(9, 12)), head: head.toLowerCase(), body };
        }),
    closed: new Promise((resolve) => socket.on('close', () => resolve('closed'))),
  };
}

async function closesSoon(talk: Talk, status: number): Promise<void> {
  await until('an answer', () => talk.answers().length > 0);
  const [answer] = talk.answers();
  assert.equal(answer?.status, status, answer?.body);
  assert.match(answer?.head ?? '', /^connection: close$/m);
  assert.equal(answer?.body.length, Number(/content-length: (\d+)/.exec(answer?.head ?? '')?.[1]), 'the answer is whole');
  assert.equal(await Promise.race([talk.closed, pause(soonMs, 'still open')]), 'closed');
}

const head = (path: string, more: string, method = 'POST') => `${method} ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
const compressed = gzipSync(randomBytes(400_000));
const chunked = (bytes: Buffer) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

suite('a body that is refused', () => {
  const refusals: [what: string, path: string, headers: string, status: number][] = [
    ['a compressed one where no body belongs', `${rootB}/users`, 'content-type: application/json\r\ncontent-encoding: gzip\r\n', 405],
    ['a compressed one of a type that is not taken', '/api/v1/Webhook', 'content-type: text/csv\r\ncontent-encoding: gzip\r\n', 415],
    ['a compressed one that is too large', '/api/oauth/GetToken', 'content-type: application/json\r\ncontent-encoding: gzip\r\n', 413],
    ['one in an encoding that nobody knows', '/api/v1/Webhook', 'content-type: application/json\r\ncontent-encoding: lzma\r\n', 415],
    ['one of a type that is not taken', '/api/v1/Webhook', 'content-type: text/csv\r\n', 415],
    ['one that is too large', '/api/oauth/GetToken', 'content-type: application/json\r\n', 413],
    ['one for nothing', '/nothing', 'content-type: text/csv\r\n', 404],
  ];
  for (const [what, path, headers, status] of refusals) {
    test(`${what}: closes, with a length`, async () => {
      const talk = open();
      talk.send(head(path, `${headers}content-length: ${compressed.length + 1}\r\n`));
      talk.send(compressed);
      await closesSoon(talk, status);
    });
    test(`${what}: closes, in chunks`, async () => {
      const talk = open();
      talk.send(head(path, `${headers}transfer-encoding: chunked\r\n`));
      talk.send(chunked(compressed));
      await closesSoon(talk, status);
    });
    test(`${what}: closes, where the client waits to be asked for it`, async () => {
      const talk = open();
      talk.send(head(path, `${headers}expect: 100-continue\r\ncontent-length: ${compressed.length + 1}\r\n`));
      talk.send(compressed);
      await closesSoon(talk, status);
    });
  }
});

test('whoever goes on sending gets the answer, not a reset under it', async () => {
  const talk = open();
  talk.send(head('/api/oauth/GetToken', `content-type: application/json\r\ncontent-length: ${64 * 1024 * 1024}\r\n`));
  for (let piece = 0; piece < 16; piece += 1) {
    talk.send(Buffer.alloc(64 * 1024, 'x'));
    await pause(5);
  }
  await closesSoon(talk, 413);
  assert.equal(talk.answers().length, 1);
});

test('what follows an unread body on the same connection is not done', async () => {
  await service.addSchool('s1');
  const client = await service.addClient('app', ['s1']);
  const token = Buffer.from(`app|s1:${client.schoolSecrets.s1}`).toString('base64');
  const talk = open();
  const body = Buffer.alloc(100_000, 'x');
  talk.send(head('/api/oauth/GetToken', `content-type: application/json\r\ncontent-length: ${body.length}\r\n`));
  await until('an answer', () => talk.answers().length > 0);
  const another = head('/api/v1/Identity/ResetPassword?username=nobody', `authorization: Basic ${token}\r\ncontent-length: 0\r\n`);
  talk.send(Buffer.concat([body, Buffer.from(another)]));
  await closesSoon(talk, 413);
  assert.equal(talk.answers().length, 1);
  assert.deepEqual([...(await service.db`select from identity_audit where estab = 's1'`)], []);
});

test('a refused body that was read to its end leaves the connection open', async () => {
  for (const [path, headers, status] of [
    [`${rootB}/users`, 'content-type: application/json\r\n', 405],
    ['/api/v1/Webhook', 'content-type: text/csv\r\n', 415],
    ['/api/v1/Webhook', 'content-type: application/json\r\n', 400],
  ] as const) {
    const talk = open();
    talk.send(`${head(path, `${headers}content-length: 3\r\n`)}abc`);
    await until('an answer', () => talk.answers().length === 1);
    talk.send(alive);
    await until('another answer', () => talk.answers().length === 2);
    assert.deepEqual(talk.answers().map((answer) => answer.status), [status, 200]);
  }
});

test('a compressed body that is refused closes the connection, also a small one that came at once', async () => {
  for (const [path, encoding, body, status] of [
    ['/api/v1/Webhook', 'gzip', Buffer.from('no gzip'), 400], ['/api/v1/Webhook', 'lzma', Buffer.from('x'), 415],
    ['/api/oauth/GetToken', 'gzip', gzipSync(Buffer.alloc(3_000_000, ' ')), 413], [`${rootB}/users`, 'gzip', gzipSync('{}'), 405],
  ] as const) {
    const talk = open();
    talk.send(head(path, `content-type: application/json\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${body.length}\r\n`));
    talk.send(body);
    await closesSoon(talk, status);
  }
});

test('a compressed body is taken, and what it must not be is said', async () => {
  const post = (encoding: string, body: Buffer) =>
    fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json', 'content-encoding': encoding }, body });
  const sent = await post('gzip', gzipSync('{"relyingParty":"app"}'));
  assert.deepEqual([sent.status, /"password" is missing/.test(JSON.stringify(await sent.json()).replaceAll('\\', ''))], [400, true]);
  const unknown = await post('lzma', Buffer.from('x'));
  assert.equal(unknown.status, 415);
  assert.match(await unknown.text(), /lzma.*gzip/);
});
