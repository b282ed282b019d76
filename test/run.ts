// In charge of `npm test`: types, lint, then every test on a real PostgreSQL.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTestCluster } from './cluster.ts';
import { forgetTemplate } from './database.ts';
import { handOnBrowser } from './find-browser.ts';

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);

function step(name: string, command: string, args: string[], env?: NodeJS.ProcessEnv): void {
  const started = Date.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env });
  console.log(`${name}: ${status === 0 ? 'passed' : 'failed'} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) process.exitCode = 1;
}

function opensPages(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes('/browser.ts');
}

step('types', bin('tsc'), ['--noEmit']);
step('lint', bin('oxlint'), ['--deny-warnings']);
const cluster = await openTestCluster();
try {
  await forgetTemplate();
  const files = process.argv.length > 2 ? process.argv.slice(2) : globSync('{src,test}/**/*.test.ts', { cwd: root });
  const env = globSync(files, { cwd: root }).some(opensPages) ? await handOnBrowser() : undefined;
  step('tests', process.execPath, ['--test', '--test-concurrency=2', ...files], env);
} finally {
  await cluster.close();
}
