// Tests the documents as they are served: the ones that are generated, for anybody, and not sent again to who has them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../test/generate.ts';
import { useService } from '../../test/service.ts';
import { exampleUrl } from './examples.ts';
import { pathOf, surfaces } from './surfaces.ts';

const { url } = await useService({ DEMO: 'on' });

for (const { name } of surfaces) {
  const path = pathOf(name);

  test(`${path} is the document that is generated, with the address of this service`, async () => {
    const response = await fetch(url + path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(response.headers.get('cache-control'), 'public, max-age=3600');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    assert.equal((await response.text()).replaceAll(url, exampleUrl), readFileSync(join(root, path), 'utf8'));
  });

  test(`${path} is not sent to who has it`, async () => {
    const tag = (await fetch(url + path, { method: 'HEAD' })).headers.get('etag') ?? '';
    assert.match(tag, /^W\/"[\w-]{22}"$/);
    for (const given of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
      const response = await fetch(url + path, { headers: { 'if-none-match': given } });
      assert.deepEqual([response.status, response.headers.get('etag'), await response.text()], [304, tag, '']);
    }
    assert.equal((await fetch(url + path, { headers: { 'if-none-match': '"other"' } })).status, 200);
  });
}
