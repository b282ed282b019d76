// A token names the service that issued it (`iss`, the PUBLIC_URL), and only that service accepts it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rootA, rootB, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';

const service = await useService();
await service.addSchool('one', smallPackage());
const client = await service.addClient('app', ['one']);
const elsewhere = await service.join({ PUBLIC_URL: 'https://another.example' });

const statusOf = async (address: string, token: string) => (await fetch(address, { headers: { authorization: `Bearer ${token}` } })).status;

test('a token of another issuer is refused, although its signature is valid', async () => {
  const [a, b] = [await client.tokenA(), await client.tokenB('one')];
  const own = [await statusOf(`${service.url}${rootA}/users`, a), await statusOf(`${service.url}${rootB}/users`, b)];
  const other = [await statusOf(`${elsewhere.url}${rootA}/users`, a), await statusOf(`${elsewhere.url}${rootB}/users`, b)];
  assert.deepEqual({ own, other }, { own: [200, 200], other: [400, 401] });
});

test('a second process under the same PUBLIC_URL accepts the token', async () => {
  const beside = await service.join();
  assert.equal(await statusOf(`${beside.url}${rootB}/users`, await client.tokenB('one')), 200);
});
