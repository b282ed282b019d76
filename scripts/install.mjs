// Installs what is missing before a command runs, so that a fresh clone needs no second command.
// Plain JavaScript without dependencies: it runs on the machine's own Node, before Node 24 is there.
// It only ever adds (`npm install`, not `npm ci`), because a running service may be using what is installed.
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const wanted = process.argv.includes('--dev') ? 'all' : 'production';
const modules = join(root, 'node_modules');
const stamp = join(modules, '.installed');
const underWay = join(modules, '.installing');
const lock = join(root, '.install-lock');
const longestInstallMs = 15 * 60_000;

const installed = () => {
  try {
    const [hash, what] = readFileSync(stamp, 'utf8').trim().split(' ');
    return !existsSync(underWay) && hash === lockHash() && (what === 'all' || what === wanted);
  } catch {
    return false;
  }
};

function lockHash() {
  return createHash('sha256').update(readFileSync(join(root, 'package-lock.json'))).digest('hex');
}

/**
 * True after `npm ci` or `npm install`, which leave no stamp. npm's own list of installed packages names the versions, but
 * `npm install --package-lock-only` writes it without installing anything, so the folders are read as well.
 */
function isInstalledByNpm() {
  if (existsSync(underWay)) return false;
  try {
    const read = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;
    const [locked, there] = [read(join(root, 'package-lock.json')), read(join(modules, '.package-lock.json'))];
    return listPackages().every((path) => there[path]?.version === locked[path].version && versionOf(path) === locked[path].version);
  } catch {
    return false;
  }
}

if (!installed()) {
  takeLock();
  try {
    if (!installed()) {
      if (isInstalledByNpm()) writeFileSync(stamp, `${lockHash()} ${wanted}\n`);
      else await install();
    }
  } finally {
    rmSync(lock, { force: true });
  }
}

async function install() {
  const progress = startProgress();
  mkdirSync(modules, { recursive: true });
  if (existsSync(underWay)) forgetHalfInstalled();
  // npm writes its list last: without one, `npm ci` was interrupted, and any package may be half there.
  else if (!existsSync(join(modules, '.package-lock.json'))) removeAll();
  writeFileSync(underWay, '');
  // What is asked of the npm that runs this, as by `npm pack --dry-run`, is not asked of this one.
  const args = ['install', '--no-dry-run', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  args.push(wanted === 'all' ? '--include=dev' : '--omit=dev');
  // npm's own chatter goes to standard error: a command's standard output is its answer.
  const npm = spawn('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32', timeout: longestInstallMs });
  const [status] = await once(npm, 'close').catch((error) => [error.message]);
  progress.end();
  if (status !== 0) {
    process.stderr.write('schoolbell: "npm install" failed; see the lines above\n');
    rmSync(lock, { force: true });
    process.exit(1);
  }
  writeFileSync(stamp, `${lockHash()} ${wanted}\n`);
  rmSync(underWay);
}

/** On standard error: on a terminal one line that is rewritten, elsewhere a plain line every few seconds. */
function startProgress() {
  const began = Date.now();
  const packages = listPackages();
  process.stderr.write(`schoolbell: installing what is missing (once): ${packages.length} packages, with a Node 24 and a PostgreSQL 18\n`);
  const terminal = process.stderr.isTTY;
  const timer = setInterval(() => {
    const there = packages.filter((path) => existsSync(join(root, path, 'package.json'))).length;
    // The last to come are made ready by scripts of their own, which takes a while.
    const how = there < packages.length ? `${there} of ${packages.length} packages` : `all ${there} packages are there and are made ready`;
    const words = `schoolbell: installing, ${how}, ${Math.round((Date.now() - began) / 1000)} s`;
    process.stderr.write(terminal ? `\r${words}\u001b[K` : `${words}\n`);
  }, terminal ? 500 : 5_000);
  return {
    end() {
      clearInterval(timer);
      if (terminal) process.stderr.write('\r\u001b[K');
    },
  };
}

function versionOf(path) {
  return JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')).version;
}

/** Where the packages go that this machine is to have; an optional one that names no system is a substitute for those that do. */
function listPackages() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  if (process.report) process.report.excludeNetwork = true;
  const libc = process.report?.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';
  // One system stands there as a word, several as a list.
  const isAmong = (allowed, own) => allowed.includes(own) || (allowed.every((one) => one.startsWith('!')) && !allowed.includes(`!${own}`));
  const fits = (allowed, own) => !allowed || isAmong([allowed].flat(), own);
  const isForHere = (one) => fits(one.os, process.platform) && fits(one.cpu, process.arch) && (process.platform !== 'linux' || fits(one.libc, libc));
  const isWanted = (one) => (wanted === 'all' || !one.dev) && !(one.optional && one.os === undefined) && isForHere(one);
  return Object.entries(packages).filter(([path, one]) => path !== '' && isWanted(one)).map(([path]) => path);
}

function removeAll() {
  for (const name of readdirSync(modules)) if (name !== '.cache') rmSync(join(modules, name), { recursive: true, force: true });
}

/**
 * npm takes a package for whole if its folder is there, and does not run its install script again. What an install that
 * was interrupted has touched is therefore removed, and only that.
 */
function forgetHalfInstalled() {
  const began = statSync(underWay).mtimeMs;
  rmSync(join(modules, '.package-lock.json'), { force: true });
  const inside = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory() || entry.name === '.bin' || entry.name === '.cache') continue;
      if (entry.name.startsWith('@')) inside(path);
      else if (statSync(path).ctimeMs >= began) rmSync(path, { recursive: true, force: true });
      else if (existsSync(join(path, 'node_modules'))) inside(join(path, 'node_modules'));
    }
  };
  inside(modules);
}

/** The lock names its holder, so that what an interrupted install left behind is taken over at once, or when no install lasts as long. */
function takeLock() {
  for (let waits = 0; ; waits += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!holderLives() || isOld()) rmSync(lock, { force: true });
    else if (waits === 0) process.stderr.write('schoolbell: waiting for another command to finish installing\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
}

/** Its number may have passed to another process since. */
function isOld() {
  try {
    return Date.now() - statSync(lock).mtimeMs > longestInstallMs + 60_000;
  } catch {
    return false;
  }
}

function holderLives() {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
