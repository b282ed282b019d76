// The seal with one key and with several: what opens, what does not, and what is said then.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigError, readConfig } from '../config.ts';
import { createSeal, readOrMakeSecretKeys, readSecretKeys } from './seal.ts';
import { sealedAs } from './sealed-as.ts';

const [before, after, stranger] = ['b', 'a', 's'].map((letter) => letter.repeat(32)) as [string, string, string];
const as = sealedAs.schoolSecret('one', 'app', '1');

test('the first key seals, any opens', () => {
  const changing = createSeal([after, before]);
  assert.equal(changing.open(createSeal([before]).seal('grün', as), as), 'grün');
  assert.equal(createSeal([after]).open(changing.seal('grün', as), as), 'grün');
  assert.throws(() => createSeal([before]).open(changing.seal('grün', as), as), ConfigError);
});

test('sealing anew takes what an older key sealed, and nothing else', () => {
  const changing = createSeal([after, before]);
  const anew = changing.reseal(createSeal([before]).seal('text', as), as) ?? assert.fail('is not sealed with the first key');
  assert.equal(createSeal([after]).open(anew, as), 'text');
  assert.equal(changing.reseal(anew, as), undefined);
});

test('what no key opens is said in words, whatever it is', () => {
  const sealed = createSeal([stranger]).seal('text', as);
  const changed = createSeal([after]).seal('text', as);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  for (const bytes of [sealed, changed, sealed.subarray(0, 20), Buffer.alloc(0)]) {
    assert.throws(() => createSeal([after]).open(bytes, as), /^ConfigError: SECRET_KEY: does not open what is stored/);
    assert.throws(() => createSeal([after, before]).reseal(bytes, as), /one of its keys must be/);
  }
});

test('a value decrypts only as what it was encrypted for: another row or purpose fails', () => {
  const seal = createSeal([after]);
  const sealed = seal.seal('text', as);
  assert.equal(seal.open(sealed, sealedAs.schoolSecret('one', 'app', '1')), 'text');
  const others = [
    sealedAs.schoolSecret('two', 'app', '1'), sealedAs.schoolSecret('one', 'other', '1'), sealedAs.schoolSecret('one', 'app', '2'),
    sealedAs.authenticationEvent('one', 'app', '1'), sealedAs.connectorCredentials('one'),
  ];
  for (const other of others) {
    assert.throws(() => seal.open(sealed, other), ConfigError, other.join());
    assert.throws(() => createSeal([before, after]).reseal(sealed, other), ConfigError, other.join());
  }
});

test('without SECRET_KEY the key is a file in the data directory, the same at every start', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'schoolbell-seal-'));
  try {
    assert.throws(() => readSecretKeys(readConfig({ DATA_DIR: dataDir })), /^ConfigError: SECRET_KEY: not set, and there is no .*secret\.key/);
    assert.deepEqual(readdirSync(dataDir), [], 'only a start makes it');
    const made = readOrMakeSecretKeys(readConfig({ DATA_DIR: dataDir }));
    assert.deepEqual([made.length, readSecretKeys(readConfig({ DATA_DIR: dataDir }))], [1, made]);
    const given = readConfig({ DATA_DIR: dataDir, SECRET_KEY: `${after},${made[0]}` });
    assert.equal(createSeal(readSecretKeys(given)).open(createSeal(made).seal('text', as), as), 'text');
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});
