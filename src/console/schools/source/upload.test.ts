// A package that comes slowly, and is cut off: what it was to do stands in the trail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../../test/console.ts';
import { until } from '../../../../test/until.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
const admin = await enter('admin');
await service.addSchool('s');
const noted = async () =>
  (await db<{ outcome: string | null; detail: unknown }[]>`select outcome, detail from audit_event where action = 'import'`)
    .map(({ outcome, detail }) => [outcome, detail]);

test('what a package is to do is noted before it has come', async () => {
  const [cutting, rest] = [new AbortController(), Promise.withResolvers<void>()];
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(['--x', 'content-disposition: form-data; name="change"', '', 'yes', '--x',
      'content-disposition: form-data; name="package"; filename="p.zip"', '', 'PK'].join('\r\n'));
    await rest.promise;
  }
  const headers = { cookie: admin.cookie, accept: 'text/html', 'content-type': 'multipart/form-data; boundary=x' };
  const path = `${url}/console/schools/s/source/upload/send?token=${encodeURIComponent(admin.token)}`;
  const sent = fetch(path, { method: 'POST', headers, body: body(), duplex: 'half', signal: cutting.signal, redirect: 'manual' });
  const cut = assert.rejects(sent);
  await until('it is noted', async () => (await noted()).length > 0);
  assert.deepEqual(await noted(), [[null, { inPlaceOfProvider: true }]]);
  cutting.abort();
  rest.resolve();
  await cut;
  await until('it is seen to be cut off', async () => (await noted())[0]?.[0] !== null);
  assert.deepEqual([(await noted())[0]?.[0] === 'done', (await db`select from upload`).length], [false, 0]);
});
