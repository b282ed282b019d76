// The rostering API through HTTP, on the demo school.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoPackage } from '../collection/connectors/demo/demo-package.ts';
import { useService } from '../../test/service.ts';

const service = await useService();
await service.addSchool('9990001', demoPackage());
const client = await service.addClient('app', ['9990001']);

test('both variants list the same users', async () => {
  const [a, b] = [await client.a('/users'), await client.b('9990001', '/users')];
  assert.equal(a.status, 200);
  assert.equal(b.status, 200);
  const ids = async (response: Response) => ((await response.json()) as { users: { sourcedId: string }[] }).users.map((user) => user.sourcedId);
  assert.deepEqual(await ids(a), await ids(b));
});
