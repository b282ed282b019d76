// Covers the stores that come along: each keeps what sync() builds on, over every shape of handle, and none leaves anything
// of a transaction that failed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import pg from 'pg';
import { useDatabase } from '../../../test/database.ts';
import { checkStore } from '../../check-store.ts';
import type { Row } from '../sync-store.ts';
import { memoryStore } from './memory.ts';
import { pgStore, type PgPool } from './pg.ts';
import { sqliteStore, type SqliteHandle } from './sqlite.ts';

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

/** As better-sqlite3 has it: names are given apart, as many values as there are marks, and each statement by the method that is meant for it. */
function openStrict(file: string): SqliteHandle & { close(): void } {
  const db = new DatabaseSync(join(folder, file));
  return {
    exec: (text) => db.exec(text),
    prepare(text) {
      const statement = db.prepare(text);
      const stringent = (method: 'all' | 'run') => (...values: never[]) => {
        assert.doesNotMatch(text, /[?$:@]\w/);
        assert.equal(values.length, text.split('?').length - 1, text);
        assert.equal(method === 'all', statement.columns().length > 0, text);
        return statement[method](...values) as unknown[];
      };
      return { all: stringent('all'), run: stringent('run') };
    },
    close: () => db.close(),
  };
}

test('SQLite, over a handle that takes nothing amiss and nothing on trust', async () => {
  const handles = [openStrict('strict.db'), openStrict('strict.db')] as const;
  let given = 0;
  await checkStore(() => sqliteStore(handles[given++ % 2] ?? handles[0], { prefix: 'main.own_' }), () => handles[0].exec('update own_state set until = 0'));
  for (const handle of handles) handle.close();
});

test('what went wrong is said also where SQLite has taken everything back by itself', async () => {
  const db = new DatabaseSync(':memory:');
  const full: SqliteHandle = {
    exec(text) {
      db.exec(text === 'commit' ? 'rollback' : text);
      if (text === 'commit') throw new Error('database or disk is full');
    },
    prepare: (text) => db.prepare(text),
  };
  await assert.rejects(sqliteStore(full).open('a', 60_000), /disk is full/);
});

test('a great many changes at once, in memory', async () => {
  const store = memoryStore();
  await store.open('a', 60_000);
  const many = 200_000;
  const kept = (id: string) => ({ sourcedId: id, status: 'active', dateLastModified: '' });
  const rows = Array.from({ length: many }, (_, at): Row => ({ collection: 'users', id: `${at}`, part: '', place: 0, record: kept(`${at}`) }));
  await store.stage('a', null, { rows });
  assert.equal((await store.publish('a', 'copy', true))[0]?.added, many);
  assert.equal((await store.changes(500)).changes.length, 500);
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

test('many who open a new store at once meet without an error, and one has it, however strictly transactions are kept apart', async (t) => {
  const strict = new pg.Pool({ connectionString: url, max: 4, options: '-c default_transaction_isolation=serializable' });
  t.after(() => strict.end());
  for (const [prefix, handle] of Object.entries({ race_: pool, strict_: strict })) {
    const open = () => Promise.all(Array.from({ length: 4 }, (_, at) => pgStore(handle, { prefix }).open(`holder ${at}`, 60_000)));
    const [first, again] = [await open(), await open()];
    assert.deepEqual([first, again].map((opened) => opened.filter((one) => 'copy' in one).length), [1, 0]);
    const winner = `holder ${first.findIndex((one) => 'copy' in one)}`;
    await Promise.all(Array.from({ length: 4 }, () => pgStore(handle, { prefix }).renew(winner)));
  }
});

test('tables that somebody emptied are those of a new store', async () => {
  const db = new DatabaseSync(':memory:');
  await sqliteStore(db).open('a', 60_000);
  db.exec('delete from schoolbell_state');
  assert.deepEqual(await sqliteStore(db).open('b', 60_000), { copy: null, run: null });
});

test('a connection that is lost in the middle fails what was under way, and nothing else', async () => {
  const losing: PgPool = {
    totalCount: 0,
    async connect() {
      const client = await pool.connect();
      const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;
      return Object.assign(client, {
        async query(text: string, values?: unknown[]) {
          if (text !== 'commit') return query(text, values);
          const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
          const closed = new Promise((resolve) => stream.once('close', resolve));
          await pool.query('select pg_terminate_backend($1::int)', [(await query('select pg_backend_pid() as pid')).rows[0]?.pid]);
          await closed;
          return query(text, values);
        },
      });
    },
  };
  await assert.rejects(pgStore(losing, { prefix: 'lost_' }).open('a', 60_000));
  assert.deepEqual(await pgStore(pool, { prefix: 'lost_' }).open('b', 60_000), { copy: null, run: null });
  const client = await pool.connect();
  assert.equal(client.listenerCount('error'), 0, 'nothing of it is left at the connections');
  client.release();
});

test('a transaction that stands still is ended by the server, and the connection is then as it was', async (t) => {
  const client = new pg.Client(url);
  t.after(() => client.end());
  await client.connect();
  const limit = async () => Object.values((await client.query<Record<string, string>>('show idle_in_transaction_session_timeout')).rows[0] ?? {})[0];
  const limits = [await limit()];
  const store = pgStore({
    async query(text, values) {
      if (text === 'commit') limits.push(await limit());
      return client.query<Record<string, unknown>>(text, values);
    },
  }, { prefix: 'still_' });
  await store.open('a', 60_000);
  limits.push(await limit());
  assert.deepEqual(limits, [limits[0], '1min', limits[0]]);
});

test('a prefix that is no name, or leaves no room for one, is refused', () => {
  assert.throws(() => pgStore(pool, { prefix: 'x'.repeat(60) }), /not a name/);
  assert.throws(() => pgStore(pool, { prefix: 'a; drop table users --' }), /not a name/);
});
