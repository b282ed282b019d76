// Covers the order of work and what was written with it where the database is spread over nodes. Most of it needs TEST_CITUS_URL.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { after, suite, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { citusUrl, openNodes, urlOf } from '../../test/spread-database.ts';
import { addEstablishment } from '../access/establishments.ts';
import { connect } from '../db/connect.ts';
import { afterCommit, createCommitWait } from './after-commit.ts';
import type { ClaimedWork } from './claim.ts';
import type { Handlers } from './worker.ts';

const { db, url } = await useDatabase();
const done: string[] = [];
const handlers: Handlers = {
  note: {
    longestSeconds: 1,
    run: async ({ id }) => {
      done.push(id);
      return { success: true, state: 'done', detail: {} };
    },
  },
};
const work = (estab: string, id: string) => ({ estab, id, kind: 'note', forgiven: 0 }) as ClaimedWork;
await addEstablishment(db, { estab: 'waiting', name: 'Waiting', email: 'office@waiting.example' });

test('on one node work is done at once, and nothing more is asked of the database than once whether it is one', { skip: citusUrl !== undefined }, async () => {
  const { note } = afterCommit(createCommitWait(db), handlers);
  assert.ok(note);
  const asked = await heardStatements(async () => {
    for (const id of ['one', 'two']) await note.run(work('waiting', id));
  });
  assert.deepEqual([done, asked.length], [['one', 'two'], 1]);
});

suite('on several nodes', { skip: citusUrl === undefined && 'TEST_CITUS_URL names no cluster' }, () => {
  const { note } = afterCommit(createCommitWait(db), handlers);

  test('what is written with a school and the work that follows from it are prepared first: both are, or neither', async () => {
    const countPrepared = async () => Number((await db`select count(*)::int as count from pg_dist_transaction`)[0]?.count);
    const before = await countPrepared();
    await db.begin(async (tx) => {
      await tx`update roster set version = version where estab = 'waiting'`;
      await tx`delete from outbox where estab = 'waiting'`;
    });
    assert.equal(await countPrepared(), before + 1);
    await assert.rejects(db.begin(async (tx) => void (await tx`select 1 / 0`.catch(() => {}))), /the failure was passed over/);
  });

  test('work waits until what was prepared on its node has been committed, and not for what is prepared later', async () => {
    const { nodes, close } = await openNodes(citusUrl ?? '');
    after(close);
    const name = new URL(url).pathname.slice(1);
    const [placed] = await db<{ port: number }[]>`
      select nodeport as port from citus_shards where shardid = get_shard_id_for_distribution_column('roster', 'waiting') and table_name = 'roster'::regclass`;
    const node = connect(urlOf(nodes.find(({ port }) => port === placed?.port), name), { max: 1, name: 'test node' });
    after(() => node.end());
    const prepare = async (as: string) => {
      const connection = await node.reserve();
      await connection`begin`;
      await connection.unsafe('create table pending_' + as + ' ()');
      await connection.unsafe(`prepare transaction '${as}'`);
      connection.release();
    };
    await prepare('first');
    const doing = note?.run(work('waiting', 'after'));
    await pause(100);
    await prepare('second');
    assert.ok(!done.includes('after'));
    await node.unsafe(`commit prepared 'first'`);
    assert.deepEqual([(await doing)?.success, done.includes('after')], [true, true]);
    // One that stays, as when its node died: later, and as nobody's fault.
    const outcome = await note?.run(work('waiting', 'later'));
    assert.deepEqual([outcome?.success, outcome?.state, done.includes('later')], [false, 'waiting', false]);
    await node.unsafe(`rollback prepared 'second'`);
    assert.equal((await note?.run(work('waiting', 'later')))?.success, true);
  });
});
