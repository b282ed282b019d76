// The service as processes that end suddenly, at any line: what was left is taken over, and nothing is half done.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  assertStopped, backends, command, curlLines, ended, eventually, holdDemoStill, home, initdbs, launchService, longest, openList, parentOf, sizes, standing,
  start, stop, token,
} from './processes.ts';

/** Whoever looks late does not see initdb any more. */
const isMade = (folder: string) => existsSync(join(folder, 'postgres/PG_VERSION'));

test('killed again and again during its first start, it starts, and the demo is whole', longest, async (context) => {
  const folder = join(home, 'killed');
  const moments: [what: string, reached: () => boolean, mostMs: number][] = [
    ['at once', () => true, 400],
    ...[100, 600].map((most): (typeof moments)[number] => ['initdb', () => initdbs(folder).length > 0 || isMade(folder), most]),
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
  await holdDemoStill(folder);
  const whole = sizes(await standing(service, folder));
  // The demo moves a little with time.
  assert.ok(Math.abs(Number(whole.enrollments) - 14_903) < 300, whole.enrollments);
  const [lines, bearer] = [curlLines(service), await token(service, folder)];
  for (const line of lines) assert.match(execFileSync('bash', ['-c', line], { encoding: 'utf8' }), /^\{"users":\[/);

  const response = await openList(service, bearer, new Agent());
  response.on('error', () => {}).resume();
  service.child.kill('SIGKILL');
  await ended(service);
  writeFileSync(join(folder, 'spool', 'left'), 'of a reading that was killed');
  const again = await start(folder, { env: { PORT: new URL(service.url).port } });
  assert.deepEqual([curlLines(again), readdirSync(join(folder, 'spool'))], [lines, []]);
  assert.deepEqual(sizes(await standing(again, folder)), whole);
  await stop(again);
  await assertStopped(folder);
});

test('one that waits takes over at once from one that is killed in initdb', longest, async () => {
  let kills = 0;
  for (const wait of [0, 100, 300]) {
    const folder = join(home, `taken-over-${wait}`);
    const both = await Promise.all(Array.from({ length: 2 }, () => launchService(folder, { env: { DEMO: 'off' } })));
    await eventually('initdb runs', () => initdbs(folder).length > 0 || isMade(folder));
    await pause(wait);
    // On a fast machine initdb may be done by now, and there is nobody to kill.
    const [initdb] = initdbs(folder);
    const maker = initdb === undefined ? undefined : parentOf(initdb);
    const killed = both.filter(({ child }) => child.pid === maker && child.kill('SIGKILL')).length;
    kills += killed;
    for (const one of both.filter(({ child }) => !child.killed)) {
      await eventually('it is ready', () => one.output().includes('schoolbell ready ') || one.child.exitCode !== null);
      await stop(one);
    }
    assert.deepEqual(
      (await Promise.all(both.map((one) => ended(one)))).toSorted(),
      killed > 0 ? [0, 'SIGKILL'] : [0, 0],
      both.map((one) => one.output()).join('\n'),
    );
    await assertStopped(folder);
  }
  assert.ok(kills > 0, 'at least one was killed in initdb');
});

test('several processes at once take over what a killed first start left', longest, async () => {
  const folder = join(home, 'crowded');
  mkdirSync(join(folder, 'postgres.new'), { recursive: true });
  chmodSync(folder, 0o711);
  writeFileSync(join(folder, 'postgres.start-lock'), '4194303');
  const crowd = await Promise.all(Array.from({ length: 4 }, () => start(folder, { env: { DEMO: 'off' } })));
  const found = await Promise.all(crowd.map(() => command(folder, ['school', 'list'])));
  assert.deepEqual(found, [[], [], [], []]);
  await Promise.all(crowd.map((one) => stop(one)));
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
