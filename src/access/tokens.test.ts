// What is remembered of tokens that were checked: no more than there is room for, the oldest go first, and what a token opens does not
// depend on whether it is remembered.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { generateKeyPair } from 'jose';
import { SchoolbellError } from '../errors.ts';
import { tokenAlgorithm, type TokenKeys } from './token-keys.ts';
import { createTokens } from './tokens.ts';

const { privateKey, publicKey } = await generateKeyPair(tokenAlgorithm);
const rememberedCharacters = 4 * 1024 ** 2;
const isRefused = (words: RegExp) => (error: unknown) => error instanceof SchoolbellError && error.code === 'invalid_token' && words.test(error.message);

/** checks: how many signatures were checked. */
function openTokens() {
  let checks = 0;
  const keys: TokenKeys = {
    signingKey: async () => ({ kid: 'key', key: privateKey, databaseTime: Date.now() }),
    verificationKey: async () => {
      checks += 1;
      return publicKey;
    },
    publicKeys: async () => [],
  };
  return { ...createTokens(keys, 'https://schoolbell.example'), checks: () => checks };
}

const secretId = randomUUID();
/** Some are so long that few of them fill the room. */
const nameOf = (at: number) => `app${at}-${'x'.repeat(100_000 + (at % 3) * 50_000)}`;

test('more tokens than there is room for: the oldest are checked anew, the others are not, and each opens what it opens', async () => {
  const { issue, verify, checks } = openTokens();
  const tokens: string[] = [];
  for (let at = 0; at < 40; at += 1)
    tokens.push((await issue({ kind: 'rostering-b', rp: nameOf(at), estab: '1', secretId, oneRosterScopes: undefined })).token);
  const verifyOne = async (at: number) => {
    const before = checks();
    const { rp, estab, kind } = await verify(tokens[at] ?? '', 'rostering-b');
    assert.deepEqual([rp === nameOf(at), estab, kind], [true, '1', 'rostering-b'], `token ${at}`);
    return checks() > before;
  };
  for (let at = 0; at < tokens.length; at += 1) {
    assert.ok(await verifyOne(at), 'it was never seen');
    assert.ok(!(await verifyOne(at)), 'it is remembered');
  }
  let [characters, fitting] = [0, 0];
  for (const { length } of tokens.toReversed()) {
    characters += length;
    if (characters > rememberedCharacters) break;
    fitting += 1;
  }
  assert.ok(fitting > 10 && fitting < 30, `${fitting} fit`);
  // Again and again, since what has gone must no longer be counted.
  for (let round = 0; round < 3; round += 1) {
    for (let at = tokens.length - fitting; at < tokens.length; at += 1) assert.ok(!(await verifyOne(at)), `token ${at} is remembered`);
    assert.ok(await verifyOne(tokens.length - fitting - 1), 'the one before is not');
    for (let at = 0; at < tokens.length; at += 1) await verifyOne(at);
    for (let at = 0; at < tokens.length; at += 1) await verifyOne(at);
  }
  for (const at of [0, tokens.length - 1]) {
    await assert.rejects(verify(tokens[at] ?? '', 'rostering-a'), isRefused(/another kind/));
    await assert.rejects(verify(`${tokens[at]?.slice(0, -8)}AAAAAAAA`, 'rostering-b'), isRefused(/not issued by this service/));
  }
});

test('a token that would take all the room takes none, and what is asked for at once is counted once', async () => {
  const { issue, verify, checks } = openTokens();
  const tokenOf = async (rp: string) => (await issue({ kind: 'school', rp, estab: '1', secretId, oneRosterScopes: undefined })).token;
  const [huge, small] = [await tokenOf('x'.repeat(rememberedCharacters)), await tokenOf('small')];
  for (const count of [1, 2]) {
    assert.equal((await verify(huge, 'school')).rp.length, rememberedCharacters);
    assert.equal(checks(), count);
  }
  const large = await tokenOf('x'.repeat(1_000_000));
  await Promise.all(Array.from({ length: 10 }, () => verify(large, 'school')));
  assert.equal((await verify(small, 'school')).rp, 'small');
  const before = checks();
  for (const token of [large, small]) await verify(token, 'school');
  assert.equal(checks(), before, 'there is room for both');
});
