// Covers providers that answer a byte at a time: however many there are, nobody else waits for them, and nothing of the
// database is held that would.
import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { until } from '../../test/until.ts';
import { mark, useWriteback } from '../../test/writeback.ts';
import { setConnector } from './connector-settings.ts';

const schools = 8;
const { service, db, addSchool } = await useWriteback();

/** Gives a token, says how much there is, and then takes its time. */
const dripping = new Set<ServerResponse>();
const provider = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider.example');
  if (request.method === 'POST') response.end('{"access_token":"t","token_type":"Bearer","expires_in":3600}');
  else if (searchParams.get('limit') === '1') response.setHeader('x-total-count', '1').end(`{"${pathname.slice('/v1p1/'.length)}":[{}]}`);
  else {
    response.write(' ');
    dripping.add(response.once('close', () => dripping.delete(response)));
  }
});
const drip = setInterval(() => dripping.forEach((response) => response.write(' ')), 1_000);
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');
after(() => {
  clearInterval(drip);
  provider.closeAllConnections();
  provider.close();
});

test('eight providers that answer a byte a second hold nothing: marks are written, pages read, and vacuum can clean', async () => {
  const writing = await addSchool();
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1p1`;
  for (let at = 0; at < schools; at += 1) {
    const estab = `slow${at}`;
    await service.addSchool(estab);
    const setup = { kind: 'oneroster', url, tokenUrl: `${url}/token`, clientId: 'id', clientSecret: 'secret' } as const;
    await db.begin((tx) => setConnector(tx, service.seal, estab, setup));
  }
  await until('all of them are being read', () => dripping.size === schools, () => dripping.size);
  const holding = async () => [
    ...(await db`
      select application_name, state, query from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and application_name like '%collections%'
        and (xact_start is not null or backend_xmin is not null)`),
  ];
  assert.deepEqual(await holding(), []);
  const answer = await writing.post([mark(0)]);
  assert.deepEqual([answer.status, answer.Status], [200, 'Completed']);
  const page = await writing.client.b(writing.estab, '/users?limit=2');
  assert.deepEqual([page.status, page.headers.get('x-total-count')], [200, '5']);
  assert.deepEqual([dripping.size, await holding()], [schools, []]);
  const [waits] = await db<{ locks: number }[]>`
    select count(*)::int as locks from pg_locks l join pg_class c on c.oid = l.relation where c.relname like 'roster%' and l.mode <> 'AccessShareLock'
      and l.database = (select oid from pg_database where datname = current_database())`;
  assert.equal(waits?.locks, 0);
});
