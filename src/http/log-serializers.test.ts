// Covers what of an error or a message reaches the log: no query strings, and no more work than the length of the text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logSerializers } from './log-serializers.ts';

test('the query of every path and URL is removed, and other text stays', () => {
  for (const [text, logged] of [
    ['GET /x?code=7d1: 404', 'GET /x?… 404'],
    ['see https://a.example/x?a=1&b=/y?c=2 and "/z?d=3".', 'see https://a.example/x?… and "/z?…".'],
    ['(/a?b=1) then /c/d?e', '(/a?… then /c/d?…'],
    ["GET /api/GenerateQRCode?text=it's%20(a)%20secret and /o'brien?x", "GET /api/GenerateQRCode?… and /o'brien?…"],
    ['/a?b\\c=secret d', '/a?… d'],
    ['Why? Because/of this? Yes', 'Why? Because/of this? Yes'],
    ['no/path? "x?y"', 'no/path? "x?y"'],
    ['??/a??b', '??/a?…'],
  ] as const)
    assert.equal(logSerializers.msg(text), logged);
});

test('a message of a megabyte of slashes, or of slashes and question marks, takes no longer than any other of its length', () => {
  const slashes = '/'.repeat(1024 ** 2);
  assert.equal(logSerializers.msg(slashes), slashes);
  assert.equal(logSerializers.msg(`${slashes}?a`), `${slashes}?…`);
  assert.equal(logSerializers.msg('/? '.repeat(1024 ** 2 / 3)).length, Math.floor(1024 ** 2 / 3) * 3);
  assert.equal(logSerializers.msg(`/${'?'.repeat(1024 ** 2)}`), '/?…');
});
