// The command history: what a record was, from which version until which, and where each state came from.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { useFakeProvider } from '../../test/fake-provider.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallSchool, user } from '../../test/small-school.ts';
import { createOneRosterConnector } from '../collection/connectors/oneroster/oneroster-connector.ts';
import { importRoster } from '../collection/import.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';

const service = await useService();
const { json, schoolbell, assertFails } = useCommands({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });

type State = {
  from: number;
  until: number | null;
  status: string;
  origin: { import: string | null; file: string | null; line: number | null; provider: string | null; page: number | null };
  record: Record<string, unknown>;
};
const history = (estab: string, collection: string, id: string) => json<State[]>(`history --estab ${estab} --collection ${collection}`, id);
const brief = (states: State[]) => states.map(({ from, until, status, origin: { file, line } }) => [from, until, status, file, line]);

test('each state of a record, newest first, with the line it came from', async () => {
  const estab = 'told';
  await service.addSchool(estab, csvPackage({ ...smallSchool, users: [...smallSchool.users, user('px', 'student', { familyName: 'First' })] }));
  await service.load(estab, csvPackage({ users: [user('px', 'student', { familyName: 'Second' }), ...smallSchool.users] }));
  await service.load(estab, csvPackage({ users: smallSchool.users }), { approve: true });
  const states = await history(estab, 'users', 'px');
  assert.deepEqual(brief(states), [
    [3, null, 'tobedeleted', null, null],
    [2, 3, 'active', 'users.csv', 2],
    [1, 2, 'active', 'users.csv', smallSchool.users.length + 2],
  ]);
  assert.deepEqual(states.map(({ record }) => record.familyName), ['Second', 'Second', 'First']);
  const runs = await service.db<{ id: string }[]>`select id from import_run where estab = ${estab} order by started_at desc`;
  assert.deepEqual(states.map(({ origin }) => origin.import), runs.map(({ id }) => id));
  const { out } = await schoolbell(`history --estab ${estab} --collection users`, 'px');
  assert.match(out, /^VERSION +SINCE +UNTIL +STATUS +FROM +IMPORT +RECORD\n +3 +\d{4}-[^\n]* stands +tobedeleted +by the change of another record/);
  await assertFails(/no record "nobody" among its users/, `history --estab ${estab} --collection users`, 'nobody');
  await assertFails(/--collection "people": must be one of orgs, /, `history --estab ${estab} --collection people`, 'px');
});

test('what changed because of another record has no line of its own', async () => {
  const estab = 'derived';
  await service.addSchool(estab, csvPackage(smallSchool));
  await service.load(estab, csvPackage({ orgs: [...smallSchool.orgs, { sourcedId: 'o2', name: 'Part', type: 'department', parentSourcedId: 'o1' }] }));
  assert.deepEqual(brief(await history(estab, 'orgs', 'o1')), [[2, null, 'active', null, null], [1, 2, 'active', 'orgs.csv', 2]]);
});

test('of a provider it is the page', async () => {
  const estab = 'pulled';
  const provider = await useFakeProvider();
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']));
  test.after(() => outbound.close());
  await service.addSchool(estab);
  const parts = { url: provider.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state: {}, outbound, pageSize: 10 };
  const options = { estab, dataDir: service.dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
  assert.equal((await importRoster(service.db, () => createOneRosterConnector(parts).openRoster({ full: true }), options)).outcome, 'done');
  const [state] = await history(estab, 'users', 'u00015');
  assert.deepEqual([state?.origin.provider, state?.origin.page, state?.origin.file], [provider.url, 2, null]);
});
