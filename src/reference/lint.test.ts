// Holds the documents to a public linter, with its strictest set of rules and none left out.
import { createConfig, lintFromString } from '@redocly/openapi-core';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../test/generate.ts';
import { pathOf, surfaces } from './surfaces.ts';

const complaints = async (source: string): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended-strict'] });
  const problems = await lintFromString({ source, absoluteRef: 'document.json', config });
  return problems.map(({ ruleId, message, location: [place] }) => `${ruleId} ${place?.pointer ?? ''}: ${message}`);
};

for (const { name } of surfaces) {
  test(`${pathOf(name)} has nothing to complain about`, async () => {
    assert.deepEqual(await complaints(readFileSync(join(root, pathOf(name)), 'utf8')), []);
  });
}

test('the linter does complain: of an operation without a summary, a tag without words, an answer that does not fit', async () => {
  const source = readFileSync(join(root, pathOf('variant-a')), 'utf8');
  const broken = source.replace('"summary": "List organisations",', '').replace(/"description": "The client id and secret[^"]*"/, '"x-none": ""');
  assert.notEqual(broken, source);
  const rules = (await complaints(broken.replace('"expires_in": 3600', '"expires_in": "soon"'))).map((one) => one.split(' ', 1)[0]);
  assert.deepEqual(rules.toSorted(), ['no-invalid-media-type-examples', 'operation-summary', 'tag-description']);
});
