// Tests passwords: how they are kept, which are refused, and what is made.
import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import { dictionary } from '@zxcvbn-ts/language-common';
import { argon2Parameters, findPasswordFault, hashPassword, longestPassword, makePassword, matchesPassword } from './passwords.ts';
import type { HashTask } from './hash-thread.ts';

const derive = async (task: HashTask) => argon2Sync('argon2id', task);

const nobody = { names: [] };
const learner = (password: string, names: readonly string[] = []) => findPasswordFault(password, { whose: 'learner', names });
const staff = (password: string, names: readonly string[] = []) => findPasswordFault(password, { whose: 'staff', names });

test('a hash says how it was made, has a salt of its own, and can be made again from what it says', async () => {
  const [one, other] = [await hashPassword(derive, 'seven green lanterns'), await hashPassword(derive, 'seven green lanterns')];
  assert.notEqual(one, other);
  const [, m, t, p, salt = '', tag = ''] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/.exec(one) ?? [];
  assert.deepEqual([Number(m), Number(t), Number(p)], [argon2Parameters.memory, argon2Parameters.passes, argon2Parameters.parallelism]);
  const again = argon2Sync('argon2id', {
    message: 'seven green lanterns', nonce: Buffer.from(salt, 'base64'), memory: Number(m), passes: Number(t), parallelism: Number(p), tagLength: 32,
  });
  assert.equal(again.toString('base64').replace(/=+$/, ''), tag);
});

test('the parameters are no weaker than OWASP asks', () => {
  const { memory, passes, parallelism } = argon2Parameters;
  assert.ok(memory >= 19 * 1024 && passes >= 2 && parallelism >= 1, JSON.stringify(argon2Parameters));
});

test('the right password matches, however its letters are composed; any other does not', async () => {
  const stored = await hashPassword(derive, 'Zo\u00eb\u2019s caf\u00e9 \ufb01ne');
  const same = ['Zo\u00eb\u2019s caf\u00e9 \ufb01ne', 'Zoe\u0308\u2019s cafe\u0301 fine'];
  const others = ['', 'Zoe\u2019s cafe fine', 'zo\u00eb\u2019s caf\u00e9 \ufb01ne', 'Zo\u00eb\u2019s caf\u00e9 \ufb01ne '];
  for (const one of same) assert.equal(await matchesPassword(derive, one, stored), true, one);
  for (const one of others) assert.equal(await matchesPassword(derive, one, stored), false, one);
  assert.equal(await matchesPassword(derive, 'anything', undefined), false);
  assert.equal(await matchesPassword(derive, '', undefined), false);
});

test('a hash made with other parameters still matches: they are those that it names', async () => {
  const nonce = Buffer.from('a salt of sixteen');
  const tag = argon2Sync('argon2id', { message: 'seven green lanterns', nonce, memory: 8192, passes: 3, parallelism: 2, tagLength: 32 });
  const bare = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  const stored = `$argon2id$v=19$m=8192,t=3,p=2$${bare(nonce)}$${bare(tag)}`;
  assert.equal(await matchesPassword(derive, 'seven green lanterns', stored), true);
  assert.equal(await matchesPassword(derive, 'seven green lantern', stored), false);
});

test('where there is no hash as much is derived as where there is one', async () => {
  const asked: HashTask[] = [];
  const noting = async (task: HashTask) => {
    asked.push(task);
    return derive(task);
  };
  await matchesPassword(noting, 'anything', await hashPassword(derive, 'seven green lanterns'));
  await matchesPassword(noting, 'anything', undefined);
  const cost = ({ nonce, ...task }: HashTask) => ({ ...task, salt: nonce.length });
  assert.deepEqual(asked.map(cost), Array.from({ length: 2 }, () => ({ message: 'anything', ...argon2Parameters, salt: 16 })));
});

test('length: eight for learners, twelve for others, counted in characters', async () => {
  for (const [password, forLearner, forStaff] of [
    ['hu7xkq2', false, false],
    ['hu7xkq2b', true, false],
    ['hu7xkq2bvnm', true, false],
    ['hu7xkq2bvnmw', true, true],
    ['😀😁😂🤣😃😄😅', false, false],
    ['😀😁😂🤣😃😄😅😆', true, false],
  ] as const) {
    assert.equal((await learner(password)) === undefined, forLearner, `learner: ${password}`);
    assert.equal((await staff(password)) === undefined, forStaff, `staff: ${password}`);
    assert.equal((await findPasswordFault(password, { whose: 'operator', ...nobody })) === undefined, forStaff, `an operator: ${password}`);
  }
  const endless = 'hu7 xkq '.repeat(40);
  assert.equal(await staff(endless.slice(0, longestPassword)), undefined);
  assert.match((await staff(endless.slice(0, longestPassword + 1))) ?? '', /at most/);
  assert.match((await staff('seven\ngreen lanterns')) ?? '', /control/);
});

test('the commonest are refused, also with digits or signs added, in any case and spelling', async () => {
  const refused = [
    'password', 'PASSWORD', 'PassWord', 'password1', 'password2026', '123password', '!!password!!', '2026-password-2026', 'password_____',
    '1q2w3e4r', '1q2w3e4r!!!!', '!!abc123!!', '12345678', '1234567890', '123456789!', 'ｐａｓｓｗｏｒｄ', 'sunshine', 'Sunshine99', 'iloveyou!!',
  ];
  for (const password of refused) assert.match((await learner(password)) ?? '', /commonest/, password);
  for (const password of ['passwordpassword12', 'mypasswordishidden', 'sunshineharbour', 'hu7xkq2bvnmw', 'four brown 2026 owls', 'früher-war-mehr-lametta'])
    assert.equal(await staff(password), undefined, password);
  const list = (dictionary['passwords-common'] ?? []).slice(0, 10_000).map(String);
  assert.equal(list.length, 10_000, 'the list has ten thousand');
  for (const password of list) {
    const padded = `${password}!!2026!!2026`;
    assert.match((await staff(padded)) ?? '', /commonest/, padded);
  }
});

test('the name is refused, also with digits or signs; within a longer sentence it is fine', async () => {
  const names = ['Philippa', 'Featherstone', 'Philippa Featherstone', 'pfeatherstone'];
  for (const password of [
    'featherstone', 'Featherstone1', 'philippa-2026', 'PhilippaFeatherstone', 'philippa.featherstone', 'pfeatherstone7', 'F.e.a.t.h.e.r.s.t.o.n.e',
  ])
    assert.match((await staff(password, names)) ?? '', /name/, password);
  for (const password of ['the featherstone family keeps owls', 'seven green lanterns']) assert.equal(await staff(password, names), undefined, password);
  for (const [name, password] of [
    ['Владимирович', 'владимирович7'],
    ['Müllerschön', 'müllerschön99'],
    ['Müllerschön', 'MU\u0308LLERSCHO\u0308N-99'],
    ['Łukaszewicz', 'łukaszewicz26'],
  ] as const)
    assert.match((await staff(password, [name])) ?? '', /name/, password);
  assert.equal(await staff('seven green lanterns', ['', 'Al', '-', '7']), undefined, 'a name of no or two letters rules nothing out');
});

test('a thousand made passwords differ, meet the policy, and are easy to type', async () => {
  const made = Array.from({ length: 1000 }, makePassword);
  assert.equal(new Set(made).size, 1000);
  const used = new Set(made.flatMap((one) => [...one.replaceAll('-', '')]));
  for (const password of made) {
    assert.match(password, /^[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{5}$/, password);
    assert.doesNotMatch(password, /[il1o0]/, password);
    assert.equal(await learner(password), undefined, password);
    assert.equal(await staff(password), undefined, password);
  }
  const length = Math.min(...made.map((one) => one.replaceAll('-', '').length));
  assert.ok(length * Math.log2(used.size) >= 60, `${length} of ${used.size}: ${length * Math.log2(used.size)} bits`);
});
