// In charge of `npm test`: types, lint, then every test on a real PostgreSQL, and what the tests asked of it.
import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openTestCluster } from './cluster.ts';
import { forgetTemplate } from './database.ts';
import { handOnBrowser } from './find-browser.ts';

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
/** Each file runs in a process of its own; reading the same sources anew took each of them a second of a core. */
const compiled = join(root, 'node_modules', '.cache', 'schoolbell', 'compiled');

function step(name: string, command: string, args: string[], env: NodeJS.ProcessEnv = {}): boolean {
  const started = Date.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  console.log(`${name}: ${status === 0 ? 'passed' : 'failed'} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) process.exitCode = 1;
  return status === 0;
}

function opensPages(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes('/browser.ts');
}

step('types', bin('tsc'), ['--noEmit']);
step('lint', bin('oxlint'), ['--deny-warnings']);
const cluster = await openTestCluster();
const recorded = mkdtempSync(join(tmpdir(), 'schoolbell-statements-'));
// Some tests run processes as another user.
chmodSync(recorded, 0o1777);
try {
  await forgetTemplate();
  const named = process.argv.slice(2);
  const files = named.length > 0 ? named : globSync('{src,test}/**/*.test.ts', { cwd: root });
  const recorder = `${process.env.NODE_OPTIONS ?? ''} --import=${pathToFileURL(join(import.meta.dirname, 'record-statements.ts')).href}`.trim();
  const browser = globSync(files, { cwd: root }).some(opensPages) ? await handOnBrowser() : {};
  const env = { NODE_COMPILE_CACHE: compiled, ...browser, NODE_OPTIONS: recorder, RECORDED_STATEMENTS: recorded };
  const passed = step('tests', process.execPath, ['--test', '--test-concurrency=2', ...files], env);
  const all = passed && named.length === 0 ? 'yes' : 'no';
  step('schools apart', process.execPath, ['--test', 'test/schools-apart/recorded.ts'], { RECORDED_STATEMENTS: recorded, RECORDED_ALL: all });
} finally {
  rmSync(recorded, { recursive: true, force: true });
  await cluster.close();
}
