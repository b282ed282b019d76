// Builds the package: the sources as a few scripts with source maps, and all declarations as one file. Called by `npm pack`, by a release
// and by the tests, which write it elsewhere.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const own = import.meta.dirname;
const programs = join(own, '../node_modules/.bin');
/** The modules that an application can import; all others are reached from these. */
const entries = ['index', 'webhooks', 'stores/memory', 'stores/pg', 'stores/sqlite'].filter((name) => existsSync(join(own, 'src', `${name}.ts`)));
const shared = 'declarations';

/** `minify` leaves out what a bundler of an application would remove too: names, spaces and source maps. */
export function buildClient(out: string, { minify = false }: { minify?: boolean } = {}): void {
  const style = minify ? ['--minify'] : ['--sourcemap'];
  const scripts = entries.map((name) => join(own, 'src', `${name}.ts`));
  rmSync(out, { recursive: true, force: true });
  run('esbuild', ...scripts, '--bundle', '--splitting', ...style, '--format=esm', '--target=es2022', '--platform=neutral', '--external:node:*',
    '--charset=utf8', `--outbase=${join(own, 'src')}`, `--outdir=${out}`, '--log-level=warning');
  run('esbuild', join(own, 'verify-webhook.js'), ...style, '--format=esm', `--outdir=${out}`, '--log-level=warning');
  const declared = mkdtempSync(join(tmpdir(), 'schoolbell-client-'));
  try {
    run('tsc', '-p', own, '--emitDeclarationOnly', '--outDir', declared);
    for (const [file, text] of Object.entries(joinDeclarations(declared)))
      writeFileSync(join(out, file), minify ? text.replaceAll(/^ +/gm, '') : text);
  } finally {
    rmSync(declared, { recursive: true, force: true });
  }
}

function run(program: string, ...args: string[]): void {
  execFileSync(join(programs, program), args, { stdio: 'inherit' });
}

/** Joins the type declarations of all modules into one shared file. Returns it, and for each entry a file that re-exports its types from there. */
function joinDeclarations(folder: string): Record<string, string> {
  const read = (name: string) => readFileSync(join(folder, `${name}.d.ts`), 'utf8');
  const names = globSync('**/*.d.ts', { cwd: folder }).map((file) => file.slice(0, -'.d.ts'.length)).toSorted();
  const parts = names.filter((name) => !entries.includes(name)).map((name) => read(name).replaceAll(/^import .*\n|^export \{\};?\n/gm, ''));
  requireDistinct(parts);
  const files = entries.map((name) => {
    const place = relative(join(folder, name, '..'), join(folder, shared)).replace(/^(?!\.)/, './');
    const text = read(name);
    if (/^export \* from/m.test(text)) throw new Error(`${name} must name what it exports: in the package it would export what is not there`);
    // Where all types are exported, each need not be.
    const kept = text.includes('export type *') ? text.replaceAll(/^export type \{.*\n/gm, '') : text;
    const lines = kept.replaceAll(/(from |import\()'\.[^']*'/g, `$1'${place}.js'`).split('\n');
    return [`${name}.d.ts`, lines.filter((line, at) => !line.startsWith('export type *') || lines.indexOf(line) === at).join('\n')];
  });
  return { ...Object.fromEntries(files), [`${shared}.d.ts`]: parts.join('') };
}

/** Throws if two modules declare the same name, which one file of declarations cannot hold. */
function requireDistinct(parts: readonly string[]): void {
  const pattern = /^(?:export )?(?:declare )?(?:type|class|const|function) (\w+)/gm;
  const declared = parts.flatMap((part) => [...new Set([...part.matchAll(pattern)].map(([, name]) => name))]);
  const twice = declared.find((name, at) => declared.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`"${twice}" is declared in two files of the client; give one of them another name`);
}

if (import.meta.main) buildClient(join(own, 'dist'));
