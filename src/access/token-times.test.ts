// Tests that the times of tokens are set and checked by the database's clock, whatever the clocks of processes say and wherever they are set back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useDatabaseClock } from '../../test/database-clock.ts';
import { byName } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import { smallSchool } from '../../test/small-school.ts';

const estab = '9990001';
const hour = 3_600_000;
const { database, clock } = await useDatabaseClock();
const service = await useService({}, { database });
await service.addSchool(estab, csvPackage(smallSchool));
const client = await service.addClient('app', [estab]);

/** Obtains a token of each kind, from this process. */
async function obtain() {
  const ask = async (body: object) => {
    const response = await fetch(`${service.url}/api/oauth/GetToken`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { token: string }).token;
  };
  const { A, B, '1.2': later } = byName;
  return [
    { path: `${A.root}/orgs`, authorization: `Bearer ${await client.tokenA()}` },
    { path: `${B.root}/orgs`, authorization: `Bearer ${await client.tokenB(estab)}` },
    { path: `${later.root}/orgs`, authorization: `Bearer ${await client.token12()}` },
    { path: '/api/v1/Students', authorization: `Idaas ${await ask({ relyingParty: 'app', estab, password: client.schoolSecrets[estab] })}` },
    { path: '/api/v1/Deliveries', authorization: `Idaas ${await ask({ relyingParty: 'app', password: client.managementSecret })}` },
  ];
}

type Credentials = Awaited<ReturnType<typeof obtain>>;
const statuses = async (tokens: Credentials, url = service.url) =>
  Promise.all(tokens.map(async ({ path, authorization }) => (await fetch(`${url}${path}`, { headers: { authorization } })).status));
const fine = [200, 200, 200, 200, 200];
const refused = [400, 401, 401, 401, 401];

function timesOf({ authorization }: Credentials[number]): { iat: number; nbf: number; exp: number } {
  return JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()) as { iat: number; nbf: number; exp: number };
}

test('a process whose clock is wrong issues and accepts the same tokens', async () => {
  const tokens = await obtain();
  for (const hours of [-30, 30]) {
    const skewed = await service.join({}, { now: () => Date.now() + hours * hour });
    assert.deepEqual(await statuses(tokens, skewed.url), fine, `${hours} hours`);
  }
});

test('times of tokens are those of the database', async () => {
  const at = Math.floor(Date.now() / 1000) + 7200;
  await clock.stopAt(new Date(at * 1000));
  const tokens = await obtain();
  await clock.setAhead(0);
  assert.deepEqual(tokens.map(timesOf).map(({ iat, nbf, exp }) => [iat, nbf, exp - iat]), [
    [at, at, 3600], [at, at, 3600], [at, at, 3600], [at, at, 86_400], [at, at, 86_400],
  ]);
});

test('a token that was issued before the clock was set back by hours is refused; one from less than five minutes ahead works', async () => {
  await clock.setAhead(3 * hour);
  const ahead = await obtain();
  assert.deepEqual(await statuses(ahead), fine);
  await clock.setAhead(0);
  assert.deepEqual(await statuses(ahead), refused);
  const joined = await service.join();
  assert.deepEqual(await statuses(ahead, joined.url), refused, 'in a process that never saw it');

  await clock.setAhead(290_000);
  const close = await obtain();
  await clock.setAhead(0);
  assert.deepEqual(await statuses(close), fine);
});
