// The copy of each roster's state and of each import's end, which statements about all schools read, agrees with the school's own rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';

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

async function assertEnds(estab: string, outcomes: readonly string[]): Promise<void> {
  const ends = await db<{ outcome: string; same: boolean }[]>`
    select e.outcome, (e.started_at, e.outcome) = (r.started_at, r.outcome) and abs(extract(epoch from e.finished_at - r.finished_at)) < 0.001 as same
    from import_end e join import_run r on r.estab = e.estab and r.id = e.id where e.estab = ${estab} order by e.started_at`;
  assert.deepEqual(ends.map((end) => ({ ...end })), outcomes.map((outcome) => ({ outcome, same: true })));
}
