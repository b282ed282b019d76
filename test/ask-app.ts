// In charge of asking an app over a real connection, also one that nobody has let listen yet: what Fastify injects has no end of
// its own, and limits on requests that never end would strike it.
import type { FastifyInstance } from 'fastify';
import type { AddressInfo } from 'node:net';

/** payload: an object is sent as JSON. */
export type Sent = Readonly<{ method?: string; url: string; headers?: Readonly<Record<string, string>>; payload?: object | string | Buffer }>;
export type Got = Readonly<{ statusCode: number; headers: Readonly<Record<string, string>>; cookies: readonly string[]; body: string; json: <T>() => T }>;

export async function askApp(app: FastifyInstance, { method = 'GET', url, headers = {}, payload }: Sent): Promise<Got> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const plain = typeof payload === 'string' || Buffer.isBuffer(payload);
  const type = payload === undefined || plain ? {} : { 'content-type': 'application/json' };
  const body = payload === undefined ? {} : { body: plain ? (payload as string) : JSON.stringify(payload) };
  const response = await fetch(`http://127.0.0.1:${port}${url}`, { method, headers: { ...type, ...headers }, redirect: 'manual', ...body });
  const text = await response.text();
  const cookies = response.headers.getSetCookie().map((one) => one.split(';', 1)[0] ?? '');
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), cookies, body: text, json: <T>() => JSON.parse(text) as T };
}
