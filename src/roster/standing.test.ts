// Covers what is noted about each school for whoever asks about all at once: the same as the school's own records say, whoever wrote those.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { switchTriggers } from '../../test/database.ts';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { citusUrl } from '../../test/spread-database.ts';

const service = await useService();
const { db } = service;

const noted = async (estab: string) => ({
  ...(await db`
    select s.roster_id = r.id as same, s.version, s.kept_from = r.kept_from as kept, s.instant = v.instant as dated, s.records, s.pupils
    from roster_standing s join roster r on r.estab = s.estab left join roster_version v on v.estab = r.estab and v.version = r.version
    where s.estab = ${estab}`)[0],
});

test('a school is noted when it is added, and anew with each import, which is noted too', async () => {
  await service.addSchool('a');
  assert.deepEqual(await noted('a'), { same: true, version: 0, kept: true, dated: null, records: 0, pupils: 0 });
  await service.load('a', smallPackage());
  const [counted = { records: 0, pupils: 0 }] = await db<{ records: number; pupils: number }[]>`
    select sum(count)::int as records, (sum(count) filter (where collection = 'users' and kind = 'student'))::int as pupils
    from roster_total where estab = 'a' and status = 'active'`;
  assert.ok(counted.records > counted.pupils && counted.pupils > 0);
  assert.deepEqual(await noted('a'), { same: true, version: 1, kept: true, dated: true, ...counted });
  await assertEnds('a', ['done']);
});

test('the version before notes the same without knowing it', { skip: citusUrl !== undefined && 'it does not run there' }, async () => {
  await switchTriggers(db, 'enable');
  await service.addSchool('b');
  await db.begin(async (tx) => {
    await tx`
      insert into roster_total (estab, collection, kind, status, count) values ('b', 'users', 'student', 'active', 3),
        ('b', 'users', 'teacher', 'active', 2), ('b', 'users', 'student', 'tobedeleted', 7), ('b', 'classes', 'homeroom', 'active', 1)`;
    await tx`update roster set version = 1 where estab = 'b'`;
    await tx`insert into import_run (estab, started_at, outcome, report) values ('b', now(), 'refused', '{}')`;
    await tx`insert into roster_version (estab, version, instant, stamp) values ('b', 1, now(), '')`;
  });
  assert.deepEqual(await noted('b'), { same: true, version: 1, kept: true, dated: true, records: 6, pupils: 3 });
  await assertEnds('b', ['refused']);
  await switchTriggers(db, 'disable');
});

test('a migration notes what was missed when the table was made, and nothing as it was before', async () => {
  const text = readFileSync(join(import.meta.dirname, '../../migrations/0053_standing_again.sql'), 'utf8');
  for (const estab of ['old', 'none', 'right', 'ahead']) await service.addSchool(estab, smallPackage());
  const all = ['old', 'none', 'right'];
  const before = await Promise.all(all.map(noted));
  await db`update roster_standing set roster_id = ${randomUUID()}, version = 0, kept_from = 9, instant = null, records = 7, pupils = 7 where estab = 'old'`;
  await db`delete from roster_standing where estab = 'none'`;
  // As where an import commits while it is read.
  await db`update roster_standing set version = 2 where estab = 'ahead'`;
  await db.unsafe(text);
  assert.deepEqual(await Promise.all(all.map(noted)), before);
  assert.equal((await noted('ahead')).version, 2);
});

async function assertEnds(estab: string, outcomes: readonly string[]): Promise<void> {
  const ends = await db<{ outcome: string; same: boolean }[]>`
    select e.outcome, (e.started_at, e.outcome) = (r.started_at, r.outcome) and abs(extract(epoch from e.finished_at - r.finished_at)) < 0.001 as same
    from import_end e join import_run r on r.estab = e.estab and r.id = e.id where e.estab = ${estab} order by e.started_at`;
  assert.deepEqual(ends.map((end) => ({ ...end })), outcomes.map((outcome) => ({ outcome, same: true })));
}
