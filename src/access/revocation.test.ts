// What takes effect on the very next call with a token that was obtained before: pause, resume, revoke, new secrets,
// narrowed scopes, approval again and expiry, in every dialect and with either secret. And what is kept of secrets: nothing readable.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useDatabaseClock } from '../../test/database-clock.ts';
import { byName, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client } from '../../test/service.ts';
import { rotateApplicationSecret } from './applications.ts';
import { authorise, changeState, rotateSchoolSecret, type AuthorisationState } from './authorisations.ts';
import { sealedAs } from './sealed-as.ts';

const estab = '9990001';
const { database, clock } = await useDatabaseClock();
const service = await useService({}, { database });
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
let before: Tokens;

/** With the secret of the application, and with that of the school; 1.2 takes either. */
type Tokens = Readonly<Record<'client' | 'school', readonly { dialect: TestedDialect; token: string }[]>>;
const later = byName['1.2'];
const freshTokens = async (): Promise<Tokens> => ({
  client: [{ dialect: byName.A, token: await client.tokenA() }, { dialect: later, token: await client.token12() }],
  school: [{ dialect: byName.B, token: await client.tokenB(estab) }, { dialect: later, token: await client.token12(estab) }],
});

beforeEach(async () => {
  applications += 1;
  rp = `app${applications}`;
  client = await service.addClient(rp, [estab], 'School,Student,Staff:optional,Contact:optional');
  before = await freshTokens();
  await assertAll();
});

const read = ({ dialect, token }: Tokens['client'][number], path: string) =>
  fetch(`${service.url}${dialect.root}${path}`, { headers: { authorization: `Bearer ${token}` } });

/** What becomes of the tokens of either secret: nothing, or how they are refused. */
type Outcome = 'forbidden' | 'invalidToken' | 'notFound' | undefined;

async function assertEach(ofClient: Outcome, ofSchool: Outcome, path = '/users?limit=10', tokens = before): Promise<void> {
  for (const [outcome, some] of [[ofClient, tokens.client], [ofSchool, tokens.school]] as const) {
    for (const one of some) {
      const response = await read(one, path);
      const text = await response.text();
      const refusal = outcome && one.dialect.errors[outcome];
      assert.equal(response.status, refusal?.status ?? 200, `${path} in ${one.dialect.name}: ${text}`);
      if (refusal) assert.equal(one.dialect.readError(text).minor, refusal.minor);
    }
  }
}
const assertAll = (outcome?: Outcome, path?: string, tokens?: Tokens) => assertEach(outcome, outcome, path, tokens);

/** What each says of why. */
async function assertSays(pattern: RegExp): Promise<void> {
  for (const one of [...before.client, ...before.school]) assert.match(one.dialect.readError(await (await read(one, '/users')).text()).message, pattern);
}

async function userIds(response: Response): Promise<string[]> {
  return ((await response.json()) as { users: { sourcedId: string }[] }).users.map((user) => user.sourcedId);
}

const change = (to: AuthorisationState) => changeState(db, { rp, estab, from: ['Approved', 'Paused'], to });
const tokenStatus = async (path: string, user: string, secret: string) =>
  (await fetch(`${service.url}${path}`, { method: 'POST', headers: { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` } })).status;
const tokenStatuses = async (user: string, secret: string, where: readonly TestedDialect[]) => {
  const statuses = new Set(await Promise.all(where.map(({ tokenPath }) => tokenStatus(tokenPath, user, secret))));
  return [...statuses].join();
};
/** Wherever the secret of a school is taken. */
const schoolStatus = (secret: string) => tokenStatuses(`${rp}|${estab}`, secret, [byName.B, later]);
const clientStatus = (secret: string) => tokenStatuses(client.clientId, secret, [byName.A, later]);
const oldSecret = () => client.schoolSecrets[estab] ?? '';

test('pause refuses at once, resume opens at once', async () => {
  await change('Paused');
  await assertAll('forbidden');
  await assertAll('forbidden', '/users/pupil');
  await assertSays(/paused.*resume/i);
  await change('Approved');
  await assertAll();
});

test('revoke refuses at once', async () => {
  await change('Revoked');
  await assertAll('forbidden');
  assert.equal(await schoolStatus(oldSecret()), '401');
});

test('a new school secret ends the tokens of the old one, and no others', async () => {
  const fresh = await rotateSchoolSecret(db, rp, estab);
  await assertEach(undefined, 'invalidToken');
  assert.equal(await schoolStatus(oldSecret()), '401');
  assert.equal(await schoolStatus(fresh), '200');
});

test('a new client secret ends the tokens of the old one, and no others', async () => {
  const fresh = await rotateApplicationSecret(db, seal, rp, 'client');
  await assertEach('invalidToken', undefined);
  assert.equal(await clientStatus(client.clientSecret), '401');
  assert.equal(await clientStatus(fresh), '200');
});

test('new management and signing secrets end no rostering token', async () => {
  await rotateApplicationSecret(db, seal, rp, 'management');
  await rotateApplicationSecret(db, seal, rp, 'signing');
  await assertAll();
});

test('narrowed scopes hold at once, and so do wider ones', async () => {
  const listed = async () => Promise.all([...before.client, ...before.school].map(async (one) => userIds(await read(one, '/users?limit=10'))));
  const each = (...ids: string[]) => [ids, ids, ids, ids];
  assert.deepEqual(await listed(), each('pupil', 'teacher'));
  await authorise(db, { rp, estab, scopes: 'School,Student' });
  assert.deepEqual(await listed(), each('pupil'));
  await assertAll('notFound', '/users/teacher');
  await authorise(db, { rp, estab, scopes: 'School' });
  await assertAll('forbidden');
  await assertAll(undefined, '/orgs');
  await authorise(db, { rp, estab, scopes: 'Staff' });
  assert.deepEqual(await listed(), each('teacher'));
  await assertAll('forbidden', '/orgs');
});

test('approving again leaves the old secret valid for 24 hours, and not longer', async () => {
  const { schoolSecret } = await authorise(db, { rp, estab });
  assert.notEqual(schoolSecret, oldSecret());
  await assertAll();
  assert.equal(await schoolStatus(oldSecret()), '200');
  client.schoolSecrets[estab] = schoolSecret;
  const fresh = { ...before, school: (await freshTokens()).school };
  const [{ hours } = { hours: 0 }] = await db<{ hours: number }[]>`
    select extract(epoch from valid_until - now())::float8 / 3600 as hours from school_secret where rp = ${rp} and valid_until is not null`;
  assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`);
  await db`update school_secret set valid_until = now() - interval '1 second' where rp = ${rp} and valid_until is not null`;
  await assertEach(undefined, 'invalidToken');
  await assertAll(undefined, '/users', fresh);
  assert.equal(await schoolStatus(schoolSecret), '200');
});

test('approving a third time does not prolong the first secret', async () => {
  const first = oldSecret();
  await authorise(db, { rp, estab });
  await db`update school_secret set valid_until = now() - interval '1 second' where rp = ${rp} and valid_until is not null`;
  await authorise(db, { rp, estab });
  assert.equal(await schoolStatus(first), '401');
  await assertEach(undefined, 'invalidToken');
});

test('approving again after a pause opens for old and new', async () => {
  await change('Paused');
  const { schoolSecret } = await authorise(db, { rp, estab });
  await assertAll();
  assert.equal(await schoolStatus(schoolSecret), '200');
});

test('approving again after revocation ends the old secret at once', async () => {
  await change('Revoked');
  const { schoolSecret } = await authorise(db, { rp, estab });
  assert.equal(await schoolStatus(oldSecret()), '401');
  assert.equal(await schoolStatus(schoolSecret), '200');
  await assertEach(undefined, 'invalidToken');
});

test('a revoked authorisation is not resumed, paused or given a new secret: it has to be approved again', async () => {
  await change('Revoked');
  await assert.rejects(changeState(db, { rp, estab, from: ['Paused'], to: 'Approved' }), /approve it again/);
  await assert.rejects(changeState(db, { rp, estab, from: ['Approved'], to: 'Paused' }), /approve it again/);
  await assert.rejects(rotateSchoolSecret(db, rp, estab), /approve it again/);
  await assertAll('forbidden');
});

test('an application that is removed, or whose school is removed, is refused', async () => {
  await db`delete from authorisation where rp = ${rp}`;
  await assertAll('invalidToken');
  await db`delete from application where rp = ${rp}`;
  await assertAll('invalidToken');
});

test('a token ends after 3600 seconds', async () => {
  const start = Math.floor(Date.now() / 1000) * 1000;
  try {
    await clock.stopAt(new Date(start));
    before = await freshTokens();
    await clock.stopAt(new Date(start + 3_599_999));
    await assertAll();
    await clock.stopAt(new Date(start + 3_600_000));
    await assertAll('invalidToken');
    await assertSays(/expired/i);
    const unused = await freshTokens();
    await clock.stopAt(new Date(start + 7_201_000));
    await assertAll('invalidToken', '/users', unused);
  } finally {
    await clock.setAhead(0);
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
  const [signing] = await db<{ id: string; sealed: Uint8Array }[]>`select id, sealed from application_secret where rp = ${rp} and kind = 'signing'`;
  assert.equal(seal.open(signing?.sealed ?? new Uint8Array(), sealedAs.signingSecret(rp, signing?.id ?? '')), client.signingSecret);
  assert.doesNotMatch(dump, /"d":|\\x7b2263|BEGIN [A-Z ]*PRIVATE KEY/, 'no private token key');
});
