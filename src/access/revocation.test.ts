// What takes effect on the very next call with a token that was obtained before: pause, resume, revoke, new secrets,
// narrowed scopes, approval again and expiry, in both variants. And what is kept of secrets: nothing readable.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { rootA, rootB, useService, type Client } from '../../test/service.ts';
import { rotateApplicationSecret } from './applications.ts';
import { authorise, changeState, rotateSchoolSecret, type AuthorisationState } from './authorisations.ts';

const estab = '9990001';
let clock = Date.now();
const service = await useService({}, { now: () => clock });
const { db, seal } = service;
const person = (sourcedId: string, role: string) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'sch', role, username: sourcedId, givenName: sourcedId, familyName: 'Lee',
});
await service.addSchool(
  estab,
  csvPackage({ orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }], users: [person('pupil', 'student'), person('teacher', 'teacher')] }),
);

let applications = 0;
let client: Client;
let rp: string;
/** Tokens from before whatever the test does, used once already, so that everything a process remembers is there. */
let before: { a: string; b: string };

beforeEach(async () => {
  applications += 1;
  rp = `app${applications}`;
  client = await service.addClient(rp, [estab], 'School,Student,Staff:optional,Contact:optional');
  before = { a: await client.tokenA(), b: await client.tokenB(estab) };
  await assertStatuses(200, 200);
});

const readA = (token: string, path: string) => fetch(`${service.url}${rootA}${path}`, { headers: { authorization: `Bearer ${token}` } });
const readB = (token: string, path: string) => fetch(`${service.url}${rootB}${path}`, { headers: { authorization: `Bearer ${token}` } });

async function assertStatuses(a: number, b: number, path = '/users?limit=10', tokens = before): Promise<void> {
  const answers = [await readA(tokens.a, path), await readB(tokens.b, path)];
  assert.deepEqual(answers.map((answer) => answer.status), [a, b], `${path} in variants A and B`);
}

async function userIds(response: Response): Promise<string[]> {
  return ((await response.json()) as { users: { sourcedId: string }[] }).users.map((user) => user.sourcedId);
}

const change = (to: AuthorisationState) => changeState(db, { rp, estab, from: ['Approved', 'Paused'], to });
const tokenStatus = async (path: string, user: string, secret: string) =>
  (await fetch(`${service.url}${path}`, { method: 'POST', headers: { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` } })).status;
const tokenStatusB = (secret: string) => tokenStatus(`${rootB}/auth/token`, `${rp}|${estab}`, secret);
const oldSecret = () => client.schoolSecrets[estab] ?? '';

test('pause refuses at once, resume opens at once', async () => {
  await change('Paused');
  await assertStatuses(400, 403);
  await assertStatuses(400, 403, '/users/pupil');
  const refused = (await (await readB(before.b, '/users')).json()) as { statusInfoSet: { imsx_codeMinor: string; imsx_description: string }[] };
  assert.equal(refused.statusInfoSet[0]?.imsx_codeMinor, 'forbidden');
  assert.match(refused.statusInfoSet[0]?.imsx_description ?? '', /paused.*resume/i);
  assert.match(await (await readA(before.a, '/users')).text(), /paused/i);
  await change('Approved');
  await assertStatuses(200, 200);
});

test('revoke refuses at once', async () => {
  await change('Revoked');
  await assertStatuses(400, 403);
  assert.equal(await tokenStatusB(oldSecret()), 401);
});

test('a new school secret ends the tokens of the old one in variant B alone', async () => {
  const fresh = await rotateSchoolSecret(db, rp, estab);
  await assertStatuses(200, 401);
  assert.equal(await tokenStatusB(oldSecret()), 401);
  assert.equal(await tokenStatusB(fresh), 200);
});

test('a new client secret ends the tokens of the old one in variant A alone', async () => {
  const fresh = await rotateApplicationSecret(db, seal, rp, 'client');
  await assertStatuses(400, 200);
  assert.equal(await tokenStatus(`${rootA}/token`, client.clientId, client.clientSecret), 401);
  assert.equal(await tokenStatus(`${rootA}/token`, client.clientId, fresh), 200);
});

test('new management and signing secrets end no rostering token', async () => {
  await rotateApplicationSecret(db, seal, rp, 'management');
  await rotateApplicationSecret(db, seal, rp, 'signing');
  await assertStatuses(200, 200);
});

test('narrowed scopes hold at once, and so do wider ones', async () => {
  const listed = async () => [await userIds(await readA(before.a, '/users?limit=10')), await userIds(await readB(before.b, '/users?limit=10'))];
  assert.deepEqual(await listed(), [['pupil', 'teacher'], ['pupil', 'teacher']]);
  await authorise(db, { rp, estab, scopes: 'School,Student' });
  assert.deepEqual(await listed(), [['pupil'], ['pupil']]);
  await assertStatuses(404, 404, '/users/teacher');
  await authorise(db, { rp, estab, scopes: 'School' });
  await assertStatuses(400, 403);
  await assertStatuses(200, 200, '/orgs');
  await authorise(db, { rp, estab, scopes: 'Staff' });
  assert.deepEqual(await listed(), [['teacher'], ['teacher']]);
  await assertStatuses(400, 403, '/orgs');
});

test('approving again leaves the old secret valid for 24 hours, and not longer', async () => {
  const { schoolSecret } = await authorise(db, { rp, estab });
  assert.notEqual(schoolSecret, oldSecret());
  await assertStatuses(200, 200);
  assert.equal(await tokenStatusB(oldSecret()), 200);
  client.schoolSecrets[estab] = schoolSecret;
  const fresh = { a: before.a, b: await client.tokenB(estab) };
  const [{ hours } = { hours: 0 }] = await db<{ hours: number }[]>`
    select extract(epoch from valid_until - now())::float8 / 3600 as hours from school_secret where rp = ${rp} and valid_until is not null`;
  assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`);
  await db`update school_secret set valid_until = now() - interval '1 second' where rp = ${rp} and valid_until is not null`;
  await assertStatuses(200, 401);
  await assertStatuses(200, 200, '/users', fresh);
  assert.equal(await tokenStatusB(schoolSecret), 200);
});

test('approving a third time does not prolong the first secret', async () => {
  const first = oldSecret();
  await authorise(db, { rp, estab });
  await db`update school_secret set valid_until = now() - interval '1 second' where rp = ${rp} and valid_until is not null`;
  await authorise(db, { rp, estab });
  assert.equal(await tokenStatusB(first), 401);
  await assertStatuses(200, 401);
});

test('approving again after a pause opens for old and new', async () => {
  await change('Paused');
  const { schoolSecret } = await authorise(db, { rp, estab });
  await assertStatuses(200, 200);
  assert.equal(await tokenStatusB(schoolSecret), 200);
});

test('approving again after revocation ends the old secret at once', async () => {
  await change('Revoked');
  const { schoolSecret } = await authorise(db, { rp, estab });
  assert.equal(await tokenStatusB(oldSecret()), 401);
  assert.equal(await tokenStatusB(schoolSecret), 200);
  await assertStatuses(200, 401);
});

test('a revoked authorisation is not resumed, paused or given a new secret: it has to be approved again', async () => {
  await change('Revoked');
  await assert.rejects(changeState(db, { rp, estab, from: ['Paused'], to: 'Approved' }), /approve it again/);
  await assert.rejects(changeState(db, { rp, estab, from: ['Approved'], to: 'Paused' }), /approve it again/);
  await assert.rejects(rotateSchoolSecret(db, rp, estab), /approve it again/);
  await assertStatuses(400, 403);
});

test('an application that is removed, or whose school is removed, is refused', async () => {
  await db`delete from authorisation where rp = ${rp}`;
  await assertStatuses(400, 401);
  await db`delete from application where rp = ${rp}`;
  await assertStatuses(400, 401);
});

test('a token ends after 3600 seconds', async () => {
  const start = clock;
  try {
    clock = Math.floor(start / 1000) * 1000;
    before = { a: await client.tokenA(), b: await client.tokenB(estab) };
    clock += 3_599_999;
    await assertStatuses(200, 200);
    clock += 1;
    await assertStatuses(400, 401);
    assert.match(await (await readA(before.a, '/users')).text(), /expired/i);
    assert.match(await (await readB(before.b, '/users')).text(), /expired/i);
    const unused = { a: await client.tokenA(), b: await client.tokenB(estab) };
    clock += 3_601_000;
    await assertStatuses(400, 401, '/users', unused);
  } finally {
    clock = start;
  }
});

test('secrets have a prefix by kind and at least 256 random bits', async () => {
  const { schoolSecret } = await authorise(db, { rp, estab });
  const issued: [prefix: string, secrets: string[]][] = [
    ['sb_school_', [oldSecret(), schoolSecret, await rotateSchoolSecret(db, rp, estab)]],
    ['sb_mgmt_', [client.managementSecret, await rotateApplicationSecret(db, seal, rp, 'management')]],
    ['sb_client_', [client.clientSecret, await rotateApplicationSecret(db, seal, rp, 'client')]],
    ['whsec_', [client.signingSecret, await rotateApplicationSecret(db, seal, rp, 'signing')]],
  ];
  for (const [prefix, secrets] of issued) {
    for (const secret of secrets) {
      assert.ok(secret.startsWith(prefix), secret);
      assert.ok(Buffer.from(secret.slice(prefix.length), prefix === 'whsec_' ? 'base64' : 'base64url').length >= 32, secret);
    }
    assert.equal(new Set(secrets).size, secrets.length);
  }
});

test('the database holds hashes and sealed signing secrets, and no secret in the plain', async () => {
  const again = await authorise(db, { rp, estab });
  const hashed = [oldSecret(), again.schoolSecret, client.clientSecret, client.managementSecret];
  const tables = await db<
    { name: string }[]
  >`select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  assert.ok(
    tables.some(({ name }) => name === 'school_secret') &&
      tables.some(({ name }) => name === 'application_secret') &&
      tables.some(({ name }) => name === 'token_key'),
  );
  let dump = '';
  for (const { name } of tables) for (const { row } of await db<{ row: string }[]>`select t::text as row from ${db(name)} t`) dump += `${row}\n`;
  for (const secret of [...hashed, client.signingSecret]) {
    const random = secret.replace(/^(sb_[a-z]+|whsec)_/, '');
    assert.ok(random.length >= 43 && random.length < secret.length);
    for (const text of [secret, random]) {
      for (const written of [text, Buffer.from(text).toString('hex'), Buffer.from(text).toString('base64')])
        assert.ok(!dump.includes(written), 'a secret stands in the database');
    }
    assert.ok(!dump.includes(Buffer.from(random, 'base64url').toString('hex')), 'the bytes of a secret stand in the database');
  }
  for (const secret of hashed) assert.ok(dump.includes(createHash('sha256').update(secret).digest('hex')), 'the hash is there, so the dump covers it');
  const [signing] = await db<{ sealed: Uint8Array }[]>`select sealed from application_secret where rp = ${rp} and kind = 'signing'`;
  assert.equal(seal.open(signing?.sealed ?? new Uint8Array()), client.signingSecret);
  assert.doesNotMatch(dump, /"d":|\\x7b2263|BEGIN [A-Z ]*PRIVATE KEY/, 'no private token key');
});
