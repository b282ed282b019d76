// Covers applications as the operator lists, edits and removes them, and secrets that overlap with their successors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { managementToken, rosteringToken, useOnboarding } from '../../test/onboarding.ts';
import { rootA, testSecretKey } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';

const onboarding = await useOnboarding();
const { service, db, url, receiver, forms, arrived, stored, events, authorisations, mailsOf } = onboarding;
const { schoolbell, json, assertFails } = useCommands({
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url, OUTBOUND_ALLOW: '127.0.0.0/8',
});

type Application = Record<string, unknown> & { rp: string; clientId: string; narrowed: string[]; moved: number; schools: number };
const listed = async (rp: string) => (await json<Application[]>('application list')).find((one) => one.rp === rp);

test('what schools read about an application is given, changed and taken away', async () => {
  const added = await json<Application>(
    'application add --rp one --callback-url https://one.example/events --scopes School,Staff:optional --website https://one.example/ ' +
      '--privacy-notice https://one.example/privacy --contact help@one.example --state-events on --name',
    'Application One',
  );
  const told = { website: 'https://one.example/', privacyNotice: 'https://one.example/privacy', contact: 'help@one.example', stateEvents: true };
  const first = await listed('one');
  assert.deepEqual(
    { ...first, created: typeof first?.created },
    {
      rp: 'one', name: 'Application One', clientId: added.clientId, callbackUrl: 'https://one.example/events', redirectUris: [], requiredScopes: ['School'],
      optionalScopes: ['Staff'], ...told, callbackChange: null, confirmedCallbackHost: null, demo: false, created: 'string', schools: 0,
    },
  );
  assert.match(
    (await schoolbell('application list')).out,
    /^RP +NAME +SCHOOLS +CLIENT ID +SCOPES +CALLBACK URL\none +Application One +0 +one\.\w+ +School,Staff:optional/,
  );
  const back = '--redirect-uri https://one.example/back --redirect-uri http://localhost:1/';
  const renamed = await json<Application>(`application edit --rp one --name Renamed ${back}`);
  assert.deepEqual([renamed.name, renamed.redirectUris, renamed.website], ['Renamed', ['https://one.example/back', 'http://localhost:1/'], told.website]);
  const bare = ['--website', '', '--privacy-notice', '', '--contact', '', '--redirect-uri', '', '--state-events', 'off'];
  const cleared = await json<Application>('application edit --rp one', ...bare);
  assert.deepEqual(
    [cleared.website, cleared.privacyNotice, cleared.contact, cleared.redirectUris, cleared.stateEvents, cleared.name],
    [null, null, null, [], false, 'Renamed'],
  );
  for (const [reason, ...options] of [
    [/nothing is to be changed: give one of --name, --callback-url/],
    [/--website "one": not a URL that begins with http/, '--website', 'one'],
    [/--privacy-notice "ftp:\/\/x\/": not a URL/, '--privacy-notice', 'ftp://x/'],
    [/--contact "somebody": not an e-mail address/, '--contact', 'somebody'],
    [/--callback-url/, '--callback-url', ''],
    [/--state-events "maybe": must be on or off/, '--state-events', 'maybe'],
    [/at least one scope/, '--scopes', ','],
  ] as [RegExp, ...string[]][])
    await assertFails(reason, 'application edit --rp one', ...options);
  await assertFails(/no application nobody; application list shows/, 'application edit --rp nobody --name X');
});

test('a grant never exceeds what is asked for: less holds at once and is on record, more waits for the school', async () => {
  const app = await service.addClient('two', [], 'School,Student,Contact:optional');
  await service.addSchool('n1', smallPackage());
  await service.addSchool('n2');
  const { schoolSecret } = await json<{ schoolSecret: string }>('authorise --rp two --estab n1 --scopes School,Student,Contact');
  await json('authorise --rp two --estab n2 --scopes School,Student');
  await service.addSchool('n3');
  await json('invite --rp two --estab n3');
  const school = async (path: string) => {
    const body = JSON.stringify({ estab: 'n1', relyingParty: 'two', password: schoolSecret });
    const answer = await fetch(`${url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return (await fetch(`${url}/api/v1/${path}`, { headers: { authorization: `Idaas ${((await answer.json()) as { token: string }).token}` } })).status;
  };
  assert.deepEqual([await school('Contacts'), await school('Students')], [200, 200]);
  const edited = await json<Application>('application edit --rp two --scopes School,Student:optional,Staff');
  assert.deepEqual(edited.narrowed, ['n1']);
  assert.deepEqual([await school('Contacts'), await school('Students'), await school('Staff')], [403, 200, 403]);
  assert.deepEqual((await authorisations('n1')).map(({ scopes }) => scopes), [['School', 'Student']]);
  assert.deepEqual({ ...(await events('n1')).at(-1) }, { rp: 'two', state: 'Scopes changed', actor: 'operator', scopes: ['School', 'Student'] });
  assert.equal((await mailsOf('n1')).length, 2, 'the school has a receipt of the approval and of the change');
  const [open] = await db`select required_scopes, optional_scopes from invitation where estab = 'n3' and rp = ${app.rp} and state = 'Invited'`;
  assert.deepEqual({ ...open }, { required_scopes: ['School'], optional_scopes: ['Student'] });
});

test('calls that wait for an old callback URL go to the new one, and what held the old one back is forgotten', async () => {
  await service.addSchool('m1');
  await onboarding.addAsking('moves', 'School', { callbackUrl: 'http://127.0.0.1:1/gone' });
  await service.work();
  await json('authorise --rp moves --estab m1');
  await arrived('a first attempt', async () => (await stored('m1')).some(({ attempts }) => attempts > 0), () => stored('m1'));
  await db`update lane set disabled_at = now(), disabled_why = 'answered 410' where key = 'callback moves'`;
  const { moved } = await json<Application>(`application edit --rp moves --callback-url ${receiver.origin}/moves`);
  assert.equal(moved, 1);
  await arrived('the form', () => forms('moves').length === 1, () => stored('m1'));
  assert.match(forms('moves')[0]?.schoolSecret ?? '', /^sb_school_/);
  await arrived('it is settled', async () => (await stored('m1')).every(({ state }) => state === 'done'), () => stored('m1'));
  const { moved: none } = await json<Application>('application edit --rp moves --callback-url https://moves.example/later');
  assert.equal(none, 0, 'what has arrived stays where it arrived');
});

test('application remove takes everything of it, ends its tokens at the next call, tells the schools, and leaves a record', async () => {
  await service.addSchool('r1', smallPackage());
  const app = await service.addClient('goes', ['r1']);
  await app.s('r1', 'Webhook', { method: 'POST', body: JSON.stringify({ url: 'https://goes.example/changed', DatabaseName: 'SchoolData' }) });
  assert.deepEqual([(await app.b('r1', '/orgs')).status, (await app.a('/orgs')).status, (await app.s('r1', 'Students')).status], [200, 200, 200]);
  const dry = await json<{ counts: Record<string, number> }>('application remove --rp goes --dry-run');
  assert.deepEqual([dry.counts.secrets, dry.counts.authorisations, dry.counts.registrations], [3, 1, 1]);
  await assertFails(/the application goes Application goes would go for good.*--yes/, 'application remove --rp goes');
  await assertFails(/no application nobody/, 'application remove --rp nobody --yes');
  assert.equal((await app.b('r1', '/orgs')).status, 200);
  const removed = await json<{ removed: boolean }>('application remove --rp goes --yes');
  assert.equal(removed.removed, true);
  assert.deepEqual([(await app.b('r1', '/orgs')).status, (await app.a('/orgs')).status, (await app.s('r1', 'Students')).status], [401, 400, 401]);
  assert.equal(await listed('goes'), undefined);
  for (const table of ['application_secret', 'authorisation', 'authorisation_event', 'school_secret', 'webhook', 'invitation'])
    assert.equal((await db`select from ${db(table)} where rp = 'goes'`).length, 0, table);
  assert.equal((await db`select from outbox where rp = 'goes' and kind <> 'mail'`).length, 0);
  assert.equal((await mailsOf('r1')).length, 1, 'the school is told');
  const [erasure] = await db`select what, counts from erasure order by number desc limit 1`;
  assert.equal(erasure?.what, 'application');
  assert.doesNotMatch(JSON.stringify(erasure), /goes/);
  const record = (await json<{ kind: string; rp: string; what: string }[]>('audit')).filter(({ kind, rp }) => kind === 'decision' && rp === 'goes');
  assert.deepEqual(record.slice(0, 2).map(({ what }) => what), ['Removed', 'Revoked'], 'what the schools decided stays');
  const visitor = await onboarding.signIn('r1');
  assert.match(await visitor.text('/school/home'), /No longer shared with[^]*Application goes[^]*Removed/);
  const page = await visitor.text('/school/applications/goes');
  assert.match(page, /Application goes[^]*no longer part of this service[^]*What happened[^]*removed from this service[^]*Revoked/);
  assert.doesNotMatch(page, /Privacy notice|Messages waiting/);
  assert.doesNotMatch(page, /<button[^>]*>(?:Pause|Yes, revoke)/);
  const again = await json<{ clientId: string }>('application add --rp goes --name Again --callback-url https://goes.example/ --scopes School');
  assert.notEqual(again.clientId, app.clientId);
  await json('authorise --rp goes --estab r1');
  assert.match(await visitor.text('/school/applications/goes'), /Again[^]*What happened[^]*(?:Approved|Live)[^]*Revoked/, 'one record, from before and after');
  assert.doesNotMatch(await visitor.text('/school/home'), /No longer shared with/);
});

test('an old secret stays valid beside its successor for as long as was asked, and ends then', async () => {
  await service.addSchool('k1', smallPackage());
  const app = await service.addClient('keeps', ['k1']);
  const first = { client: app.clientSecret, management: app.managementSecret, school: app.schoolSecrets.k1 ?? '' };
  const basic = (secret: string) => ({ authorization: `Basic ${Buffer.from(`${app.clientId}:${secret}`).toString('base64')}` });
  const works = {
    client: async (secret: string) => (await fetch(`${url}${rootA}/token`, { method: 'POST', headers: basic(secret) })).status === 200,
    management: async (secret: string) => (await managementToken(url, 'keeps', secret)) !== null,
    school: async (secret: string) => (await rosteringToken(url, 'keeps', 'k1', secret)).status === 200,
  };
  for (const kind of ['client', 'management', 'school'] as const) {
    const pair = `--rp keeps --secret ${kind}${kind === 'school' ? ' --estab k1' : ''}`;
    const rotate = async (keep: string) => {
      const answer = await json<Record<string, string>>(`rotate ${pair}${keep}`);
      return { secret: answer[`${kind}Secret`] ?? '', ends: Date.parse(answer.oldEnds ?? '') - Date.now() };
    };
    const second = await rotate(' --keep-old 24h');
    assert.ok(Math.abs(second.ends - 24 * 3_600_000) < 60_000, String(second.ends));
    assert.deepEqual([await works[kind](first[kind]), await works[kind](second.secret)], [true, true], kind);
    const third = await rotate(' --keep-old 7d');
    assert.deepEqual([await works[kind](first[kind]), await works[kind](second.secret), await works[kind](third.secret)], [true, true, true]);
    const table = kind === 'school' ? 'school_secret' : 'application_secret';
    const ends = await db<{ hours: number | null }[]>`
      select round(extract(epoch from valid_until - now()) / 3600)::int as hours from ${db(table)} where rp = 'keeps'
        ${kind === 'school' ? db`and estab = 'k1'` : db`and kind = ${kind}`} order by created_at`;
    assert.deepEqual(ends.map(({ hours }) => hours), [24, 168, null], 'a later rotation does not lengthen the life of an older secret');
    await db`update ${db(table)} set valid_until = now() - interval '1 second' where valid_until is not null and rp = 'keeps'`;
    assert.deepEqual([await works[kind](first[kind]), await works[kind](second.secret), await works[kind](third.secret)], [false, false, true]);
    const last = await rotate('');
    assert.deepEqual([await works[kind](third.secret), await works[kind](last.secret)], [false, true], 'without --keep-old at once');
  }
  assert.match((await schoolbell('rotate --rp keeps --secret signing')).out, /\nThe old one ends at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+\.\n$/);
  assert.match((await schoolbell('rotate --rp keeps --secret client')).out, /\nThe old one has ended\.\n$/);
  await assertFails(/--keep-old "tomorrow": not a duration such as 30m, 24h or 7d/, 'rotate --rp keeps --secret client --keep-old tomorrow');
  await assertFails(/--keep-old "31d": 30d is the most/, 'rotate --rp keeps --secret client --keep-old 31d');
  await assertFails(/--estab does not go with --secret client/, 'rotate --rp keeps --secret client --estab k1');
});
