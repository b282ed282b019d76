// In charge of `npm test`: types, lint, then every test on a real PostgreSQL, and what the tests asked of it.
import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { openTestCluster } from './cluster.ts';
import { forgetTemplate } from './database.ts';
import { handOnBrowser } from './find-browser.ts';
import { notePassed } from './passed.ts';
import { shareProcesses } from './share-processes.ts';

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);
/** The same sources in each process; reading them anew took each a second of a core. */
const compiled = join(root, 'node_modules', '.cache', 'schoolbell', 'compiled');

function step(name: string, command: string, args: string[], env: NodeJS.ProcessEnv = {}): boolean {
  const started = Date.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  return tell(name, status === 0, started);
}

function tell(name: string, passed: boolean, started: number): boolean {
  console.log(`${name}: ${passed ? 'passed' : 'failed'} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (!passed) process.exitCode = 1;
  return passed;
}

const opensPages = (file: string) => /\/(?:browser|accessibility)\.ts'/.test(readFileSync(join(root, file), 'utf8'));

/** Many tests wait, for processes that start or limits that pass: twice as many run as there are cores. */
async function runPrograms(programs: string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  const started = Date.now();
  const events = run({ files: programs, cwd: root, concurrency: 2 * availableParallelism(), env: { ...process.env, ...env } });
  let passed = true;
  events.on('test:fail', () => (passed = false));
  for await (const text of events.compose(new spec())) process.stdout.write(text);
  return tell('tests', passed, started);
}

step('types', bin('tsc'), ['--noEmit']);
step('lint', bin('oxlint'), ['--deny-warnings']);
const cluster = await openTestCluster();
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-run-'));
const recorded = join(folder, 'statements');
mkdirSync(recorded);
// Some tests run processes as another user.
chmodSync(folder, 0o711);
chmodSync(recorded, 0o1777);
try {
  await forgetTemplate();
  const named = process.argv.slice(2);
  const files = globSync(named.length > 0 ? named : '{src,test,client}/**/*.test.ts', { cwd: root });
  if (files.length === 0) throw new Error(`no test is named ${named.join(' ')}`);
  const preloads = ['loopback-names.ts', 'record-statements.ts'].map((file) => `--import=${pathToFileURL(join(import.meta.dirname, file)).href}`);
  const options = [process.env.NODE_OPTIONS ?? '', ...preloads].join(' ').trim();
  const browser = files.some(opensPages) ? await handOnBrowser() : {};
  const env = { NODE_COMPILE_CACHE: compiled, ...browser, NODE_OPTIONS: options, RECORDED_STATEMENTS: recorded };
  const passed = await runPrograms(shareProcesses(root, files, folder), env);
  const all = passed && named.length === 0 ? 'yes' : 'no';
  step('schools apart', process.execPath, ['--test', 'test/schools-apart/recorded.ts'], { RECORDED_STATEMENTS: recorded, RECORDED_ALL: all });
  if (all === 'yes' && process.exitCode === undefined) notePassed(root);
} finally {
  rmSync(folder, { recursive: true, force: true });
  await cluster.close();
}
