// What is kept of an answer: by the address that it came from, and by what it may hold.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { keepAnswer } from './kept-answer.ts';

const answer = { headers: { date: 'today', 'x-internal': 'yes' }, response: Buffer.from('internal') };
const loopback = parseAllowList(['127.0.0.0/8', '::1/128']);

test('an answer is kept from public addresses, and from loopback where that is said', () => {
  const addresses: [address: string | null, kept: boolean, keptInDemo: boolean][] = [
    ['93.184.216.34', true, true],
    ['2606:2800:220:1::1', true, true],
    ['127.0.0.1', false, true],
    ['::1', false, true],
    ['::ffff:127.0.0.1', false, true],
    ['10.0.0.5', false, false],
    ['192.168.1.1', false, false],
    ['169.254.169.254', false, false],
    ['::ffff:10.0.0.5', false, false],
    ['fd00::1', false, false],
    ['64:ff9b::a00:5', false, false],
    ['nonsense', false, false],
    [null, false, false],
  ];
  for (const [address, kept, keptInDemo] of addresses) {
    assert.equal(keepAnswer(answer, { address, sealed: false, answersFrom: [] }) !== undefined, kept, String(address));
    assert.equal(keepAnswer(answer, { address, sealed: false, answersFrom: loopback }) !== undefined, keptInDemo, `${address} in the demo`);
  }
});

test('what OUTBOUND_ALLOW opens is called, but its answer is neither kept nor shown', async () => {
  const receiver = await useReceiver((_, response) => void response.writeHead(500, { 'x-internal': 'secret-header' }).end('secret-text'));
  const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
  await service.work();
  await service.addSchool('s1');
  const client = await service.addClient('app', ['s1']);
  const ask = async (path: string, method = 'GET', body?: object) =>
    (await client.s('s1', path, { method, ...(body ? { body: JSON.stringify(body) } : {}) })).json() as Promise<{
      Webhook: { Id: string }[];
      DeliveryId: string;
      Message: string | null;
      Deliveries: { State: string; Attempts: Record<string, unknown>[] }[];
    }>;
  const { Webhook } = await ask('Webhook', 'POST', { url: `${receiver.origin}/x`, DatabaseName: 'SchoolData' });
  const { DeliveryId } = await ask(`Webhook/${Webhook[0]?.Id}/Test`, 'POST');
  await until('it failed', async () => (await ask(`Deliveries/${DeliveryId}`)).Deliveries[0]?.State === 'failed');
  const { Deliveries, Message } = await ask(`Deliveries/${DeliveryId}`);
  const [{ Status, Address, ResponseHeaders, Response } = {}] = Deliveries[0]?.Attempts ?? [];
  assert.deepEqual([Status, Address, ResponseHeaders, Response], [500, '127.0.0.1', null, null]);
  assert.match(Message ?? '', /not public/);
  const stored = await service.db<{ detail: object; response: Buffer | null }[]>`select detail, response from outbox_attempt where id = ${DeliveryId}`;
  assert.doesNotMatch(JSON.stringify(stored.map(({ detail, response }) => [detail, response?.toString()])), /secret-/);

  // Kept under other settings, or by the version before.
  await service.db`update outbox_attempt set detail = detail || '{"responseHeaders": {"x-internal": "secret-header"}}', response = 'secret-text'`;
  assert.doesNotMatch(JSON.stringify(await ask(`Deliveries/${DeliveryId}`)), /secret-/);
});
