// The receivers to begin with are run: they take calls that the service makes, whatever their body, and nothing else.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findMissing, useSamples } from '../../test/run-sample.ts';
import { freePort } from '../../test/free-port.ts';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { renderSignature } from '../notifications/sign.ts';
import { receivers } from './webhook-samples.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-receivers-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const samples = useSamples();

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
await service.addSchool('1000001', smallPackage());
const client = await service.addClient('receiver.example', ['1000001']);
const foreign = `whsec_${randomBytes(32).toString('base64')}`;
const missing = { typescript: false, python: await findMissing('python') } as const;

const bodies: readonly (readonly [kind: string, method: string, body: string | undefined])[] = [
  ['a GET', 'GET', undefined],
  ['JSON', 'POST', '{"Name":"Zoë \u{1f600}","Empty":null}'],
  ['a form', 'POST', 'schoolName=Zo%C3%AB&installcomplete=true'],
  ['an empty body', 'POST', ''],
];

function sign(body: string | undefined, secrets: readonly string[], at = Math.floor(Date.now() / 1000), id = 'id-1'): Record<string, string> {
  const signature = renderSignature(id, at, body === undefined ? null : Buffer.from(body), secrets);
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
}

/** In the middle of a body. */
async function hangUp(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\n{', () => socket.resetAndDestroy());
  await once(socket, 'close');
}

const whole = {
  typescript: { file: 'receiver.mts', command: process.execPath },
  python: { file: 'receiver.py', command: 'python3' },
} as const;

for (const language of ['typescript', 'python'] as const) {
  test(`the receiver in ${language} takes what is ours and refuses the rest`, { skip: missing[language] }, async () => {
    const port = await freePort();
    const { file, command } = whole[language];
    writeFileSync(join(folder, file), receivers[language]);
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(port), SIGNING_SECRET: client.signingSecret };
    const running = spawn(command, [file], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [running.stdout, running.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    try {
      const at = `http://127.0.0.1:${port}/events?school=1`;
      const call = async (method: string, headers: Record<string, string>, body: string | undefined) =>
        (await fetch(at, { method, headers, ...(body === undefined ? {} : { body }) })).status;
      await until('it listens', () => fetch(at).then(() => true, () => false), () => said);
      for (const [kind, method, body] of bodies) {
        assert.equal(await call(method, sign(body, [client.signingSecret]), body), 204, kind);
        assert.equal(await call(method, sign(body, [foreign, client.signingSecret]), body), 204, `${kind}, while the secret changes`);
        assert.equal(await call(method, sign(body, [foreign]), body), 401, `${kind}, signed by another`);
        assert.equal(await call(method, sign(body, [client.signingSecret], Math.floor(Date.now() / 1000) - 3600), body), 401, `${kind}, an hour old`);
      }
      assert.equal(await call('POST', sign('{"a":1}', [client.signingSecret]), '{"a":2}'), 401, 'changed on the way');
      assert.equal(await call('POST', {}, '{}'), 401, 'not signed');
      const right = sign('{}', [client.signingSecret]);
      const signature = right['webhook-signature'] ?? '';
      assert.equal(await call('POST', { ...right, 'webhook-signature': signature.replace(/.$/, 'é') }, '{}'), 401, 'as long, in more bytes');
      assert.equal(await call('POST', { ...right, 'webhook-timestamp': '²' }, '{}'), 401, 'no time');
      assert.doesNotMatch(said, /Traceback|Error/);
      await hangUp(port);
      assert.equal(await call('POST', right, '{}'), 204, 'it goes on, whatever came before');
      // And one that the service makes itself.
      await service.work();
      const asked = JSON.stringify({ url: at, DatabaseName: 'SchoolData', Method: 'POST' });
      const registered = await client.s('1000001', 'Webhook', { method: 'POST', body: asked });
      const { Webhook: [{ Id } = { Id: '' }] } = (await registered.json()) as { Webhook: { Id: string }[] };
      assert.equal((await client.s('1000001', `Webhook/${Id}/Test`, { method: 'POST' })).status, 202);
      type Sent = { Deliveries: { Id: string; State: string; Url: string }[] };
      const delivered = async () => {
        const { Deliveries } = (await (await client.s('1000001', 'Deliveries')).json()) as Sent;
        return Deliveries.find(({ Url }) => Url === at);
      };
      await until('it arrived', async () => (await delivered())?.State === 'done', delivered);
      const { Id: sent = '' } = (await delivered()) ?? {};
      await until('it told of it', () => sent !== '' && said.includes(sent), () => said);
    } finally {
      running.kill();
      await service.rest();
    }
  });
}

test('the check in a shell takes what is ours and refuses the rest', { skip: await findMissing('curl', 'openssl') }, async () => {
  const check = async (headers: Record<string, string>, body: string | undefined, secret = client.signingSecret) => {
    const env = {
      SIGNING_SECRET: secret,
      WEBHOOK_ID: headers['webhook-id'] ?? '',
      WEBHOOK_TIMESTAMP: headers['webhook-timestamp'] ?? '',
      WEBHOOK_SIGNATURE: headers['webhook-signature'] ?? '',
    };
    // By sh, and by bash, which would run what stands in a number.
    const ran = ['sh', 'bash'].map((shell) => samples.run('curl', `exec ${shell} check.sh`, env, { body: body ?? '', 'check.sh': receivers.curl }));
    const [one, other] = await Promise.all(ran);
    assert.equal(one?.code, other?.code);
    return other;
  };
  const codeOf = async (...given: Parameters<typeof check>) => (await check(...given))?.code;
  for (const [kind, , body] of bodies) {
    assert.equal(await codeOf(sign(body, [client.signingSecret]), body), 0, kind);
    assert.equal(await codeOf(sign(body, [foreign, client.signingSecret]), body), 0, `${kind}, while the secret changes`);
    assert.equal(await codeOf(sign(body, [foreign]), body), 1, `${kind}, signed by another`);
    assert.equal(await codeOf(sign(body, [client.signingSecret], Math.floor(Date.now() / 1000) - 3600), body), 1, `${kind}, an hour old`);
  }
  const command = await check({ ...sign('{}', [client.signingSecret]), 'webhook-timestamp': 'a[$(touch made)]' }, '{}');
  assert.deepEqual([command?.code, existsSync(join(command?.folder ?? '', 'made'))], [1, false], 'nothing that came is run');
  assert.equal(await codeOf({ ...sign('{}', [foreign]), 'webhook-signature': 'v1,' }, '{}', ''), 1, 'without a secret nothing is right');
});
