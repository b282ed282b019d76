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

test('more connections than the server gives are warned of, over all processes of the service, without commands', async () => {
  const [row] = await db<{ room: number }[]>`select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as room`;
  const room = row?.room ?? 0;
  // As `status --check` asks.
  const command = open(url, 'commands');
  await command`select 1`;
  const shortage = async (perProcess: number) => (await findConnectionShortage(command, perProcess)) ?? '';
  assert.equal(await shortage(room), '');
  assert.match(await shortage(room + 1), new RegExp(`one process .* ask for ${room + 1} connections, and PostgreSQL gives ${room}: raise max_connections`));
  // Connections of another process carry another tag.
  const [one, other] = [await db.reserve(), await db.reserve()];
  await one`select set_config('application_name', 'schoolbell callers one1', false)`;
  assert.equal(await shortage(room), '');
  await other`select set_config('application_name', 'schoolbell outbox other1', false)`;
  assert.match(await shortage(room), new RegExp(`2 processes .* ask for ${2 * room} connections`));
  // A process that was killed a minute ago has no connection and did not delete its row.
  const report = (tag: string) => db`
    insert into service_process (tag, version, role, host, migration, seen_at) values (${tag}, '0.1.0', 'all', 'here', 1, now() - interval '1 minute')`;
  await report('killed1');
  await other`select set_config('application_name', 'schoolbell test', false)`;
  assert.equal(await shortage(room), '');
  // A running process counts, whichever pool has its only connection.
  await report('other1');
  await other`select set_config('application_name', 'schoolbell console other1', false)`;
  assert.match(await shortage(room), new RegExp(`2 processes .* ask for ${2 * room} connections`));
  for (const connection of [one, other]) {
    await connection`select set_config('application_name', 'schoolbell test', false)`;
    connection.release();
  }
});
