// Which edition of OneRoster is spoken is known to the dialects and to the tables of fields, and to nothing else of the API.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const names = /v1p[12]|\b1p[12]\b|\b1\.[12]\b/;

test('no file of the API but the dialects names an edition', () => {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).filter((file) => !file.endsWith('.test.ts'));
  assert.ok(files.length > 30);
  const knowing = files.filter((file) => names.test(readFileSync(`${import.meta.dirname}/${file}`, 'utf8')));
  assert.deepEqual(knowing, []);
});
