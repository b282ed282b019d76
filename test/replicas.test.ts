// Readers on a replica: what only reads is read there, never another version than the one that is announced, and what a replica cannot
// answer, or not yet, the primary does.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { after, test } from 'node:test';
import { openCsvSource } from '../src/collection/connectors/csv/csv-source.ts';
import { importRoster } from '../src/collection/import.ts';
import { connect } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { Behind, createPrefer, ReplicaHealth } from '../src/db/replicas.ts';
import { OneReplica, originOf, Replicas } from '../src/db/servers.ts';
import { DatabaseUnavailable } from '../src/db/unavailable.ts';
import { enter } from './console.ts';
import { useService, type Client, type Service } from './service.ts';
import { smallPackage, smallSchool, user } from './small-school.ts';
import { openTwoServers } from './two-servers.ts';
import { until } from './until.ts';

const two = await openTwoServers({ synchronous: false });
const db = connect(two.url('primary'), { max: 10, name: 'test' });
after(async () => {
  await db.end({ timeout: 5 });
  await two.close();
});
await migrate(db);
// Who follows may be set up otherwise in what does not matter.
await two.ask('standby', `alter system set timezone = 'Asia/Kolkata'`);
await two.ask('standby', 'select pg_reload_conf()');
const [made] = await db.unsafe<{ origin: string }[]>(`select ${originOf} as origin`);
const standbyUrl = two.url('standby');
const replicas = () => new Replicas(() => [standbyUrl], made?.origin ?? '');
const database = { db, url: two.url('primary') };
const service = await useService({}, { database, replicas: replicas() });
const past = await service.join({ LIST_CACHE_MB: '0' });
await service.addSchool('s1', smallPackage());
await service.addSchool('s2', smallPackage());
const app = await service.addClient('app', ['s1', 's2']);
await two.caughtUp();

type Ask = Readonly<{ what: string; ask(): Promise<Response>; pools: readonly string[] }>;

const asks: readonly Ask[] = [
  { what: 'page', ask: () => app.b('s1', '/users?limit=2&offset=1'), pools: ['reads'] },
  { what: 'filter', ask: () => app.b('s1', "/users?filter=familyName~'a'&limit=2"), pools: ['searches'] },
  { what: 'delta', ask: () => app.b('s1', "/users?filter=dateLastModified>'2020-01-01'&limit=2"), pools: ['reads', 'searches'] },
  { what: 'one record', ask: () => app.b('s1', '/users/p1'), pools: ['reads'] },
  { what: 'whole list', ask: () => app.b('s1', '/enrollments'), pools: ['lists'] },
  { what: 'all schools', ask: () => app.a('/classes'), pools: ['lists'] },
  { what: 'all schools, sorted', ask: () => app.v12(undefined, '/users?sort=familyName'), pools: ['lists'] },
  { what: 'page of all schools, sorted', ask: () => app.v12(undefined, '/users?sort=familyName&limit=3&offset=1'), pools: ['reads'] },
  { what: 'edition 1.2', ask: () => app.v12('s1', '/users?limit=3'), pools: ['reads'] },
  { what: 'school data', ask: () => app.s('s1', 'Students'), pools: ['lists'] },
  { what: 'page of school data', ask: () => app.s('s1', 'Staff?pageSize=1'), pools: ['reads'] },
];

type Heard = { text: string; pool: string };
/** By pool, what was asked for meanwhile; records are in tables of the roster. */
async function heard<T>(work: () => Promise<T>): Promise<{ answer: T; pools: string[]; recordsOn: string[]; statements: Heard[] }> {
  const statements: Heard[] = [];
  const note = (message: unknown) => statements.push(message as Heard);
  subscribe('schoolbell:statement', note);
  try {
    const answer = await work();
    const recordsOn = statements.filter(({ text }) => /roster_(user|class|enrollment|org)\b/.test(text)).map(({ pool }) => pool);
    return { answer, pools: [...new Set(statements.map(({ pool }) => pool))], recordsOn: [...new Set(recordsOn)], statements };
  } finally {
    unsubscribe('schoolbell:statement', note);
  }
}

const bodyOf = async (response: Response) => {
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text.replace(/"DateTime":"[^"]+"/, '').replaceAll(service.url, '').replaceAll(past.url, '');
};

for (const { what, ask, pools } of asks) {
  test(`${what}: records are read on the replica`, async () => {
    const { recordsOn } = await heard(async () => bodyOf(await ask()));
    assert.deepEqual(recordsOn.filter((pool) => !pool.startsWith('replica')), [], 'none on the primary');
    assert.ok(pools.some((pool) => recordsOn.includes(`replica${pool}`)), String(recordsOn));
  });
}

test('pages of the console are read there, but who is there is not', async () => {
  const admin = await enter(service, 'admin');
  await two.caughtUp();
  const seen = new Set<string>();
  const waiting = ['/console'];
  for (let path = waiting.shift(); path !== undefined && seen.size < 60; path = waiting.shift()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const { answer, pools } = await heard(() => admin.get(path));
    assert.ok([200, 404].includes(answer.status), `${path} ${answer.status}`);
    assert.ok(pools.includes('replicaconsole') && pools.includes('console'), `${path} ${String(pools)}`);
    for (const [, to = ''] of answer.text.matchAll(/href="(\/console\/[^"?#]*)"/g)) if (!/sign-out|\.csv/.test(to)) waiting.push(to);
  }
  assert.ok(seen.size > 25, String(seen.size));
});

test('a file of the console, which is read while it is sent, comes from the primary', async () => {
  const admin = await enter(service, 'admin', 'third');
  await two.caughtUp();
  const { answer, pools } = await heard(() => admin.get('/console/audit/csv'));
  assert.deepEqual([answer.status, pools.includes('console'), pools.includes('replicaconsole')], [200, true, false]);
});

test('whatever was done before a page of the console is asked for is on it, also while the replica is behind', async () => {
  const admin = await enter(service, 'admin', 'second');
  await two.caughtUp();
  await two.pauseReplay();
  try {
    await db`update establishment set name = 'Renamed while behind' where estab = 's1'`;
    const { answer, statements } = await heard(() => admin.get('/console/schools/s1'));
    assert.match(answer.text, /Renamed while behind/);
    assert.equal(statements.filter(({ text }) => text.includes('pg_current_wal_flush_lsn')).length, 1, 'what comes later need not be on it');
    assert.match(await bodyOf(await app.s('s1', 'SchoolInfo')), /Renamed while behind/);
  } finally {
    await two.resumeReplay();
    await two.caughtUp();
  }
});

/** A version that the replica does not show, as long as the work goes on. */
async function whileBehind(work: (version: string) => Promise<void>): Promise<void> {
  await two.pauseReplay();
  try {
    const at = Date.now();
    await service.load('s1', smallPackage({ users: [...smallSchool.users, user(`late${at}`, 'student')] }));
    const [roster] = await db<{ version: number; id: string }[]>`select version, id from roster where estab = 's1'`;
    await work(`${roster?.version}-${roster?.id.slice(0, 8)}`);
  } finally {
    await two.resumeReplay();
    await two.caughtUp();
  }
}

test('while the replica is behind, every answer is of the version that stands, from the primary, and none takes long', async () => {
  await whileBehind(async (version) => {
    for (const { what, ask } of asks.filter((one) => !one.what.includes('all schools'))) {
      const begun = performance.now();
      const { answer, recordsOn } = await heard(ask);
      const announced = answer.headers.get('x-roster-version');
      assert.ok(announced === null || announced === version, `${what} ${announced}`);
      await bodyOf(answer);
      assert.ok(recordsOn.some((pool) => !pool.startsWith('replica')) || what === 'whole list', `${what} ${String(recordsOn)}`);
      assert.ok(performance.now() - begun < 5_000, what);
    }
    assert.match(await bodyOf(await app.b('s1', '/users?limit=100')), /late/);
    assert.match(await bodyOf(await app.s('s1', 'Students')), /late/);
  });
  const { recordsOn } = await heard(async () => bodyOf(await app.b('s1', '/courses?limit=1&offset=1')));
  assert.ok(!recordsOn.includes('reads'), 'and the replica serves again');
});

for (const [path, each] of [['/users?sort=familyName', 1], ['/users?sort=familyName&limit=50', 2]] as const) {
  test(`${path}, of several schools: while the replica is behind with one of them, the primary is asked for it soon, and the other is read there`, async () => {
    await whileBehind(async () => {
      const { statements } = await heard(async () => bodyOf(await app.v12(undefined, path)));
      const asked = statements.filter(({ text, pool }) => pool.startsWith('replica') && text.includes('"roster_user"'));
      // What it is behind with is tried four times at most, and the rest once.
      assert.ok(asked.length >= 2 * each && asked.length <= 5 * each, `${asked.length} statements`);
    });
  });
}

test('files of lists that are made while the replica is behind hold what stands', async () => {
  await whileBehind(async () => {
    for (const path of ['/users?limit=2', '/users?limit=2', '/users', '/users?limit=3&offset=1', '/enrollments']) {
      const [through, beside] = [await app.b('s1', path), await fetch(`${past.url}/ims/oneroster/v1p1${path}`, { headers: await bearer(app) })];
      assert.equal(await bodyOf(through), await bodyOf(beside), path);
    }
  });
});

const bearer = async (client: Client) => ({ authorization: `Bearer ${await client.tokenB('s1')}` });

test('a statement that the replica cancels to catch up is repeated on the primary', async () => {
  const [primary, replica] = [connect(two.url('primary'), { max: 2, name: 'home' }), connect(replicas(), { max: 2, name: 'standing by' })];
  await two.ask('standby', 'alter system set max_standby_streaming_delay = 0');
  await two.ask('standby', 'select pg_reload_conf()');
  const prefer = createPrefer({ db: primary }, { db: replica });
  const places: boolean[] = [];
  const reading = prefer(async ({ db: from, isReplica }) => {
    places.push(isReplica);
    const [row] = await from<{ n: number }[]>`select count(*)::int as n, pg_sleep(${isReplica ? 30 : 0}) from roster_org`;
    return row?.n;
  });
  const running = () => two.ask('standby', `select from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid() and wait_event = 'PgSleep'`);
  await until('it is under way', async () => (await running()).length === 1);
  await primary.begin(async (tx) => {
    await tx`lock table roster_org in access exclusive mode`;
    await tx`update establishment set name = name where estab = 's1'`;
  });
  assert.ok(((await reading) ?? 0) > 0);
  assert.deepEqual(places, [true, false]);
  await two.ask('standby', 'alter system reset max_standby_streaming_delay');
  await two.ask('standby', 'select pg_reload_conf()');
  await Promise.all([primary.end(), replica.end()]);
});

test('a replica that is behind for a moment is waited for; one that is for longer is not waited for each time', async () => {
  let clock = 0;
  const asked: string[] = [];
  const told: string[] = [];
  const prefer = createPrefer({ name: 'primary' }, { name: 'replica' }, { health: new ReplicaHealth((_, words) => told.push(words), () => clock) });
  const work = (behindFor: number) => {
    let times = 0;
    return prefer(async ({ name, isReplica }) => {
      asked.push(name);
      if (isReplica && (times += 1) <= behindFor) throw new Behind();
      return name;
    });
  };
  assert.equal(await work(2), 'replica');
  assert.equal(await work(9), 'primary');
  assert.deepEqual(asked.splice(0), ['replica', 'replica', 'replica', 'replica', 'replica', 'replica', 'replica', 'primary']);
  assert.equal(await work(9), 'primary');
  assert.deepEqual(asked.splice(0), ['replica', 'primary']);
  clock = 1_001;
  assert.equal(await work(1), 'replica');
  assert.deepEqual(told, ['a replica is behind: what it does not have yet is read from the primary'], 'once a minute');
});

test('a primary that is away is not taken for a replica that is', async () => {
  for (const [pool, rests] of [['reads', false], ['replicareads', true]] as const) {
    const health = new ReplicaHealth();
    const prefer = createPrefer({}, {}, { health });
    await prefer(async ({ isReplica }) => {
      if (isReplica) throw new DatabaseUnavailable('away', 'nobody there', { pool });
    });
    assert.equal(health.mayBeAsked, !rests, pool);
  }
});

test('what is wrong with a question is said once, and not asked of the primary again', async () => {
  const { answer, recordsOn } = await heard(() => app.b('s1', '/users/nobody'));
  assert.equal(answer.status, 404);
  assert.deepEqual(recordsOn, ['replicareads']);
});

test('a replica that took another way has versions of the same number, and none of them is served', async () => {
  const own: Service = await useService({ LIST_CACHE_MB: '0', PUBLIC_URL: service.url }, { database, replicas: replicas() });
  await two.ask('standby', 'select pg_promote(true, 60)');
  const apart = connect(standbyUrl, { max: 10, name: 'apart' });
  const given = smallPackage({ users: [...smallSchool.users, user('apart', 'student')] });
  const how = { estab: 's2', dataDir: own.dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
  await importRoster(apart, async () => openCsvSource(given), how);
  await service.load('s2', smallPackage({ users: [...smallSchool.users, user('together', 'student')] }));
  const versions = await Promise.all([apart, db].map((one) => one<{ version: number }[]>`select version from roster where estab = 's2'`));
  assert.equal(versions[0]?.[0]?.version, versions[1]?.[0]?.version, 'of the same number');
  const assertServed = async () => {
    for (const path of ['/users?limit=100', '/users', "/users?filter=status='active'&limit=100", '/users/together']) {
      const response = await fetch(`${own.url}/ims/oneroster/v1p1${path}`, { headers: { authorization: `Bearer ${await app.tokenB('s2')}` } });
      const text = await bodyOf(response);
      assert.ok(text.includes('together') && !text.includes('"apart"'), path);
    }
    assert.match(await bodyOf(await app.s('s2', 'Students', {}, own.url)), /together/);
  };
  await assertServed();
  await importRoster(apart, async () => openCsvSource(smallPackage({ users: [...smallSchool.users, user('apart2', 'student')] })), how);
  await assertServed();
  await apart.end({ timeout: 5 });
});

test('without its replica everything is answered, at once after the first time', async () => {
  await two.kill('standby');
  for (const { what, ask } of [...asks, ...asks]) await bodyOf(await ask()).catch((error: unknown) => assert.fail(`${what}: ${(error as Error).message}`));
});

test('connections are spread over all replicas; what belongs together stays with one, until that does not answer', () => {
  const [spread, one] = [new Replicas(() => ['a', 'b'], ''), new OneReplica(() => ['a', 'b'], '')];
  const next = (from: Replicas) => [from.next(), from.next(), from.next()].join('');
  assert.deepEqual([next(spread), next(one)], ['aba', 'aaa']);
  let dropped = 0;
  one.onSuspect(() => (dropped += 1));
  one.passOver(one.place);
  assert.deepEqual([next(one), dropped], ['bbb', 1], 'and nobody goes on with the other');
});

test('servers of another database are refused', async () => {
  const other = connect(new Replicas(() => [two.url('primary')], 'of another one'), { max: 1, name: 'stray' });
  await assert.rejects(async () => other`select 1`, /a server in DATABASE_READ_URL has another database/);
  await other.end();
});
