// Covers the purge of people as a whole: what is searched while nothing is held, whom a short word means, what is written
// while it is searched, and schools of which one cannot be purged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { purgeRosters } from '../test/all-schools.ts';
import { csvPackage } from '../test/csv-package.ts';
import { useReceiver } from '../test/delivery.ts';
import { earlier } from '../test/earlier.ts';
import { user, type Row } from '../test/small-school.ts';
import { testSecretKey } from '../test/service.ts';
import { until } from '../test/until.ts';
import { mark, student, useWriteback } from '../test/writeback.ts';
import { createPseudonym } from './access/pseudonym.ts';
import { createForgetPeople } from './forget.ts';
import type { ForgetPeople } from './roster/leaver.ts';

const { service, db, addSchool } = await useWriteback();
const receiver = await useReceiver();
const forgetPeople = createForgetPeople(createPseudonym([testSecretKey]));
const purge = (forget: ForgetPeople = forgetPeople) => purgeRosters(db, 90, forget);

/** These come to the school and leave it, longer ago than is needed. */
async function comeAndLeave(estab: string, users: readonly Row[]): Promise<void> {
  await db`update establishment set connector = 'csv' where estab = ${estab}`;
  for (const status of ['active', 'tobedeleted']) {
    const rows = users.map((one) => ({ ...one, status, dateLastModified: '2026-09-01T08:00:00.000Z' }));
    const report = await service.load(estab, csvPackage({ users: rows }, { mode: 'delta' }), { approve: true });
    assert.equal(report.outcome, 'done', JSON.stringify(report.problems));
  }
  await db`update roster_version set instant = ${earlier(db, 'instant', '91 days')} where estab = ${estab}`;
  await db`update establishment set connector = 'demo' where estab = ${estab}`;
}

const peopleOf = async (estab: string) => (await db`select from roster_user where estab = ${estab} and status = 'tobedeleted'`).length;

type Sent = { lasting?: boolean; settled?: boolean; url?: string; payload?: object; body?: string; response?: string };

/** Puts deliveries into the outbox; gives which of them are left. */
async function send(estab: string, all: Record<string, Sent>): Promise<() => Promise<string[]>> {
  for (const lasting of [true, false]) await db`insert into lane (key, width, lasting) values (${`${estab} ${lasting}`}, 1, ${lasting})`;
  for (const [id, { lasting = false, settled = true, url = 'https://app.example/', payload = {}, body = '{}', response }] of Object.entries(all)) {
    await db`
      insert into outbox (estab, id, kind, lane, payload, body, due_at, state, settled_at)
      values (${estab}, ${id}, 'call', ${`${estab} ${lasting}`}, ${db.json({ event: 'test', url, ...payload })}, ${Buffer.from(body)},
        now() + interval '1 hour', ${settled ? 'done' : 'waiting'}, case when ${settled} then now() end)`;
    if (response !== undefined) {
      await db`insert into outbox_attempt (estab, id, number, success, detail, response)
        values (${estab}, ${id}, 1, true, ${db.json({ request: { url } })}, ${Buffer.from(response)})`;
    }
  }
  return async () => {
    const rows = await db<{ id: string }[]>`select id from outbox where estab = ${estab} and id = any(${Object.keys(all)}) order by id`;
    return rows.map(({ id }) => id);
  };
}

test('a short or numeric id means somebody only where a person is meant to stand, and costs nothing that is yet to be sent', async () => {
  const { estab } = await addSchool();
  await comeAndLeave(estab, ['12', 'AM', '20261014', 'distinctive-pupil'].map((id) => user(id, 'student', { username: `name ${id}` })));
  const others = JSON.stringify({ Total: 12, Marks: [{ Index: 12, StudentId: 's0001', Date: '20261014', Session: 'AM', Mark: '12', Message: 'AM 12' }] });
  const left = await send(estab, {
    'kept: an event that waits for a registered address': { lasting: true, settled: false, url: 'https://app.example/tenants/12/distinctive-pupil?v=12' },
    'kept: the same when it has arrived': { lasting: true, url: 'https://app.example/tenants/12/AM?v=20261014', response: 'taken' },
    'kept: a secret, whatever its bytes say': { lasting: true, settled: false, payload: { sealed: true }, body: 'distinctive-pupil' },
    "kept: somebody else's marks": { body: others },
    'kept: an outcome that waits': { settled: false, url: 'https://app.example/?ids=11,12,13', body: '{"StudentId":"12"}' },
    'kept: an address that only has the number in it': { url: 'https://app.example/v12/112?x=120&y=12.5' },
    'kept: a call of which only the answer names somebody': { response: '{"StudentId":"12"}' },
    'gone: ids in a list': { url: 'https://app.example/done?ids=11,12,13' },
    'gone: ids in a list, encoded': { url: 'https://app.example/done?ids=11%2C12%2C13' },
    'gone: a piece of a path': { url: 'https://app.example/pupils/AM/done' },
    'gone: a number': { body: '{"StudentId":12}' },
    'gone: a long number': { body: '{"Marks":[{"StudentId":"20261014"}]}' },
    'gone: a text': { body: '{"Marks":[{"StudentId":"AM"}]}' },
    'gone: a mail to a name': { payload: { to: 'name 12' } },
    'gone: one that waits and says who': { settled: false, body: '{"Text":"to distinctive-pupil, as asked"}' },
  });
  const before = await left();
  assert.equal(await purge(), 4);
  assert.deepEqual(await left(), before.filter((id) => id.startsWith('kept')));
  const answers = await db`select encode(response, 'escape') as response from outbox_attempt where estab = ${estab} order by id`;
  assert.deepEqual(answers.map((row) => row.response), [null, 'taken']);
});

test('while a purge searches nothing is held: a writeback is taken and written, and what it says is searched too', async () => {
  const school = await addSchool();
  const { estab } = school;
  await comeAndLeave(estab, [user('leaving-pupil', 'student'), user('leaving-parent', 'parent')]);
  const left = await send(estab, { before: { body: '"leaving-pupil"' }, other: { body: '"leaving-pupils"' } });
  const [searched, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // Begun before the search, and committed after it.
  const [begun, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = db.begin(async (tx) => {
    await tx`insert into outbox (estab, id, kind, lane, payload, body, due_at, state, settled_at)
      values (${estab}, 'late', 'call', ${`${estab} false`}, '{}', '"leaving-parent"', now(), 'done', now())`;
    begun.resolve();
    await commit.promise;
  });
  await begun.promise;
  const purging = purge(async (on, at, people) => {
    const forget = await forgetPeople(on, at, people);
    searched.resolve();
    await goOn.promise;
    return forget;
  });
  try {
    await Promise.race([searched.promise, purging]);
    commit.resolve();
    await late;
    // Those of the worker are over in a moment; one of the purge would stay open until it goes on.
    const held = () => db`select query from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and state like 'idle in transaction%'`;
    await until('no transaction is open', async () => (await held()).length === 0, held);
    const { TrackingId, status } = await school.post([mark(0, '/')]);
    assert.ok(status < 300, String(status));
    assert.equal((await school.ended(TrackingId)).Status, 'Completed');
    // An import goes on too; what it brings back stays.
    const returned = { ...user('leaving-pupil', 'student'), status: 'active', dateLastModified: '2026-10-01T08:00:00.000Z' };
    const back = await service.load(estab, csvPackage({ users: [returned] }, { mode: 'delta' }));
    assert.equal(back.outcome, 'done', JSON.stringify(back.problems));
  } finally {
    goOn.resolve();
    commit.resolve();
  }
  assert.equal(await purging, 1);
  assert.deepEqual(await left(), ['before', 'other'], 'who came back is not forgotten');
  assert.equal((await db`select from outbox where estab = ${estab} and id = 'late'`).length, 0);
});

test('a school that cannot be purged keeps no other from it, and is named', async () => {
  const [first, second] = [(await addSchool()).estab, (await addSchool()).estab].toSorted();
  for (const estab of [first ?? '', second ?? '']) await comeAndLeave(estab, [user('x'.repeat(255), 'student')]);
  const failing = purge(async (on, estab, people) => {
    if (estab === first) throw new Error('cannot be searched');
    return forgetPeople(on, estab, people);
  });
  await assert.rejects(failing, (error: AggregateError) => {
    assert.match(error.message, /^1 of \d+ schools/);
    assert.deepEqual(error.errors.map(String), [`Error: ${first} could not be purged`]);
    return true;
  });
  assert.deepEqual([await peopleOf(first ?? ''), await peopleOf(second ?? '')], [1, 0]);
  assert.equal(await purge(), 1);
});

test('many go in several steps, families together', async () => {
  const { estab } = await addSchool();
  // Each parent is referred to by a pupil far away in the order of ids, and one large ring by everybody in it.
  const pupils = Array.from({ length: 230 }, (_, at) => user(`pupil-${at}`, 'student', { agentSourcedIds: `parent-${at}` }));
  const parents = Array.from({ length: 230 }, (_, at) => user(`parent-${at}`, 'parent', at < 10 ? { agentSourcedIds: `pupil-${at}` } : {}));
  const ring = Array.from({ length: 210 }, (_, at) => user(`ring-${at}`, 'relative', { agentSourcedIds: `ring-${(at + 1) % 210}` }));
  await comeAndLeave(estab, [...pupils, ...parents, ...ring]);
  const [before] = await db`select version from roster where estab = ${estab}`;
  assert.equal(await purge(), 670);
  const [after] = await db`select version, purge_version from roster where estab = ${estab}`;
  assert.deepEqual([Number(after?.version) - Number(before?.version), after?.purge_version], [4, after?.version]);
});

test('a repeat of marks that were refused is judged anew when one of their pupils was purged', async () => {
  const school = await addSchool();
  // What was said of them does not name them clearly; the mark is theirs.
  await comeAndLeave(school.estab, [user('lp', 'student')]);
  const callback = [{ Method: 'POST', Url: `${receiver.origin}/refused` }];
  const asking = { callback, headers: { 'idempotency-key': 'the-same' } };
  const marks = [{ ...mark(0), StudentId: 'lp' }, mark(1, 'H')];
  const first = await school.post(marks, asking);
  const again = await school.post(marks, asking);
  assert.deepEqual([first.status, again.status, again.TrackingId], [400, 400, first.TrackingId]);
  assert.equal(await purge(), 1);
  const repeated = await school.post(marks, asking);
  assert.equal(repeated.status, 400);
  assert.notEqual(repeated.TrackingId, first.TrackingId);
  const { Status, Marks } = await school.outcome(first.TrackingId);
  assert.equal(Status, 'Rejected');
  assert.match(Marks[0]?.StudentId ?? '', /^gone-/);
  assert.equal(Marks[1]?.StudentId, student(1));
});

test('the trace of a person is the same in marks and in the record of identity operations', async () => {
  const school = await addSchool();
  const { estab } = school;
  await comeAndLeave(estab, [user('leaving-pupil', 'student')]);
  await db`insert into identity_audit (estab, operation, outcome, presence_id) values (${estab}, 'SignIn', 'done', presence_id(${estab}, 'leaving-pupil'))`;
  await db`insert into writeback (estab, rp, status, partial, request_hash, callbacks, deadline_at, completed_at)
    select ${estab}, rp, 'Completed', false, '', '[]', now(), now() from authorisation where estab = ${estab}`;
  await db`insert into writeback_mark (estab, tracking_id, index, student_id, date, session)
    select ${estab}, tracking_id, 0, 'leaving-pupil', '2026-10-14', 'AM' from writeback where estab = ${estab}`;
  assert.equal(await purge(), 1);
  const [row] = await db`select a.presence_id as audited, m.student_id as marked from identity_audit a join writeback_mark m on m.estab = ${estab}
    where a.estab = ${estab} and a.operation = 'SignIn'`;
  assert.match(String(row?.audited), /^gone-/);
  assert.equal(row?.audited, row?.marked);
});
