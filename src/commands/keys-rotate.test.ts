// New keys while processes run: what was signed before is taken or refused by every one of them at its next use, those
// included that have seen it already; the published keys are those that count.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT, type JSONWebKeySet } from 'jose';
import { managementToken } from '../../test/onboarding.ts';
import { testedDialects } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { createSeal, type Seal } from '../access/seal.ts';
import { readConfig } from '../config.ts';
import { keyCommands } from './keys.ts';

const estab = 'one';
const service = await useService();
const { db } = service;
await service.addSchool(estab, smallPackage());
const client = await service.addClient('app', [estab]);
const other = await service.join();
const processes = [service.url, other.url];

type Rotated = { tokenKey: string; singleSignOnKey: string; oldEnded: boolean };

async function rotate(options: Record<string, boolean> = {}, seal: Seal = service.seal): Promise<Rotated> {
  const command = keyCommands.find(({ name }) => name === 'keys rotate');
  return (await command?.run({ db, seal, config: readConfig({}) }, { options, positionals: [] }))?.data as Rotated;
}

const kinds = [
  ...testedDialects.map(({ name, root, token, errors }) => ({
    kind: `rostering ${name}`, scheme: 'Bearer', path: `${root}/users?limit=1`, refused: errors.invalidToken?.status, obtain: () => token(client, estab),
  })),
  { kind: 'school', scheme: 'Idaas', path: '/api/v1/Students?pageSize=1', refused: 401, obtain: schoolToken },
  { kind: 'school, identity', scheme: 'Idaas', path: '/api/v1/Identity/GetUsers', refused: 401, obtain: schoolToken },
  { kind: 'management', scheme: 'Idaas', path: '/api/v1/Identity/GenerateQRCode?text=x', refused: 401, obtain: applicationToken },
] as const;

async function schoolToken(): Promise<string> {
  const body = JSON.stringify({ estab, relyingParty: 'app', password: client.schoolSecrets[estab] });
  const response = await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await response.json()) as { token: string }).token;
}

function applicationToken(): Promise<string> {
  return managementToken(service.url, 'app', client.managementSecret);
}

const obtainAll = () => Promise.all(kinds.map(({ obtain }) => obtain()));
const show = (url: string, at: number, token: string) => fetch(`${url}${kinds[at]?.path}`, { headers: { authorization: `${kinds[at]?.scheme} ${token}` } });

async function assertTaken(tokens: readonly string[]): Promise<void> {
  for (const [at, token] of tokens.entries()) {
    for (const url of processes) {
      const response = await show(url, at, token);
      assert.equal(response.status, 200, `${kinds[at]?.kind}: ${await response.text()}`);
    }
  }
}

async function assertWithdrawn(tokens: readonly string[], urls: readonly string[] = processes): Promise<void> {
  for (const [at, token] of tokens.entries()) {
    for (const url of urls) {
      const response = await show(url, at, token);
      assert.equal(response.status, kinds[at]?.refused, `${kinds[at]?.kind} is still taken`);
      assert.match(await response.text(), /key that signed this token was withdrawn; obtain a new token/);
    }
  }
}

async function published(url: string): Promise<JSONWebKeySet> {
  return (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;
}

const publishedIds = (url: string) => published(url).then(({ keys }) => keys.map(({ kid }) => kid));
const keyOf = (token: string | undefined) => decodeProtectedHeader(token ?? '').kid;

test('an ordinary rotation signs with the new key and takes what the old one signed, in every process', async () => {
  const before = await obtainAll();
  await assertTaken(before);
  const unused = await obtainAll();
  const { tokenKey, oldEnded } = await rotate();
  const after = await obtainAll();
  assert.deepEqual([oldEnded, new Set(after.map(keyOf))], [false, new Set([tokenKey])]);
  assert.notEqual(keyOf(before[0]), tokenKey);
  for (const tokens of [before, unused, after]) await assertTaken(tokens);
  for (const url of processes) {
    assert.deepEqual(await publishedIds(url), [tokenKey, keyOf(before[0])]);
    for (const token of [...before, ...after]) await jwtVerify(token, createLocalJWKSet(await published(url)));
  }
});

test('the old key counts until its last token has expired, and no longer', async () => {
  const before = await obtainAll();
  await assertTaken(before);
  await rotate();
  const kid = keyOf(before[0]) ?? '';
  const trustedUntil = async () => (await db<{ until: Date }[]>`select trusted_until as until from token_key where kid = ${kid}`)[0]?.until.getTime() ?? 0;
  const until = await trustedUntil();
  const hours = (until - Date.now()) / 3_600_000;
  assert.ok(hours > 24.9 && hours < 25.1, `${hours} hours`);
  await rotate();
  assert.equal(await trustedUntil(), until, 'another rotation gives it no more time');
  await db`update token_key set trusted_until = now() where kid = ${kid}`;
  await assertWithdrawn(before);
  for (const url of processes) assert.ok(!(await publishedIds(url)).includes(keyOf(before[0])));
});

test('with --now every token from before is refused by every process at its next call, whether it or its key was seen there or not', async () => {
  const older = await obtainAll();
  await rotate();
  const before = await obtainAll();
  await assertTaken(older);
  await assertTaken(before);
  const unused = await obtainAll();
  const { tokenKey, oldEnded } = await rotate({ now: true });
  for (const tokens of [older, before, unused]) await assertWithdrawn(tokens);
  await assertWithdrawn(before, [(await service.join()).url]);
  assert.equal(oldEnded, true);
  const after = await obtainAll();
  assert.deepEqual(new Set(after.map(keyOf)), new Set([tokenKey]));
  await assertTaken(after);
  for (const url of processes) assert.deepEqual(await publishedIds(url), [tokenKey]);
});

test('of a retired key the private half is gone', async () => {
  await rotate();
  const rows = await db<{ signs: boolean; kept: boolean }[]>`select trusted_until is null as signs, sealed_private_jwk is not null as kept from token_key`;
  assert.equal(rows.filter(({ signs }) => signs).length, 1);
  assert.ok(rows.length > 1 && rows.every(({ signs, kept }) => signs === kept));
});

test('rotations at once leave one key that signs', async () => {
  await Promise.all([rotate(), rotate(), rotate({ now: true })]);
  assert.equal((await db`select from token_key where trusted_until is null`).length, 1);
  assert.equal((await db`select from provider_key where trusted_until is null`).length, 1);
  await assertTaken(await obtainAll());
});

test('with a SECRET_KEY that is not the one of the service nothing is changed, and it is said', async () => {
  const tables = () => Promise.all([db`select * from token_key order by kid`, db`select * from provider_key order by id`]);
  const before = JSON.stringify(await tables());
  await assert.rejects(rotate({ now: true }, createSeal(['another key than the one of this database'])), /SECRET_KEY: does not open what is stored/);
  assert.equal(JSON.stringify(await tables()), before);
});

test('a key id that nobody was given is no token of ours, whatever it is', async () => {
  for (const kid of ['unknown', 'a\0b', '\ud800', '', 'x'.repeat(5000), 7 as unknown as string, ["'"] as unknown as string]) {
    const token = await new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid }).sign(Buffer.alloc(32));
    const response = await show(service.url, 1, token);
    assert.equal(response.status, 401, String(kid));
    assert.match(await response.text(), /malformed or was not issued by this service/);
  }
});
