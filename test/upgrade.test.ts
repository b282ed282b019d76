// This version and a made-up next one on one database: the upgrade is announced; the database is migrated while this version answers requests
// without pause; then both serve side by side until the older one ends. Then the way back to this version, and forward again.
// And the database of each release, brought up to this version.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { requestCollection } from '../src/collection/component-databases.ts';
import { readConfig } from '../src/config.ts';
import { isMigrated } from '../src/db/migrate.ts';
import { restoreBackup } from '../src/backup/restore-backup.ts';
import type { ForeseenUpgrade } from '../src/needs/check-upgrade.ts';
import { dumpPassphrase, prepareSchool, type Secrets } from './filled-database.ts';
import { freePort } from './free-port.ts';
import { withEmptyDatabase } from './generate.ts';
import { madeUpMigration, makeNextVersion } from './next-version.ts';
import { command, home, longest, readyStatus, repository, start, stop, type Options, type Running } from './processes.ts';
import { rootA, rootB, testSecretKey } from './service.ts';
import { enrolment, smallPackage, smallSchool, user } from './small-school.ts';
import { until } from './until.ts';

const estab = 'S1';
const rp = 'app';
const pupils = 1_500;
const [folder, dataDir] = [join(home, 'folder'), join(home, 'data')];

type Asked = { path: string; status: number; body: string };

/** A term that is always under way; `more` pupils have joined. */
async function fill(more: number): Promise<void> {
  const joined = Array.from({ length: pupils + more }, (_, at) => `x${at}`);
  const files = {
    academicSessions: [{ sourcedId: 't1', title: 'Term', type: 'term', startDate: '2020-01-01', endDate: '2090-01-01', schoolYear: '2027' }],
    users: [...smallSchool.users, ...joined.map((id) => user(id, 'student'))],
    enrollments: [...smallSchool.enrollments, ...joined.map((id) => enrolment(`e-${id}`, id, 'k1'))],
  };
  for (const { name, open } of smallPackage(files).files.values()) writeFileSync(join(folder, name), await buffer(await open()));
}

/** The last weekday before today. */
function lastSchoolDay(): string {
  const day = new Date(Date.now() - 86_400_000);
  while (day.getUTCDay() % 6 === 0) day.setUTCDate(day.getUTCDate() - 1);
  return day.toISOString().slice(0, 10);
}

async function useClient(url: string, { clientId, clientSecret, schoolSecret }: Secrets) {
  const basic = (name: string, secret: string) => ({ authorization: `Basic ${btoa(`${name}:${secret}`)}` });
  const ask = async (path: string, init: RequestInit = {}): Promise<Asked> => {
    const response = await fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(120_000) });
    return { path, status: response.status, body: await response.text() };
  };
  const post = (path: string, headers: Record<string, string>, body?: object) =>
    ask(path, {
      method: 'POST',
      headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  const tokens = [
    () => post(`${rootA}/token`, basic(clientId, clientSecret)),
    () => post(`${rootB}/auth/token`, basic(`${rp}|${estab}`, schoolSecret)),
    () => post('/api/oauth/GetToken', {}, { estab, relyingParty: rp, password: schoolSecret }),
  ];
  const [a, b, school] = await Promise.all(tokens.map(async (token) => {
    const { body } = await token();
    const { access_token: bearer, token: sts } = JSON.parse(body) as { access_token?: string; token?: string };
    return { authorization: `Bearer ${bearer ?? sts}` };
  }));
  const lists = ['/users?limit=100&offset=500', '/enrollments?limit=50', '/classes', "/users?filter=status='active'&limit=10"];
  /** One mark of a pupil. */
  const mark = (at: number, Mark: string) =>
    post(`/api/v1/School/${estab}/Attendance`, school ?? {}, { Marks: [{ StudentId: `x${at}`, MarkType: 'S', Date: lastSchoolDay(), Session: 'AM', Mark }] });
  return {
    ask, mark,
    b: (path: string) => ask(`${rootB}${path}`, { headers: b ?? {} }),
    school: (path: string) => ask(`/api/v1/${path}`, { headers: school ?? {} }),
    webhook: (hook: string) => post('/api/v1/Webhook', school ?? {}, { url: hook, DatabaseName: 'SchoolData' }),
    /** One of everything that applications ask for. */
    requests: (hook: string): (() => Promise<Asked>)[] => [
      ...tokens,
      ...lists.map((path) => () => ask(`${rootA}${path}`, { headers: a ?? {} })),
      ...lists.map((path) => () => ask(`${rootB}${path}`, { headers: b ?? {} })),
      ...['Students?pageSize=50', 'Groups', 'Databases', 'Counts'].map((path) => () => ask(`/api/v1/${path}`, { headers: school ?? {} })),
      () => post('/api/v1/Webhook', school ?? {}, { url: hook, DatabaseName: 'SchoolData' }),
    ],
  };
}

test('a filled database is migrated under this version, no request of which fails, and both versions serve it', longest, async () => {
  const next = makeNextVersion(join(home, 'next'));
  mkdirSync(folder);
  await fill(0);
  const called: string[] = [];
  const receiver = createServer((request, response) => {
    called.push(request.url ?? '');
    response.end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  after(() => receiver.close());
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/changed`;

  await withEmptyDatabase(async (databaseUrl, db) => {
    const secrets = await prepareSchool(db, { estab, rp, connector: { kind: 'csv', folder } });
    const publicUrl = 'https://schoolbell.example';
    const options = async (more: Record<string, string> = {}): Promise<Options> => ({
      env: {
        PORT: String(await freePort()), PUBLIC_URL: publicUrl, DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, RATE_LIMIT_PER_MINUTE: '0',
        OUTBOUND_ALLOW: '127.0.0.0/8', LOG_LEVEL: 'warn', ...more,
      },
    });
    const old = await start(dataDir, await options());
    const pupilsOf = async (client: { b: (path: string) => Promise<Asked> }) => /"x\d+"/.test((await client.b('/users/x1')).body);
    const client = await useClient(old.url, secrets);
    await until('the school is collected', () => pupilsOf(client), old.output);

    // ---- What is to come is told beside the old one, and nothing is changed.
    const versions = async () => (await db`select version from migration order by 1`).map((row) => row.version as number);
    const known = await versions();
    const check = (await command(dataDir, ['upgrade', '--check'], { ...(await options()), tree: next })) as ForeseenUpgrade & { ok: boolean };
    assert.equal(check.ok, true, JSON.stringify(check.checks));
    assert.deepEqual(check.pending.map(({ name, holdsMs }) => [name, holdsMs]), [[madeUpMigration.name, 0]]);
    assert.deepEqual([check.processes.length, await versions()], [1, known]);

    // ---- Asked without pause, and migrated meanwhile.
    const failed: Asked[] = [];
    let asked = 0;
    const over = new AbortController();
    const askOn = async (requests: readonly (() => Promise<Asked>)[]) => {
      for (let at = 0; !over.signal.aborted; at += 1, asked += 1) {
        const answer = await requests[at % requests.length]?.().catch((error: unknown): Asked => ({ path: 'none', status: 0, body: String(error) }));
        if (answer && (answer.status < 200 || answer.status > 299)) failed.push(answer);
      }
    };
    let marks = 0;
    const written = () => client.mark((marks += 1) % pupils, marks % 2 === 0 ? 'I' : '/');
    const requests = client.requests(hook);
    const loads = [askOn(requests), askOn(requests.toReversed()), askOn([written])];
    const young = await start(dataDir, { ...(await options({ ROLE: 'api' })), tree: next });
    assert.deepEqual(await versions(), [...known, madeUpMigration.version]);
    const sinceThen = asked;
    await until('more was asked of the old one after that', () => asked > sinceThen + 100 || failed.length > 0);
    over.abort();
    await Promise.all(loads);
    assert.deepEqual(failed.slice(0, 3), [], `${failed.length} of ${asked} failed`);
    assert.ok(marks > 1, `${marks} marks were written`);

    // ---- Side by side: one worker, of the old version; the new one is asked.
    const newer = await useClient(young.url, secrets);
    for (const path of ['/users?limit=200', '/enrollments?limit=5000', '/classes', '/demographics'])
      assert.equal((await newer.b(path)).body, (await client.b(path)).body, path);
    assert.equal(await readyStatus(young), 200);
    assert.equal(await readyStatus(old), 200);
    const { status, body } = await newer.mark(1, 'N');
    assert.deepEqual([status, /"Status":"Completed"/.test(body)], [200, true], body);
    called.length = 0;
    await fill(1);
    await db.begin((tx) => requestCollection(tx, estab, 'SchoolData', { full: true }));
    await until('the new one shows what the old one has collected', async () => (await newer.b(`/users/x${pupils}`)).status === 200, old.output);
    await until('the old one has told of it', () => called.length > 0, old.output);

    // ---- The old one ends; a worker of the new one goes on.
    await stop(old);
    const worker: Running = await start(dataDir, { ...(await options({ ROLE: 'worker' })), tree: next });
    const last = await newer.mark(2, 'N');
    assert.match(last.body, /"Status":"Completed"/);
    assert.equal(await readyStatus(worker), 200);
    await Promise.all([stop(young), stop(worker)]);

    // ---- The way back: the old one is started on what the new one has migrated. It serves, writes, collects and delivers.
    const collected = async (running: Running, more: number) => {
      called.length = 0;
      await fill(more);
      await db.begin((tx) => requestCollection(tx, estab, 'SchoolData', { full: true }));
      const asking = await useClient(running.url, secrets);
      await until('it is collected', async () => (await asking.b(`/users/x${pupils + more - 1}`)).status === 200, running.output);
      await until('it is told', () => called.length > 0, running.output);
      assert.match((await asking.mark(more, 'N')).body, /"Status":"Completed"/);
      assert.equal((await asking.webhook(`${hook}/${more}`)).status, 200);
    };
    const back = await start(dataDir, await options());
    await collected(back, 2);
    assert.equal(await readyStatus(back), 200);
    await stop(back);

    // ---- And forward again: nothing is migrated, and what the old one did meanwhile is there.
    const again = await start(dataDir, { ...(await options()), tree: next });
    assert.equal((await (await useClient(again.url, secrets)).b(`/users/x${pupils + 1}`)).status, 200);
    await collected(again, 3);
    await stop(again);
  });
});

/** The versions with a date in the changelog. */
const released = [...readFileSync(join(repository, 'CHANGELOG.md'), 'utf8').matchAll(/^## (\d+\.\d+\.\d+) - /gm)].map(([, version = '']) => version);

test('the database of each release can be brought up to this version', async () => {
  for (const version of released) {
    const file = join(repository, `test/released/${version}.backup`);
    assert.ok(existsSync(file), `${file} is missing: npm run release writes it`);
    await withEmptyDatabase(async (url, db) => {
      const config = readConfig({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: join(home, `restored-${version}`) });
      await restoreBackup({ config, file, passphrase: dumpPassphrase, deliveries: 'hold' });
      assert.ok(await isMigrated(db), version);
      const [{ users } = { users: 0 }] = await db<{ users: number }[]>`select count(*)::int as users from roster_user where status = 'active'`;
      assert.equal(users, smallSchool.users.length, version);
    });
  }
});
