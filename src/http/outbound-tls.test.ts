// Outgoing calls over TLS: certificates and handshakes that are wrong in each of the usual ways are refused before the
// request leaves, as tls_error and in words that name the fault; a good one passes.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo, type Server } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test, type TestContext } from 'node:test';
import tls, { type TlsOptions } from 'node:tls';
import { parseAllowList } from './address-guard.ts';
import { createOutbound, type ErrorClass, type OutboundResult } from './outbound.ts';

const limits = { connectMs: 60_000, totalMs: 60_000, readBytes: 64 * 1024, keptBytes: 16 * 1024 };
const missing = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl, which makes the certificates, is not installed';
const folder = mkdtempSync(join(tmpdir(), 'outbound-tls-'));
const trustedByDefault = tls.getCACertificates('default');

const config = `[ca]
default_ca = here
[here]
dir = ${folder}
database = $dir/index.txt
new_certs_dir = $dir
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:true
`;
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-config', 'openssl.cnf'];
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const day = (offset: number) => `${new Date(Date.now() + offset * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '')}`;

function issueAuthority(name: string, issuer?: string): void {
  if (!issuer)
    return void openssl(
      'req', '-x509', ...key, '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-extensions',
      'authority',
    );
  openssl('req', '-new', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  sign(name, issuer, -1, 1, ['-extensions', 'authority']);
}
function sign(name: string, issuer: string, from: number, until: number, more: string[] = []): void {
  openssl(
    'ca', '-batch', '-notext', '-config', 'openssl.cnf', '-cert',
    `${issuer}.crt`,
    '-keyfile',
    `${issuer}.key`,
    '-in',
    `${name}.csr`,
    '-out',
    `${name}.crt`,
    '-startdate', day(from), '-enddate', day(until), ...more,
  );
}
function issue(name: string, { issuer = 'trusted', host = 'IP:127.0.0.1', from = -1, until = 1 } = {}): void {
  openssl('req', '-new', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`);
  sign(name, issuer, from, until);
}

before(() => {
  if (missing) return;
  writeFileSync(join(folder, 'openssl.cnf'), config);
  writeFileSync(join(folder, 'index.txt'), '');
  issueAuthority('trusted');
  issueAuthority('unknown');
  issueAuthority('between', 'trusted');
  issue('good');
  issue('expired', { from: -3, until: -1 });
  issue('early', { from: 1, until: 3 });
  issue('elsewhere', { host: 'DNS:other.example,IP:127.0.0.9' });
  issue('foreign', { issuer: 'unknown' });
  issue('chained', { issuer: 'between' });
  openssl('req', '-x509', ...key, '-keyout', 'self.key', '-out', 'self.crt', '-days', '2', '-subj', '/CN=self', '-addext', 'subjectAltName=IP:127.0.0.1');
  tls.setDefaultCACertificates([read('trusted.crt')]);
});
after(() => {
  tls.setDefaultCACertificates(trustedByDefault);
  rmSync(folder, { recursive: true });
});

type Seen = { requests: number; connections: number };

async function listen(t: TestContext, server: Server): Promise<string> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

/** A TLS receiver with the named certificate, which says 200 to whatever gets through. */
async function receive(t: TestContext, certificate: string, options: TlsOptions = {}): Promise<{ url: string; seen: Seen }> {
  const seen = { requests: 0, connections: 0 };
  const server = tls.createServer({ key: read(`${certificate}.key`), cert: read(`${certificate}.crt`), ...options }, (socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      seen.requests += 1;
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
    });
  });
  server.on('connection', () => (seen.connections += 1)).on('tlsClientError', () => {});
  return { url: await listen(t, server), seen };
}

async function call(t: TestContext, url: string, connectMs = limits.connectMs): Promise<OutboundResult> {
  const outbound = createOutbound(parseAllowList(['127.0.0.1']), { ...limits, connectMs });
  t.after(() => outbound.close());
  return outbound.call({ method: 'POST', url, headers: { 'webhook-id': 'an-id' }, body: Buffer.from('{}') });
}

const oldProtocol: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' };
type Fault = [what: string, certificate: string, options: TlsOptions, message: RegExp];
const certificates: Fault[] = [
  ['that has expired', 'expired', {}, /certificate has expired/],
  ['that is not valid yet', 'early', {}, /certificate is not yet valid/],
  ['for another host', 'elsewhere', {}, /does not match certificate.*127\.0\.0\.1.*127\.0\.0\.9/],
  ['signed by itself', 'self', {}, /self-signed certificate/],
  ['of an unknown authority', 'foreign', {}, /unable to (verify the first|get local issuer) certificate/],
  ['without the one between it and the authority', 'chained', {}, /unable to (verify the first|get local issuer) certificate/],
];
const handshakes: Fault[] = [
  ['that speaks TLS 1.0 only', 'good', oldProtocol, /protocol version/i],
  ['that speaks TLS 1.1 only', 'good', { ...oldProtocol, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }, /protocol version/i],
  ['that speaks HTTP/2 only', 'good', { ALPNProtocols: ['h2'] }, /no application protocol/i],
  [
    'that wants a client certificate (TLS 1.2)',
    'good',
    { requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
    /handshake failure|certificate/i,
  ],
  ['that wants a client certificate (TLS 1.3)', 'good', { requestCert: true, rejectUnauthorized: true }, /certificate required/i],
];

suite('over TLS', { skip: missing }, () => {
  test('a good certificate passes, and the call says where the time went', async (t) => {
    const { url } = await receive(t, 'good');
    const { status, error, response, address, timings } = await call(t, url);
    assert.deepEqual([status, error, response.toString(), address], [200, undefined, 'ok', '127.0.0.1']);
    assert.ok((timings.connect ?? -1) >= 0 && (timings.firstByte ?? 0) > 0 && timings.total > 0, JSON.stringify(timings));
  });

  test('the handshake is timed apart from the connection', async (t) => {
    const { timings } = await call(t, (await receive(t, 'good')).url);
    assert.ok((timings.tls ?? 0) > 0, JSON.stringify(timings));
  });

  test('a certificate that comes with the one between passes', async (t) => {
    const { url } = await receive(t, 'chained', { cert: `${read('chained.crt')}${read('between.crt')}` });
    assert.equal((await call(t, url)).status, 200);
  });

  const refuse = async (t: TestContext, [, certificate, options, message]: Fault): Promise<string> => {
    const { url, seen } = await receive(t, certificate, options);
    const { status, error, response, timings } = await call(t, url);
    assert.deepEqual([status, error?.class, response.length], [undefined, 'tls_error' satisfies ErrorClass, 0], error?.message);
    assert.match(error?.message ?? '', message);
    assert.deepEqual(seen, { requests: 0, connections: 1 });
    assert.ok(timings.total > 0 && timings.total < limits.connectMs, JSON.stringify(timings));
    return error?.message ?? '';
  };
  for (const fault of certificates) test(`a certificate ${fault[0]} is refused`, async (t) => void (await refuse(t, fault)));
  for (const fault of handshakes) test(`a receiver ${fault[0]} is refused`, async (t) => void (await refuse(t, fault)));

  test('a failed handshake is told in words, without the inside of the library', async (t) => {
    for (const fault of handshakes) assert.doesNotMatch(await refuse(t, fault), /openssl|error:[0-9A-F]{8}|\.c:\d|\n/, fault[0]);
  });

  test('a receiver that speaks no TLS is refused', async (t) => {
    const url = await listen(t, net.createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')));
    const { status, error } = await call(t, url);
    assert.deepEqual([status, error?.class], [undefined, 'tls_error'], error?.message);
    assert.match(error?.message ?? '', /wrong version number|packet length/i);
  });

  test('a receiver that closes during the handshake is connection_reset', async (t) => {
    const url = await listen(t, net.createServer((socket) => void socket.once('data', () => socket.destroy()).on('error', () => {})));
    const { status, error } = await call(t, url);
    assert.deepEqual([status, error?.class], [undefined, 'connection_reset'], error?.message);
  });

  test('a receiver that stalls the handshake meets the connect limit', async (t) => {
    const url = await listen(t, net.createServer((socket) => void socket.on('error', () => {}).resume()));
    const { status, error, timings } = await call(t, url, 300);
    assert.deepEqual([status, error?.class], [undefined, 'connect_timeout'], error?.message);
    assert.match(error?.message ?? '', /timeout.*127\.0\.0\.1.*300ms|connect.*0\.3 s/i);
    assert.ok(timings.total >= 280 && timings.total < limits.connectMs, `${timings.total} ms`);
  });
});
