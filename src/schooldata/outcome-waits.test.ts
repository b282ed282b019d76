// Covers requests that wait for an outcome: woken when it is there, by whichever process, over one connection for all of
// them; a word that is lost, a client that leaves, and a service that ends.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { heardStatements } from '../../test/heard-statements.ts';
import { until } from '../../test/until.ts';
import { mark, useWriteback, type Answer, type WritingSchool } from '../../test/writeback.ts';

/** Whoever is answered here was told: nobody looks by itself within the hour. */
const { service, db, addSchool } = await useWriteback({ lookEveryMs: 3_600_000 });
const isLook = (text: string) => /^\s*select from writeback where estab = \$1 and tracking_id = \$2 and status <> 'Pending'/.test(text);
const listening = async () =>
  (await db`select from pg_stat_activity where datname = current_database() and application_name like 'schoolbell changes % listening'`).length;
const taken = async ({ estab }: WritingSchool, count: number) => (await db`select from writeback where estab = ${estab}`).length === count;

/** The MIS answers when the work that is begun here is done. */
async function whileMisWaits<T>(work: () => Promise<T>): Promise<T> {
  const mis = await db.reserve();
  await mis`begin`;
  await mis`lock table demo_write in exclusive mode`;
  try {
    return await work();
  } finally {
    await mis`commit`;
    mis.release();
  }
}

test('any number of requests wait over one connection, each looks once and is then told', async () => {
  const school = await addSchool({ students: 12 });
  const answers: Promise<Answer>[] = [];
  const heard = await heardStatements(async () => {
    await whileMisWaits(async () => {
      for (let at = 0; at < 12; at += 1) answers.push(school.post([mark(at)]));
      await until('all wait', async () => (await taken(school, 12)) && (await listening()) === 1);
    });
    for (const answer of await Promise.all(answers)) assert.deepEqual([answer.status, answer.Status, answer.Written], [200, 'Completed', 1]);
  }, 'changes');
  const looks = heard.filter(isLook).length;
  // Twelve are written four at a time: who looks for the first time when the outcome is there need not be told.
  assert.ok(looks > 12 && looks <= 24, `${looks} looks`);
  assert.equal(await listening(), 1);
});

test('two that wait for the same outcome are both told', async () => {
  const school = await addSchool();
  let looks = 0;
  const note = (message: unknown) => {
    if (isLook((message as { text: string }).text)) looks += 1;
  };
  subscribe('schoolbell:statement', note);
  const same = await whileMisWaits(async () => {
    const both = [school.post([mark(0)]), school.post([mark(0)])];
    await until('both wait', () => looks >= 2);
    return both;
  }).finally(() => unsubscribe('schoolbell:statement', note));
  const [one, other] = await Promise.all(same);
  assert.deepEqual([one?.Status, other?.Status, one?.TrackingId], ['Completed', 'Completed', other?.TrackingId]);
});

test('nobody looks for a client that has left', async () => {
  const school = await addSchool();
  const leaving = new AbortController();
  await school.register();
  const noticed = new Promise<void>((resolve) => service.app.server.once('request', ({ socket }) => socket.once('close', () => resolve())));
  const heard = await heardStatements(async () => {
    await whileMisWaits(async () => {
      const asked = school.client.s(school.estab, `School/${school.estab}/Attendance`, {
        method: 'POST',
        body: JSON.stringify({ Marks: [mark(0)] }),
        signal: leaving.signal,
      });
      await until('it is under way', async () => (await school.work())[0]?.state === 'running');
      leaving.abort();
      await assert.rejects(asked);
      await noticed;
    });
    await until('it is written', async () => (await db`select from writeback where estab = ${school.estab} and status = 'Completed'`).length === 1);
    // Whatever is told is told to this connection after that.
    assert.equal((await school.post([mark(1)])).Status, 'Completed');
  }, 'changes');
  assert.ok(heard.filter(isLook).length <= 3, 'one look for the first, two for the second');
});

test('a service that ends answers who waits with where to ask, and listens no more', async () => {
  const school = await addSchool();
  const joined = await service.join();
  const before = await listening();
  const answer = await whileMisWaits(async () => {
    const marks = { method: 'POST', body: JSON.stringify({ Marks: [mark(0)] }) };
    const asking = school.client.s(school.estab, `School/${school.estab}/Attendance`, marks, joined.url);
    await until('it waits', async () => (await taken(school, 1)) && (await listening()) === before + 1);
    await joined.app.close();
    return asking;
  });
  const body = (await answer.json()) as Answer & { Path: string };
  assert.deepEqual([answer.status, body.Status, body.Path], [202, 'Pending', `/api/v1/Writeback/${body.TrackingId}`]);
  await until('it listens no more', async () => (await listening()) === before);
  assert.equal((await school.ended(body.TrackingId)).Status, 'Completed');
});

test('an outcome whose word was lost is found all the same', async () => {
  const deaf = await useWriteback({ work: false });
  const school = await deaf.addSchool();
  const asking = school.post([mark(0)]);
  const answered = () => deaf.db<{ query: string }[]>`select query from pg_stat_activity where datname = current_database() and state = 'idle'`;
  await until('it has looked once', async () => (await answered()).some(({ query }) => isLook(query)));
  await deaf.db`update writeback_mark set result = 'Written' where estab = ${school.estab}`;
  await deaf.db`update writeback set status = 'Completed', completed_at = now() where estab = ${school.estab}`;
  assert.deepEqual([(await asking).status, (await asking).Status], [200, 'Completed']);
});
