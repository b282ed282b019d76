// Covers the package as its users get it: its size, that it depends on nothing and can be read, that it installs, type-checks and runs,
// and that the README's programs are right.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { renderSignature } from '../src/notifications/sign.ts';
import { readExamples } from '../src/reference/examples.ts';
import type { SurfaceName } from '../src/reference/surfaces.ts';
import { findOldNode } from '../test/find-old-node.ts';
import { useService } from '../test/service.ts';
import { buildClient } from './build.ts';

/** As its users have it: without what the tests give to their own processes. */
const run = (command: string, args: string[], options: { cwd?: string; timeout?: number } = {}) =>
  promisify(execFile)('sh', ['-c', 'unset NODE_OPTIONS; exec "$@"', 'sh', command, ...args], options);
const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-package-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const mostBytes = 30_000;

const description = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8')) as Record<string, unknown> & { files: string[] };
const asTheyAre = ['package.json', 'README.md', ...description.files.filter((file) => file !== 'dist')];

/** Builds and packs the client, and returns the package's folder and file. */
async function pack(name: string, files: readonly string[], minify: boolean): Promise<{ packed: string; tarball: string }> {
  const packed = join(folder, name, 'package');
  mkdirSync(packed, { recursive: true });
  buildClient(join(packed, 'dist'), { minify });
  for (const file of files) cpSync(join(import.meta.dirname, file), join(packed, file));
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', join(folder, name)], { cwd: packed });
  return { packed, tarball: join(folder, name, `schoolbell-client-${String(description.version)}.tgz`) };
}

const { packed, tarball } = await pack('whole', asTheyAre, false);
const consumer = join(folder, 'consumer');
mkdirSync(consumer);
writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
await run('npm', ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', tarball], { cwd: consumer });

test(`minified, the package is smaller than ${mostBytes} bytes, and it depends on nothing`, async (t) => {
  // An application's bundler minifies and reads no changelog.
  const { size } = statSync((await pack('small', asTheyAre.filter((file) => file !== 'CHANGELOG.md'), true)).tarball);
  t.diagnostic(`${size} bytes, and ${statSync(tarball).size} as it is packed`);
  assert.ok(readFileSync(join(packed, 'README.md'), 'utf8').includes(`npm install ./${basename(tarball)} `), 'the README names the file');
  assert.ok(size < mostBytes, `${size} bytes`);
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies']) assert.equal(description[kind], undefined);
  assert.deepEqual(Object.keys(description.scripts as object).filter((name) => /install$|^prepare$/.test(name)), [], 'npm asks its users about these');
});

const { node: oldNode, isOld } = findOldNode();
const noOldNode = isOld ? false : 'there is no Node 20 to 23 on the PATH, and Node 24 runs also what they do not';

/** Runs a program of an application on the oldest Node of this machine that the client supports. */
async function runOnOldNode(name: string, text: string, ...flags: string[]): Promise<string> {
  writeFileSync(join(consumer, name), text);
  return (await run(oldNode, [...flags, name], { cwd: consumer, timeout: 120_000 })).stdout;
}

test('it can be read: no script is minified, and the stack of an error names the lines of the sources', async () => {
  const scripts = globSync('dist/**/*.js', { cwd: packed });
  assert.ok(scripts.length > 5);
  for (const script of scripts) {
    const text = readFileSync(join(packed, script), 'utf8');
    assert.ok(text.split('\n').every((line) => line.length <= 400), `${script} has very long lines`);
    const [, mapFile = ''] = /^\/\/# sourceMappingURL=(.+)$/m.exec(text) ?? [];
    const map = JSON.parse(readFileSync(join(packed, script, '..', mapFile), 'utf8')) as { sources: string[]; sourcesContent: (string | null)[] };
    assert.ok(map.sourcesContent.length === map.sources.length && map.sourcesContent.every(Boolean), `${script} has its sources in its map`);
  }
  const failing = `
import { createClient } from 'schoolbell-client';
try { createClient({ url: 'nonsense', rp: 'x' }); } catch (error) { console.log(error.stack); }`;
  assert.match(await runOnOldNode('failing.mjs', failing), /^SchoolbellError: .*\n +at .*createClient .*index\.js/s);
  assert.match(await runOnOldNode('failing.mjs', failing, '--enable-source-maps'), /^SchoolbellError: [^]* at .*\/src\/\w+\.ts:\d+/);
});

test("the README's first copy is made on the oldest Node that the client supports", { skip: noOldNode }, async (t) => {
  const service = await useService();
  await service.addSchool('8881001', join(root, 'test/fixtures/small-school'));
  const { schoolSecrets } = await service.addClient('my-application', ['8881001']);
  const block = readmePrograms().find((one) => one.includes('sync(')) ?? assert.fail('the README has no example of sync');
  const example = block.replace('https://schoolbell.example', service.url).replace('sb_school_…', schoolSecrets['8881001'] ?? '');
  t.diagnostic((await run(oldNode, ['--version'])).stdout.trim());
  assert.match(await runOnOldNode('first-copy.mjs', example), /^users \S+ null \{/m);
});

/** What a caller would write, with what the types must refuse. */
const program = `
import { createClient, SchoolbellError, VersionGone, InvalidMarks, type Client, type Roster, type School, type User } from 'schoolbell-client';
import { expressHandler, fastifyPlugin, fetchHandler, nodeHandler, verify, type WebhookEvent } from 'schoolbell-client/webhooks';
import { verifyWebhook } from 'schoolbell-client/verify-webhook';

const client: Client = createClient({ url: 'https://x.example', rp: 'x' });
const school: School = client.school({ estab: '1', secret: 's' });
const roster: Roster<'A'> = client.roster({ clientId: 'c', clientSecret: 's' });
export async function use(signal: AbortSignal | undefined): Promise<void> {
  const users: User[] = [];
  for await (const user of school.roster.list('students', { of: { class: 'c' }, signal, sort: 'familyName' })) users.push(user);
  const role: 'administrator' | 'aide' | 'guardian' | 'parent' | 'proctor' | 'relative' | 'student' | 'teacher' | undefined = users[0]?.role;
  for await (const page of roster.pages('users', { filter: (where) => where('status').is('active') })) console.log(page.total, role);
  const picked = await school.roster.get('users', 'x', { fields: ['givenName'] });
  console.log(picked?.givenName);
  // @ts-expect-error -- was not asked for
  console.log(picked?.familyName);
  // @ts-expect-error -- there is no such role
  school.roster.list('users', { filter: (where) => where('role').is('pupil') });
  // @ts-expect-error -- variant A has no demographics
  roster.list('demographics');
  // @ts-expect-error -- a date is needed
  school.data('AttendanceForDate');
  for await (const row of school.data('Contacts', { select: ['Id', 'StudentIds'] })) console.log(row.StudentIds.length);
  const outcome = await school.writeMarks([{ StudentId: 'a', Date: '2026-01-01', Session: 'AM', Mark: '/' }], { mode: undefined });
  if (outcome.Status === 'Completed') console.log(outcome.Marks.length);
  await client.management({ secret: 'x' }).schools.invite([{ estab: '1', schoolName: 'n', contactEmail: 'e', scopes: ['School'] }]);
  const bytes: Uint8Array = await client.management({ secret: 'x' }).generateQRCode('x');
  console.log(bytes.length, await verify(new Headers(), bytes, ['a'], { toleranceSeconds: 1 }), verifyWebhook({}, bytes, 's'));
}
export function describe(event: WebhookEvent): string {
  switch (event.type) {
    case 'authentication': return event.scopes.join();
    case 'availability': return String(event.status.AllOK);
    case 'writeback': return event.outcome.Status;
    case 'database': case 'test': return event.database ?? '';
    case 'unknown': return String(event.body.length);
  }
}
export const kinds = [SchoolbellError, VersionGone, InvalidMarks];
export const handlers = [expressHandler, fastifyPlugin, nodeHandler];
export const fetching: (request: Request) => Promise<Response> = fetchHandler({ secret: 's', on: describe });
`;

/** What the service really answered is of these types: no field more, none less, no other word. */
const answered: readonly (readonly [type: string, surface: SurfaceName, operation: string, status: string, field?: string])[] = [
  ['Webhook[]', 'school-data', 'listWebhooks', '200', 'Webhook'],
  ['DbStatus', 'school-data', 'getStudents', '202'],
  ['DatabaseState[]', 'school-data', 'getStudents', '200', '__dbStatus__'],
  ['IdentityUser[]', 'school-data', 'getUsers', '200'],
  ['OwnSchool[]', 'management', 'listSchools', '200', 'Schools'],
  ['Delivery[]', 'management', 'listDeliveries', '200', 'Deliveries'],
];

function answeredProgram(): string {
  const names = [...new Set(answered.flatMap(([type]) => type.match(/\w+/g) ?? []))];
  const values = answered.map(([type, surface, operation, status, field], at) => {
    const body = readExamples(surface)[operation]?.[status] as Record<string, unknown> | undefined;
    const value = field === undefined ? body : body?.[field];
    assert.ok(value !== undefined && !(Array.isArray(value) && value.length === 0), `${operation} has no example`);
    return `export const answer${at}: ${type} = ${JSON.stringify(value)};\n`;
  });
  return `import type { ${names.join(', ')} } from 'schoolbell-client';\n${values.join('')}`;
}

function readmePrograms(): string[] {
  const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block);
}

/** The same from CommonJS. */
const required = `
import client = require('schoolbell-client');
import webhooks = require('schoolbell-client/webhooks');
const school: client.School = client.createClient({ url: 'https://x.example', rp: 'x' }).school({ estab: '1', secret: 's' });
webhooks.fetchHandler({ secret: 's', on: () => school.databases() });
`;

const strict = {
  target: 'es2023', noEmit: true, strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true,
  skipLibCheck: false,
};
const worlds = {
  'Node and its resolution': {
    module: 'nodenext', moduleResolution: 'nodenext', lib: ['es2023'], types: ['node'], typeRoots: [join(root, 'node_modules/@types')],
  },
  'a bundler and the web': { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom'], types: [] },
};
for (const [world, options] of Object.entries(worlds)) {
  test(`an application type-checks with ${world}`, async () => {
    writeFileSync(join(consumer, 'program.ts'), program);
    writeFileSync(join(consumer, 'answered.ts'), answeredProgram());
    const files = ['program.ts', 'answered.ts'];
    if (options.module === 'nodenext') {
      writeFileSync(join(consumer, 'required.cts'), required);
      files.push('required.cts');
    }
    // The README's programs have servers of Node.
    if (options.types.length > 0)
      readmePrograms().forEach((block, at) => {
        files.push(`readme-${at}.ts`);
        writeFileSync(join(consumer, `readme-${at}.ts`), `${block}\nexport {};\n`);
      });
    assert.ok(options.types.length === 0 || files.length > 3, 'the README has programs');
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
    const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', consumer]).catch((error: { stdout: string }) => error);
    assert.equal(stdout, '');
  });
}

/** Every Node of the machine, Deno and Bun, where there are any. */
async function findRuntimes(): Promise<{ name: string; command: string; args: string[] }[]> {
  const found = await run('sh', ['-c', 'for one in node deno bun; do which -a $one; done; true']);
  const flags: Record<string, string[]> = { deno: ['run', '--allow-all', '--no-prompt', '--node-modules-dir=manual'], bun: ['run'] };
  return [...new Set([process.execPath, ...found.stdout.split('\n').filter(Boolean)].map((path) => realpathSync(path)))].map((command) => {
    const name = command.split('/').at(-1) ?? '';
    return { name, command, args: flags[name] ?? [] };
  });
}

const running = `
import { createClient, SchoolbellError } from 'schoolbell-client';
import { fetchHandler } from 'schoolbell-client/webhooks';
import { verifyWebhook } from 'schoolbell-client/verify-webhook';
const { url, rp, estab, secret, clientId, clientSecret, headers, signing } = JSON.parse(process.argv[2]);
const client = createClient({ url, rp });
const school = client.school({ estab, secret });
const ids = [];
for await (const { sourcedId } of school.roster.list('users', { pageSize: 5, filter: (where) => where('status').is('active') })) ids.push(sourcedId);
const all = await client.roster({ clientId, clientSecret }).count('users');
let fault;
try { await client.school({ estab, secret: 'wrong' }).databases(); } catch (error) { fault = error instanceof SchoolbellError && error.status; }
const students = [];
for await (const { Id } of school.data('Students')) students.push(Id);
const seen = [];
const handler = fetchHandler({ secret: signing, on: (event) => void seen.push(event.type) });
const answer = await handler(new Request('https://x.example/?a=1', { method: 'GET', headers }));
const refused = await handler(new Request('https://x.example/', { method: 'POST', headers, body: 'x' }));
console.log(JSON.stringify({ ids: ids.length, all: all.total, fault, students: students.length, answer: answer.status, refused: refused.status, seen,
  id: verifyWebhook(headers, undefined, signing) }));
`;

test('it can be required from CommonJS, with all that it exports', async () => {
  const paths = ['', '/webhooks', '/verify-webhook', '/stores/memory', '/stores/pg', '/stores/sqlite'];
  writeFileSync(join(consumer, 'required.cjs'), `for (const path of ${JSON.stringify(paths)}) console.log(typeof require('schoolbell-client' + path));`);
  const { stdout } = await run(process.execPath, ['required.cjs'], { cwd: consumer });
  assert.equal(stdout, 'object\n'.repeat(paths.length));
});

test('it runs in every runtime of the machine', async (t) => {
  const service = await useService();
  await service.addSchool('R1', join(root, 'test/fixtures/small-school'));
  const { schoolSecrets, clientId, clientSecret } = await service.addClient('runner', ['R1']);
  writeFileSync(join(consumer, 'running.mjs'), running);
  const signing = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
  for (const { name, command, args } of await findRuntimes()) {
    const { stdout: version } = await run(command, ['--version']);
    if (name === 'node' && Number(/\d+/.exec(version)?.[0]) < 20) continue;
    const seconds = Math.floor(Date.now() / 1000);
    const headers = { 'webhook-id': 'msg', 'webhook-timestamp': String(seconds), 'webhook-signature': renderSignature('msg', seconds, null, [signing]) };
    const given = { url: service.url, rp: 'runner', estab: 'R1', secret: schoolSecrets.R1, clientId, clientSecret, headers, signing };
    const { stdout } = await run(command, [...args, 'running.mjs', JSON.stringify(given)], { cwd: consumer, timeout: 120_000 });
    const expected = { ids: 10, all: 12, fault: 401, students: 3, answer: 200, refused: 401, seen: ['database'], id: 'msg' };
    assert.deepEqual(JSON.parse(stdout), expected, `${command} ${version}`);
    t.diagnostic(`${name} ${version.trim().split('\n')[0]}`);
  }
});
