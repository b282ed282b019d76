// Tests ResetPassword through HTTP: which passwords are taken, what it changes, and whom it does not tell apart.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heardStatements } from '../../test/heard-statements.ts';
import { basic, openForm, sessionCookie, signIn, useIdentity } from '../../test/identity.ts';

type Reset = { Success: boolean; Password: string };

const identity = await useIdentity();
const { db, url, answer, refused, client, audited, makeLogin, ask } = identity;
const schoolTwo = basic('app|two', client.schoolSecrets['two'] ?? '');
const learner = await makeLogin('Given p1');
const teacher = await makeLogin('Given s1');
const office = await makeLogin('Philippa');
const reset = (query: Record<string, string>, body?: object) => answer<Reset>('ResetPassword', { query, body });
const login = async (id: string) =>
  (
    await db<
      { hash: string | null; change: boolean; tries: number; locked: boolean }[]
    >`select password_hash as hash, change_at_next_login as change, wrong_tries as tries, coalesce(locked_until > now(), false) as locked from login
        where presence_id = ${id}`
  )[0];
const lands = async (response: Response) => [response.status, response.headers.get('location')];

test('it works from the moment the login was created, with a password of the caller or one that is made', async () => {
  assert.equal((await login(learner.Id))?.hash, null);
  const made = await reset({ username: 'p1' });
  assert.deepEqual(Object.keys(made), ['Success', 'Password']);
  assert.equal(made.Success, true);
  assert.deepEqual(await lands(await signIn(url, 'one', 'p1', made.Password)), [303, '/account/password'], 'a made one is to be changed');
  assert.deepEqual(await reset({ username: 'P1', password: 'hu7xkq2b' }), { Success: true, Password: 'hu7xkq2b' });
  assert.deepEqual(await lands(await signIn(url, 'one', 'P1', 'hu7xkq2b')), [303, '/account'], 'names in any case');
  assert.equal((await signIn(url, 'one', 'p1', made.Password)).status, 401, 'the old one is gone');
  assert.notEqual((await reset({ username: 'p1' })).Password, (await reset({ username: 'p1' })).Password);
  assert.match((await login(learner.Id))?.hash ?? '', /^\$argon2id\$/);
});

test('it takes everything from the query or from the body', async () => {
  for (const [query, body] of [
    [{ username: 'p1', password: 'hu7xkq2b' }, undefined],
    [{ username: 'p1' }, { password: 'hu7xkq2b' }],
    [{}, { username: 'p1', password: 'hu7xkq2b' }],
    [{ UserName: 'p1', PASSWORD: 'hu7xkq2b' }, { password: 'hu7xkq2b' }],
  ] as const) {
    assert.equal((await reset(query, body)).Password, 'hu7xkq2b', JSON.stringify([query, body]));
  }
});

test('ChangeAtNextLogin is true for a made password unless it is said, and false for a given one', async () => {
  for (const [query, body, change] of [
    [{}, undefined, true],
    [{ ChangeAtNextLogin: 'false' }, undefined, false],
    [{ ChangeAtNextLogin: '0' }, undefined, false],
    [{ password: 'hu7xkq2b' }, undefined, false],
    [{ password: 'hu7xkq2b', changeatnextlogin: 'TRUE' }, undefined, true],
    [{ password: 'hu7xkq2b', ChangeAtNextLogin: '1' }, undefined, true],
    [{}, { ChangeAtNextLogin: false }, false],
    [{ password: 'hu7xkq2b' }, { ChangeAtNextLogin: true }, true],
    [{ password: 'hu7xkq2b' }, { ChangeAtNextLogin: 'true' }, true],
  ] as const) {
    await reset({ username: 'p1', ...query }, body);
    assert.equal((await login(learner.Id))?.change, change, JSON.stringify([query, body]));
  }
});

test('a password that does not meet the policy is a 422 that says why, and changes nothing', async () => {
  await reset({ username: 's1', password: 'seven green lanterns' });
  const before = await login(teacher.Id);
  for (const [username, password, why] of [
    ['p1', 'hu7xkq2', /8 characters/],
    ['s1', 'hu7xkq2b', /12 characters/],
    ['s3', 'hu7xkq2bvnm', /12 characters/],
    ['p1', 'password', /commonest/],
    ['p1', 'Password', /commonest/],
    ['p1', 'password2026', /commonest/],
    ['s1', '!!!sunshine!!!', /commonest/],
    ['s1', '1q2w3e4r!!!!', /commonest/],
    ['s3', 'Featherstone', /name/],
    ['s3', 'featherstone-2026', /name/],
    ['s3', 'PhilippaFeatherstone', /name/],
    ['s1', 'x'.repeat(257), /at most/],
  ] as const) {
    const { ExceptionType, ExceptionMessage } = await refused(422, 'ResetPassword', { query: { username, password } });
    assert.equal(ExceptionType, 'unprocessable');
    assert.match(ExceptionMessage, why, password);
    assert.ok(password.length < 9 || !ExceptionMessage.includes(password), 'the password is not repeated');
  }
  assert.deepEqual(await login(teacher.Id), before);
  assert.equal((await reset({ username: 'p1', password: 'hu7xkq2b' })).Success, true, 'eight do for a learner');
});

test('unknown user, user without a login and user of another school: the same 404', async () => {
  const elsewhere = await makeLogin('Philippa', 'two');
  await answer('CreateUser', {
    authorization: schoolTwo,
    body: { orgId: 'two', manualUser: [{ firstName: 'Only', lastName: 'There', email: 'only@two.example' }] },
  });
  const failures = [];
  for (const username of ['nobody', 's2', 'only@two.example', elsewhere.Id, office.Id, "p1' or 'a'='a", 'p1%', 'p_']) {
    for (const query of [{ username }, { username, password: 'seven green lanterns' }, { username, password: 'short' }] as Record<string, string>[]) {
      const response = await ask('ResetPassword', { query });
      failures.push([response.status, await response.text()]);
    }
  }
  assert.equal(failures[0]?.[0], 404);
  for (const failure of failures) assert.deepEqual(failure, failures[0]);
  const [before] = await db<{ hash: string | null }[]>`select password_hash as hash from login where estab = 'two' and presence_id = ${elsewhere.Id}`;
  await reset({ username: 's3' });
  assert.deepEqual(
    (await db<{ hash: string | null }[]>`select password_hash as hash from login where estab = 'two' and presence_id = ${elsewhere.Id}`)[0],
    before,
    's3 of the other school keeps theirs',
  );
  assert.equal((await answer<Reset>('ResetPassword', { authorization: schoolTwo, query: { username: 's3' } })).Success, true, 'and is found there');
});

test('unknown user and user of another school cost the same', async () => {
  const cost = (username: string) => heardStatements(() => refused(404, 'ResetPassword', { query: { username } }), 'changes');
  const unknown = await cost('nobody');
  assert.ok(unknown.length > 0);
  assert.deepEqual(await cost('only@two.example'), unknown);
});

test('UnlockLogin unlocks; without it the lock stays', async () => {
  await reset({ username: 's1', password: 'seven green lanterns' });
  await db`update login set wrong_tries = 10, locked_until = now() + interval '15 minutes' where presence_id = ${teacher.Id}`;
  for (const query of [{}, { UnlockLogin: 'false' }] as Record<string, string>[]) {
    await reset({ username: 's1', password: 'seven green lanterns', ...query });
    assert.equal((await login(teacher.Id))?.locked, true);
    assert.notEqual((await signIn(url, 'one', 's1', 'seven green lanterns')).status, 303);
  }
  await reset({ username: 's1', password: 'seven green lanterns', UnlockLogin: 'true' });
  assert.deepEqual(await lands(await signIn(url, 'one', 's1', 'seven green lanterns')), [303, '/account']);
});

test('every session of the login ends, and a link that was mailed before no longer opens', async () => {
  await reset({ username: 's1', password: 'seven green lanterns', UnlockLogin: 'true' });
  const sessions = [
    sessionCookie(await signIn(url, 'one', 's1', 'seven green lanterns')),
    sessionCookie(await signIn(url, 'one', 's1', 'seven green lanterns')),
  ];
  await reset({ username: 's3', password: 'a quiet harbour wall' });
  const neighbour = sessionCookie(await signIn(url, 'one', 's3', 'a quiet harbour wall'));
  const account = async (cookie: string) => (await fetch(`${url}/account`, { headers: { cookie }, redirect: 'manual' })).status;
  assert.deepEqual(await Promise.all([...sessions, neighbour].map(account)), [200, 200, 200]);
  await refused(422, 'ResetPassword', { query: { username: 's1', password: 'short' } });
  assert.deepEqual(await Promise.all([...sessions, neighbour].map(account)), [200, 200, 200], 'what is refused ends nothing');
  await reset({ username: 's1', password: 'seven green lanterns' });
  assert.deepEqual(await Promise.all([...sessions, neighbour].map(account)), [303, 303, 200]);

  await db`delete from login where presence_id = ${learner.Id}`;
  await makeLogin('Given p1');
  const link = (await identity.links('p1@school.example')).at(-1) ?? '';
  const form = await openForm(url, new URL(link).pathname);
  await reset({ username: 'p1', password: 'hu7xkq2b' });
  assert.equal((await form.post({ password: 'another one entirely', repeated: 'another one entirely' })).status, 404);
  assert.deepEqual(await lands(await signIn(url, 'one', 'p1', 'hu7xkq2b')), [303, '/account'], 'the password of the reset holds');
});

test('an audit row for every operation, never with a password', async () => {
  await reset({ username: 's1', password: 'seven green lanterns' });
  await refused(404, 'ResetPassword', { query: { username: 'nobody-at-all' } });
  const rows = await audited('one');
  const last = rows.slice(-2);
  assert.deepEqual(
    last.map(({ rp, operation, id }) => [rp, operation, id]),
    [
      ['app', 'ResetPassword', teacher.Id],
      ['app', 'ResetPassword', null],
    ],
  );
  assert.deepEqual(
    last.map(({ outcome }) => outcome),
    ['done', 'refused: not_found'],
  );
  assert.ok(
    rows.some(({ operation }) => operation === 'GetUsers') &&
      rows.some(({ operation }) => operation === 'CreateLogin') &&
      rows.some(({ operation }) => operation === 'SignIn'),
  );
  assert.doesNotMatch(JSON.stringify(rows), /seven green|hu7xkq2b|nobody-at-all/);
});
