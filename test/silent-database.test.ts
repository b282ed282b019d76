// A database that stops answering, dies under statements, comes back elsewhere or has no room: every caller is told within
// a moment, and all is well when it is back.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  assertStopped, children, command, ended, eventually, holdDemoStill, home, isRoot, launch, longest, parentOf, postmasters, processes, readDemo, readyStatus,
  servesAgain, signalAll, standing, start, stop, token, type Running,
} from './processes.ts';
import { rootA, rootB } from './service.ts';

const data = join(home, 'data');
/** What the contract promises, and as much again for a slow machine: what hangs takes longer. */
const longestAnswerMs = 30_000;

const serverProcesses = () => postmasters(data).flatMap((postmaster) => [postmaster, ...processes().filter((pid) => parentOf(pid) === postmaster)]);

const signalServer = (signal: NodeJS.Signals) => signalAll(serverProcesses(), signal);

/** First the one that makes the others, so that none is made meanwhile. */
function stopServer(): void {
  signalAll(postmasters(data), 'SIGSTOP');
  signalServer('SIGSTOP');
}

type Ask = { what: string; ask(): Promise<Response>; away: number };

/** Of every kind of API one, with what it answers when the database is away. */
async function useAsks({ url }: Running, service: Running): Promise<Ask[]> {
  const { rp, estab, schoolSecret, clientId, clientSecret } = readDemo(data);
  const basic = (user: string, secret: string) => ({ authorization: `Basic ${btoa(`${user}:${secret}`)}` });
  const bearer = { authorization: `Bearer ${await token(service, data)}` };
  const json = { 'content-type': 'application/json' };
  const post = (path: string, headers: Record<string, string>, body?: string) =>
    fetch(url + path, { method: 'POST', headers, ...(body ? { body } : {}), signal: AbortSignal.timeout(longestAnswerMs) });
  const get = (path: string, headers: Record<string, string>) => fetch(url + path, { headers, signal: AbortSignal.timeout(longestAnswerMs) });
  const granted = (await (await post('/api/oauth/GetToken', json, JSON.stringify({ estab, relyingParty: rp, password: schoolSecret }))).json()) as {
    token: string;
  };
  const tokenA = (await (await post(`${rootA}/token`, basic(clientId, clientSecret))).json()) as { access_token: string };
  const school = { authorization: `Idaas ${granted.token}` };
  return [
    { what: 'page', ask: () => get(`${rootB}/users?limit=1`, bearer), away: 503 },
    { what: 'filter', ask: () => get(`${rootB}/users?limit=1&filter=familyName~'a'&offset=${Math.floor(Math.random() * 100)}`, bearer), away: 503 },
    { what: 'list', ask: () => get(`${rootB}/classes`, bearer), away: 503 },
    { what: 'variant A', ask: () => get(`${rootA}/users?limit=1`, { authorization: `Bearer ${tokenA.access_token}` }), away: 400 },
    { what: 'token A', ask: () => post(`${rootA}/token`, basic(clientId, clientSecret)), away: 400 },
    { what: 'token B', ask: () => post(`${rootB}/auth/token`, basic(`${rp}|${estab}`, schoolSecret)), away: 503 },
    { what: 'GetToken', ask: () => post('/api/oauth/GetToken', json, JSON.stringify({ estab, relyingParty: rp, password: schoolSecret })), away: 503 },
    { what: 'school data', ask: () => get('/api/v1/Students?pageSize=1', school), away: 503 },
    { what: 'webhooks', ask: () => get('/api/v1/Webhook', school), away: 503 },
    { what: 'identity', ask: () => get('/api/v1/Identity/GetUsers?presenceType=Teach', school), away: 503 },
    { what: 'readiness', ask: () => get('/readyz', {}), away: 503 },
  ];
}

test('a database that stops answering under load: every API says so, none hangs, and all is well when it goes on', longest, async (context) => {
  const service = await start(data);
  const asks = await useAsks(service, service);
  for (const { what, ask } of asks) await eventually(`${what} answers`, async () => (await ask()).status === 200);
  stopServer();
  try {
    const slowest: [number, string][] = [];
    for (let round = 0; round < 2; round += 1) {
      await Promise.all([...asks, ...asks, ...asks].map(async ({ what, ask, away }) => {
        const begun = performance.now();
        const response = await ask();
        slowest.push([Math.round(performance.now() - begun), what]);
        assert.equal(response.status, away, what);
        if (what !== 'readiness') assert.match(response.headers.get('retry-after') ?? '', /^\d+$/, what);
        await response.text();
      }));
    }
    const [ms, what] = slowest.toSorted(([one], [other]) => other - one)[0] ?? [];
    context.diagnostic(`the slowest answer was ${what}, after ${ms} ms`);
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  } finally {
    signalServer('SIGCONT');
  }
  await eventually('it is ready again', async () => (await readyStatus(service)) === 200);
  for (const { what, ask } of asks) await eventually(`${what} answers again`, async () => (await ask()).status === 200);
  await stop(service);
  await assertStopped(data);
});

test('SIGTERM while the database does not answer ends the process in time', longest, async () => {
  const service = await start(data);
  stopServer();
  try {
    service.child.kill('SIGTERM');
    assert.notEqual(await ended(service, 45_000), 'still running', service.output());
  } finally {
    signalServer('SIGCONT');
  }
  await command(data, ['school', 'list']);
  await assertStopped(data);
});

test('the embedded server is killed under statements ten times, and each time comes back, also on another port', longest, async () => {
  const service = await start(data);
  await holdDemoStill(data);
  const before = await standing(service, data);
  const asks = await useAsks(service, service);
  const squatters: Server[] = [];
  after(() => squatters.forEach((squatter) => squatter.close()));
  for (let round = 0; round < 10; round += 1) {
    const port = Number(readFileSync(join(data, 'postgres/postmaster.pid'), 'utf8').split('\n')[3]);
    const running = asks.slice(0, -1).map(({ ask }) => ask().then(async (response) => (await response.text(), response.status)));
    const list = round % 3 === 0 ? launch('src/cli.ts', ['status', '--json'], data) : undefined;
    signalServer('SIGKILL');
    // Every other time somebody else has the port by the time it wants to come back.
    if (round % 2 === 0) {
      const squatter = createServer();
      squatters.push(squatter.unref());
      await new Promise<void>((resolve) => squatter.once('error', () => resolve()).listen(port, '127.0.0.1', resolve));
    }
    for (const status of await Promise.all(running)) assert.ok([200, 400, 503].includes(status), String(status));
    await eventually('it is ready again', async () => (await readyStatus(service)) === 200);
    for (const { what, ask } of asks) await eventually(`${what} answers again`, async () => (await ask()).status === 200);
    if (list) assert.ok([0, 1].includes(Number(await ended(list))), list.output());
  }
  assert.deepEqual(await standing(service, data), before);
  await stop(service);
  await assertStopped(data);
});

// ---- No room --------------------------------------------------------------------------------------------------------

const small = join(home, 'small');
const mounted = isRoot && (mkdirSync(small), spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1g,mode=0711', 'tmpfs', small]).status === 0);
const noRoom = { ...longest, skip: longest.skip || (mounted ? false : 'needs the right to mount') };

test('a full disk is said by /readyz and in the log, and what was refused is whole when there is room again', noRoom, async () => {
  const [folder, filler] = [join(small, 'data'), join(small, 'filler')];
  const fill = () => {
    const { bavail, bsize } = statfsSync(small);
    try {
      appendFileSync(filler, Buffer.alloc(Number(bavail) * Number(bsize)));
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
  };
  try {
    mkdirSync(folder);
    chmodSync(folder, 0o711);
    const service = await start(folder, { env: { LOG_LEVEL: 'warn' } });
    await holdDemoStill(folder);
    const before = await standing(service, folder);
    await eventually('it is not ready', async () => {
      fill();
      return (await readyStatus(service)) === 503;
    });
    await eventually('the log says why', async () => {
      fill();
      await readyStatus(service);
      return /disk is full|No space left/.test(service.output());
    });
    const logged = () => service.output().split('\n').filter((line) => line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= 40);
    const begun = logged().length;
    for (let asked = 0; asked < 40; asked += 1) {
      fill();
      await readyStatus(service);
      await pause(250);
    }
    assert.ok(logged().length - begun < 40, `${logged().length - begun} lines in ten seconds:\n${logged().slice(-5).join('\n')}`);
    const refused = launch('src/cli.ts', ['school', 'add', '--estab', 'full', '--name', 'Full', '--email', 'a@b.example', '--json'], folder);
    const outcome = await ended(refused);
    rmSync(filler);
    await servesAgain(service, folder);
    assert.deepEqual(await standing(service, folder), before);
    // What was refused is not there, and can be done now; what was not refused is there.
    const schools = ((await command(folder, ['school', 'list'])) as { estab: string }[]).map(({ estab }) => estab);
    assert.deepEqual(schools, outcome === 0 ? ['9990001', 'full'] : ['9990001']);
    if (outcome !== 0) await command(folder, ['school', 'add', '--estab', 'full', '--name', 'Full', '--email', 'a@b.example']);
    await stop(service);
    await assertStopped(folder);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    signalAll(postmasters(folder), 'SIGKILL');
    spawnSync('umount', ['-l', small]);
  }
});
