// In charge of `npm test`: types, lint, then every test on a real PostgreSQL.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { openTestCluster } from './cluster.ts';
import { forgetTemplate } from './database.ts';

const root = join(import.meta.dirname, '..');
const bin = (name: string) => join(root, 'node_modules', '.bin', name);

function step(name: string, command: string, args: string[]): void {
  const started = Date.now();
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  console.log(`${name}: ${status === 0 ? 'passed' : 'failed'} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (status !== 0) process.exitCode = 1;
}

step('types', bin('tsc'), ['--noEmit']);
step('lint', bin('oxlint'), ['--deny-warnings']);
const cluster = await openTestCluster();
try {
  await forgetTemplate();
  const files = process.argv.length > 2 ? process.argv.slice(2) : globSync('{src,test}/**/*.test.ts', { cwd: root });
  step('tests', process.execPath, ['--test', '--test-concurrency=2', ...files]);
} finally {
  await cluster.close();
}
