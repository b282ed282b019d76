// Covers what of an error or a message reaches the log: no query strings, and no more work than the length of the text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EnvironmentFault } from '../environment-fault.ts';
import { renderEntry } from './log-lines.ts';
import { logSerializers } from './log-serializers.ts';

test('the query of every path and URL is removed, and other text stays', () => {
  for (const [text, logged] of [
    ['GET /x?code=7d1: 404', 'GET /x?… 404'],
    ['see https://a.example/x?a=1&b=/y?c=2 and "/z?d=3".', 'see https://a.example/x?… and "/z?…'],
    ['in "/api/v1/Identity/GenerateQRCode?text="WIFI:password" (GET) route?', 'in "/api/v1/Identity/GenerateQRCode?…" (GET) route?'],
    ['"/a"b?text=<b>`secret`" (GET)', '"/a"b?…" (GET)'],
    ['/a?b=\u00a0secret\tsecret d', '/a?… d'],
    ['/a?b=1\n    at c (/d.js:1:2)', '/a?…\n    at c (/d.js:1:2)'],
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
  assert.equal(logSerializers.msg(`${'"?'.repeat(1024 ** 2 / 2)}`).length, 1024 ** 2);
  assert.equal(logSerializers.msg(`/?${'"'.repeat(1024 ** 2)}`), '/?…"');
});

test('a fault of the environment is logged without a stack, and so is the error of the system behind it', () => {
  const fault = new EnvironmentFault('DATA_DIR /data: the disk is full', { code: 'ENOSPC', cause: new Error('ENOSPC: write') });
  for (const error of [fault, new Error('the import failed', { cause: fault })]) {
    const logged = JSON.stringify({ level: 50, time: 0, msg: 'failed', err: logSerializers.err(error) });
    assert.match(logged, /DATA_DIR \/data: the disk is full.*ENOSPC: write/);
    assert.equal(/\bat .*log-serializers\.test/.test(logged), error !== fault);
    assert.match(renderEntry(logged, (_, text) => text), new RegExp(error.message));
  }
});
