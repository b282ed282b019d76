#!/usr/bin/env node
// In charge of the program `schoolbell`: finds a Node that is new enough and hands over to the command line, in a clone to its sources, in
// the package to what was packed. Plain JavaScript without dependencies: it begins on whatever Node the machine has.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const isClone = existsSync(join(root, 'src/cli.ts'));
const program = join(root, isClone ? 'src/cli.ts' : 'dist/cli.js');
const compiled = process.env.NODE_COMPILE_CACHE ?? findCache();
/** The one that all of it is tested with; a newer one only where that did not come along. */
const wanted = 24;
/**
 * Of the service alone, which lives for long; `npm start` says the same. Node would keep up to 128 MB for new objects, which makes no
 * page faster than 16 do; the C library a heap for each thread, of which, once a password was hashed, up to 38 MB that are free.
 * With large pages a hash, which fetches its 19 MB anew each time, takes no longer.
 */
const isService = process.argv[2] === 'start';
const sparing = {
  flags: ['--max-semi-space-size=8'],
  env: { GLIBC_TUNABLES: 'glibc.malloc.arena_max=2:glibc.malloc.trim_threshold=131072:glibc.malloc.hugetlb=1' },
};
/** npx has a shell in between, which a SIGTERM ends without handing it on. */
const isBelowNpx = process.env.npm_lifecycle_event === 'npx' && /schoolbell/.test(process.env.npm_lifecycle_script ?? '');

if (isClone) await import(pathToFileURL(join(root, 'scripts/install.mjs')).href);
const major = Number(process.versions.node.split('.')[0]);
// From Node 22.15 on it becomes that process, but not on Windows, and not where its own parent has to be watched.
const canBecome = process.execve !== undefined && process.platform !== 'win32' && !isBelowNpx;
const better = major === wanted ? undefined : findNode();
if (better !== undefined) handOver(better);
else if (major >= wanted && isService && canBecome) handOver(process.execPath);
else if (major >= wanted) {
  module.enableCompileCache(compiled);
  whenOrphaned(() => process.kill(process.pid, 'SIGTERM'));
  await import(pathToFileURL(program).href);
} else {
  process.stderr.write(
    `schoolbell: needs Node ${wanted} or newer and runs on ${process.versions.node}; none came along for ${process.platform} ${process.arch}` +
      ' (was it installed with --omit=optional?): run it with a newer Node\n',
  );
  process.exitCode = 1;
}

/** Of the user alone: what lies there is run. */
function findCache() {
  if (isClone) return join(root, 'node_modules/.cache/schoolbell/compiled');
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'schoolbell/compiled');
}

/** The one that came along for this system, wherever npm has put it; on Linux it needs glibc. */
function findNode() {
  if (process.report) process.report.excludeNetwork = true;
  if (process.platform === 'linux' && !process.report?.getReport().header.glibcVersionRuntime) return undefined;
  const { resolve } = module.createRequire(import.meta.url);
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  for (const name of ['node', 'node-bin'].map((prefix) => `${prefix}-${system}-${process.arch}`)) {
    try {
      const found = join(dirname(resolve(`${name}/package.json`)), 'bin', file);
      if (existsSync(found)) return found;
    } catch {
      // Not this one.
    }
  }
  const linked = join(root, 'node_modules/.bin', file);
  return existsSync(linked) ? linked : undefined;
}

/** Whoever ends npx means what it runs. */
function whenOrphaned(end) {
  if (!isBelowNpx || process.platform === 'win32') return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, 500);
  timer.unref();
}

/** Streams, signals and the way it ends are those of the one that takes over. */
function handOver(node) {
  const args = [...(isService ? sparing.flags : []), program, ...process.argv.slice(2)];
  const env = { ...(isService ? sparing.env : {}), ...process.env, NODE_COMPILE_CACHE: compiled };
  if (canBecome) process.execve(node, [node, ...args], env);
  // What a terminal sends reaches both; the service takes what comes twice in a moment for one.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  const child = spawn(node, args, { stdio: 'inherit', env });
  const hand = (signal) => child.kill(signal);
  for (const signal of signals) process.on(signal, hand);
  whenOrphaned(() => hand('SIGTERM'));
  child.on('error', (error) => {
    process.stderr.write(`schoolbell: ${node} does not start: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    for (const one of signals) process.off(one, hand);
    process.kill(process.pid, signal);
  });
}
