// In charge of a balancer for tests, of the plainest kind: those that are ready in turn, over connections that it keeps, and no request is
// sent twice. What it could not pass on whole is noted.
import { once } from 'node:events';
import { Agent, createServer, request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

type Upstream = { url: URL; agent: Agent; isReady: boolean; passed: number };
export type Balancer = {
  url: string;
  add(url: string): void;
  remove(url: string): void;
  isUsing(url: string): boolean;
  /** How many requests each was given. */
  passed(url: string): number;
  failures: readonly string[];
};

const lookEveryMs = 500;
const ofConnection = ['connection', 'keep-alive', 'transfer-encoding'];

export async function useBalancer(): Promise<Balancer> {
  const upstreams = new Map<string, Upstream>();
  const failures: string[] = [];
  let turn = 0;

  function look({ url, ...upstream }: Upstream, key: string): void {
    const say = (isReady: boolean) => {
      const known = upstreams.get(key);
      if (known?.agent === upstream.agent) known.isReady = isReady;
    };
    ask(new URL('/readyz', url), { agent: false, timeout: 5_000 }, (answer) => say(answer.resume().statusCode === 200)).once('error', () => say(false)).end();
  }

  function pass(request: IncomingMessage, response: ServerResponse): void {
    const ready = [...upstreams.values()].filter(({ isReady }) => isReady);
    const chosen = ready[(turn += 1) % Math.max(1, ready.length)];
    const fail = (why: string) => {
      failures.push(`${request.method} ${request.url}: ${why}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    };
    if (!chosen) {
      fail('none is ready');
      return;
    }
    chosen.passed += 1;
    const { url, agent } = chosen;
    const { method, url: path, headers: asked } = request;
    const onward = ask({ host: url.hostname, port: url.port, method, path, headers: { ...asked, connection: 'keep-alive' }, agent });
    onward.once('error', (error: NodeJS.ErrnoException) => fail(`${error.code} at ${url.host}`));
    onward.once('response', (answer) => {
      const headers = Object.entries(answer.headersDistinct).filter(([name]) => !ofConnection.includes(name)) as [string, string[]][];
      response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
      answer.once('error', (error) => fail(`cut off by ${url.host}: ${error.message}`)).pipe(response);
    });
    request.pipe(onward);
  }

  const server = createServer(pass).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const looking = setInterval(() => upstreams.forEach(look), lookEveryMs);
  after(() => {
    clearInterval(looking);
    server.closeAllConnections();
    server.close();
    for (const { agent } of upstreams.values()) agent.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add(url) {
      upstreams.set(url, { url: new URL(url), agent: new Agent({ keepAlive: true }), isReady: false, passed: 0 });
    },
    remove(url) {
      upstreams.get(url)?.agent.destroy();
      upstreams.delete(url);
    },
    isUsing: (url) => upstreams.get(url)?.isReady === true,
    passed: (url) => upstreams.get(url)?.passed ?? 0,
    failures,
  };
}
