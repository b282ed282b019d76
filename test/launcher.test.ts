// Covers bin/schoolbell.mjs: whichever Node begins, the right program runs on one that is new enough, with the arguments, streams, signals
// and end of whoever called it. What it starts is made up here; test/package.test.ts has the service itself.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { findOldNode } from './find-old-node.ts';

const home = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-launcher-'));
after(() => rmSync(home, { recursive: true, force: true }));
const { node, isOld } = findOldNode();
const noOldNode = isOld ? false : 'this machine has no Node that is too old';
const env = { PATH: process.env.PATH, HOME: join(home, 'user'), npm_config_cache: join(home, 'cache'), npm_config_update_notifier: 'false' };
const platformNode = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

/** Says how it was called; and ends as it is told to. */
const program = `
const [how, ...rest] = process.argv.slice(2);
if (how === 'tell') {
  let typed = '';
  for await (const piece of process.stdin) typed += piece;
  console.log(JSON.stringify({ major: Number(process.versions.node.split('.')[0]), rest, typed, from: import.meta.filename }));
  console.error('said');
  process.exitCode = 7;
} else if (how === 'start') console.log(JSON.stringify([process.execArgv, process.env.GLIBC_TUNABLES, rest]));
else if (how === 'die') process.kill(process.pid, 'SIGKILL');
else {
  let heard = 0;
  const end = (signal) => { heard += 1; setTimeout(() => { console.log(signal, heard); process.exit(3); }, 300); };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, end);
  setTimeout(() => process.exit(9), 60_000);
  console.log('ready');
}`;

function write(root: string, files: Record<string, string>): string {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  mkdirSync(join(root, 'bin'));
  cpSync(join(import.meta.dirname, '../bin/schoolbell.mjs'), join(root, 'bin/schoolbell.mjs'));
  return root;
}

/** Beside the package, where npm puts what it depends on. */
function addNode(modules: string): void {
  mkdirSync(join(modules, platformNode, 'bin'), { recursive: true });
  writeFileSync(join(modules, platformNode, 'package.json'), '{}');
  symlinkSync(process.execPath, join(modules, platformNode, 'bin/node'));
}

const described = JSON.stringify({ name: 'schoolbell', version: '1.0.0', type: 'module', bin: { schoolbell: 'bin/schoolbell.mjs' } });
const modules = join(home, 'consumer/node_modules');
const packed = write(join(modules, 'schoolbell'), { 'package.json': described, 'dist/cli.js': program });
addNode(modules);

test('arguments, streams and the exit code are those of the program, on a Node that is new enough', () => {
  const args = [join(packed, 'bin/schoolbell.mjs'), 'tell', 'a b', '--json', '*'];
  const { status, stdout, stderr } = spawnSync(node, args, { cwd: home, env, input: 'typed', encoding: 'utf8' });
  assert.deepEqual([status, stderr], [7, 'said\n']);
  const { major, ...told } = JSON.parse(stdout) as { major: number };
  assert.ok(major >= 24, `Node ${major}`);
  assert.deepEqual(told, { rest: ['a b', '--json', '*'], typed: 'typed', from: join(packed, 'dist/cli.js') });
  assert.ok(existsSync(join(home, 'user/.cache/schoolbell/compiled')), 'what is compiled is kept for the user alone');
});

test('who begins ends as the program has, also by a signal', () => {
  const { status, signal } = spawnSync(node, [join(packed, 'bin/schoolbell.mjs'), 'die'], { env });
  assert.deepEqual([status, signal], [null, 'SIGKILL']);
});

test('the service is sparing with memory, as npm start has it too, and the figures are measured so; what somebody else has set stands', () => {
  const { start, bench } = (JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { scripts: Record<'start' | 'bench', string> })
    .scripts;
  const begin = (by: string, own: Record<string, string>) =>
    JSON.parse(spawnSync(by, [join(packed, 'bin/schoolbell.mjs'), 'start', 'x'], { env: { ...env, ...own }, encoding: 'utf8' }).stdout) as unknown;
  const [, tunables, given = ''] = /^GLIBC_TUNABLES=(\S+) .* node (--.+) src\/main\.ts$/.exec(start) ?? [];
  const flags = given.split(' ');
  assert.match(`${tunables} ${given}`, /arena_max=2.* --max-semi-space-size=8$/);
  assert.equal(bench, `GLIBC_TUNABLES=${tunables} exec node ${given} bench/run.ts`);
  for (const by of new Set([node, process.execPath])) {
    assert.deepEqual(begin(by, {}), [flags, tunables, ['x']], by);
    assert.deepEqual(begin(by, { GLIBC_TUNABLES: 'glibc.malloc.arena_max=4' }), [flags, 'glibc.malloc.arena_max=4', ['x']], by);
  }
});

test('a signal to whoever begins reaches the program, and its end is waited for', async () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const child = spawn(node, [join(packed, 'bin/schoolbell.mjs'), 'wait'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    for await (const piece of child.stdout.setEncoding('utf8')) {
      said += piece as string;
      if (said === 'ready\n') child.kill(signal);
    }
    const [code] = child.exitCode === null ? ((await once(child, 'exit')) as [number]) : [child.exitCode];
    assert.deepEqual([said, code], [`ready\n${signal} 1\n`, 3]);
  }
});

test('where no newer Node came along, that is said', { skip: noOldNode }, () => {
  const alone = write(join(home, 'alone/node_modules/schoolbell'), { 'package.json': described, 'dist/cli.js': program });
  const { status, stdout, stderr } = spawnSync(node, [join(alone, 'bin/schoolbell.mjs'), 'tell'], { env, encoding: 'utf8' });
  assert.deepEqual([status, stdout], [1, '']);
  assert.match(stderr, /^schoolbell: needs Node 24 or newer and runs on 2\d\.\d+\.\d+; none came along/);
});

test('in a clone npx schoolbell runs the sources, after what is missing was installed', () => {
  const install = "import { writeFileSync } from 'node:fs';\nwriteFileSync(new URL('../installed', import.meta.url), '');\n";
  const clone = write(join(home, 'clone'), { 'package.json': described, 'scripts/install.mjs': install, 'src/cli.ts': program, 'dist/cli.js': '' });
  addNode(join(clone, 'node_modules'));
  const npx = spawnSync('npx', ['--offline', 'schoolbell', 'tell', 'x'], { cwd: clone, env, input: '', encoding: 'utf8', timeout: 120_000 });
  assert.equal(npx.status, 7, npx.stderr);
  assert.equal((JSON.parse(npx.stdout) as { from: string }).from, join(clone, 'src/cli.ts'));
  assert.ok(existsSync(join(clone, 'installed')));
});

test('who ends npx ends the program too, although the shell between them does not hand a signal on', async () => {
  const folder = join(home, 'consumer');
  writeFileSync(join(folder, 'package.json'), '{}');
  mkdirSync(join(modules, '.bin'));
  chmodSync(join(packed, 'bin/schoolbell.mjs'), 0o755);
  symlinkSync('../schoolbell/bin/schoolbell.mjs', join(modules, '.bin/schoolbell'));
  for (const path of new Set([dirname(node), dirname(process.execPath)])) {
    const own = { ...env, PATH: `${path}:${env.PATH}` };
    const npx = spawn('npx', ['--offline', 'schoolbell', 'wait'], { cwd: folder, env: own, stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    for await (const piece of npx.stdout.setEncoding('utf8')) {
      said += piece as string;
      if (said === 'ready\n') npx.kill('SIGTERM');
    }
    assert.match(said, /^ready\nSIGTERM [12]\n$/, path);
  }
});
