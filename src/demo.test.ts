// Tests the demo as newcomers meet it: what counts its records says the same everywhere, and nobody lacks an identifier.
import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { useCommands } from '../test/commands.ts';
import { rootA, rootB, testSecretKey, useService } from '../test/service.ts';
import { readConfig } from './config.ts';
import { prepareDemo, type DemoCredentials } from './demo.ts';

const { db, databaseUrl, seal, url, dataDir } = await useService();
const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir };
const { json } = useCommands(settings);
let demo: DemoCredentials;
let tokens: Record<'a' | 'b' | 'school', string>;

before(async () => {
  demo = await prepareDemo(db, seal, readConfig(settings));
  const ask = async (path: string, credentials: string) => {
    const response = await fetch(`${url}${path}`, { method: 'POST', headers: { authorization: `Basic ${btoa(credentials)}` } });
    return ((await response.json()) as { access_token: string }).access_token;
  };
  const sent = JSON.stringify({ estab: demo.estab, relyingParty: demo.rp, password: demo.schoolSecret });
  const issued = await fetch(`${url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: sent });
  tokens = {
    a: await ask(`${rootA}/token`, `${demo.clientId}:${demo.clientSecret}`),
    b: await ask(`${rootB}/auth/token`, `${demo.rp}|${demo.estab}:${demo.schoolSecret}`),
    school: ((await issued.json()) as { token: string }).token,
  };
});

const total = async (root: string, token: string, list: string) => {
  const response = await fetch(`${url}${root}/${list}?limit=1&filter=status='active'`, { headers: { authorization: `Bearer ${token}` } });
  return Number(response.headers.get('x-total-count') ?? Number.NaN);
};
const data = async <T>(path: string) => (await (await fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Idaas ${tokens.school}` } })).json()) as T;
type Paged = { __pagination__: { RowCount: number }[]; __dbStatus__: { DatabaseName: string; RowCount: number }[] };

test('lists, Counts, data endpoints, statuses and commands all count the same', async () => {
  const { Counts, __dbStatus__: [standing] } = await data<Paged & { Counts: { Area: string; Count: number }[] }>('Counts');
  const counted = new Map(Counts.map(({ Area, Count }) => [Area, Count]));
  const people = (counted.get('Students') ?? 0) + (counted.get('Staff') ?? 0) + (counted.get('Contacts') ?? 0);
  assert.ok(people > 2_500, `${people}`);
  for (const [list, wanted] of [
    ['users', people], ['classes', counted.get('Groups')], ['courses', counted.get('Courses')], ['enrollments', counted.get('Enrollments')],
    ['orgs', counted.get('Orgs')], ['academicSessions', counted.get('AcademicSessions')],
  ] as const) {
    assert.equal(await total(rootB, tokens.b, list), wanted, `variant B: ${list}`);
    // Variant A ignores filters on enrollments.
    if (list !== 'enrollments') assert.equal(await total(rootA, tokens.a, list), wanted, `variant A: ${list}`);
  }
  assert.equal(await total(rootB, tokens.b, 'students'), counted.get('Students'));
  assert.equal(await total(rootB, tokens.b, 'demographics'), counted.get('Demographics'));
  for (const name of ['Students', 'Staff', 'Contacts', 'Groups']) {
    const { __pagination__: [page] } = await data<Paged>(`${name}?pageSize=1`);
    assert.equal(page?.RowCount, counted.get(name), name);
  }
  const all = Counts.reduce((sum, { Count }) => sum + Count, 0);
  assert.equal(standing?.RowCount, all, 'RowCount of SchoolData');
  const status = await json<{ schools: { records: number }[]; databases: { name: string; rowCount: number }[] }>('status');
  assert.deepEqual([status.schools[0]?.records, status.databases.find(({ name }) => name === 'SchoolData')?.rowCount], [all, all], 'the command status');
  const presences = await data<unknown[]>('Identity/GetUsers');
  assert.equal(presences.length, people - (counted.get('Contacts') ?? 0), 'GetUsers: all but contacts');
});

test('every user has an identifier, and no two the same', async () => {
  const response = await fetch(`${url}${rootA}/users`, { headers: { authorization: `Bearer ${tokens.a}` } });
  const { users } = (await response.json()) as { users: { role: string; identifier?: string }[] };
  assert.deepEqual([...new Set(users.filter(({ identifier }) => !identifier).map(({ role }) => role))], [], 'roles without');
  assert.equal(new Set(users.map(({ identifier }) => identifier)).size, users.length);
});

test('credentials that were rotated are shown while they open, and replaced when they do not', async () => {
  const start = () => prepareDemo(db, seal, readConfig(settings));
  await json(`rotate --rp ${demo.rp} --secret client --keep-old 24h`);
  assert.deepEqual(await start(), demo);
  await db`update application_secret set valid_until = now() - interval '1 second' where rp = ${demo.rp} and kind = 'client' and valid_until is not null`;
  const { clientId, clientSecret } = await start();
  const asked = await fetch(`${url}${rootA}/token`, { method: 'POST', headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` } });
  assert.equal(asked.status, 200);
  assert.deepEqual([clientId, clientSecret === demo.clientSecret], [demo.clientId, false], 'of the application that was there');
});

test('the application and what it registered outlive a secret, and the file itself', async () => {
  const start = () => prepareDemo(db, seal, readConfig(settings));
  const kept = await start();
  await db`
    insert into webhook (estab, rp, database_name, url, method) values (${kept.estab}, ${kept.rp}, 'SchoolData', 'http://127.0.0.1:8081/changed', 'GET')`;
  await json(`authorise --rp ${kept.rp} --estab ${kept.estab}`);
  assert.deepEqual(await start(), kept, 'both open for a day');
  await db`update school_secret set valid_until = now() - interval '1 second' where estab = ${kept.estab} and valid_until is not null`;
  const approved = await start();
  assert.deepEqual([approved.clientSecret, approved.schoolSecret === kept.schoolSecret], [kept.clientSecret, false]);
  unlinkSync(join(dataDir, 'demo.json'));
  const anew = await start();
  assert.deepEqual([anew.clientId, anew.clientSecret === kept.clientSecret], [kept.clientId, false]);
  assert.deepEqual(await start(), anew);
  assert.equal((await db`select from webhook where estab = ${kept.estab} and rp = ${kept.rp}`).length, 1);
});
