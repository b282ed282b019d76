// How the service ends when it is told to: by a terminal's Ctrl-C, by signals to the process or to its group, once, twice
// or in the midst of a collection; and by a second word at once.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/db/open.ts';
import { policies } from '../src/db/policies.ts';
import {
  assertStopped, children, clone, command, ended, eventually, home, launch, longest, postmasters, running as processesOf, start, stop,
  surroundings, type Running,
} from './processes.ts';
import { freePort } from './free-port.ts';

const data = join(home, 'data');

const serving = () => processesOf('src/main.ts').filter((pid) => surroundings(pid).includes(`DATA_DIR=${data}\0`));

/** As people start it: npm, and behind it what `start` runs, in a process group of their own. */
async function startByNpm(terminal: boolean): Promise<Running> {
  const env = {
    PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: data, PORT: String(await freePort()), TERM: 'dumb',
    NPM_CONFIG_UPDATE_NOTIFIER: 'false',
  };
  const child: ChildProcess = terminal
    ? spawn('script', ['-qefc', 'npm start', '/dev/null'], { cwd: clone(), env, stdio: ['pipe', 'pipe', 'pipe'] })
    : spawn('npm', ['start'], { cwd: clone(), env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const exited = new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')));
  const service = { child, url: `http://127.0.0.1:${env.PORT}`, output: () => text, exited };
  await eventually('it is ready', () => {
    assert.equal(child.exitCode, null, text);
    return text.includes('schoolbell ready ');
  });
  assert.ok(serving().length > 0, 'it is seen');
  return service;
}

async function assertAllGone(service: Running): Promise<void> {
  assert.notEqual(await ended(service), 'still running', service.output());
  await eventually('the service has ended', () => serving().length === 0);
  await assertStopped(data);
}

const noTerminal = spawnSync('script', ['--version']).error ? 'needs the program script, of util-linux' : false;

test('Ctrl-C in a terminal, once or twice in a moment, leaves no PostgreSQL running', { ...longest, skip: longest.skip || noTerminal }, async () => {
  for (const presses of ['\x03', '\x03\x03']) {
    const service = await startByNpm(true);
    service.child.stdin?.write(presses);
    await assertAllGone(service);
  }
});

test('SIGINT and SIGTERM to the whole group, also sent twice, end everything cleanly', longest, async () => {
  for (const signals of [['SIGINT'], ['SIGTERM'], ['SIGTERM', 'SIGINT']] as const) {
    const service = await startByNpm(false);
    for (const signal of signals) process.kill(-(service.child.pid ?? 0), signal);
    await assertAllGone(service);
  }
});

test('SIGINT and SIGTERM to the process, sent twice, are one clean stop', longest, async () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const service = await start(data);
    service.child.kill(signal);
    service.child.kill(signal);
    assert.equal(await ended(service), 0, service.output());
    await assertStopped(data);
  }
});

const secret = { env: { SOURCE_CLIENT_SECRET: 'y' } };

/** A provider of another MIS that takes the question and says nothing. */
async function useSilentProvider(): Promise<{ url: string; asked: () => number; close(): void }> {
  let asked = 0;
  const server = createServer(() => {
    asked += 1;
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  // A server that a failed test leaves open would keep this process from ending.
  after(() => server.close());
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ims/oneroster/v1p1`,
    asked: () => asked,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function collectionsOf(estab: string): Promise<{ id: string; state: string }[]> {
  const { pool, close } = await openDatabase(readConfig({ DATA_DIR: data }));
  try {
    const found = await pool(policies.commands)<{ id: string; state: string }[]>`
      select id, state from outbox where estab = ${estab} and kind = 'collect' order by id`;
    return [...found];
  } finally {
    await close();
  }
}

test('SIGTERM during a collection ends the process in time, and the collection is done again under the same id', longest, async () => {
  const provider = await useSilentProvider();
  await command(data, [
    'school', 'add', '--estab', 'slow', '--name', 'Slow', '--email', 'a@b.example', '--connector', 'oneroster', '--url', provider.url, '--client-id', 'x',
  ], secret);
  const first = await start(data);
  await eventually('the provider is asked', () => provider.asked() > 0);
  const before = await collectionsOf('slow');
  assert.ok(before.length > 0 && before.every(({ state }) => state === 'running'));
  first.child.kill('SIGTERM');
  assert.equal(await ended(first, 45_000), 0, first.output());
  await assertStopped(data);
  const asked = provider.asked();
  assert.deepEqual(await collectionsOf('slow'), before.map(({ id }) => ({ id, state: 'waiting' })), 'it was handed back, so that no lease has to end');
  const second = await start(data);
  await eventually('the provider is asked again', () => provider.asked() > asked);
  assert.deepEqual((await collectionsOf('slow')).map(({ id }) => id), before.map(({ id }) => id));
  provider.close();
  await stop(second);
  await command(data, ['school', 'remove', '--yes', '--estab', 'slow']);
});

test('a later signal ends the process at once, and the next start takes over what it left', longest, async () => {
  const provider = await useSilentProvider();
  await command(data, [
    'school', 'add', '--estab', 'hung', '--name', 'Hung', '--email', 'a@b.example', '--connector', 'oneroster', '--url', provider.url, '--client-id', 'x',
  ], secret);
  const service = await start(data);
  await eventually('the provider is asked', () => provider.asked() > 0);
  service.child.kill('SIGTERM');
  // Signals of two seconds are one, counted from when the first is heard.
  await eventually('the first is heard', () => fetch(`${service.url}/healthz`).then(() => false, () => true));
  await pause(2_500);
  service.child.kill('SIGTERM');
  assert.equal(await ended(service), 1, service.output());
  provider.close();
  assert.ok(postmasters(data).length > 0 && existsSync(join(data, 'postgres/postmaster.pid')), 'at once means without waiting for PostgreSQL');
  const list = launch('src/cli.ts', ['school', 'remove', '--yes', '--estab', 'hung', '--json'], data);
  assert.equal(await ended(list), 0, list.output());
  await assertStopped(data);
});
