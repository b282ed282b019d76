// The driver when its server side dies: statements reject, the process lives, and the pool goes on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, reserveWithin } from './connect.ts';
import { useDatabase } from '../../test/database.ts';

const { db, url } = await useDatabase();
const pool = connect(url, { max: 1, name: 'victim' });
const closed = { code: 'CONNECTION_CLOSED' };

async function kill(pid: unknown): Promise<void> {
  await db`select pg_terminate_backend(${Number(pid)}, 5000)`;
}

test('a reserved connection that dies rejects what follows, and is not handed out again', async () => {
  for (let round = 0; round < 5; round += 1) {
    const connection = await pool.reserve();
    const [row] = await connection`select pg_backend_pid() as pid`;
    await kill(row?.pid);
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(async () => connection`select 1`);
    await assert.rejects(async () => connection`rollback`, closed);
    connection.release();
    assert.deepEqual([...(await pool`select 1 as one`)], [{ one: 1 }]);
  }
});

test('a transaction whose connection dies rejects, and the pool goes on', async () => {
  for (let round = 0; round < 5; round += 1) {
    await assert.rejects(
      pool.begin(async (tx) => {
        const [row] = await tx`select pg_backend_pid() as pid`;
        await kill(row?.pid);
        await tx`select 1`;
      }),
    );
    assert.deepEqual([...(await pool`select 1 as one`)], [{ one: 1 }]);
  }
});

test('what is left of a transaction does not run on the connection that replaced its own', async () => {
  await db`create table trace (round int)`;
  for (let round = 0; round < 5; round += 1) {
    const replaced = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<string>();
    await assert.rejects(
      pool.begin(async (tx) => {
        const [row] = await tx`select pg_backend_pid() as pid`;
        await kill(row?.pid);
        await replaced.promise;
        await tx`insert into trace values (${round})`.then(() => rest.resolve('ran'), () => rest.resolve('rejected'));
      }),
    );
    assert.deepEqual([...(await pool`select 1 as one`)], [{ one: 1 }]);
    replaced.resolve();
    assert.equal(await rest.promise, 'rejected');
  }
  assert.deepEqual([...(await db`select * from trace`)], []);
});

test('a pool that has no connection free gives none in time', async () => {
  const connection = await pool.reserve();
  assert.equal(await reserveWithin(pool, 10), undefined);
  connection.release();
  assert.deepEqual([...(await pool`select 1 as one`)], [{ one: 1 }]);
  await pool.end({ timeout: 1 });
});
