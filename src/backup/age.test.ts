// Tests the encryption of backups against another implementation of age, both ways, and that nothing which was cut or changed opens.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Decrypter, Encrypter } from 'age-encryption';
import fc from 'fast-check';
import { DamagedBackup, openAge, sealAge } from './age.ts';

const passphrase = 'correct horse battery';
const workFactor = 4;

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function gather(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const bytes of source) all.push(bytes);
  return Buffer.concat(all);
}

const seal = (bytes: Uint8Array, pieces = 50_000) => gather(sealAge(inPieces(bytes, pieces), passphrase, workFactor));
const open = (bytes: Uint8Array, pieces = 50_000, words = passphrase) => gather(openAge(inPieces(bytes, pieces), words));
const around = [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000];

test('what we seal opens elsewhere, at every size around that of a piece', async () => {
  for (const size of around) {
    const bytes = randomBytes(size);
    const elsewhere = new Decrypter();
    elsewhere.addPassphrase(passphrase);
    const sealed = await seal(bytes, 1 + (size % 70_000));
    assert.ok(bytes.equals(await elsewhere.decrypt(sealed)), `${size} bytes`);
    assert.ok(bytes.equals(await open(sealed, 1_000 + size)), `${size} bytes`);
  }
});

test('what was sealed elsewhere opens here', async () => {
  const bytes = randomBytes(100_000);
  const elsewhere = new Encrypter();
  elsewhere.setPassphrase(passphrase);
  elsewhere.setScryptWorkFactor(workFactor);
  assert.ok(bytes.equals(await open(await elsewhere.encrypt(bytes))));
});

test('another passphrase is told from a file that is none', async () => {
  const sealed = await seal(Buffer.from('roster'));
  await assert.rejects(open(sealed, 100, 'correct horse batterz'), /the passphrase is wrong/);
  await assert.rejects(open(Buffer.from('PK\u0003\u0004')), /no backup that was encrypted/);
  const costly = Buffer.from(sealed.toString('latin1').replace(/^(.*\n-> scrypt \S+) 4\n/, '$1 30\n'), 'latin1');
  await assert.rejects(open(costly), /2\^30 steps/, 'nobody is kept busy by a header');
});

test('cut anywhere, or with a bit changed anywhere, nothing is whole', async () => {
  const sealed = await seal(randomBytes(150_000));
  const header = sealed.indexOf('\n', sealed.indexOf('---')) + 1;
  const [first, tail] = [header + 16, fc.nat(64).map((from) => sealed.length - 1 - from)];
  const anywhere = fc.oneof(fc.nat(header), fc.nat(sealed.length - 1), tail, fc.constantFrom(first, first + 65_552));
  await fc.assert(
    fc.asyncProperty(anywhere, fc.nat(7), async (at, bit) => {
      await assert.rejects(open(sealed.subarray(0, at)), DamagedBackup, `cut at ${at}`);
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      await assert.rejects(open(changed), DamagedBackup, `bit ${bit} of ${at}`);
    }),
    { numRuns: 100 },
  );
  await assert.rejects(open(Buffer.concat([sealed, Buffer.from('x')])), DamagedBackup, 'something behind it');
  const piece = (number: number) => sealed.subarray(first + number * 65_552, first + (number + 1) * 65_552);
  const turned = [sealed.subarray(0, first), piece(1), piece(0), piece(2)];
  await assert.rejects(open(Buffer.concat(turned)), DamagedBackup, 'pieces in another order');
});
