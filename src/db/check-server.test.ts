// Which servers are refused at the start, and when there may be too few connections.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { useTransactionPooler } from '../../test/transaction-pooler.ts';
import { findConnectionShortage, requireUsableServer } from './check-server.ts';
import { connect, type Db } from './connect.ts';

const { db, url } = await useDatabase();
const opened: Db[] = [];
after(async () => {
  for (const pool of opened) await pool.end({ timeout: 1 });
});
const open = (address: string, name = 'checking') => {
  const pool = connect(address, { max: 2, name, connectionMs: 60_000 });
  opened.push(pool);
  return pool;
};

test('PostgreSQL itself is usable', () => requireUsableServer(open(url)));

for (const connections of [2, 5]) {
  test(`a pooler in transaction mode with ${connections} connections is refused, in words`, async () => {
    const through = open(await useTransactionPooler(url, connections));
    assert.deepEqual(await through`select 1 as one`, [{ one: 1 }], 'it works as such');
    await assert.rejects(requireUsableServer(through), /DATABASE_URL: leads to a pooler in transaction mode .* session mode/);
  });
}

test('more connections than the server gives are warned of, over all processes seen', async () => {
  const [row] = await db<{ room: number }[]>`select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as room`;
  const room = row?.room ?? 0;
  const one = open(url);
  await one`select 1`;
  const listening = await one.listen('news', () => {});
  assert.equal(await findConnectionShortage(one, room), undefined);
  assert.match(
    (await findConnectionShortage(one, room + 1)) ?? '',
    new RegExp(`this process may ask for ${room + 1} connections, and PostgreSQL gives ${room}: raise max_connections`),
  );
  // Another process is one whose connections carry another tag.
  const other = await db.reserve();
  await other`select set_config('application_name', 'schoolbell reads other1', false)`;
  assert.match((await findConnectionShortage(one, room)) ?? '', new RegExp(`2 processes may ask for ${2 * room} connections`));
  await listening.unlisten();
  await other`select set_config('application_name', 'schoolbell test', false)`;
  other.release();
});
