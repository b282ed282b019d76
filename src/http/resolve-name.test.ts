// Names without the system's resolver: servers that do not answer cost a bounded time, and other names nothing. Every
// resolver asks a name server of the test's own; all else about it is as it was made.
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import { until } from '../../test/until.ts';
import { createResolveName, resolveName } from './resolve-name.ts';

const { resolve4, resolve6 } = Resolver.prototype;
let server: Socket;
let asked = 0;
const resolvers = new Set<Resolver>();

/** Answers A queries for names under "well." with 203.0.113.7, AAAA queries for them with nothing, NXDOMAIN for "no.", and swallows the rest. */
function answer(query: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.subarray(at + 1, at + 1 + length).toString());
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const question = query.subarray(12, at + 5);
  if (labels[0] === 'silent') return undefined;
  const found = labels[0] === 'well' && type === 1;
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(labels[0] === 'no' ? 0x8183 : 0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found ? 1 : 0, 6);
  return Buffer.concat([head, question, ...(found ? [Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 203, 0, 113, 7])] : [])]);
}

before(async () => {
  server = createSocket('udp4');
  server.on('message', (query, from) => {
    asked += 1;
    const reply = answer(query);
    if (reply) server.send(reply, from.port, from.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const asking = (resolve: (name: string) => Promise<string[]>) =>
    function ask(this: Resolver, name: string): Promise<string[]> {
      if (!resolvers.has(this)) this.setServers([`127.0.0.1:${server.address().port}`]);
      resolvers.add(this);
      return resolve.call(this, name);
    };
  Object.assign(Resolver.prototype, { resolve4: asking(resolve4), resolve6: asking(resolve6) });
});
after(() => {
  Object.assign(Resolver.prototype, { resolve4, resolve6 });
  server.close();
});

suite('names', () => {
  const codeOf = (resolving: Promise<unknown>) => resolving.then(() => undefined, (error: NodeJS.ErrnoException) => error.code);

  test('many whose servers do not answer delay no other', async () => {
    const resolvePatiently = createResolveName(120_000);
    let ended = 0;
    const silent = Array.from({ length: 30 }, (_, at) => codeOf(resolvePatiently(`silent.host${at}.example`)).finally(() => (ended += 1)));
    assert.deepEqual(await resolvePatiently('well.example'), [{ address: '203.0.113.7', family: 4 }]);
    assert.equal(ended, 0);
    await until('all are asked about', () => asked >= 2 * silent.length + 2);
    for (const resolver of resolvers) resolver.cancel();
    assert.deepEqual(new Set(await Promise.all(silent)), new Set(['EAI_AGAIN']));
  });

  test('one whose servers do not answer is given up after the second try for each kind of address', { timeout: 60_000 }, async () => {
    const before = asked;
    assert.deepEqual([await codeOf(resolveName('silent.host.example')), asked - before], ['EAI_AGAIN', 4]);
  });

  test('one that does not exist is told apart from servers that do not answer', async () => {
    await assert.rejects(resolveName('no.such.example'), { code: 'ENOTFOUND', message: /no\.such\.example: there is no such name/ });
  });

  test('names of the hosts file and localhost ask nobody', async () => {
    const before = asked;
    for (const name of ['localhost', 'LOCALHOST.', 'x.localhost'])
      assert.ok(
        (await resolveName(name)).some(({ address }) => address === '127.0.0.1' || address === '::1'),
        name,
      );
    assert.equal(asked, before);
  });

  test('a trailing dot and capitals make no difference', async () => {
    assert.deepEqual(await resolveName('WELL.Example.'), await resolveName('well.example'));
  });
});
