// Whole lists that go out compressed: the bytes that they are without it, of one school and of several, from a copy that is made once; what
// is damaged is an error and then right.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { byName } from '../../test/dialects.ts';
import { loadSource, madeUpSource, person, role } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';

const service = await useService();
const folder = join(service.dataDir, 'lists');
const estabs = ['9990001', '9990002', '9990003'];
const sizes = [400, 30, 300];
for (const [at, estab] of estabs.entries()) {
  await service.addSchool(estab);
  await loadSource(service, estab, madeUpSource({
    orgs: [{ sourcedId: 'org', name: `Schöol ${at}`, type: 'school' }],
    users: Array.from({ length: sizes[at] ?? 0 }, (_, number) => person(`p${at}-${number}`, [role('student', 'org')])),
  }));
}
const [first = ''] = estabs;
const client = await service.addClient('app', estabs);
const tokens = { one: await client.tokenB(first), all: await client.tokenA() };
const read = (of: 'one' | 'all', encoding: string, url = service.url) =>
  readAnswer(`${url}${(of === 'one' ? byName.B : byName.A).root}/users`, { authorization: `Bearer ${tokens[of]}`, 'accept-encoding': encoding });
const decode = { gzip: gunzipSync, zstd: zstdDecompressSync };
const copies = () => readdirSync(folder).filter((name) => /\.(?:gzip|zstd)$/.test(name));

for (const [of, encoding, made] of [['one', 'gzip', 1], ['one', 'zstd', 1], ['all', 'gzip', 3], ['all', 'zstd', 0]] as const)
  test(`${of} in ${encoding}: the same bytes, from ${made === 0 ? 'no copy' : 'copies that are made once'}`, async () => {
    const plain = await read(of, 'identity');
    const before = copies().length;
    for (let time = 0; time < 3; time += 1) {
      const answer = await read(of, encoding);
      assert.deepEqual([answer.status, answer.fault, answer.headers['content-encoding']], [200, undefined, encoding]);
      assert.ok(decode[encoding](answer.body).equals(plain.body));
      assert.match(String(answer.headers.vary), /accept-encoding/);
      assert.deepEqual([answer.headers.etag, answer.headers['x-total-count']], [plain.headers.etag, plain.headers['x-total-count']]);
      assert.equal(answer.headers['content-length'], time > 0 && made > 0 ? String(answer.body.length) : undefined);
      assert.equal(copies().length, before + made);
    }
  });

test('a copy that is damaged is never sent as if it were whole, and made anew', async () => {
  const plain = await read('one', 'identity');
  for (const name of copies()) {
    const bytes = readFileSync(join(folder, name));
    bytes.writeUInt8(bytes.readUInt8(40) ^ 0xff, 40);
    writeFileSync(join(folder, name), bytes);
  }
  const { url } = await service.join();
  for (const encoding of ['gzip', 'zstd'] as const) {
    const broken = await read('one', encoding, url);
    assert.ok(broken.status === 500 || broken.fault !== undefined, 'refused, or broken off');
    const answer = await read('one', encoding, url);
    assert.ok(decode[encoding](answer.body).equals(plain.body));
  }
});
