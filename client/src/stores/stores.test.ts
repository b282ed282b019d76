// Covers the stores that come along: each keeps what sync() builds on, over every shape of handle, and none leaves anything
// of a transaction that failed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import pg from 'pg';
import { useDatabase } from '../../../test/database.ts';
import { checkStore } from '../../check-store.ts';
import { memoryStore } from './memory.ts';
import { pgStore } from './pg.ts';
import { sqliteStore } from './sqlite.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-stores-'));
// Before the database goes.
after(async () => {
  await pool.end();
  rmSync(folder, { recursive: true, force: true });
});
const { url } = await useDatabase();
const pool = new pg.Pool({ connectionString: url, max: 4 });

test('memory', async () => {
  let now = Date.now();
  const store = memoryStore({ now: () => now });
  await checkStore(() => store, () => (now += 3_600_001));
});

test('SQLite, as two processes on one file', async () => {
  const open = () => new DatabaseSync(join(folder, 'one.db'));
  const handles = [open(), open()];
  let given = 0;
  await checkStore(() => sqliteStore(handles[given++] ?? open()), () => handles[0]?.exec('update schoolbell_state set until = 0'));
  for (const handle of handles) handle.close();
});

test('PostgreSQL, over a pool', async () => {
  await checkStore(() => pgStore(pool, { prefix: 'pooled_' }), () => pool.query('update pooled_state set until = 0'));
});

test('PostgreSQL, over single clients, in a schema of their own', async () => {
  await pool.query('create schema copies');
  const clients = [new pg.Client(url), new pg.Client(url)];
  for (const client of clients) await client.connect();
  let given = 0;
  await checkStore(
    () => pgStore(clients[given++] as pg.Client, { prefix: 'copies.own_' }),
    () => pool.query('update copies.own_state set until = 0'),
  );
  for (const client of clients) await client.end();
});

test('many who open a new store at once meet without an error, and one has it', async () => {
  const opened = await Promise.all(Array.from({ length: 4 }, (_, at) => pgStore(pool, { prefix: 'race_' }).open(`holder ${at}`, 60_000)));
  assert.equal(opened.filter((one) => 'copy' in one).length, 1);
});

test('a prefix that is no name is refused', () => {
  assert.throws(() => pgStore(pool, { prefix: 'a; drop table users --' }), /not a name/);
});
