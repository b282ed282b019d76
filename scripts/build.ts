// In charge of what is packed: the sources as JavaScript in dist/, file by file, since Node strips no types under node_modules, and as
// far from the root as in src/, so that what is read beside them is found. Called by `npm pack` and by the test, which has it written elsewhere.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const isTest = (file: string) => /\.test\.ts$|(^|\/)golden\//.test(file);
/** Imports and threads of our own, as esbuild writes them. */
const ownModule = /(\bfrom |\bimport |\bimport\(|new URL\()"(\.{1,2}\/[^"]+)\.ts"/g;

export function buildService(out: string): void {
  const files = globSync('src/**/*.*', { cwd: root }).filter((file) => !isTest(file));
  const [sources, others] = [files.filter((file) => file.endsWith('.ts')), files.filter((file) => !file.endsWith('.ts'))];
  rmSync(out, { recursive: true, force: true });
  const args = ['--format=esm', '--platform=node', '--target=node24', '--charset=utf8', '--outbase=src', `--outdir=${out}`, '--log-level=warning'];
  const { status } = spawnSync(join(root, 'node_modules/.bin/esbuild'), [...sources, ...args], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the sources were not written as JavaScript, for the reason above');
  for (const file of sources.map((source) => join(out, source.slice('src/'.length).replace(/\.ts$/, '.js')))) {
    const text = readFileSync(file, 'utf8').replaceAll(ownModule, '$1"$2.js"');
    const left = /["']\.{1,2}\/[^"'\n]*\.ts["']/.exec(text);
    if (left) throw new Error(`${file} still names ${left[0]}, which is not packed`);
    writeFileSync(file, text);
  }
  for (const file of others) {
    const to = join(out, file.slice('src/'.length));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(root, file), to);
  }
}

if (import.meta.main) {
  try {
    buildService(join(root, 'dist'));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}
