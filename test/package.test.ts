// Covers the package as operators get it: packed once, unpacked into an empty folder under node_modules, where Node strips no types, with
// nothing beside it but what it depends on, and started there by whatever Node the machine has.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findOldNode } from './find-old-node.ts';
import { listContext, textsOf } from './image.ts';
import { assertStopped, children, ended, eventually, home, longest, processes, repository, type Running } from './processes.ts';
import { freePort } from './free-port.ts';

const mostBytes = 5_000_000;
const port = String(await freePort());
type Description = { version: string; files: string[]; dependencies: Record<string, string>; scripts: Record<string, string> };
const description = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Description;

// ---- Packed once -----------------------------------------------------------------------------------------------------

/** By the step that packs in the Containerfile, on what is let into an image. */
function pack(): string {
  const build = join(home, 'build');
  for (const top of listContext()) cpSync(join(repository, top), join(build, top), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  symlinkSync(join(repository, 'node_modules'), join(build, 'node_modules'));
  const step = textsOf('RUN').find((text) => text.includes('npm pack')) ?? assert.fail();
  const env = { PATH: `${join(repository, 'node_modules/.bin')}:${process.env.PATH}`, HOME: home };
  execFileSync('sh', ['-c', step.replaceAll(/ \/(packed|tmp)\b/g, ` ${home}/$1`)], { cwd: build, env });
  return join(home, 'tmp', `schoolbell-${description.version}.tgz`);
}
mkdirSync(join(home, 'tmp'));
const tarball = pack();
const folder = join(home, 'consumer');
const modules = join(folder, 'node_modules');
const own = join(modules, 'schoolbell');
mkdirSync(own, { recursive: true });
execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components=1']);
const packed = globSync('**', { cwd: own }).filter((file) => statSync(join(own, file)).isFile()).toSorted();

test(`the package is smaller than ${mostBytes} bytes and has what runs, all of it and nothing else`, (t) => {
  const { size } = statSync(tarball);
  t.diagnostic(`${size} bytes, ${packed.length} files`);
  assert.ok(size < mostBytes, `${size} bytes`);
  const tops = new Set(packed.map((file) => file.split('/')[0]));
  const allowed = new Set(['package.json', 'README.md', ...description.files.map((file) => file.split('/')[0])]);
  assert.deepEqual([...tops].filter((top) => !allowed.has(top)), []);
  assert.deepEqual(packed.filter((file) => /\.ts$|\.test\.|golden|(^|\/)(test|bench|data|node_modules)\/|\.(tgz|log|key)$/.test(file)), []);
  const sources = globSync('src/**/*.ts', { cwd: repository }).filter((file) => !file.endsWith('.test.ts'));
  const written = sources.map((file) => file.replace(/^src\/(.*)\.ts$/, 'dist/$1.js'));
  assert.deepEqual(written.filter((file) => !packed.includes(file)), []);
  assert.ok(packed.includes('bin/schoolbell.mjs') && (statSync(join(own, 'bin/schoolbell.mjs')).mode & 0o111) !== 0, 'the program can be run');
  assert.deepEqual(Object.keys(description.scripts).filter((name) => /^(pre|post)?install$|^prepare$/.test(name)), [], 'npm asks its users about these');
  const afterInstalling = Object.entries(description.scripts).filter(([, script]) => /install\.mjs.*&&\s*node\b/.test(script));
  assert.deepEqual(afterInstalling, [], 'a shell remembers where it found the Node before');
});

test('every module that it names is packed or among its dependencies', () => {
  const missing = packed.filter((file) => file.startsWith('dist/') && file.endsWith('.js')).flatMap((file) => {
    const text = readFileSync(join(own, file), 'utf8');
    const named = [...text.matchAll(/^(?:import|export) [^;]*?from "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)|new URL\("(\.[^"]+)", import/gms)];
    return named
      .map(([, ...found]) => found.find((one) => one !== undefined) ?? '')
      .filter((name) => (name.startsWith('.') ? !existsSync(join(own, dirname(file), name)) : !isBuiltin(name) && !isDependency(name)))
      .map((name) => `${file}: ${name}`);
  });
  assert.deepEqual(missing, []);
});

const packageOf = (name: string) => name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/');
const isDependency = (name: string) => packageOf(name) in description.dependencies;

// ---- Installed beside what it depends on -----------------------------------------------------------------------------

const { node, isOld } = findOldNode();

/** What npm would put there, out of this checkout, without what is for its development; and the Node that came along. */
function install(): void {
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean }> };
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    const [, name = '', more] = /^node_modules\/((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(path) ?? [];
    const from = join(repository, 'node_modules', name);
    if (name === '' || more !== undefined || dev || name.startsWith('node-') || !existsSync(from)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(from, join(modules, name));
  }
  const beside = join(modules, `node-${process.platform}-${process.arch}`);
  mkdirSync(join(beside, 'bin'), { recursive: true });
  writeFileSync(join(beside, 'package.json'), '{}');
  symlinkSync(process.execPath, join(beside, 'bin/node'));
  mkdirSync(join(modules, '.bin'));
  symlinkSync('../schoolbell/bin/schoolbell.mjs', join(modules, '.bin/schoolbell'));
}
install();

const data = join(folder, 'data');
const program = join(modules, '.bin/schoolbell');
/** As in a folder that somebody has just made: no setting but the port, and no demo, which would take its time. */
const settings = { PATH: process.env.PATH, HOME: home, DEMO: 'off', PORT: port };
const noTerminal = spawnSync('script', ['--version']).error !== undefined;

async function start(terminal: boolean): Promise<Running> {
  const child = terminal
    ? spawn('script', ['-qefc', `exec ${node} ${program} start`, '/dev/null'], { cwd: folder, env: { ...settings, TERM: 'dumb' }, stdio: 'pipe' })
    : spawn(node, [program, 'start'], { cwd: folder, env: settings, stdio: 'pipe' });
  children.add(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const exited = new Promise<number | string>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')));
  await eventually('it is ready', () => {
    assert.equal(child.exitCode, null, text);
    return text.includes('schoolbell ready ');
  });
  return { child, url: `http://127.0.0.1:${settings.PORT}`, output: () => text, exited };
}

const command = (...args: string[]) => spawnSync(node, [program, ...args], { cwd: folder, env: settings, encoding: 'utf8', timeout: 120_000 });

function workingHere(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
  } catch {
    return false;
  }
}

test('it starts in an empty folder, answers, runs commands, and Ctrl-C twice ends all of it', longest, async (t) => {
  t.diagnostic(isOld ? `begun by ${node}` : 'no Node below 24 is on the PATH: the handing over was not tried');
  assert.deepEqual(readdirSync(folder), ['node_modules']);
  assert.ok(!lstatSync(own).isSymbolicLink(), 'where Node strips no types');
  const service = await start(!noTerminal);
  assert.match(service.output(), /^The console: \S+, name admin, password \S+ \(shown this once; kept in \S+\/consumer\/data\/admin\.password\)/m);
  const guides = ['/docs', '/docs/guides/run-in-production', '/docs/guides/settings'];
  const paths = ['/readyz', '/', '/README.md', ...guides, '/follow.js', '/openapi/variant-b.json', '/console/sign-in', '/school'];
  for (const path of paths) assert.equal((await fetch(`${service.url}${path}`, { headers: { accept: '*/*' } })).status, 200, path);
  const about = (await (await fetch(service.url)).json()) as { version: string };
  assert.equal(about.version, description.version);
  const added = command('school', 'add', '--estab', '3281102', '--name', 'Hill Top School', '--email', 'office@hilltop.example', '--json');
  assert.deepEqual([added.status, added.stderr, (JSON.parse(added.stdout) as { estab: string }).estab], [0, '', '3281102']);
  assert.equal(command('no-such').status, 1);
  if (noTerminal) service.child.kill('SIGINT');
  else service.child.stdin?.write('\x03\x03');
  assert.equal(await ended(service, 40_000), 0, service.output());
  await assertStopped(data);
  assert.deepEqual(processes().filter(workingHere), []);
});

test('SIGTERM to whoever began the service, and to it alone, ends it cleanly', longest, async () => {
  const service = await start(false);
  service.child.kill('SIGTERM');
  assert.equal(await ended(service, 40_000), 0, service.output());
  await assertStopped(data);
  assert.deepEqual(processes().filter(workingHere), []);
});
