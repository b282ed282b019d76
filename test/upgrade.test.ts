// The version before and this one on one database: what is to come is told; it is migrated while the version before is asked
// without pause, and then both serve side by side, until the old one ends. And the way back, to the version before and forward again.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { connect, type Db } from '../src/db/connect.ts';
import { readMigrations } from '../src/db/migrations.ts';
import type { ForeseenUpgrade } from '../src/needs/check-upgrade.ts';
import { withEmptyDatabase } from './generate.ts';
import { command, home, longest, readyStatus, repository, start, stop, type Options, type Running } from './processes.ts';
import { freePort } from './free-port.ts';
import { unheard } from './record-statements.ts';
import { rootA, rootB, testSecretKey } from './service.ts';
import { enrolment, smallPackage, smallSchool, user } from './small-school.ts';
import { until } from './until.ts';

/** From which one comes while it runs, and to which one can go back: the same, as soon as the first knows of newer schemas. */
const commits = readFileSync(join(import.meta.dirname, 'version-before'), 'utf8').trim().split('\n');
const [commit = '', lastCommit = commit] = commits;
const isThere = (one: string) => spawnSync('git', ['cat-file', '-e', `${one}^{commit}`], { cwd: repository, stdio: 'ignore' }).status === 0;
const missing = commits.find((one) => !isThere(one));
const why = `the version before, ${missing}, is not in the history of this checkout (fetch all of it to run this)`;
const skip = longest.skip || (missing === undefined ? false : why);

const estab = 'S1';
const rp = 'app';
const pupils = 1_500;
const [folder, dataDir, tree, lastTree] = [join(home, 'folder'), join(home, 'data'), join(home, 'before'), join(home, 'last')];

type Secrets = { clientId: string; clientSecret: string; schoolSecret: string };
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

function takeOut(one: string, place: string): void {
  mkdirSync(place);
  const archive = execFileSync('git', ['archive', one], { cwd: repository, maxBuffer: 256 * 1024 ** 2 });
  execFileSync('tar', ['-x', '-C', place], { input: archive });
  symlinkSync(join(repository, 'node_modules'), join(place, 'node_modules'));
}

/** A module of the version before. */
const before = <T>(file: string) => import(pathToFileURL(join(tree, 'src', file)).href) as Promise<T>;

/** A school with a folder and an application, made by the version before. */
async function prepare(db: Db): Promise<Secrets> {
  const { migrate } = await before<typeof import('../src/db/migrate.ts')>('db/migrate.ts');
  const { addEstablishment } = await before<typeof import('../src/access/establishments.ts')>('access/establishments.ts');
  const { addApplication } = await before<typeof import('../src/access/applications.ts')>('access/applications.ts');
  const { authorise } = await before<typeof import('../src/access/authorisations.ts')>('access/authorisations.ts');
  const { setConnector } = await before<typeof import('../src/collection/connector-settings.ts')>('collection/connector-settings.ts');
  const { createSeal } = await before<typeof import('../src/access/seal.ts')>('access/seal.ts');
  const { scopeNames } = await before<typeof import('../src/access/scopes.ts')>('access/scopes.ts');
  const seal = createSeal([testSecretKey]);
  await migrate(db);
  await addEstablishment(db, { estab, name: 'A School', email: 'office@s1.example' });
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'csv', folder }));
  const application = await addApplication(db, seal, {
    rp, name: 'An application', callbackUrl: 'http://127.0.0.1:9/', scopes: scopeNames.join(','), redirectUris: [],
  });
  const { schoolSecret } = await authorise(db, { rp, estab });
  return { ...application, schoolSecret };
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

test('a filled database is migrated under the version before, no request of which fails, and both serve it', { ...longest, skip }, async () => {
  takeOut(commit, tree);
  takeOut(lastCommit, lastTree);
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
    const hidden = connect(databaseUrl, { max: 4, name: unheard });
    after(() => hidden.end());
    const secrets = await prepare(hidden);
    const publicUrl = 'https://schoolbell.example';
    const options = async (more: Record<string, string> = {}): Promise<Options> => ({
      env: {
        PORT: String(await freePort()), PUBLIC_URL: publicUrl, DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, RATE_LIMIT_PER_MINUTE: '0',
        OUTBOUND_ALLOW: '127.0.0.0/8', LOG_LEVEL: 'warn', ...more,
      },
    });
    // What it asks of the database is not held against today's rules.
    const old = await start(dataDir, { ...(await options({ RECORDED_STATEMENTS: join(home, 'unheard') })), tree });
    const pupilsOf = async (client: { b: (path: string) => Promise<Asked> }) => /"x\d+"/.test((await client.b('/users/x1')).body);
    const client = await useClient(old.url, secrets);
    await until('the school is collected', () => pupilsOf(client), old.output);

    // ---- What is to come is told beside the old one, and nothing is changed.
    const versions = async () => (await db`select version from migration order by 1`).map((row) => row.version as number);
    const known = await versions();
    const check = (await command(dataDir, ['upgrade', '--check'], await options())) as ForeseenUpgrade & { ok: boolean };
    assert.equal(check.ok, true, JSON.stringify(check.checks));
    const added = readMigrations().filter(({ version }) => !known.includes(version));
    assert.deepEqual(check.pending.map(({ name, holdsMs }) => [name, holdsMs]), added.map(({ name }) => [name, 0]));
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
    const young = await start(dataDir, await options({ ROLE: 'api' }));
    assert.deepEqual(await versions(), readMigrations().map(({ version }) => version));
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
    // Versions without decision 15 are not ready on a schema that is newer than theirs.
    if (existsSync(join(tree, 'src/db/migrations.ts'))) assert.equal(await readyStatus(old), 200);
    const { status, body } = await newer.mark(1, 'N');
    assert.deepEqual([status, /"Status":"Completed"/.test(body)], [200, true], body);
    called.length = 0;
    await fill(1);
    const { requestCollection } = await before<typeof import('../src/collection/component-databases.ts')>('collection/component-databases.ts');
    await hidden.begin((tx) => requestCollection(tx, estab, 'SchoolData', { full: true }));
    await until('the new one shows what the old one has collected', async () => (await newer.b(`/users/x${pupils}`)).status === 200, old.output);
    await until('the old one has told of it', () => called.length > 0, old.output);

    // ---- The old one ends; a worker of the new one goes on.
    await stop(old);
    const worker: Running = await start(dataDir, await options({ ROLE: 'worker' }));
    const last = await newer.mark(2, 'N');
    assert.match(last.body, /"Status":"Completed"/);
    assert.equal(await readyStatus(worker), 200);
    await Promise.all([stop(young), stop(worker)]);

    // ---- The way back: the old one is started on what the new one has migrated. It serves, writes, collects and delivers.
    const collected = async (running: Running, more: number) => {
      called.length = 0;
      await fill(more);
      await hidden.begin((tx) => requestCollection(tx, estab, 'SchoolData', { full: true }));
      const asking = await useClient(running.url, secrets);
      await until('it is collected', async () => (await asking.b(`/users/x${pupils + more - 1}`)).status === 200, running.output);
      await until('it is told', () => called.length > 0, running.output);
      assert.match((await asking.mark(more, 'N')).body, /"Status":"Completed"/);
      assert.equal((await asking.webhook(`${hook}/${more}`)).status, 200);
    };
    const back = await start(dataDir, { ...(await options({ RECORDED_STATEMENTS: join(home, 'unheard') })), tree: lastTree });
    await collected(back, 2);
    assert.equal(await readyStatus(back), 200);
    await stop(back);

    // ---- And forward again: nothing is migrated, and what the old one did meanwhile is there.
    const again = await start(dataDir, await options());
    assert.equal((await (await useClient(again.url, secrets)).b(`/users/x${pupils + 1}`)).status, 200);
    await collected(again, 3);
    await stop(again);
  });
});
