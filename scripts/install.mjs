// Installs what is missing before a command runs, so that a fresh clone needs no second command.
// Plain JavaScript without dependencies: it runs on the machine's own Node, before Node 24 is there.
// It only ever adds (`npm install`, not `npm ci`), because a running service may be using what is installed.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
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

if (!installed()) {
  takeLock();
  try {
    if (!installed()) install();
  } finally {
    rmSync(lock, { force: true });
  }
}

function install() {
  process.stderr.write('schoolbell: installing what is missing (once)\n');
  mkdirSync(modules, { recursive: true });
  if (existsSync(underWay)) forgetHalfInstalled();
  writeFileSync(underWay, '');
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  args.push(wanted === 'all' ? '--include=dev' : '--omit=dev');
  // npm's own chatter goes to standard error: a command's standard output is its answer.
  const npm = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32', timeout: longestInstallMs });
  if (npm.status !== 0) {
    process.stderr.write('schoolbell: "npm install" failed; see the lines above\n');
    rmSync(lock, { force: true });
    process.exit(1);
  }
  writeFileSync(stamp, `${lockHash()} ${wanted}\n`);
  rmSync(underWay);
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
