// Tests the identity operations through HTTP: who may ask, what is taken, what is answered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rotateApplicationSecret } from '../access/applications.ts';
import { authorise, rotateSchoolSecret } from '../access/authorisations.ts';
import { scanText } from '../../test/scan-code.ts';
import { smallPackage } from '../../test/small-school.ts';
import { basic, useIdentity, withOffice, type Asked, type User } from '../../test/identity.ts';

const identity = await useIdentity();

const operations: readonly { name: string; kinds: readonly ('school' | 'management')[]; methods: readonly string[] }[] = [
  { name: 'ResetPassword', kinds: ['school'], methods: ['POST'] },
  { name: 'GetUsers', kinds: ['school'], methods: ['GET'] },
  { name: 'GenerateQRCode', kinds: ['management'], methods: ['GET', 'POST'] },
  { name: 'CreateLogin', kinds: ['school'], methods: ['POST'] },
  { name: 'CreateUser', kinds: ['school', 'management'], methods: ['POST'] },
];
/** Past the credential every one of these is refused for what it lacks, but GetUsers, which lacks nothing. */
const past = (name: string) => (name === 'GetUsers' ? 200 : 400);

test('names are taken in any case and with a slash behind', async () => {
  for (const { name, methods } of operations) {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase(), `${name}/`]) {
      const response = await identity.ask(spelling, {
        method: methods[0] ?? '',
        authorization: name === 'GenerateQRCode' ? identity.management : identity.school,
      });
      assert.equal(response.status, past(name), spelling);
    }
  }
  assert.equal((await fetch(`${identity.url}/API/V1/identity/getusers`, { headers: { authorization: identity.school } })).status, 200);
});

test('a wrong verb is a 405 that says which are right', async () => {
  for (const { name, methods } of operations) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter((one) => !methods.includes(one))) {
      const response = await identity.ask(name, { method });
      assert.equal(response.status, 405, `${method} ${name}`);
      assert.equal(response.headers.get('allow'), [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', '), `${method} ${name}`);
    }
  }
});

test('each kind of credential opens the operations of its kind, as token and as secret', async () => {
  const [schoolToken, managementToken] = [await identity.token('school'), await identity.token('management')];
  const rostering = [await identity.client.tokenA(), await identity.client.tokenB('one')];
  const presented: readonly [string, 'school' | 'management' | 'none', string][] = [
    [`Idaas ${schoolToken}`, 'school', 'school token'],
    [`Bearer ${schoolToken}`, 'school', 'school token as Bearer'],
    [`bearer ${schoolToken}`, 'school', 'in small letters'],
    [identity.school, 'school', 'school secret'],
    [`Idaas ${managementToken}`, 'management', 'management token'],
    [`Bearer ${managementToken}`, 'management', 'management token as Bearer'],
    [identity.management, 'management', 'management secret'],
    ...rostering.map((token): [string, 'none', string] => [`Bearer ${token}`, 'none', 'rostering token']),
    ['', 'none', 'nothing'],
    ['Idaas', 'none', 'a scheme alone'],
    ['Idaas abc', 'none', 'no token'],
    ['Digest abc', 'none', 'another scheme'],
    ['Basic', 'none', 'Basic alone'],
    ['Basic !!!', 'none', 'no base64'],
    [basic('app|one', 'wrong'), 'none', 'wrong school secret'],
    [basic('app', 'wrong'), 'none', 'wrong management secret'],
    [basic('app|one', ''), 'none', 'no secret'],
    [basic('app|one', identity.client.managementSecret), 'none', 'secret of the other kind'],
    [basic('app', identity.client.schoolSecrets['one'] ?? ''), 'none', 'secret of the other kind, too'],
    [basic('app|two', identity.client.schoolSecrets['one'] ?? ''), 'none', 'secret of another school'],
    [basic('nobody|one', identity.client.schoolSecrets['one'] ?? ''), 'none', 'unknown application'],
    [basic('app|nowhere', identity.client.schoolSecrets['one'] ?? ''), 'none', 'unknown school'],
    [basic('app|one|more', identity.client.schoolSecrets['one'] ?? ''), 'none', 'a name with more behind'],
    [basic('app|', identity.client.schoolSecrets['one'] ?? ''), 'none', 'a name with no school'],
    [basic(identity.client.clientId, identity.client.clientSecret), 'none', 'client of variant A'],
    [basic('app|one\0', 'x'), 'none', 'a NUL in the name'],
    [basic('a\0pp', 'x'), 'none', 'a NUL in the application'],
    [basic('app|one', 'x\0'), 'none', 'a NUL in the secret'],
    [basic(`${'a'.repeat(4000)}|one`, 'x'), 'none', 'a long name'],
    [`Idaas ${schoolToken.slice(0, -4)}AAAA`, 'none', 'a forged token'],
  ];
  await identity.db`delete from wrong_try`;
  for (const { name, kinds, methods } of operations) {
    for (const [authorization, kind, what] of presented) {
      const right = kind !== 'none' && kinds.includes(kind);
      const response = await identity.ask(name, { method: methods[0] ?? '', authorization });
      assert.equal(response.status, right ? past(name) : 401, `${name} with ${what}: ${await response.clone().text()}`);
      assert.equal(response.headers.get('cache-control'), 'no-store', `${name} with ${what}`);
      if (!right) assert.ok(response.headers.get('www-authenticate'), `${name} with ${what}`);
    }
  }
  await identity.db`delete from wrong_try`;
});

test('unknown application and wrong secret are the same answer', async () => {
  const [one, other] = [
    await identity.refused(401, 'GetUsers', { authorization: basic('app|one', 'wrong') }),
    await identity.refused(401, 'GetUsers', { authorization: basic('nobody|one', 'wrong') }),
  ];
  assert.deepEqual(one, other);
});

test('thirty wrong tries in a minute, then a pause for that client alone', async () => {
  await identity.db`delete from wrong_try`;
  for (let at = 0; at < 30; at += 1) assert.equal((await identity.ask('GetUsers', { authorization: basic('guess|one', String(at)) })).status, 401);
  const response = await identity.ask('GetUsers', { authorization: basic('guess|one', 'x') });
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get('retry-after')) >= 1);
  assert.equal((await identity.ask('GetUsers')).status, 200, 'others go on');
});

test('paused, revoked, rotated and without Identity: refused at the next call, by token and by secret', async () => {
  const { service, change, refused, db } = identity;
  const other = await service.addClient('later', ['one']);
  const secret = basic('later|one', other.schoolSecrets['one'] ?? '');
  const both = async (status: number) => {
    await refused(status, 'GetUsers', { authorization: secret });
    assert.equal((await other.s('one', 'Identity/GetUsers')).status, status);
  };
  assert.equal((await other.s('one', 'Identity/GetUsers')).status, 200);
  await change('later', 'one', 'Paused');
  await both(403);
  await change('later', 'one', 'Approved');
  assert.equal((await other.s('one', 'Identity/GetUsers')).status, 200, 'resumed');
  await db`update authorisation set scopes = array['School', 'Student', 'Staff'] where rp = 'later'`;
  await both(403);
  await refused(403, 'CreateUser', { authorization: secret, body: { orgId: 'one' } });
  await db`update authorisation set scopes = array['Identity'] where rp = 'later'`;
  await rotateSchoolSecret(db, 'later', 'one');
  await db`update school_secret set valid_until = now() - interval '1 second' where rp = 'later' and valid_until is not null`;
  await both(401);
  const management = basic('later', other.managementSecret);
  assert.equal((await identity.ask('GenerateQRCode', { method: 'GET', query: { text: 'x' }, authorization: management })).status, 200);
  await rotateApplicationSecret(db, service.seal, 'later', 'management');
  await db`update application_secret set valid_until = now() - interval '1 second' where rp = 'later' and valid_until is not null`;
  await refused(401, 'GenerateQRCode', { method: 'GET', query: { text: 'x' }, authorization: management });
  const { schoolSecret } = await authorise(db, { rp: 'later', estab: 'one' });
  assert.equal((await identity.ask('GetUsers', { authorization: basic('later|one', schoolSecret) })).status, 200);
  await change('later', 'one', 'Revoked');
  assert.ok([401, 403].includes((await identity.ask('GetUsers', { authorization: basic('later|one', schoolSecret) })).status));
});

test('a parameter missing, empty, too long, twice, or no text', async () => {
  const long = 'x'.repeat(501);
  const bad: readonly [string, string, Asked][] = [
    ['ResetPassword', 'username missing', {}],
    ['ResetPassword', 'username empty', { query: { username: '' } }],
    ['ResetPassword', 'username long', { query: { username: long } }],
    ['ResetPassword', 'username twice', { query: 'username=p1&username=p1' }],
    ['ResetPassword', 'username twice in other cases', { query: 'username=p1&UserName=p1' }],
    ['ResetPassword', 'username in the body empty', { body: { username: '' } }],
    ['ResetPassword', 'username a number', { body: { username: 5 } }],
    ['ResetPassword', 'username twice in the body', { body: { username: 'p1', UserName: 'p1' } }],
    ['ResetPassword', 'username unequal', { query: { username: 'p1' }, body: { username: 's1' } }],
    ['ResetPassword', 'NUL', { body: { username: 'p\0' } }],
    ['ResetPassword', 'password empty', { query: { username: 'p1', password: '' } }],
    ['ResetPassword', 'password long', { query: { username: 'p1', password: long } }],
    ['ResetPassword', 'password twice', { query: 'username=p1&password=a&password=a' }],
    ['ResetPassword', 'password empty in the body', { query: { username: 'p1' }, body: { password: '' } }],
    ['ResetPassword', 'password long in the body', { query: { username: 'p1' }, body: { password: long } }],
    ['ResetPassword', 'password unequal', { query: { username: 'p1', password: 'one password here' }, body: { password: 'other password here' } }],
    ['ResetPassword', 'password an object', { query: { username: 'p1' }, body: { password: {} } }],
    ['ResetPassword', 'flag', { query: { username: 'p1', ChangeAtNextLogin: 'maybe' } }],
    ['ResetPassword', 'flag empty', { query: { username: 'p1', UnlockLogin: '' } }],
    ['ResetPassword', 'flag twice', { query: 'username=p1&UnlockLogin=true&unlocklogin=false' }],
    ['ResetPassword', 'flag a list', { query: { username: 'p1' }, body: { UnlockLogin: [true] } }],
    ['GetUsers', 'empty', { query: { presenceType: '' } }],
    ['GetUsers', 'unknown', { query: { presenceType: 'Pupils' } }],
    ['GetUsers', 'long', { query: { presenceType: long } }],
    ['GetUsers', 'twice', { query: 'presenceType=Teach&presenceType=Teach' }],
    ['GetUsers', 'two in one', { query: { presenceType: 'Teach,NonTeach' } }],
    ['GetUsers', 'bad percent', { query: 'presenceType=%ff' }],
    ['CreateLogin', 'nothing', {}],
    ['CreateLogin', 'OrgId missing', { query: { PresenceId: 'p' } }],
    ['CreateLogin', 'PresenceId missing', { query: { OrgId: 'one' } }],
    ['CreateLogin', 'OrgId empty', { query: { OrgId: '', PresenceId: 'p' } }],
    ['CreateLogin', 'PresenceId empty', { body: { OrgId: 'one', PresenceId: '' } }],
    ['CreateLogin', 'OrgId long', { query: { OrgId: long, PresenceId: 'p' } }],
    ['CreateLogin', 'PresenceId long', { body: { OrgId: 'one', PresenceId: long } }],
    ['CreateLogin', 'OrgId twice', { query: 'OrgId=one&OrgId=one&PresenceId=p' }],
    ['CreateLogin', 'PresenceId twice', { body: { OrgId: 'one', PresenceId: 'p', presenceId: 'p' } }],
    ['CreateLogin', 'a number', { body: { OrgId: 1, PresenceId: 'p' } }],
    ['CreateLogin', 'one here, one there', { query: { OrgId: 'one' }, body: { PresenceId: 'p' } }],
    ['CreateLogin', 'no JSON', { body: '{' }],
    ['CreateLogin', 'a list', { body: [] }],
    ['GenerateQRCode', 'text missing', { authorization: identity.management }],
    ['GenerateQRCode', 'text empty', { query: { text: '' }, authorization: identity.management }],
    ['GenerateQRCode', 'text twice', { query: 'text=a&text=b', authorization: identity.management }],
  ];
  for (const [asked, words] of [
    [{ query: { OrgId: 'one' } }, /^PresenceId is missing/],
    [{ body: { OrgId: 'one' } }, /^PresenceId is missing/],
    [{ query: { PresenceId: 'p' } }, /^OrgId is missing/],
    [{}, /^OrgId and PresenceId are missing/],
    [{ query: { OrgId: 'one', PresenceId: '' } }, /^PresenceId is empty/],
    [{ query: { OrgId: 'one' }, body: { PresenceId: 'p' } }, /^Give OrgId and PresenceId both in the query or both in the body/],
  ] as const)
    assert.match((await identity.refused(400, 'CreateLogin', asked)).ExceptionMessage, words, JSON.stringify(asked));
  for (const [operation, what, asked] of bad) {
    const { ExceptionType, ExceptionMessage } = await identity.refused(400, operation, asked);
    assert.equal(ExceptionType, 'invalid_request', `${operation}: ${what}`);
    assert.ok(ExceptionMessage.length > 10, `${operation}: ${what}`);
  }
});

test('GetUsers answers ten strings for everybody who learns or works there, and for nobody else', async () => {
  const { users, ask, school } = identity;
  const all = await users();
  const fields = ['Id', 'DisplayName', 'FirstName', 'Surname', 'LastLoggedIn', 'UserName', 'Roles', 'PresenceType', 'WorkEmail', 'Email'];
  for (const one of all) {
    assert.deepEqual(Object.keys(one), fields);
    assert.ok(Object.values(one).every((value) => typeof value === 'string'), JSON.stringify(one));
  }
  const shape = (list: readonly User[]) => list.map(({ FirstName, PresenceType, Roles, WorkEmail }) => [FirstName, PresenceType, Roles, WorkEmail]).toSorted();
  assert.deepEqual(shape(all), [
    ['Given p1', 'Learners', 'student', 'p1@school.example'],
    ['Given p2', 'Learners', 'student', ''],
    ['Given p3', 'Learners', 'student', ''],
    ['Given p9', 'Learners', 'student', ''],
    ['Given s1', 'Teach', 'teacher', 's1@school.example'],
    ['Given s2', 'NonTeach', 'aide', ''],
    ['Philippa', 'NonTeach', 'administrator', 's3@school.example'],
  ]);
  assert.deepEqual(all.filter(({ UserName, LastLoggedIn }) => UserName !== '' || LastLoggedIn !== ''), [], 'nobody has a login yet');
  for (const type of ['Learners', 'Teach', 'NonTeach']) {
    for (const query of [{ presenceType: type }, { PRESENCETYPE: type.toLowerCase() }] as Record<string, string>[])
      assert.deepEqual(
        await identity.answer('GetUsers', { query }),
        all.filter((one) => one.PresenceType === type),
      );
  }
  assert.equal(
    new Set([...all, ...(await users(basic('app|two', identity.client.schoolSecrets['two'] ?? '')))].map(({ Id }) => Id)).size,
    14,
    'the same people at another school have other ids',
  );
  assert.match((await ask('GetUsers', { authorization: school })).headers.get('content-type') ?? '', /^application\/json/);
});

test('ids stay over a new import; who leaves is not listed, loses the login, and gets it back', async () => {
  const { service, makeRegistered, users, answer, refused, person, db } = identity;
  const ids = async () => new Map((await users()).map(({ FirstName, Id }) => [FirstName, Id]));
  const firstIds = await ids();
  const { Id, UserName } = await makeRegistered('Philippa', 'a quiet harbour wall');
  await db`update login set last_logged_in = '2026-09-01T08:00:00Z' where presence_id = ${Id}`;
  await service.load(
    'one',
    withOffice([{ sourcedId: 'x1', enabledUser: 'true', orgSourcedIds: 'o1', role: 'teacher', username: 'x1', givenName: 'New', familyName: 'Person' }]),
    { approve: true },
  );
  const secondIds = await ids();
  assert.equal(secondIds.size, firstIds.size + 1);
  for (const [name, id] of firstIds) assert.equal(secondIds.get(name), id, name);
  assert.deepEqual([(await person('Philippa')).UserName, (await person('Philippa')).LastLoggedIn], [UserName, '2026-09-01T08:00:00.000Z']);

  await service.load('one', smallPackage(), { approve: true });
  assert.ok(!(await users()).some((one) => one.Id === Id), 'a leaver is not listed');
  await refused(404, 'ResetPassword', { query: { username: UserName } });
  await refused(404, 'CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  await service.load('one', withOffice(), { approve: true });
  assert.deepEqual(await person('Philippa').then((one) => [one.Id, one.UserName, one.LastLoggedIn]), [Id, UserName, '2026-09-01T08:00:00.000Z']);
  assert.equal((await answer<{ Success: boolean }>('ResetPassword', { query: { username: UserName } })).Success, true);
});

test('GenerateQRCode draws art without a picture, and a percentage without one has no effect', async () => {
  const draw = async (query: Record<string, string>) => {
    const response = await identity.ask('GenerateQRCode', { method: 'GET', query, authorization: identity.management });
    assert.equal(response.status, 200, JSON.stringify(query));
    return Buffer.from(await response.arrayBuffer());
  };
  const [plain, sized, art] = [
    await draw({ text: 'Grüße' }), await draw({ text: 'Grüße', centerImagePercent: '25' }), await draw({ text: 'Grüße', QRType: 'ArtCode' }),
  ];
  assert.deepEqual(sized, plain);
  assert.notDeepEqual(art, plain);
  for (const bytes of [plain, art]) assert.deepEqual(await scanText(bytes), { text: 'Grüße', marked: true });
});

test('GenerateQRCode answers as PNG, SVG or JSON, by Accept', async () => {
  for (const [accept, type] of [
    ['*/*', 'image/png'],
    ['image/png', 'image/png'],
    ['image/svg+xml', 'image/svg+xml'],
    ['application/json', 'application/json'],
    ['image/svg+xml;q=0.5, application/json;q=0.9', 'application/json'],
    ['text/html', 'image/png'],
  ] as const) {
    const response = await identity.ask('GenerateQRCode', { method: 'GET', query: { text: 'hello' }, authorization: identity.management, headers: { accept } });
    assert.equal(response.status, 200, accept);
    assert.equal(response.headers.get('content-type')?.split(';')[0], type, accept);
    if (type === 'application/json') assert.deepEqual(Object.keys((await response.json()) as object), ['ContentType', 'Data']);
  }
});
