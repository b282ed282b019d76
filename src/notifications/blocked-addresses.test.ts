// A registration for an address that is not public is refused before anything is sent there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallPackage } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';

const service = await useService({ OUTBOUND_ALLOW: '168.63.129.18/32' });
await service.addSchool('S1', smallPackage());
const client = await service.addClient('app', ['S1']);

async function register(host: string): Promise<[status: number, message: string | null]> {
  const response = await client.s('S1', 'Webhook', { method: 'POST', body: JSON.stringify({ url: `http://${host}/x`, DatabaseName: 'SchoolData' }) });
  return [response.status, ((await response.json()) as { ExceptionMessage: string | null }).ExceptionMessage];
}

const metadata = [
  '168.63.129.16', '169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192', '[fd00:ec2::254]', '[fd20:ce::254]',
  '[::ffff:168.63.129.16]', '[64:ff9b::a83f:8110]', '2822734096',
];
for (const host of metadata) {
  test(`${host}, the metadata service of a cloud, cannot be registered`, async () => {
    const [status, message] = await register(host);
    assert.equal(status, 400);
    assert.match(message ?? '', /not a public address/);
  });
}

test('an address that the operator opened, and its public neighbours, can be registered', async () => {
  for (const host of ['168.63.129.15', '168.63.129.18']) assert.ok((await register(host))[0] < 300, host);
});
