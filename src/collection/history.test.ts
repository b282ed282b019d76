// Covers what goes of the history of rosters, beside imports that commit meanwhile.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { useService } from '../../test/service.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { forgetHistory } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { sealVersion } from './merge.ts';

const service = await useService();
const { db } = service;

test('an import that commits while history is forgotten is not noted as what stood before it', async () => {
  const estab = 'beside';
  await service.addSchool(estab, smallPackage());
  await service.load(estab, smallPackage({ users: [...smallSchool.users, user('joined', 'student')] }));
  await service.load(estab, smallPackage());
  await db`update roster_version set instant = ${earlier(db, 'instant', '40 days')} where estab = ${estab}`;
  // As far as it was come when somebody else had to leave off: rows are left, and the row of the roster is as it will be.
  await db`update roster set history_from = 3 where estab = ${estab}`;
  const left = async () => (await db`select from roster_user_history where estab = ${estab}`).length;
  assert.ok((await left()) > 0);

  const forgetting = await db.begin(async (tx) => {
    await lockRoster(tx, estab);
    await tx`update roster set version = 4, history_to = 4 where estab = ${estab}`;
    await sealVersion(tx, estab, 4, null);
    const heard: string[] = [];
    const hear = (message: unknown) => heard.push((message as { text: string }).text);
    subscribe('schoolbell:statement', hear);
    const begun = forgetHistory(db, estab, 30);
    await until('it waits for the import', () => heard.some((text) => /from roster where .* for no key update|insert into roster_standing/.test(text)));
    unsubscribe('schoolbell:statement', hear);
    return { begun };
  });
  assert.ok((await forgetting.begun) > 0);
  assert.equal(await left(), 0);
  assert.deepEqual((await db`select version from roster_standing where estab = ${estab}`).map(({ version }) => version as number), [4]);
});
