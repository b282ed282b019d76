// Covers editing and removing schools: what follows from a new address or source, who is asked before anything goes, and
// what stays to be seen of it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertFailed, useCommands } from '../../test/commands.ts';
import { useOnboarding, zip } from '../../test/onboarding.ts';
import { testSecretKey } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { noteLook } from '../access/audit-trail.ts';
import { counted } from '../collection/count-school.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-school-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const onboarding = await useOnboarding();
const { service, db, url } = onboarding;
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url };
const { run, schoolbell, json, assertFails } = useCommands(settings);

type School = { estab: string; name: string; email: string; timeZone: string; connector: string | null; invited: number };

test('a school is added with its source or not at all: after a cut the same command is not refused', async () => {
  const adding = () => schoolbell('school add --estab whole --name Whole --email office@whole.example --connector csv --folder', folder);
  await db.unsafe(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$`);
  await db.unsafe('create trigger fail before insert on connector_setting for each row execute function fail()');
  try {
    assert.equal((await adding()).code, 1);
  } finally {
    await db.unsafe('drop function fail cascade');
  }
  assert.deepEqual(await db`select from establishment where estab = 'whole'`, []);
  assert.equal((await adding()).code, 0);
});

test('a refused school add reports every fault at once', async () => {
  const options = '--estab a/b --name x --email office --time-zone Mars --connector oneroster --url ftp://mis.example --folder /tmp';
  const { code, err } = await schoolbell(`school add ${options} --scope`, 'a"b');
  assert.equal(code, 1);
  const faults = [/--estab "a\/b"/, /--email "office"/, /--time-zone "Mars"/, /--folder does not go with/, /ftp:\/\/mis\.example/, /client id/, /scope/];
  assert.deepEqual(faults.filter((fault) => !fault.test(err)), [], err);
  assert.deepEqual(await db`select from establishment where estab = 'a/b'`, []);
  await assertFails(/--email "office"[^]*--time-zone "Mars"/, 'school edit --estab whole --email office --time-zone Mars');
});

const noUrl = /--url is missing/;
const unknownVersion = /OneRoster version "9\.9"/;
const noCredentials = /client id and a client secret/;
const badScope = /scope must be plain text/;
const kept = /another than the secret was given for/;
const noSource = '--connector oneroster --oneroster-version 9.9';
for (const [line, more, faults] of [
  [`school add --estab one --name x --email a@x.example ${noSource}`, ['--scope', 'a"b'], [noUrl, unknownVersion, noCredentials, badScope]],
  [`school add --estab one --name x --email a@x.example ${noSource} --url ftp://mis.example`, [], [/ftp:\/\/mis\.example/, unknownVersion, noCredentials]],
  [
    `school add --estab a/b --email nobody ${noSource}`, [],
    [/--name is missing/, /--estab "a\/b"/, /--email "nobody"/, noUrl, unknownVersion, noCredentials, /Usage:/],
  ],
  [`school add --name x --email nobody`, [], [/--estab is missing/, /--email "nobody"/]],
  [
    `school add --estab one --name x --email nobody ${noSource} --client-secret a --client-secret-file`, ['/nowhere'],
    [/--email "nobody"/, noUrl, unknownVersion, noCredentials, /either --client-secret or --client-secret-file/],
  ],
  [
    `school add --estab one --name x --email nobody --connector oneroster --client-id a --client-secret-file`, ['/nowhere'],
    [/--email "nobody"/, noUrl, /--client-secret-file \/nowhere/],
  ],
  [`school edit --estab whole --email nobody ${noSource}`, [], [/--email "nobody"/, noUrl, unknownVersion, noCredentials]],
  [`school edit --estab provided ${noSource} --client-id a`, [], [noUrl, unknownVersion]],
  [`school edit --estab provided ${noSource} --url https://other.example/`, ['--scope', 'a"b'], [kept, unknownVersion, noCredentials, badScope]],
  [
    `school source --estab whole --test ${noSource}`, ['--scope', 'a"b', '--folder', '/tmp'],
    [/--folder does not go/, noUrl, unknownVersion, noCredentials, badScope],
  ],
  [`school source --estab whole ${noSource}`, [], [/only tried here, with --test/, noUrl, unknownVersion, noCredentials]],
] as const) {
  test(`every fault of "${line} ${more.join(' ')}" is reported, once`, async () => {
    if (line.includes('provided') && (await db`select from establishment where estab = 'provided'`).length === 0) {
      const source = '--connector oneroster --url https://mis.example/ --client-id a --client-secret b';
      assert.equal((await schoolbell(`school add --estab provided --name x --email a@x.example ${source}`)).code, 0);
    }
    const { code, err } = await schoolbell(line, ...more);
    assert.equal(code, 1);
    const known = [noUrl, unknownVersion, noCredentials, badScope, kept];
    const reported = (fault: RegExp) => err.split(fault).length - 1;
    assert.deepEqual(faults.filter((fault) => reported(fault) !== 1), [], err);
    assert.deepEqual(known.filter((fault) => !(faults as readonly RegExp[]).includes(fault) && reported(fault) > 0), [], err);
    assert.doesNotMatch(err, /\n\s+at /);
    assert.deepEqual(await db`select from establishment where estab in ('one', 'a/b')`, []);
  });
}

test('what is given is changed, the rest stays', async () => {
  await service.addSchool('a');
  const edited = await json<School>('school edit --estab a --time-zone Europe/Dublin --name', 'Another Name');
  assert.deepEqual([edited.name, edited.email, edited.timeZone, edited.connector], ['Another Name', 'office@a.example', 'Europe/Dublin', null]);
  assert.match((await schoolbell('school edit --estab a --name A')).out, /^name +A$[^]*^time zone +Europe\/Dublin$/m);
  await assertFails(/nothing is to be changed: give one of --name, --email, --time-zone, --connector/, 'school edit --estab a');
  await assertFails(/no establishment nobody/, 'school edit --estab nobody --name X');
  await assertFails(/--email "office"/, 'school edit --estab a --email office');
  await assertFails(/--time-zone "Mars"/, 'school edit --estab a --time-zone Mars');
  await assertFails(/--name: must not be empty/, 'school edit --estab a --name', ' ');
  const [row] = await db`select name, email, time_zone from establishment where estab = 'a'`;
  assert.deepEqual({ ...row }, { name: 'A', email: 'office@a.example', time_zone: 'Europe/Dublin' });
});

test('a new address of record ends what was sent to the old one, and whoever was asked is asked there', async () => {
  await service.addSchool('b');
  await onboarding.addAsking('asks-b');
  const { link } = await json<{ link: string }>('invite --rp asks-b --estab b');
  const visitor = await onboarding.signIn('b');
  assert.equal((await visitor.get('/school/home')).status, 200);
  assert.equal((await json<School>('school edit --estab b --email office@b.example')).invited, 0, 'the same address is no new one');
  assert.equal((await visitor.get('/school/home')).status, 200);
  assert.deepEqual(await json<School>('school edit --estab b --email head@b.example').then(({ email, invited }) => [email, invited]), ['head@b.example', 1]);
  assert.notEqual((await visitor.get('/school/home')).status, 200, 'the session has ended');
  assert.notEqual((await fetch(link, { redirect: 'manual' })).status, 303, 'the old link does not open');
  assert.deepEqual((await onboarding.mailsOf('b')).map(({ to }) => to), ['office@b.example', 'head@b.example']);
});

test('a school that uploaded gets a source of its own, and goes back', async () => {
  await service.addSchool('c', smallPackage());
  await assertFails(/--folder ".*nowhere": there is no such folder/, 'school edit --estab c --connector csv --folder', join(folder, 'nowhere'));
  await assertFails(/--folder does not go with a school that has no --connector/, 'school edit --estab c --folder', folder);
  await assertFails(/client id and a client secret/, 'school edit --estab c --connector oneroster --url https://mis.example/ims/oneroster/v1p1');
  assert.equal((await json<School>('school edit --estab c --connector csv --folder', folder)).connector, 'csv');
  const wanted = await db`select from outbox where estab = 'c' and kind = 'collect' and state = 'waiting'`;
  assert.ok(wanted.length > 0, 'the new source is collected at once');
  const provider = '--url https://mis.example/ims/oneroster/v1p1 --client-id i --client-secret s';
  assert.equal((await json<School>(`school edit --estab c --connector oneroster ${provider}`)).connector, 'oneroster');
  assert.equal((await json<School>('school edit --estab c --connector csv')).connector, 'csv');
  const [kept] = await db`select settings, sealed_credentials from connector_setting where estab = 'c'`;
  assert.deepEqual({ ...kept }, { settings: {}, sealed_credentials: null });
});

test('school remove asks on a terminal, needs --yes elsewhere, and says with --dry-run what would go', async () => {
  await service.addSchool('d', smallPackage());
  await service.addClient('reads-d', ['d']);
  const there = async () => (await db`select from establishment where estab = 'd'`).length;
  const dry = await json<{ dryRun: boolean; counts: Record<string, number> }>('school remove --estab d --dry-run');
  assert.deepEqual([dry.dryRun, (dry.counts.users ?? 0) > 0, dry.counts.authorisations], [true, true, 1]);
  assert.match((await schoolbell('school remove --estab d --dry-run')).out, /^the school d School d would go for good:$[^]*^users +\d+$/m);
  await assertFails(/the school d School d would go for good.*--yes/, 'school remove --estab d');
  const asked: string[] = [];
  const answering = (answer: string) => (question: string) => {
    asked.push(question);
    return Promise.resolve(answer);
  };
  for (const answer of ['', 'no', 'y', 'd']) assertFailed(await run(['school', 'remove', '--estab', 'd'], settings, answering(answer)), /nothing was changed/);
  assert.match(asked[0] ?? '', /^the school d School d goes for good:\n[^]*users +\d+\n[^]*Type yes to go on: $/);
  assert.equal(await there(), 1);
  const gone = await run(['school', 'remove', '--estab', 'd', '--json'], settings, answering('yes'));
  assert.deepEqual([gone.code, JSON.parse(gone.out)], [0, { estab: 'd', removed: true, counts: dry.counts }]);
  assert.equal(await there(), 0);
});

test('nothing of a school that is removed stays in any table, and what goes is counted', async () => {
  await service.addSchool('e', smallPackage());
  await service.addClient('reads-e', ['e']);
  const { token } = await json<{ token: string }>('school upload-token --estab e');
  const few = await zip(smallPackage());
  const sent = await fetch(`${url}/api/v1/School/e/Roster`, { method: 'PUT', headers: { authorization: `Bearer ${token}` }, body: Uint8Array.from(few) });
  assert.equal(sent.status, 202);
  const [run] = await db<{ id: string }[]>`select id from import_run where estab = 'e' limit 1`;
  await db`insert into import_fault (estab, import, number, file, rule) values ('e', ${run?.id ?? ''}, 1, 'users.csv', 'a rule')`;
  await db`insert into import_loss (estab, import, collection, sourced_id, name) values ('e', ${run?.id ?? ''}, 'users', 'u', 'Ann Example')`;
  await db`insert into request_line (at, rp, estab, method, path, status, ms, request_id) values (now(), '', 'e', 'GET', '/api', 200, 1, 'one')`;
  await json('application remove --rp reads-e --yes');
  await noteLook(db, { name: 'somebody', via: 'console', from: '::1' }, { action: 'look at e', estab: 'e', subject: 'Ann Example', detail: { of: 'e' } });
  const tables = await db<{ name: string }[]>`
    select table_name as name from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and column_name = 'estab' and table_type = 'BASE TABLE' order by 1`;
  const known = new Set([...counted.flatMap(([, ...names]) => names), ...uncounted]);
  assert.deepEqual(tables.filter(({ name }) => !known.has(name) && !name.startsWith('stage_')).map(({ name }) => name), []);
  const { counts } = await json<{ counts: Record<string, number> }>('school remove --estab e --yes');
  assert.deepEqual(
    ['decisions', 'upload tokens', 'receipts of packages', 'uploaded packages', 'faults of imports', 'records that a held import would remove',
      'requests of the last days'].filter(
      (words) => !counts[words],
    ),
    [],
  );
  for (const { name } of tables) assert.equal((await db`select from ${db(name)} where estab = 'e'`).length, 0, name);
  const [looked] = await db`select actor, estab, subject, detail from audit_event where action = 'look at e'`;
  assert.deepEqual({ ...looked }, { actor: 'somebody', estab: null, subject: null, detail: {} }, 'who did something stays to be seen');
});

/** Parts of what is counted, what opens it for a while, how things stand, and what operators did, which loses the school's name. */
const uncounted = [
  'attendance_version', 'audit_event', 'availability_wait', 'component_database', 'connector_setting', 'demo_mark', 'demo_write', 'establishment',
  'import_end', 'login_session', 'outbox_attempt', 'reading', 'registration_link', 'roster', 'roster_milestone', 'roster_standing',
  'roster_total', 'roster_touch', 'roster_version', 'school_link', 'school_secret', 'school_session', 'upload_piece', 'writeback_mark',
];

test('the record of an erasure says what, how much and when, not whose; audit shows it among what else was done', async () => {
  await service.addSchool('secret-school', smallPackage());
  const removed = await json<{ counts: Record<string, number> }>('school remove --yes --estab secret-school');
  const [erasure] = await db`select what, counts, at from erasure order by number desc limit 1`;
  assert.deepEqual([erasure?.what, erasure?.counts], ['school', removed.counts]);
  type Entry = { at: string; kind: string; what: string; estab: string | null; detail: string };
  const all = await json<Entry[]>('audit');
  const [newest] = all;
  assert.deepEqual([newest?.kind, newest?.what, newest?.estab], ['erasure', 'school removed', null]);
  assert.match(newest?.detail ?? '', /\d+ users/);
  assert.doesNotMatch(JSON.stringify(all), /secret-school/);
  assert.ok(all.some(({ kind, what, estab }) => kind === 'decision' && what === 'Invited' && estab === 'b'));
  assert.deepEqual(all.map(({ at }) => at), all.map(({ at }) => at).toSorted().toReversed());
  assert.deepEqual(await json('audit --since', new Date(Date.now() + 60_000).toISOString()), []);
  assert.match((await schoolbell('audit')).out, /^AT +KIND +WHAT +BY/);
  await assertFails(/--since: "yesterday" is not a time such as/, 'audit --since yesterday');
});
