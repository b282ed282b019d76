// Unknown query parameters of OneRoster endpoints are ignored, as the standard requires, and listed in a response header.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testedDialects } from '../../test/dialects.ts';
import { smallPackage } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';

const service = await useService();
await service.addSchool('S1', smallPackage());
const client = await service.addClient('app', ['S1']);
const header = 'x-unknown-parameters';

for (const dialect of testedDialects) {
  const read = (path: string, headers?: Record<string, string>) => dialect.read(client, 'S1', path, headers);
  const unknownOf = async (path: string) => (await read(path)).headers.get(header);

  test(`${dialect.name}: unknown parameters have no effect and are listed`, async () => {
    const [plain, given] = [await read('/users'), await read('/users?limt=3&Offset=2')];
    assert.equal(given.status, 200);
    assert.equal(await given.text(), await plain.text());
    assert.deepEqual([plain.headers.get(header), given.headers.get(header)], [null, 'limt, Offset']);
  });

  test(`${dialect.name}: known parameters are not listed`, async () => {
    const page = await read("/users?limit=2&offset=1&sort=sourcedId&orderBy=asc&fields=sourcedId&filter=status%3D'active'");
    assert.deepEqual([page.status, page.headers.get(header)], [200, null]);
    const next = /<[^>]*(\/users\?[^>]*)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page');
    assert.match(next, /rosterVersion=/);
    assert.equal(await unknownOf(next), null);
    assert.equal(await unknownOf('/users/p1?fields=sourcedId'), null);
    assert.equal(await unknownOf('/users/p1?fields=sourcedId&limit=1'), 'limit');
  });

  test(`${dialect.name}: errors and 304 have the header too`, async () => {
    const known = await read('/users?limit=1&x=1');
    const unchanged = await read('/users?limit=1&x=1', { 'if-none-match': known.headers.get('etag') ?? '' });
    assert.deepEqual([unchanged.status, unchanged.headers.get(header)], [304, 'x']);
    const faulty = await read('/users?limit=none&ofset=1');
    assert.deepEqual([faulty.status, faulty.headers.get(header)], [400, 'ofset']);
    const missing = await read('/users/nobody?x=1');
    assert.deepEqual([missing.status, missing.headers.get(header)], [404, 'x']);
  });

  test(`${dialect.name}: at most 10 names of 60 characters, percent-encoded`, async () => {
    const names = ['a,b', 'näme', 'new\r\nline', `${'x'.repeat(59)}😀tail`, ...Array.from({ length: 20 }, (_, at) => `p${at}`)];
    const listed = await unknownOf(`/users?${names.map((name) => `${encodeURIComponent(name)}=1`).join('&')}`);
    assert.deepEqual(listed?.split(', '), [
      'a%2Cb', 'n%C3%A4me', 'new%0D%0Aline', `${'x'.repeat(59)}%F0%9F%98%80`, 'p0', 'p1', 'p2', 'p3', 'p4', 'p5',
    ]);
  });
}
