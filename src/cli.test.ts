// Covers the command line on a real database, beside a running service that shows the effect of each command at once;
// and, in a handful of real processes, how a command ends and what it prints where.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertFailed, runProcess, useCommands } from '../test/commands.ts';
import { csvPackage, type Rows } from '../test/csv-package.ts';
import { rootA, rootB, useService } from '../test/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-cli-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const service = await useService();
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: 'a key for tests that is long enough', DATA_DIR: join(folder, 'data') };

const { run, schoolbell, json, assertFails } = useCommands(settings);
const start = (args: readonly string[], env: Record<string, string> = settings) => runProcess(folder, env, args);

const row = (sourcedId: string, role = 'student'): Rows[number] => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'o1', role, username: sourcedId, givenName: 'Given', familyName: 'Family',
});
const people = (count: number) => Array.from({ length: count }, (_, at) => row(`u${String(at).padStart(3, '0')}`));

async function folderOf(name: string, files: Record<string, Rows>): Promise<string> {
  const path = join(folder, name);
  mkdirSync(path);
  for (const file of csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }], ...files }).files.values()) {
    const pieces: Buffer[] = [];
    for await (const piece of await file.open()) pieces.push(piece as Buffer);
    writeFileSync(join(path, file.name), Buffer.concat(pieces));
  }
  return path;
}

const basic = (name: string, secret: string) => ({
  method: 'POST',
  headers: { authorization: `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}` },
});
const tokenA = async (id: string, secret: string) => (await fetch(`${service.url}${rootA}/token`, basic(id, secret))).status;
const tokenB = async (rp: string, estab: string, secret: string) => (await fetch(`${service.url}${rootB}/auth/token`, basic(`${rp}|${estab}`, secret))).status;
const tokenM = async (rp: string, secret: string) =>
  (
    await fetch(`${service.url}/api/oauth/GetToken`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ relyingParty: rp, password: secret }),
    })
  ).status;

const commands: Record<string, string[]> = {
  start: [],
  'school add': ['--estab', '--name', '--email', '--oneroster-version', '--scope', '--client-secret-file <path or ->'],
  'school list': ['--state'],
  'school edit': ['--estab', '--name', '--email', '--time-zone', '--connector', '--folder', '--url', '--oneroster-version', '--scope'],
  'school link': ['--estab'],
  'school refuse': ['--estab'],
  'school pause': ['--estab'],
  'school resume': ['--estab'],
  'school remove': ['--estab', '--yes', '--dry-run'],
  'application add': ['--rp', '--name', '--callback-url', '--scopes', '--redirect-uri', '--website', '--privacy-notice', '--contact'],
  'application list': [],
  'application edit': ['--rp', '--name', '--callback-url', '--scopes', '--redirect-uri', '--website', '--privacy-notice', '--contact', '--state-events'],
  'application remove': ['--rp', '--yes', '--dry-run'],
  rotate: ['--rp', '--estab', '--secret', '--keep-old'],
  'keys rotate': ['--now'],
  'keys reseal': [],
  upgrade: ['--check', '--without-backup'],
  distribute: ['--back', '--shards', '--yes', '--dry-run'],
  authorise: ['--rp', '--estab', '--scopes'],
  scopes: ['--rp', '--estab', '--scopes'],
  pause: ['--rp', '--estab'],
  resume: ['--rp', '--estab'],
  revoke: ['--rp', '--estab'],
  import: ['--estab', '--partial', '--force', '<zip or folder>'],
  export: ['--estab', '--with-leavers', '<zip>'],
  mails: [],
  'inbox add': ['--rp', '--name', '--answer'],
  'inbox list': ['--rp'],
  'inbox edit': ['--rp', '--answer', '<inbox>'],
  'inbox empty': ['--rp', '--yes', '--dry-run', '<inbox>'],
  'inbox remove': ['--rp', '--yes', '--dry-run', '<inbox>'],
  'operator add': ['--name', '--email', '--role'],
  'operator invite': ['<operator>'],
  'operator list': [],
  'operator edit': ['--name', '--role', '--reset-second-factor', '<operator>'],
  'operator remove': ['--yes', '--dry-run', '<operator>'],
  'operator second-factor': ['--required'],
  'developer add': ['--rp', '--name', '--email'],
  'developer list': ['--rp'],
  'developer remove': ['--rp', '--yes', '--dry-run', '<address>'],
  'work list': ['--kind', '--state', '--estab'],
  'work retry': ['<id>'],
  'sandbox show': ['--rp', '--estab'],
  'sandbox events': ['--seconds', '--minutes', '--rp', '--estab', '<mode>'],
  'sandbox tokens': ['--seconds', '--minutes', '--rp', '--estab'],
  'sandbox answers': ['--count', '--retry-after', '--minutes', '--rp', '--estab', '<status>'],
  'sandbox mis': ['--minutes', '--rp', '--estab', '<mode>'],
  'sandbox clock': ['--to', '--by', '--force', '--rp', '--estab'],
  'sandbox joiner': ['--rp', '--estab'],
  'sandbox leaver': ['--rp', '--estab'],
  'sandbox class-split': ['--rp', '--estab'],
  'sandbox reset': ['--rp', '--estab'],
  'sandbox application': ['--name', '--rp', '--callback-url', '--estab'],
  settings: [],
  audit: ['--since', '--estab', '--rp', '--kind', '--before'],
  status: ['--check'],
  backup: ['--passphrase-file', '<file>', '--to', '--every', '--keep', '--now', '--stop'],
  'backup list': [],
  restore: ['--passphrase-file', '--deliveries', '--check', '--secret-key-to', '<file>'],
};

test('--help explains each command, without settings and without a database', async () => {
  const overviews = [await run([], {}), await run(['--help'], {})];
  for (const { code, out, err } of overviews) {
    assert.deepEqual([code, err], [0, '']);
    for (const name of Object.keys(commands)) assert.match(out, new RegExp(`^ +${name} `, 'm'));
  }
  for (const [name, options] of Object.entries(commands)) {
    const { code, out, err } = await run([...name.split(' '), '--help'], {});
    assert.deepEqual([code, err], [0, ''], name);
    assert.match(out, new RegExp(`Usage: .* ${name}`));
    for (const option of [...options, '--json']) assert.ok(out.includes(option), `${name} ${option}`);
  }
});

test('--version says which, without settings and without a database', async () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as { version: string };
  assert.deepEqual(await run(['--version'], {}), { code: 0, out: `schoolbell ${version}\n`, err: '' });
  assert.deepEqual(JSON.parse((await run(['--version', '--json'], {})).out), { version });
});

test('a process prints what was asked for on standard output alone, says what is wrong on standard error, and ends by itself', async () => {
  const [help, asked, refused, unset, away] = await Promise.all([
    start([], {}),
    start(['school', 'list', '--json']),
    start(['school', 'add', '--colour', 'red']),
    start(['status'], { DATABASE_URL: settings.DATABASE_URL }),
    start(['status', '--json'], { ...settings, DATABASE_URL: 'postgres://x:y@127.0.0.1:1/x' }),
  ]);
  assert.deepEqual([help.code, help.out, help.err], [0, (await run([], {})).out, '']);
  assert.deepEqual([asked.code, JSON.parse(asked.out), asked.err], [0, [], '']);
  for (const [result, reason] of [[refused, /'--colour'/], [unset, /SECRET_KEY/], [away, /database|PostgreSQL|ECONNREFUSED/]] as const) {
    assertFailed(result, reason);
    assert.equal(result.out, '');
  }
  assert.deepEqual(readdirSync(folder), [], 'nothing is left where the command was run');
});

test('what is not a command, an option or complete is refused, and the message says what would be', async () => {
  const refused: [RegExp, string][] = [
    [/no command "frobnicate"; npx schoolbell --help lists them$/m, 'frobnicate'],
    [/no command "school"/, 'school'],
    [/no command "school frobnicate"; there are:\n  school add [^]*school remove/, 'school frobnicate --estab 1'],
    [/'--colour'[^]*Usage: .*school add/, 'school add --estab 1 --colour red'],
    [/--estab and --name and --email are missing[^]*Usage/, 'school add'],
    [/--email is missing/, 'school add --estab 1 --name School'],
    [/--callback-url and --scopes are missing/, 'application add --rp a --name A'],
    [/--secret is missing/, 'rotate --rp a'],
    [/--rp is missing/, 'pause --estab 1'],
    [/<zip or folder> is missing/, 'import --estab 1'],
    [/--estab is missing/, 'export x.zip'],
    [/argument/, 'school add --estab --name x'],
    [/argument/, 'status now'],
  ];
  for (const [reason, line] of refused) assert.equal((await assertFails(reason, line)).out, '', line);
  const { out } = await schoolbell('school --help');
  assert.match(out, /^Usage: .*\n\n  school add /);
  assert.doesNotMatch(out, /application add/);
});

test('settings that cannot be used are named, all at once and without a stack', async () => {
  const missing = await run(['status'], { DATABASE_URL: settings.DATABASE_URL });
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /SECRET_KEY/);
  const several = await run(['status'], { ...settings, SECRET_KEY: 'short', PURGE_AFTER_DAYS: 'soon', SHRINK_LIMIT_PERCENT: '101' });
  assert.equal(several.code, 1);
  for (const name of ['SECRET_KEY', 'PURGE_AFTER_DAYS', 'SHRINK_LIMIT_PERCENT']) assert.ok(several.err.includes(name), name);
});

test('a database that does not answer is said in words', async () => {
  const { code, out, err } = await run(['status', '--json'], { ...settings, DATABASE_URL: 'postgres://x:y@127.0.0.1:1/x' });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^schoolbell: .*(database|PostgreSQL|ECONNREFUSED)/);
  assert.doesNotMatch(err, /\n\s+at /);
});

test('schools are added, listed and removed', async () => {
  const added = await json('school add --estab 1234567 --email office@school.example --name', "St Mary's");
  assert.deepEqual([added.estab, added.name, added.email], ['1234567', "St Mary's", 'office@school.example']);
  await json('school add --estab b.Z_-9 --name B --email b@b.example --time-zone Europe/Dublin');
  await assertFails(/1234567 exists already/, 'school add --estab 1234567 --name Again --email a@a.example');
  const bad: [RegExp, string[]][] = [
    [/--estab "a b"/, ['--estab', 'a b', '--name', 'X', '--email', 'x@x.example']],
    [/--estab/, ['--estab', 'x'.repeat(33), '--name', 'X', '--email', 'x@x.example']],
    [/--name/, ['--estab', '2', '--name', ' ', '--email', 'x@x.example']],
    [/--email "office"/, ['--estab', '2', '--name', 'X', '--email', 'office']],
    [/--time-zone "Mars"/, ['--estab', '2', '--name', 'X', '--email', 'x@x.example', '--time-zone', 'Mars']],
  ];
  await Promise.all(bad.map(([reason, options]) => assertFails(reason, 'school add', ...options)));
  const list = await json<{ estab: string; name: string }[]>('school list');
  assert.ok(Array.isArray(list));
  assert.deepEqual(list.map(({ estab, name }) => [estab, name]), [['1234567', "St Mary's"], ['b.Z_-9', 'B']]);
  assert.match(
    (await schoolbell('school list')).out,
    /^ESTAB +NAME +ADDRESS OF RECORD +TIME ZONE +CONNECTOR +STATE .*\n1234567 +St Mary's +office@school\.example +Europe\/London +none +New .*\nb\.Z_-9/,
  );

  await json('school remove --yes --estab b.Z_-9');
  assert.deepEqual((await json<{ estab: string }[]>('school list')).map(({ estab }) => estab), ['1234567']);
  await assertFails(/no establishment b\.Z_-9/, 'school remove --yes --estab b.Z_-9');
});

test('applications are added with their secrets, once', async () => {
  const added = await json<Record<string, string>>(
    'application add --rp app.one --callback-url https://app.example/events --scopes School,Student,Staff:optional,Identity ' +
      '--redirect-uri https://app.example/back --redirect-uri http://localhost:3000/ --name',
    'App One',
  );
  assert.deepEqual(Object.keys(added).toSorted(), ['clientId', 'clientSecret', 'managementSecret', 'rp', 'signingSecret']);
  assert.deepEqual(
    [added.rp, ...['clientSecret', 'managementSecret', 'signingSecret'].map((key) => added[key]?.split('_')[0])],
    ['app.one', 'sb', 'sb', 'whsec'],
  );
  assert.deepEqual([await tokenA(added.clientId ?? '', added.clientSecret ?? ''), await tokenM('app.one', added.managementSecret ?? '')], [401, 200]);
  const options = (changes: Record<string, string>) =>
    Object.entries({ rp: 'x', name: 'X', 'callback-url': 'https://x.example/', scopes: 'School', ...changes }).flatMap(([name, value]) => [`--${name}`, value]);
  const bad: [RegExp, Record<string, string>][] = [
    [/app\.one exists already/, { rp: 'app.one' }],
    [/--rp "a\/b"/, { rp: 'a/b' }],
    [/--rp/, { rp: 'x'.repeat(65) }],
    [/--name/, { name: '' }],
    [/--callback-url/, { 'callback-url': 'nowhere' }],
    [/--callback-url/, { 'callback-url': 'ftp://x.example/' }],
    [/--redirect-uri "javascript:1"/, { 'redirect-uri': 'javascript:1' }],
    [/"school" is not a scope/, { scopes: 'school' }],
    [/"Staff:maybe" is not a scope/, { scopes: 'Staff:maybe' }],
    [/twice/, { scopes: 'School,School:optional' }],
    [/at least one scope/, { scopes: ',' }],
  ];
  await Promise.all(bad.map(([reason, changes]) => assertFails(reason, 'application add', ...options(changes))));
});

test('an authorisation is given, paused, resumed, revoked and given again, each at the next call', async () => {
  await assertFails(/no application nobody/, 'authorise --rp nobody --estab 1234567');
  await assertFails(/no establishment 7/, 'authorise --rp app.one --estab 7');
  await assertFails(/does not ask for Contact/, 'authorise --rp app.one --estab 1234567 --scopes School,Contact');
  await assertFails(/has not authorised app\.one/, 'pause --rp app.one --estab 1234567');
  const given = await json<{ schoolSecret: string; scopes: string[]; state: string }>(
    'authorise --rp app.one --estab 1234567 --scopes School,Student,Identity',
  );
  assert.match(given.schoolSecret, /^sb_school_[\w-]{43}$/);
  assert.deepEqual([given.scopes, given.state], [['School', 'Student', 'Identity'], 'Approved']);
  const status = () => tokenB('app.one', '1234567', given.schoolSecret);
  assert.equal(await status(), 200);
  for (const [command, state, expected] of [['pause', 'Paused', 401], ['resume', 'Approved', 200], ['revoke', 'Revoked', 401]] as const) {
    const { stopped, ...changed } = await json<{ stopped: number }>(`${command} --rp app.one --estab 1234567`);
    assert.deepEqual([changed, typeof stopped], [{ rp: 'app.one', estab: '1234567', state }, 'number']);
    assert.equal(await status(), expected, command);
  }
  await assertFails(/Revoked[^]*authorise --rp app\.one/, 'resume --rp app.one --estab 1234567');
  await assertFails(/Revoked/, 'rotate --secret school --rp app.one --estab 1234567');
  const again = await schoolbell('authorise --rp app.one --estab 1234567');
  const secret = /^schoolSecret +(\S+)$/m.exec(again.out)?.[1] ?? '';
  assert.deepEqual([again.code, await tokenB('app.one', '1234567', secret), await status()], [0, 200, 401]);
});

test('every kind of secret can be replaced', async () => {
  const app = await json<Record<string, string>>('application add --rp app.two --name Two --callback-url https://two.example/ --scopes School');
  const { schoolSecret } = await json<{ schoolSecret: string }>('authorise --rp app.two --estab 1234567');
  const [client, management, signing, school] = await Promise.all(
    ['client', 'management', 'signing', 'school'].map((kind) =>
      json<Record<string, string>>(`rotate --rp app.two --secret ${kind}`, ...(kind === 'school' ? ['--estab', '1234567'] : [])),
    ),
  );
  assert.match(signing?.signingSecret ?? '', /^whsec_/);
  assert.deepEqual(
    [
      await tokenA(app.clientId ?? '', app.clientSecret ?? ''), await tokenA(app.clientId ?? '', client?.clientSecret ?? ''),
      await tokenM('app.two', app.managementSecret ?? ''), await tokenM('app.two', management?.managementSecret ?? ''),
      await tokenB('app.two', '1234567', schoolSecret), await tokenB('app.two', '1234567', school?.schoolSecret ?? ''),
    ],
    [401, 200, 401, 200, 401, 200],
  );
  const { tokenKey } = await json<{ tokenKey: string }>('keys rotate');
  const keys = ((await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }).keys;
  assert.ok(keys.some((key) => key.kid === tokenKey));
  const resealed = await schoolbell('keys reseal');
  assert.deepEqual([resealed.code, resealed.err], [0, '']);
  assert.match(resealed.out, /^token keys +1 +0$[^]*any other may now go/m);
  const wrong = await run(['keys', 'reseal'], { ...settings, SECRET_KEY: 'another key than the one of this database' });
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /^schoolbell: no key of SECRET_KEY opens .*the signing secret of app\.two/);
  await Promise.all([
    assertFails(/"password"[^]*school, management, client, signing/, 'rotate --rp app.two --secret password'),
    assertFails(/--estab is missing/, 'rotate --rp app.two --secret school'),
    assertFails(/--rp is missing/, 'rotate --secret client'),
    assertFails(/no application nobody/, 'rotate --rp nobody --secret client'),
    assertFails(/not authorised/, 'rotate --rp nobody --estab 1234567 --secret school'),
  ]);
});

test('a folder and a zip are imported, refused and held, and every answer is one JSON document', async () => {
  const numbers = ({ added, changed, removed, unchanged, rejected }: Record<string, unknown>) => [added, changed, removed, unchanged, rejected];
  const whole = await folderOf('whole', { users: people(60) });
  const first = await json('import --estab 1234567', whole);
  assert.deepEqual([first.outcome, numbers(first)], ['done', [61, 0, 0, 0, 0]]);
  const zip = join(folder, 'whole.zip');
  assert.deepEqual(await json('export --estab 1234567', zip), {
    estab: '1234567', version: 1, file: zip, collections: { orgs: 1, users: 60 }, leftOut: 0,
  });
  assert.equal(statSync(zip).mode & 0o777, 0o600, 'a roster is only for the person who exported it');
  assert.deepEqual(numbers(await json('import --estab 1234567', zip)), [0, 0, 0, 61, 0]);
  const edition = await json<{ collections: object }>('export --oneroster 1.2 --estab 1234567', join(folder, 'whole-1p2.zip'));
  assert.deepEqual(edition.collections, { orgs: 1, users: 60 });

  const broken = await folderOf('broken', { users: [...people(60), row('x1', 'pupil')] });
  const refused = await assertFails(/refused: 1 problem, nothing was changed \(--partial/, 'import --json --estab 1234567', broken);
  const report = JSON.parse(refused.out) as { outcome: string; problems: object[] };
  assert.deepEqual(
    [report.outcome, report.problems.map((problem) => ({ ...problem, rule: '' }))],
    ['refused', [{ file: 'users.csv', line: 62, column: 'role', value: 'pupil', rule: '' }]],
  );
  assert.match((await assertFails(/refused/, 'import --estab 1234567', broken)).out, /users\.csv, line 62, role "pupil": must be one of/);
  assert.deepEqual(numbers(await json('import --partial --estab 1234567', broken)), [0, 0, 0, 61, 1]);

  const shrunk = await folderOf('shrunk', { users: people(40) });
  const held = await assertFails(/20 of 60 student users \(33\.3 %\) would be deleted[^]*--force/, 'import --json --estab 1234567', shrunk);
  assert.equal((JSON.parse(held.out) as { outcome: string }).outcome, 'held');
  assert.deepEqual(numbers(await json('import --force --estab 1234567', shrunk)), [0, 0, 20, 41, 0]);
  assert.equal((await json<{ connector: string }[]>('school list'))[0]?.connector, 'csv');

  const nowhere = await assertFails(/refused: 1 problem/, 'import --json --estab 1234567', join(folder, 'nowhere.zip'));
  assert.match(nowhere.out, /no such zip or folder/);
  assert.doesNotMatch(nowhere.err, /--partial/);
  await assertFails(/no establishment 7/, 'import --estab 7', whole);
  await assertFails(/exactly one path/, 'import --estab 1234567', whole, zip);
});

test('an export of no school or to two files fails in words', async () => {
  await Promise.all([
    assertFails(/no establishment 7/, 'export --estab 7', join(folder, 'x.zip')),
    assertFails(/exactly one path/, 'export --estab 1234567', 'a.zip', 'b.zip'),
    assertFails(/--oneroster must be 1\.1 or 1\.2/, 'export --estab 1234567 --oneroster 1.3', join(folder, 'x.zip')),
  ]);
  assert.equal(existsSync(join(folder, 'x.zip')), false);
});

test('status shows the database, the schools and who may read them', async () => {
  const status = await json<{
    database: { embedded: boolean; migration: number };
    schools: Record<string, unknown>[];
    authorisations: Record<string, unknown>[];
  }>('status');
  assert.equal(status.database.embedded, false);
  assert.deepEqual(
    status.schools.map(({ estab, records, version, lastImport }) => [estab, records, version, lastImport]),
    // Twenty of 61 have left.
    [['1234567', 41, 2, 'refused']],
  );
  assert.deepEqual(
    status.authorisations.map(({ estab, rp, state }) => [estab, rp, state]),
    [
      ['1234567', 'app.one', 'Installing'],
      ['1234567', 'app.two', 'Installing'],
    ],
  );
  assert.match((await schoolbell('status')).out, /^ESTAB +NAME +RECORDS[^]*^1234567 +St Mary's +41 [^]*^ESTAB +APPLICATION[^]*app\.one/m);
});

test('a removed school takes its roster and authorisations with it', async () => {
  await json('school remove --yes --estab 1234567');
  const status = await json<{ schools: unknown[]; authorisations: unknown[] }>('status');
  assert.deepEqual([status.schools, status.authorisations, (await service.db`select from roster_user`).length], [[], [], 0]);
});

test('a package of 1.2 is imported with what 1.1 has no word for, which its report has too, and comes out as 1.2', async () => {
  await json('school add --estab 1200012 --name Lakeside --email office@lakeside.example');
  const { out } = await schoolbell('import --estab 1200012', join(import.meta.dirname, '../test/fixtures/school-1p2'));
  assert.match(out, /^roles\.csv, role "ext:librarian": 1 record; OneRoster 1\.1 has no such word, there it is shown as aide$/m);
  assert.match(out, /^demographics\.csv, sex "other": 1 record; .* left out$/m);
  const [last] = await json<{ id: string }[]>('import list --estab 1200012');
  assert.match((await schoolbell(`import show --estab 1200012 ${last?.id}`)).out, /"ext:campus": 1 record; .* shown as it is$/m);
  const zip = join(folder, 'lakeside.zip');
  assert.equal((await json<{ collections: { users: number } }>('export --estab 1200012 --oneroster 1.2', zip)).collections.users, 12);
  assert.equal((await json<{ outcome: string }>('import --estab 1200012', zip)).outcome, 'unchanged');
});
