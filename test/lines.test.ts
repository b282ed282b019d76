// The house's measure: no line of a source is longer than 160 characters.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
const longest = 160;

test(`no line is longer than ${longest} characters`, () => {
  const files = globSync('{src,test,bench,client,scripts}/**/*.{ts,js,mjs,css}', { cwd: root, exclude: ['client/dist/**'] });
  assert.ok(files.length > 300);
  const tooLong = files.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, at) => (Array.from(line).length > longest ? [`${file}:${at + 1}`] : []));
  });
  assert.deepEqual(tooLong, []);
});
