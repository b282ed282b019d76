// Tests that nothing of a password or a query is written down with an address, however it is mistyped and wherever it stands, and
// that what would be called is not mistaken.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainAddress, plainAddresses } from './plain-addresses.ts';

const signs = ['', '/', '?', '#', '"', "'", '@', ':', '\\', '%', '&', ' ', '12/', '”', '.'];
const around: readonly [string, string][] = [['', ''], ['see ', ' now'], ['“', '” is none'], ['Nothing was saved: "', '": it has a user.'], ['url=', ', no']];

test('of a user and a password nothing is left, whatever signs they have, with slashes and without', () => {
  for (const sign of signs) {
    for (const start of ['https://', 'https:', 'http:/', 'x-app://', '']) {
      const address = `${start}s3cret:s3${sign}s3cret@host.example/ims?key=s3cret`;
      assert.doesNotMatch(plainAddress(address), /s3/, address);
      // Without slashes no text tells where an address with blanks begins.
      if (sign === ' ' && !start.endsWith('//')) continue;
      for (const [before, behind] of around) {
        const said = plainAddresses(`${before}${address}${behind}`);
        assert.doesNotMatch(said, /s3/, `${before}${address}${behind}`);
        assert.match(said, /host\.example\/ims/);
      }
    }
  }
});

test('where it goes is said as it is: protocol, host and path', () => {
  const told: Readonly<Record<string, string>> = {
    'https://me:p@ss@mis.example/ims?key=1#2': 'https://mis.example/ims',
    'https://evil.example/?to=@good.example': 'https://evil.example/',
    'https://evil.example/@good.example': 'https://evil.example',
    'https://me@evil.example/@good.example': 'https://evil.example',
    'https://h.example:8443/ims': 'https://h.example:8443/ims',
    'https://[::1]:80/x': 'https://[::1]:80/x',
    'x://me@y/z#1': 'x://y/z',
    'com.app:/back?code=1': 'com.app:/back',
    'urn:x:y': 'urn:x:y',
  };
  for (const [address, expected] of Object.entries(told)) {
    assert.equal(plainAddress(address), expected);
    assert.equal(plainAddresses(`(${address}), see office@school.example`), `(${expected}), see office@school.example`);
  }
});

test('what is no address stays', () => {
  const texts = ['office@school.example', '“a@b.example”: 10:30, a/b?', '--email "a@b.example": wrong', 'https://a.example: no, said b@c.example'];
  for (const text of texts) assert.equal(plainAddresses(text), text);
});
