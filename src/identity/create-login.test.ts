// Tests CreateLogin and CreateUser through HTTP: who gets a login, which mails go out, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invite } from '../onboarding/invitations.ts';
import { basic, openForm, useIdentity, withOffice, type Asked } from '../../test/identity.ts';
import { addApplication } from '../access/applications.ts';

const identity = await useIdentity();
const { db, url, service, answer, refused, person, users, links, client, school, management, audited } = identity;
const schoolTwo = basic('app|two', client.schoolSecrets['two'] ?? '');
const camelCase = ['id', 'displayName', 'firstName', 'surname', 'lastLoggedIn', 'userName', 'roles', 'presenceType', 'workEmail', 'email'];
const manual = (email: string, more: object = {}) => ({
  title: 'Dr', firstName: 'Ada', lastName: 'Byron', displayName: 'Ada B.', email, mobile: '07700 900000', ...more,
});
const letAnHourPass = () => db`update identity_audit set at = at - interval '1 hour'`;
const opens = async (link: string | undefined) => (await fetch(link ?? '')).status;

test('CreateLogin answers the user in camelCase and mails a link to the work e-mail', async () => {
  const { Id } = await person('Given p1');
  const answered = await answer<Record<string, string>[]>('CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  assert.equal(answered.length, 1);
  assert.deepEqual(Object.keys(answered[0] ?? {}), camelCase);
  assert.deepEqual(answered[0], {
    id: Id, displayName: 'Given p1 Family', firstName: 'Given p1', surname: 'Family', lastLoggedIn: '', userName: 'p1', roles: 'student',
    presenceType: 'Learners', workEmail: 'p1@school.example', email: 'p1@school.example',
  });
  assert.deepEqual(Object.values(await person('Given p1')), Object.values(answered[0] ?? {}), 'GetUsers says the same');
  assert.equal(await opens((await links('p1@school.example')).at(-1)), 200);
  assert.deepEqual(
    (await audited('one')).findLast(({ operation }) => operation === 'CreateLogin'),
    { rp: 'app', operation: 'CreateLogin', id: Id, outcome: 'done' },
  );
});

test('CreateLogin takes its pair from the query, the body, or both when they are equal; repeated, the old link stops', async () => {
  const { Id } = await person('Given p1');
  const pair = { OrgId: 'one', PresenceId: Id };
  const asked: Asked[] = [
    { query: pair },
    { body: pair },
    { query: pair, body: pair },
    { query: { orgid: 'one', presenceid: Id } },
    { body: { orgId: 'one', presenceId: Id } },
    { query: pair, body: {} },
  ];
  for (const one of asked) {
    await letAnHourPass();
    const before = await links('p1@school.example');
    assert.equal((await answer<{ id: string }[]>('CreateLogin', one))[0]?.id, Id);
    const now = await links('p1@school.example');
    assert.equal(now.length, before.length + 1, JSON.stringify(one));
    assert.deepEqual([await opens(before.at(-1)), await opens(now.at(-1))], [404, 200]);
  }
  const count = (await links('p1@school.example')).length;
  await refused(400, 'CreateLogin', { query: pair, body: { ...pair, OrgId: 'two' } });
  await refused(400, 'CreateLogin', { query: pair, body: { ...pair, PresenceId: 'p-other' } });
  assert.equal((await links('p1@school.example')).length, count, 'no mail for what was refused');
  assert.equal((await db`select from login where presence_id = ${Id}`).length, 1);
});

test('CreateLogin: 404 for whom the school does not have, 422 without an e-mail, 409 once registered', async () => {
  const [{ Id }, without, elsewhere] = [await person('Given s1'), await person('Given s2'), await person('Given s1', schoolTwo)];
  const failures = [
    await refused(404, 'CreateLogin', { query: { OrgId: 'one', PresenceId: 'p-nobody' } }),
    await refused(404, 'CreateLogin', { query: { OrgId: 'one', PresenceId: elsewhere.Id } }),
    await refused(404, 'CreateLogin', { query: { OrgId: 'two', PresenceId: elsewhere.Id } }),
    await refused(404, 'CreateLogin', { query: { OrgId: 'two', PresenceId: Id } }),
    await refused(404, 'CreateLogin', { query: { OrgId: 'nowhere', PresenceId: Id } }),
  ];
  for (const failure of failures) assert.deepEqual(failure, failures[0]);
  const [contact] = await db<{ id: string }[]>`select presence_id(estab, sourced_id) as id from roster_user where estab = 'one' and sourced_id = 'a2'`;
  assert.deepEqual(await refused(404, 'CreateLogin', { query: { OrgId: 'one', PresenceId: contact?.id ?? '' } }), failures[0], 'a contact has no presence');
  await refused(422, 'CreateLogin', { query: { OrgId: 'one', PresenceId: without.Id } });
  assert.equal((await person('Given s2')).UserName, '');
  await answer('CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  const [link = ''] = await links('s1@school.example');
  const form = await openForm(url, new URL(link).pathname);
  assert.equal((await form.post({ password: 'seven green lanterns', repeated: 'seven green lanterns' })).status, 303);
  await refused(409, 'CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  assert.equal((await links('s1@school.example')).length, 1);
});

test('two CreateLogin at once make one login, of which one link opens', async () => {
  const { Id } = await person('Philippa');
  await Promise.all(Array.from({ length: 3 }, () => answer('CreateLogin', { query: { OrgId: 'one', PresenceId: Id } })));
  assert.equal((await db`select from login where presence_id = ${Id}`).length, 1);
  const statuses = await Promise.all((await links('s3@school.example')).map(opens));
  assert.deepEqual(statuses.toSorted(), [200, 404, 404]);
});

test('a name that is taken gets another', async () => {
  await answer('CreateUser', { body: { orgId: 'one', manualUser: [manual('s1'.concat('@other.example'))] } });
  await db`update roster_user set username = 'S1' where estab = 'one' and sourced_id = 's2'`;
  await db`update roster_user set email = 'aide@school.example' where estab = 'one' and sourced_id = 's2'`;
  const { Id } = await person('Given s2');
  const [made] = await answer<{ userName: string }[]>('CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  assert.equal(made?.userName, 'aide@school.example', 's1 is taken, in any case');
});

test('CreateUser adds people whom the roster does not have, each with a login and a mail', async () => {
  const wanted = [manual('ada@work.example'), { firstName: 'Grace', lastName: 'Hopper', email: 'grace@work.example' }];
  const { manualUser } = await answer<{ manualUser: object[] }>('CreateUser', { body: { orgId: 'one', partnerId: 'app', manualUser: wanted } });
  assert.deepEqual(manualUser, [
    manual('ada@work.example'),
    { title: '', firstName: 'Grace', lastName: 'Hopper', displayName: 'Grace Hopper', email: 'grace@work.example', mobile: '' },
  ]);
  const grace = await person('Grace');
  assert.deepEqual(
    { ...grace, Id: '' },
    {
      Id: '', DisplayName: 'Grace Hopper', FirstName: 'Grace', Surname: 'Hopper', LastLoggedIn: '', UserName: 'grace@work.example',
      Roles: grace.Roles, PresenceType: 'NonTeach', WorkEmail: 'grace@work.example', Email: 'grace@work.example',
    },
  );
  assert.ok((await answer<{ Id: string }[]>('GetUsers', { query: { presenceType: 'NonTeach' } })).some(({ Id }) => Id === grace.Id));
  assert.deepEqual([await opens((await links('ada@work.example'))[0]), await opens((await links('grace@work.example'))[0])], [200, 200]);
  assert.deepEqual(
    (await audited('one')).filter(({ operation, id }) => operation === 'CreateUser' && id === grace.Id).map(({ rp, outcome }) => [rp, outcome]),
    [['app', 'done']],
  );
});

test('CreateUser: an e-mail that the school knows is a 409, and nobody is added', async () => {
  await answer('CreateUser', { body: { orgId: 'one', manualUser: [manual('Mixed@Work.Example')] } });
  await db`update roster_user set email = 'P2@School.Example' where estab = 'one' and sourced_id = 'p2'`;
  const before = await users();
  const known = [
    'mixed@work.example', 'p2@school.example', 'ada@work.example', 'ADA@Work.Example', 's1@school.example', 'S1@SCHOOL.example', 'p1@school.example',
  ];
  for (const email of known) await refused(409, 'CreateUser', { body: { orgId: 'one', manualUser: [manual('new@work.example'), manual(email)] } });
  await refused(409, 'CreateUser', { body: { orgId: 'one', manualUser: [manual('twice@work.example'), manual('Twice@work.example')] } });
  assert.deepEqual(await users(), before, 'all or none');
  assert.deepEqual(await links('new@work.example'), []);
  assert.equal(
    (await answer<{ manualUser: object[] }>('CreateUser', { authorization: schoolTwo, body: { orgId: 'two', manualUser: [manual('ada@work.example')] } }))
      .manualUser.length,
    1,
    'another school knows nothing of it',
  );
  const answers = await Promise.all([1, 2, 3].map(() => identity.ask('CreateUser', { body: { orgId: 'one', manualUser: [manual('race@work.example')] } })));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
});

test('CreateUser: what is missing, empty, too long, twice or of another type is a 400', async () => {
  const good = { orgId: 'one', manualUser: [manual('bad@work.example')] };
  const long = 'x'.repeat(501);
  const bad: readonly [string, unknown][] = [
    ['nothing', undefined],
    ['a list', []],
    ['no orgId', { manualUser: good.manualUser }],
    ['orgId empty', { ...good, orgId: '' }],
    ['orgId a number', { ...good, orgId: 1 }],
    ['orgId long', { ...good, orgId: long }],
    ['orgId twice', { ...good, OrgId: 'one' }],
    ['partnerId a number', { ...good, partnerId: 1 }],
    ['partnerId long', { ...good, partnerId: long }],
    ['no users', { orgId: 'one' }],
    ['users empty', { orgId: 'one', manualUser: [] }],
    ['users an object', { orgId: 'one', manualUser: good.manualUser[0] }],
    ['a user of text', { orgId: 'one', manualUser: ['ada'] }],
    ['a user null', { orgId: 'one', manualUser: [null] }],
    ['users twice', { ...good, ManualUser: good.manualUser }],
    ['too many', { orgId: 'one', manualUser: Array.from({ length: 101 }, (_, at) => manual(`many${at}@work.example`)) }],
    ...['firstName', 'lastName', 'email'].flatMap((name): [string, unknown][] =>
      [
        [`no ${name}`, undefined],
        [`${name} empty`, ''],
        [`${name} blank`, '  '],
      ].map(([what, value]) => [String(what), { orgId: 'one', manualUser: [{ ...manual('bad@work.example'), [name]: value }] }]),
    ),
    ...['title', 'firstName', 'lastName', 'displayName', 'email', 'mobile'].flatMap((name): [string, unknown][] =>
      [
        [`${name} a number`, 5],
        [`${name} long`, name === 'email' ? `${long}@a.example` : long],
        [`${name} with NUL`, 'a\0@b.example'],
      ].map(([what, value]) => [String(what), { orgId: 'one', manualUser: [{ ...manual('bad@work.example'), [name]: value }] }]),
    ),
    ...['bad', 'bad@', '@bad', 'a b@c.example', 'a@b@c.example', 'a@b.example\r\nBcc: x@y.example', 'a,b@c.example', 'A<b@c.example>', 'a;b@c.example'].map(
      (email): [string, unknown] => [`email ${email}`, { orgId: 'one', manualUser: [manual(email)] }],
    ),
    ['flow a text', { ...good, authProcessFlow: 'true' }],
    ['flow a number', { ...good, authProcessFlow: 1 }],
  ];
  for (const [what, body] of bad) assert.equal((await refused(400, 'CreateUser', { body })).ExceptionType, 'invalid_request', what);
  assert.deepEqual(await links('bad@work.example'), []);
});

test('CreateUser by management secret: only where the application is authorised with Identity, and as itself', async () => {
  const body = (email: string, more: object = {}) => ({ orgId: 'one', partnerId: 'app', manualUser: [manual(email)], ...more });
  assert.ok(await answer('CreateUser', { authorization: management, body: body('managed@work.example') }));
  assert.ok(await person('Ada'));
  const failures = [
    await refused(404, 'CreateUser', { authorization: management, body: body('no@work.example', { partnerId: undefined }) }),
    await refused(404, 'CreateUser', { authorization: management, body: body('no@work.example', { partnerId: 'other' }) }),
    await refused(404, 'CreateUser', { authorization: management, body: body('no@work.example', { orgId: 'nowhere' }) }),
    await refused(404, 'CreateUser', { authorization: school, body: body('no@work.example', { orgId: 'two' }) }),
    await refused(404, 'CreateUser', { authorization: school, body: body('no@work.example', { partnerId: 'other' }) }),
  ];
  const other = await service.addClient('roster-only', ['one'], 'School,Student');
  const asOther = { authorization: basic('roster-only', other.managementSecret), body: body('no@work.example', { partnerId: 'roster-only' }) };
  failures.push(await refused(404, 'CreateUser', asOther));
  await identity.change('app', 'two', 'Paused');
  failures.push(await refused(404, 'CreateUser', { authorization: management, body: body('no@work.example', { orgId: 'two' }) }));
  await identity.change('app', 'two', 'Approved');
  for (const failure of failures) assert.deepEqual(failure, failures[0]);
  assert.deepEqual(await links('no@work.example'), []);
});

test('CreateUser while the school is asked: with authProcessFlow, and the way leads on to the request', async () => {
  await service.addSchool('asked');
  const asking = await addApplication(db, service.seal, {
    rp: 'asking', name: 'Asking', callbackUrl: 'http://127.0.0.1:9/events', scopes: 'School,Identity', redirectUris: [],
  });
  const authorization = basic('asking', asking.managementSecret);
  const body = { orgId: 'asked', partnerId: 'asking', manualUser: [manual('head@asked.example')] };
  await refused(404, 'CreateUser', { authorization, body: { ...body, authProcessFlow: true } });
  await invite(db, url, {
    estab: 'asked', rp: 'asking', schoolName: 'School asked', contactEmail: 'office@asked.example', reason: null, scopes: undefined, by: 'operator',
  });
  await refused(404, 'CreateUser', { authorization, body });
  await refused(404, 'CreateUser', { authorization, body: { ...body, authProcessFlow: false } });
  await answer('CreateUser', { authorization, body: { ...body, authProcessFlow: true } });
  const [link = ''] = await links('head@asked.example');
  const form = await openForm(url, new URL(link).pathname);
  const after = await form.post({ password: 'a wide and silent moor', repeated: 'a wide and silent moor' });
  assert.equal(after.status, 200);
  assert.match(await after.text(), /href="\/school"/);
  assert.deepEqual([...(await db`select from authorisation where estab = 'asked'`)], [], 'a login decides nothing');
});

test('a person is sent three mails an hour, however often and by whomever a login is asked for', async () => {
  await service.addSchool('often', withOffice());
  const [one, other] = [await service.addClient('often-one', ['often']), await service.addClient('often-other', ['often'])];
  const [first, second] = [basic('often-one|often', one.schoolSecrets['often'] ?? ''), basic('often-other|often', other.schoolSecrets['often'] ?? '')];
  const pair = { OrgId: 'often', PresenceId: (await person('Given p1', first)).Id };
  const sent = async () => (await db`select from outbox where estab = 'often' and kind = 'mail'`).length;
  const again = (_: unknown, at: number) => identity.ask('CreateLogin', { authorization: at % 2 ? first : second, query: pair });
  const answers = await Promise.all(Array.from({ length: 40 }, again));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array<number>(3).fill(200), ...Array<number>(37).fill(429)]);
  assert.equal(await sent(), 3);
  const refusal = await identity.ask('CreateLogin', { authorization: first, query: pair });
  const wait = Number(refusal.headers.get('retry-after'));
  assert.ok(wait > 3000 && wait <= 3600, String(wait));
  assert.match(((await refusal.json()) as { ExceptionMessage: string }).ExceptionMessage, /3 registration mails within the last hour/);
  const colleague = { OrgId: 'often', PresenceId: (await person('Given s1', first)).Id };
  assert.equal((await identity.ask('CreateLogin', { authorization: first, query: colleague })).status, 200, 'a colleague is somebody else');
  assert.deepEqual((await audited('often')).filter(({ outcome }) => outcome === 'refused: too_many_requests').length, 38);
  await letAnHourPass();
  assert.equal((await identity.ask('CreateLogin', { authorization: first, query: pair })).status, 200, 'an hour later');
  assert.equal(await sent(), 5);
});

test('a school is sent five thousand mails a day; of users beyond that none is added', async () => {
  await service.addSchool('large', withOffice());
  const { schoolSecrets } = await service.addClient('large', ['large']);
  const authorization = basic('large|large', schoolSecrets['large'] ?? '');
  await db`
    insert into identity_audit (estab, at, rp, operation, presence_id, outcome)
    select 'large', now() - interval '23 hours' + n * interval '1 second', 'large', case when n % 2 = 0 then 'CreateLogin' else 'CreateUser' end,
      'p' || n, 'done' from generate_series(1, 4998) n`;
  const add = (...emails: string[]) =>
    identity.ask('CreateUser', { authorization, body: { orgId: 'large', manualUser: emails.map((email) => manual(email)) } });
  const before = (await users(authorization)).length;
  const refusal = await add('a@large.example', 'b@large.example', 'c@large.example');
  assert.equal(refusal.status, 429);
  const wait = Number(refusal.headers.get('retry-after'));
  assert.ok(wait > 3000 && wait <= 3601, `until the first of them is a day old: ${wait}`);
  assert.match(((await refusal.json()) as { ExceptionMessage: string }).ExceptionMessage, /5,000 registration mails a day/);
  assert.equal((await users(authorization)).length, before, 'all or none');
  const ids = await Promise.all(['Given p1', 'Given s1', 'Philippa'].map(async (name) => (await person(name, authorization)).Id));
  const logins = ids.map((PresenceId) => identity.ask('CreateLogin', { authorization, query: { OrgId: 'large', PresenceId } }));
  const answers = await Promise.all([...logins, add('a@large.example'), add('b@large.example')]);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 429, 429, 429], 'there was room for two, also of many at once');
  assert.equal((await users(authorization)).filter(({ UserName }) => UserName !== '').length, 2, 'nor are there more logins');
  await letAnHourPass();
  await letAnHourPass();
  assert.equal((await add('c@large.example')).status, 200, 'the first of them were sent more than a day ago');
});
