// An unknown query parameter under /api/v1 is a 400 that suggests the nearest name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { smallPackage } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
await service.addSchool('S1', smallPackage());
await service.work();
const client = await service.addClient('app', ['S1']);
const uuid = '0b9f6f3e-0c2e-4a53-9d2f-6f1c5f3f1a10';

const cases: [path: string, unknown: string, nearest: string | undefined, method?: string][] = [
  ['TokenDetails?callbackurll=x', 'callbackurll', 'callbackUrl'],
  ['Scopes?limit=3', 'limit', undefined],
  ['School/S1/Databases?select=Status', 'select', undefined],
  ['Queries/?nam=Students', 'nam', undefined],
  ['Students?limt=3', 'limt', undefined],
  ['Students?pagesiz=3', 'pagesiz', 'pageSize'],
  ['Students/p1?selct=Id', 'selct', 'select'],
  ['Identity/GetUsers?presenceTyp=Teach', 'presenceTyp', 'presenceType'],
  ['Identity/ResetPassword?user=p1', 'user', 'username', 'POST'],
  ['Identity/CreateLogin?OrgIdd=S1', 'OrgIdd', 'OrgId', 'POST'],
  ['Identity/CreateUser?partner=app', 'partner', undefined, 'POST'],
  ['Webhook?url=https://a.example/&DatbaseName=SchoolData', 'DatbaseName', 'DatabaseName'],
  ['Webhook?Database=SchoolData', 'Database', undefined, 'POST'],
  [`Webhook/${uuid}?x=1`, 'x', undefined],
  [`Webhook/${uuid}?x=1`, 'x', undefined, 'DELETE'],
  [`Webhook/${uuid}/Test?x=1`, 'x', undefined, 'POST'],
  ['Deliveries?pages=2', 'pages', 'page'],
  [`Deliveries/${uuid}?state=failed`, 'state', undefined],
  [`Deliveries/${uuid}/Replay?force=1`, 'force', undefined, 'POST'],
  [`Writeback/${uuid}?wait=1`, 'wait', undefined],
  ['School/S1/Attendance?validate=true', 'validate', 'validateOnly', 'POST'],
  ['Attendance/S1?modes=partial', 'modes', 'mode', 'POST'],
];

for (const [path, unknown, nearest, method = 'GET'] of cases) {
  test(`${method} ${path}: 400${nearest ? ` that suggests ${nearest}` : ''}`, async () => {
    const response = await client.s('S1', path, { method });
    const { ExceptionType, ExceptionMessage } = (await response.json()) as Record<string, string>;
    assert.deepEqual([response.status, ExceptionType], [400, 'invalid_request'], ExceptionMessage);
    assert.ok(ExceptionMessage?.includes(`"${unknown}" is not a parameter`), ExceptionMessage);
    assert.equal(/Did you mean (\w+)\?/.exec(ExceptionMessage ?? '')?.[1], nearest, ExceptionMessage);
  });
}

test('without a credential it is still a 401, and nothing is said of parameters', async () => {
  const response = await fetch(`${service.url}/api/v1/Identity/GetUsers?presenceTyp=Teach`);
  assert.equal(response.status, 401);
});

test('a refusal of an identity operation is audited', async () => {
  const before = await service.db`select from identity_audit where operation = 'GetUsers' and outcome = 'refused: invalid_request'`;
  await client.s('S1', 'Identity/GetUsers?limt=3');
  const after = await service.db`select from identity_audit where operation = 'GetUsers' and outcome = 'refused: invalid_request'`;
  assert.equal(after.length, before.length + 1);
});

test('with a callbackUrl the refusal is posted there', async () => {
  const receiver = await useReceiver();
  const response = await client.s('S1', `Databases?Status=OK&callbackUrl=${encodeURIComponent(`${receiver.origin}/told`)}`);
  assert.equal(response.status, 202);
  await until('the callback', () => receiver.arrivals.length > 0);
  const told = JSON.parse(String(receiver.arrivals[0]?.body)) as Record<string, string>;
  assert.deepEqual([told.ExceptionType, told.ExceptionMessage?.includes('"Status" is not a parameter of Databases')], ['invalid_request', true]);
});
