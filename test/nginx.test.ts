// Debian's nginx with TLS in front of a real service, by the very file that ops/ has: addresses, cookies, limits, streams and uploads
// are right behind it.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Agent, fetch, type Response } from 'undici';
import { makeUploadToken } from '../src/access/upload-tokens.ts';
import { freePort } from './free-port.ts';
import { rootB, useService } from './service.ts';
import { until } from './until.ts';
import { addOperator, goodPassword } from './visitor.ts';

const nginx = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'].map((folder) => join(folder, 'nginx')).find(isProgram);
const told = { skip: nginx === undefined ? 'there is no nginx' : false };

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-nginx-'));
const [https, http] = [await freePort(), await freePort()];
const publicUrl = `https://127.0.0.1:${https}`;
const service = await useService({ PUBLIC_URL: publicUrl, TRUST_PROXY: '127.0.0.1/32' });
const servicePort = Number(new URL(service.url).port);

/** Between nginx and the service: counts connections and, when told to, lets only the beginning of an answer through for now. */
const relay = { connections: 0, most: Number.POSITIVE_INFINITY, release: () => {} };
const sockets = new Set<Socket>();
const between = createServer((from) => {
  relay.connections += 1;
  const to = connect(servicePort, '127.0.0.1');
  for (const socket of [from, to]) {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => [from, to].forEach((one) => one.destroy()));
  }
  from.pipe(to);
  to.on('data', (bytes: Buffer) => {
    from.write(bytes.subarray(0, relay.most));
    const rest = bytes.subarray(relay.most);
    if (rest.length === 0) return;
    to.pause();
    relay.release = () => {
      relay.most = Number.POSITIVE_INFINITY;
      from.write(rest);
      to.resume();
    };
  });
});

/** The file as it is, but for addresses and places. */
function configure(port: number): string {
  const places: readonly [string | RegExp, string][] = [
    ['/run/nginx.pid', join(folder, 'pid')],
    ['/var/log/nginx/error.log', join(folder, 'error.log')],
    [/\/etc\/ssl\/schoolbell/g, folder],
    ['server 127.0.0.1:8080;', `server 127.0.0.1:${port};`],
    [/\n *listen \[::\].*/g, ''],
    ['listen 80;', `listen 127.0.0.1:${http};`],
    ['listen 443 ', `listen 127.0.0.1:${https} `],
    ['https://schoolbell.example$request_uri', `${publicUrl}$request_uri`],
    [/server_name schoolbell\.example/g, 'server_name 127.0.0.1'],
    ['http {\n', `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};\n`).join('')}`],
  ];
  return places.reduce((text, [from, to]) => {
    const changed = text.replace(from, () => to);
    assert.notEqual(changed, text, `ops/nginx.conf has ${from}`);
    return changed;
  }, readFileSync(join(import.meta.dirname, '../ops/nginx.conf'), 'utf8'));
}

let server: ChildProcess | undefined;
let ca = '';
const agents: Agent[] = [];

/** Somebody at that address of the machine, who believes the certificate. */
function callerAt(localAddress: string): (path: string, init?: Parameters<typeof fetch>[1]) => Promise<Response> {
  const agent = new Agent({ localAddress, connect: { ca } });
  agents.push(agent);
  return (path, init = {}) => fetch(`${publicUrl}${path}`, { redirect: 'manual', ...init, dispatcher: agent });
}

before(async () => {
  if (nginx === undefined) return;
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const files = ['-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...files], { stdio: 'ignore' });
  ca = readFileSync(join(folder, 'fullchain.pem'), 'utf8');
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  writeFileSync(join(folder, 'nginx.conf'), configure((between.address() as AddressInfo).port));
  server = spawn(nginx, ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log'), '-g', 'daemon off;'], { stdio: 'inherit' });
  const ask = callerAt('127.0.0.1');
  await until('nginx answers', async () => (await ask('/readyz').catch(() => undefined))?.status === 200);
});

after(async () => {
  for (const agent of agents) await agent.destroy();
  if (server) {
    const ended = new Promise((resolve) => server?.once('close', resolve));
    server.kill('SIGTERM');
    await ended;
  }
  between.close();
  for (const socket of sockets) socket.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const basic = (user: string, password: string) => ({ authorization: `Basic ${btoa(`${user}:${password}`)}` });

test('http leads to https, and metrics to nothing', told, async () => {
  const response = await fetch(`http://127.0.0.1:${http}/docs?q=1`, { redirect: 'manual' });
  assert.deepEqual([response.status, response.headers.get('location')], [308, `${publicUrl}/docs?q=1`]);
  assert.equal((await callerAt('127.0.0.1')('/metrics')).status, 404);
});

test('links, hrefs and issuers have the public address, connections to the service are kept, and streams are not held back', told, async () => {
  await service.addSchool('1000001', join(import.meta.dirname, '../samples/hill-top-school'));
  const { rp, schoolSecrets } = await service.addClient('links.example', ['1000001']);
  const ask = callerAt('127.0.0.1');
  const token = await ask(`${rootB}/auth/token`, { method: 'POST', headers: basic(`${rp}|1000001`, schoolSecrets['1000001'] ?? '') });
  const { access_token: bearer } = (await token.json()) as { access_token: string };
  const before = relay.connections;
  const list = await ask(`${rootB}/students?limit=1`, { headers: { authorization: `Bearer ${bearer}`, host: 'elsewhere.example' } });
  assert.match(list.headers.get('link') ?? '', new RegExp(`^<${publicUrl}${rootB}/students\\?`));
  const { users } = (await list.json()) as { users: { orgs: { href: string }[] }[] };
  assert.ok(users[0]?.orgs[0]?.href.startsWith(`${publicUrl}${rootB}/orgs/`), JSON.stringify(users));
  assert.equal(((await (await ask('/oidc/.well-known/openid-configuration')).json()) as { issuer: string }).issuer, `${publicUrl}/oidc`);
  for (let many = 0; many < 5; many += 1) await (await ask('/healthz')).text();
  assert.ok(relay.connections - before <= 2, `${relay.connections - before} connections for seven requests`);

  // What a stream has begun to say arrives while the rest is still held back.
  relay.most = 3_000;
  const held = await ask(`${rootB}/enrollments`, { headers: { authorization: `Bearer ${bearer}`, 'accept-encoding': 'identity' } });
  const reader = held.body?.getReader() ?? assert.fail('there is a body');
  const read = async () => new TextDecoder().decode(((await reader.read()) as { value?: Uint8Array }).value);
  let text = await read();
  assert.match(text, /^\{"enrollments":\[/);
  const soon = text.length;
  relay.release();
  for (let piece = await read(); piece !== ''; piece = await read()) text += piece;
  const all = (JSON.parse(text) as { enrollments: unknown[] }).enrollments.length;
  assert.equal(String(all), held.headers.get('x-total-count'));
  assert.ok(soon < text.length, `${soon} of ${text.length} characters came first`);
});

test('an operator signs in: cookies are for https alone, and come back', told, async () => {
  await addOperator(service.db, 'ada');
  const ask = callerAt('127.0.0.1');
  const cookies = new Map<string, string>();
  const visit = async (path: string, form?: Record<string, string>) => {
    const cookie = [...cookies.values()].join('; ');
    const headers = { accept: 'text/html', cookie, origin: publicUrl };
    const response = await ask(path, form ? { method: 'POST', headers, body: new URLSearchParams(form) } : { headers });
    for (const set of response.headers.getSetCookie()) {
      assert.match(set, /; Secure(?:;|$)/);
      cookies.set(set.split('=', 1)[0] ?? '', set.split(';', 1)[0] ?? '');
    }
    return { status: response.status, location: response.headers.get('location') ?? '', text: await response.text() };
  };
  const page = await visit('/console/sign-in');
  const token = /name="token" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const entered = await visit('/console/sign-in', { token, name: 'ada', password: goodPassword });
  assert.equal(entered.status, 303, entered.text.slice(0, 2000));
  assert.ok(entered.location.startsWith('/console') || entered.location.startsWith(`${publicUrl}/console`), entered.location);
  assert.match((await visit('/console')).text, /Operator ada/);
});

test('wrong tries count for the address of the caller, whatever the caller says it is', told, async () => {
  const [guesser, other] = [callerAt('127.0.0.2'), callerAt('127.0.0.3')];
  const guess = async (ask: typeof guesser, at: number) => {
    const forged = { 'x-forwarded-for': `198.51.100.${at}`, forwarded: `for=198.51.100.${at}`, 'x-real-ip': `198.51.100.${at}` };
    return (await ask(`${rootB}/auth/token`, { method: 'POST', headers: { ...basic('guessed.example|1000001', 'wrong'), ...forged } })).status;
  };
  const statuses = await Promise.all(Array.from({ length: 31 }, (_, at) => guess(guesser, at)));
  assert.deepEqual(statuses.toSorted(), [...Array.from({ length: 30 }, () => 401), 429]);
  assert.equal(await guess(other, 31), 401, 'somebody else at another address');
});

test('a package far larger than nginx takes by itself is uploaded, also without a length', told, async () => {
  await service.addSchool('1000002');
  const headers = { authorization: `Bearer ${await makeUploadToken(service.db, '1000002', 'operator')}` };
  const ask = callerAt('127.0.0.1');
  const bytes = Buffer.alloc(3 * 1024 * 1024, 'PK');
  const whole = await ask('/api/v1/School/1000002/Roster', { method: 'PUT', headers, body: bytes });
  assert.equal(whole.status, 202, await whole.text());
  const pieces = await ask('/api/v1/School/1000002/Roster', { method: 'PUT', headers, body: new Blob([bytes]).stream(), duplex: 'half' });
  assert.equal(pieces.status, 202, await pieces.text());
});
