// Tests sign-in under fire: a flood of wrong passwords holds up neither tokens nor lists nor those who are known, right
// ones never count, and whoever guesses has to wait.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { test } from 'node:test';
import { get } from 'node:http';
import { openForm, sessionCookie, signIn, useIdentity, withOffice } from '../../test/identity.ts';
import { rootB } from '../../test/service.ts';
import { user } from '../../test/small-school.ts';
import { createHashPool } from '../access/hash-pool.ts';

const people = 30;
// One thread, so that what waits for it waits on a machine with many processors as well; without hurry on a slow one.
const hashing = createHashPool({ threads: 1, mostWaiting: 400, longestWaitMs: 600_000, longestTurnMs: 600_000 });
const identity = await useIdentity({ TRUST_PROXY: '127.0.0.1/32' }, { hashing });
const { db, url, service, client, answer, ask, makeRegistered } = identity;
const password = 'seven green lanterns';
await makeRegistered('Given s1', password);
await service.addSchool('many', withOffice(Array.from({ length: people }, (_, at) => user(`m${at}`, 'student'))));
await db`
  insert into login (estab, presence_id, username, password_hash)
  select 'many', presence_id('many', 'm' || n), 'm' || n, (select password_hash from login where estab = 'one' and username = 's1')
  from generate_series(0, ${people - 1}) n`;

const form = await openForm(url, '/login');
/** From another address each time, unless one is given. */
let addresses = 0;
const nextAddress = () => `198.51.${Math.floor((addresses += 1) / 250)}.${addresses % 250}`;

function enter(estab: string, username: string, secret: string, address = nextAddress()): Promise<Response> {
  return fetch(`${url}/login`, {
    method: 'POST',
    headers: { cookie: form.cookie, 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': address },
    body: new URLSearchParams({ token: form.token, estab, username, password: secret }),
    redirect: 'manual',
  });
}

/** fetch would unpack it. */
function getPacked(path: string, authorization: string): Promise<{ status: number; encoding: string | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    get(`${url}${path}`, { headers: { authorization, 'accept-encoding': 'gzip' } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject).on('end', () => {
        resolve({ status: response.statusCode ?? 0, encoding: response.headers['content-encoding'], text: gunzipSync(Buffer.concat(chunks)).toString('utf8') });
      });
    }).on('error', reject);
  });
}

/** Every thread of strangers is taken and their queue full, until it is let go. */
function occupy(): { letGo(): Promise<void> } {
  const released = Promise.withResolvers<void>();
  const turns = Array.from({ length: 401 }, () => hashing.anyone(() => released.promise));
  return {
    async letGo() {
      released.resolve();
      await Promise.all(turns);
    },
  };
}

/** As if so many had been wrong just now: a minute may be too short for a slow machine to make them. */
const pretend = (count: number, tried: { client?: string; address?: string }) => db`
  insert into wrong_try (kind, client, address)
  select 'sign-in', coalesce(${tried.client ?? null}::text, 'one|somebody' || n), coalesce(${tried.address ?? null}::text, '203.0.113.' || n)
  from generate_series(1, ${count}) n`;
const wrongTries = async () => (await db`select from wrong_try`).length;
const saysWait = async (response: Response, why: RegExp) => {
  assert.equal(response.status, 429);
  const wait = Number(response.headers.get('retry-after'));
  assert.ok(wait >= 1 && wait <= 60, String(wait));
  assert.match(response.headers.get('content-type') ?? '', /text\/html/);
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.match(await response.text(), why);
};

test('sixty wrong sign-ins at once: tokens, a packed list and a reset are answered before them, and right', async () => {
  const bearer = `Bearer ${await client.tokenB('one')}`;
  const quiet = await getPacked(`${rootB}/users`, bearer);
  assert.deepEqual([quiet.status, quiet.encoding], [200, 'gzip']);
  let unanswered = 60;
  const flood = Array.from({ length: 60 }, async (_, at) => {
    const { status } = await enter('one', `nobody${at}`, 'a guess');
    unanswered -= 1;
    return status;
  });
  // The flood is under way.
  await Promise.race(flood);
  for (let at = 0; at < 5; at += 1) {
    const asked = [client.tokenB('one'), getPacked(`${rootB}/users`, bearer), ask('ResetPassword', { query: { username: 's1', password } })] as const;
    const [token, page, reset] = await Promise.all(asked);
    assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
    assert.deepEqual(page, quiet);
    assert.equal(reset.status, 200);
  }
  const left = unanswered;
  assert.deepEqual([...new Set(await Promise.all(flood))], [401]);
  assert.ok(left > 0, 'none of them waited for the flood');
});

test("thirty right sign-ins at once from one school's address all pass, again and again, and none is counted", async () => {
  await db`delete from wrong_try`;
  const address = nextAddress();
  for (let round = 0; round < 2; round += 1) {
    const answers = await Promise.all(Array.from({ length: people }, (_, at) => enter('many', `m${at}`, password, address)));
    assert.deepEqual(answers.map(({ status, headers }) => `${status} ${headers.get('location')}`), Array(people).fill('303 /account'));
  }
  assert.equal(await wrongTries(), 0);
});

test('when too many wait, a stranger is asked to wait as well; whoever is known goes on', async () => {
  const session = sessionCookie(await signIn(url, 'one', 's1', password));
  const account = await openForm(url, '/account/password', [session]);
  const { letGo } = occupy();
  try {
    await saysWait(await enter('one', 's1', password), /Too many passwords are being checked/);
    assert.equal((await ask('ResetPassword', { query: { username: 's1' } })).status, 200, 'ResetPassword');
    await answer('ResetPassword', { query: { username: 's1', password } });
  } finally {
    await letGo();
  }
  const chosen = { present: password, password: 'four brown owls at noon', repeated: 'four brown owls at noon' };
  assert.equal((await account.post(chosen)).headers.get('location'), '/login', 'the reset ended the session');
  const again = await openForm(url, '/account/password', [sessionCookie(await signIn(url, 'one', 's1', password))]);
  const busy = occupy();
  try {
    const changed = await again.post(chosen);
    assert.deepEqual([changed.status, changed.headers.get('location')], [303, '/account'], 'a password that is changed');
  } finally {
    await busy.letGo();
  }
  await answer('ResetPassword', { query: { username: 's1', password } });
  assert.equal((await enter('one', 's1', password)).status, 303, 'there is room again');
});

test('sixty wrong passwords a minute from an address, then a page that says wait, before anything is hashed', async () => {
  await db`delete from wrong_try`;
  const address = nextAddress();
  await pretend(50, { address });
  const first = await Promise.all(Array.from({ length: 10 }, (_, at) => enter(at % 2 ? 'one' : 'nowhere', `guessed${at}`, 'a guess', address)));
  assert.deepEqual([...new Set(first.map(({ status }) => status))], [401]);
  const { letGo } = occupy();
  try {
    await saysWait(await enter('one', 's1', password, address), /Too many wrong passwords: 60 in a minute/);
    await saysWait(await enter('many', 'm1', password), /Too many passwords are being checked/);
  } finally {
    await letGo();
  }
  assert.equal((await enter('one', 's1', password)).status, 303, 'from elsewhere');
  await db`update wrong_try set tried_at = tried_at - interval '61 seconds'`;
  assert.equal((await enter('one', 's1', password, address)).status, 303, 'a minute later');
});

test('the addresses of one IPv6 network count as one, and so do both ways to write one of IPv4', async () => {
  await db`delete from wrong_try`;
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', '198.51.100.7', '::ffff:198.51.100.7']) {
    assert.equal((await enter('one', `from ${address}`, 'a guess', address)).status, 401);
  }
  const counted = await db<{ address: string }[]>`select address from wrong_try order by tried_at`;
  assert.deepEqual(
    counted.map(({ address }) => address),
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64', '198.51.100.7', '198.51.100.7'],
  );
  await db`delete from wrong_try`;
  await pretend(60, { address: '2001:db8:1:2::/64' });
  await saysWait(await enter('one', 's1', password, '2001:db8:1:2::77'), /Too many wrong passwords: 60 in a minute/);
  assert.equal((await enter('one', 's1', password, '2001:db8:1:3::77')).status, 303, 'of another network');
});

test('of many wrong ones at once only as many are hashed as were left', async () => {
  await db`delete from wrong_try`;
  const address = nextAddress();
  await pretend(40, { address });
  const statuses = (await Promise.all(Array.from({ length: 50 }, (_, at) => enter('one', `atonce${at}`, 'a guess', address)))).map(({ status }) => status);
  assert.deepEqual([statuses.filter((one) => one === 401).length, statuses.filter((one) => one === 429).length], [20, 30]);
  assert.equal(await wrongTries(), 60);
});

for (const [what, userName] of [['known', 'm7'], ['unknown', 'nobody-at-all']] as const) {
  test(`thirty wrong passwords a minute for a login that is ${what}, whatever the case and the address`, async () => {
    await db`delete from wrong_try`;
    await pretend(24, { client: `many|${userName}` });
    for (let at = 0; at < 6; at += 1) assert.equal((await enter('many', at % 2 ? userName : userName.toUpperCase(), 'a guess')).status, 401);
    await saysWait(await enter('many', userName, password), /Too many wrong passwords: 30 in a minute/);
    assert.equal((await enter('one', userName, 'a guess')).status, 401, 'of another school');
    assert.equal((await enter('many', 'm8', password)).status, 303, 'another one');
  });
}

test('the limits are those of every page that takes a password', async () => {
  await db`delete from wrong_try`;
  const session = sessionCookie(await signIn(url, 'one', 's1', password));
  const account = await openForm(url, '/account/password', [session]);
  const chosen = { password: 'four brown owls at noon', repeated: 'four brown owls at noon' };
  assert.equal((await account.post({ ...chosen, present: 'a guess' })).status, 422);
  assert.equal(await wrongTries(), 1);
  await pretend(29, { client: 'one|s1' });
  await saysWait(await account.post({ ...chosen, present: password }), /Too many wrong passwords: 30 in a minute/);
  await saysWait(await enter('one', 's1', password), /30 in a minute/);

  const redirect = 'http://127.0.0.1:9/cb';
  const { clientId } = await identity.addSignOn('fire', ['one'], [redirect]);
  const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' };
  const asked = new URLSearchParams({ client_id: clientId, redirect_uri: redirect, response_type: 'code', scope: 'openid', ...challenge });
  const begun = await fetch(`${url}/oidc/auth?${asked}`, { redirect: 'manual' });
  const path = new URL(begun.headers.get('location') ?? '', url).pathname;
  const interaction = await openForm(url, path, begun.headers.getSetCookie().map((one) => one.split(';', 1)[0] ?? ''));
  await saysWait(await interaction.post({ estab: 'one', username: 's1', password }), /30 in a minute/);
  await db`delete from wrong_try`;
  assert.equal((await interaction.post({ estab: 'one', username: 's1', password: 'a guess' })).status, 401);
  assert.equal(await wrongTries(), 1);
  assert.equal((await interaction.post({ estab: 'one', username: 's1', password })).status, 303);
  assert.equal(await wrongTries(), 1, 'the right one is not counted');

  await db`update oidc_record set expires_at = now() where model = 'Interaction'`;
  const expired = await interaction.post({ estab: 'one', username: 's1', password });
  assert.equal(expired.status, 404, 'it has expired');
  assert.match(expired.headers.get('content-type') ?? '', /text\/html/);
  assert.match(await expired.text(), /<h1>There is nothing here<\/h1>\s*<p>This sign-in has expired or is finished\. Go back to the application/);
  assert.match(await (await fetch(`${url}/oidc/interaction/nothing`)).text(), /This sign-in has expired/);
});
