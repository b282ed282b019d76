// The install before the first command: what was interrupted is made whole by the next one, and what was whole is left alone.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from './until.ts';

const home = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-install-'));
after(() => rmSync(home, { recursive: true, force: true }));
const root = join(home, 'clone');
const env = { PATH: process.env.PATH, HOME: home, npm_config_cache: join(home, 'cache'), npm_config_offline: 'true', npm_config_update_notifier: 'false' };
const [script, waits] = [join(root, 'scripts/install.mjs'), join(home, 'waits')];
const begun = join(home, 'begun');

function npm(cwd: string, ...args: string[]): void {
  const { status, stderr } = spawnSync('npm', args, { cwd, env, encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, stderr);
}

/** A package whose install script writes a file, and stands still before that while it is told to. */
function pack(name: string): void {
  const folder = join(home, name);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0', scripts: { install: 'node install.cjs' } }));
  writeFileSync(join(folder, 'content.txt'), name);
  writeFileSync(
    join(folder, 'install.cjs'),
    `const fs = require('node:fs');
     if (fs.existsSync(${JSON.stringify(waits)})) { fs.writeFileSync(${JSON.stringify(begun)}, ''); setTimeout(() => {}, 600_000); }
     else fs.writeFileSync('built', '');`,
  );
  npm(folder, 'pack', '--silent', '--pack-destination', home);
}

function depend(...names: string[]): void {
  const allowScripts = Object.fromEntries(names.map((name) => [name, true]));
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:../${name}-1.0.0.tgz`]));
  writeFileSync(join(root, 'package.json'), JSON.stringify({ name: 'clone', private: true, dependencies, allowScripts }));
  npm(root, 'install', '--package-lock-only', '--silent');
}

const install = () => spawnSync(process.execPath, [script], { cwd: root, env, encoding: 'utf8', timeout: 120_000 });
const installed = (name: string, file: string) => join(root, 'node_modules', name, file);

test('an install that was killed is made whole by the next, and what was there before is left alone', async () => {
  mkdirSync(join(root, 'scripts'), { recursive: true });
  cpSync(join(import.meta.dirname, '../scripts/install.mjs'), script);
  for (const name of ['old', 'new']) pack(name);
  depend('old');
  // As if the process that was installing had been killed long ago, and its number were another's now.
  const lock = join(root, '.install-lock');
  writeFileSync(lock, String(process.pid));
  utimesSync(lock, 0, 0);
  const first = install();
  assert.equal(first.status, 0, first.stderr);
  assert.ok(existsSync(installed('old', 'built')));
  const before = statSync(installed('old', 'content.txt'));

  depend('old', 'new');
  writeFileSync(waits, '');
  const killed = spawn(process.execPath, [script], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let said = '';
  killed.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  await until('the install script of the new package runs', () => existsSync(begun));
  await until('it says how far it is', () => /^schoolbell: installing, .*2 packages.*, \d+ s$/m.test(said));
  assert.match(said, /^schoolbell: installing what is missing \(once\): 2 packages/);
  process.kill(-(killed.pid ?? assert.fail()), 'SIGKILL');
  await once(killed, 'exit');
  assert.ok(!existsSync(installed('new', 'built')));
  // As if the package had been half unpacked.
  rmSync(installed('new', 'content.txt'));
  rmSync(waits);

  const next = install();
  assert.equal(next.status, 0, next.stderr);
  for (const file of ['built', 'content.txt']) assert.ok(existsSync(installed('new', file)), `${file} of the new package`);
  const { ino, ctimeMs } = statSync(installed('old', 'content.txt'));
  assert.deepEqual([ino, ctimeMs], [before.ino, before.ctimeMs], 'the old package');
  assert.deepEqual([install().stderr, install().status], ['', 0], 'nothing is left to do');
});

test('packages that `npm ci` has installed are used, and its development packages stay', () => {
  depend('old');
  const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...project, devDependencies: { new: 'file:../new-1.0.0.tgz' } }));
  npm(root, 'install', '--package-lock-only', '--silent');
  npm(root, 'ci', '--silent');
  const { stderr, status } = install();
  assert.deepEqual([stderr, status], ['', 0]);
  assert.ok(existsSync(installed('new', 'content.txt')), 'the development package is still there');
});

test('after an interrupted `npm ci`, or when only the lock file was brought up to date, what is there is not taken for installed', () => {
  for (const file of ['.package-lock.json', '.installed', 'old/built']) rmSync(join(root, 'node_modules', file));
  assert.equal(install().status, 0);
  assert.ok(existsSync(installed('old', 'built')), 'the install script has run');

  rmSync(join(root, 'node_modules/.installed'));
  writeFileSync(installed('old', 'package.json'), JSON.stringify({ name: 'old', version: '0.9.0' }));
  assert.match(install().stderr, /^schoolbell: installing what is missing/);
});
