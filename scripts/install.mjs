// Installs what is missing before a command runs, so that a fresh clone needs no second command.
// Plain JavaScript without dependencies: it runs on the machine's own Node, before Node 24 is there.
// It only ever adds (`npm install`, not `npm ci`), because a running service may be using what is installed.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const wanted = process.argv.includes('--dev') ? 'all' : 'production';
const stamp = join(root, 'node_modules', '.installed');
const lock = join(root, '.install-lock');
const abandonedAfterMs = 10 * 60_000;

const installed = () => {
  try {
    const [hash, what] = readFileSync(stamp, 'utf8').trim().split(' ');
    return hash === lockHash() && (what === 'all' || what === wanted);
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
    rmSync(lock, { recursive: true, force: true });
  }
}

function install() {
  process.stderr.write('schoolbell: installing what is missing (once)\n');
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  args.push(wanted === 'all' ? '--include=dev' : '--omit=dev');
  // npm's own chatter goes to standard error: a command's standard output is its answer.
  const npm = spawnSync('npm', args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (npm.status !== 0) {
    process.stderr.write('schoolbell: "npm install" failed; see the lines above\n');
    process.exit(1);
  }
  writeFileSync(stamp, `${lockHash()} ${wanted}\n`);
}

function takeLock() {
  for (;;) {
    try {
      mkdirSync(lock);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > abandonedAfterMs) rmSync(lock, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
}
