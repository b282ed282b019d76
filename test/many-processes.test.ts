// Three processes that answer and three that work, on one database, two of the first with one DATA_DIR: limits hold over all of them, what
// is decided or imported is known to all at the next call, files that they share are whole, and what is to happen once happens once.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { changeState, rotateSchoolSecret } from '../src/access/authorisations.ts';
import { rotateTokenKey } from '../src/access/token-keys.ts';
import { setBackupPlan } from '../src/backup/plan.ts';
import { enqueue } from '../src/outbox/enqueue.ts';
import { openListFile } from '../src/roster/list-file.ts';
import { parseListName } from '../src/roster/list-folder.ts';
import { listsFolder } from '../src/roster/sweep-lists.ts';
import { useDatabase } from './database.ts';
import { useReceiver } from './delivery.ts';
import { ended, home, launchService, leaveRunning, longest, start, type Running } from './processes.ts';
import { citusUrl } from './spread-database.ts';
import { rootA, rootB, testSecretKey, useService, type Client } from './service.ts';
import { smallPackage, user } from './small-school.ts';
import { until } from './until.ts';

leaveRunning();
const perMinute = 60;
const [estab, ...large] = ['S1', 'L1', 'L2', 'L3', 'L4'] as const;
const listCacheMb = 1;
const shared = join(home, 'shared');
const backups = join(home, 'backups');
/** Adds schools and applications; nobody asks it for anything but tokens. */
const service = await useService();
const { db, seal } = service;
const receiver = await useReceiver();
let apis: readonly Running[] = [];

const env = {
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, PUBLIC_URL: service.url, OUTBOUND_ALLOW: '127.0.0.0/8', DEMO: 'off', LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: String(perMinute), LIST_CACHE_MB: String(listCacheMb),
};
const many = (count: number) => ({ users: Array.from({ length: count }, (_, at) => user(`u${String(at).padStart(5, '0')}`, 'student')) });

before(async () => {
  await service.addSchool(estab, smallPackage());
  for (const one of large) await service.addSchool(one, smallPackage({ ...many(1_200), classes: [], enrollments: [] }));
  await setBackupPlan(db, seal, { folder: backups, everySeconds: 86_400, keep: 2, passphrase: 'four words for a backup', by: 'test' }, new Date());
  // The table says what was last; this, how often.
  await db.unsafe(`
    create table chore_begun (name text not null, process text not null);
    create function note_chore() returns trigger language plpgsql as $$ begin insert into chore_begun values (new.name, new."by"); return null; end $$;
    create trigger note_chore after insert or update of ran_at on chore for each row execute function note_chore()`);
  const roles = ['api', 'api', 'api', 'worker', 'worker', 'worker'];
  const folders = [shared, shared, join(home, 'own'), shared, join(home, 'w2'), join(home, 'w3')];
  const running = await Promise.all(roles.map((role, at) => start(folders[at] ?? '', { env: { ...env, ROLE: role } })));
  apis = running.slice(0, 3);
}, longest);

const get = (at: Running, path: string, token: string, headers: Record<string, string> = {}) =>
  fetch(`${at.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
const statuses = (path: string, token: string) => Promise.all(apis.map(async (at) => (await get(at, path, token)).status));
const same = (status: number) => apis.map(() => status);
const addClient = (rp: string, estabs: readonly string[] = [estab]): Promise<Client> => service.addClient(rp, estabs);

test('one whose replica is of another database does not start', longest, async () => {
  const other = await useDatabase();
  await other.db`update migration set applied_at = applied_at - interval '1 day'`;
  const refused = await launchService(join(home, 'refused'), { env: { ...env, ROLE: 'api', DATABASE_READ_URL: other.url } });
  assert.equal(await ended(refused), 1, refused.output());
  assert.match(refused.output(), /^schoolbell: a server in DATABASE_READ_URL has another database than those in DATABASE_URL$/m);
});

// ---- Limits -----------------------------------------------------------------------------------------------------------

test('wrong tries of a client from one address are counted over all of them, exactly', longest, async () => {
  const { clientId, clientSecret } = await addClient('guessed');
  const guess = async (at: number, secret: string) => {
    const headers = { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` };
    return (await fetch(`${apis[at % 3]?.url}${rootA}/token`, { method: 'POST', headers })).status;
  };
  const all = await Promise.all(Array.from({ length: 45 }, (_, at) => guess(at, `wrong ${at}`)));
  assert.deepEqual([all.filter((status) => status === 401).length, all.filter((status) => status === 429).length], [30, 15]);
  assert.deepEqual(await Promise.all([0, 1, 2].map((at) => guess(at, clientSecret))), same(429), 'not even with the right one');
});

// ---- What is decided, and what is imported -------------------------------------------------------------------------------

test('what is paused, replaced or withdrawn is refused by all at the next call, and what is resumed is let in', longest, async () => {
  const client = await addClient('decided');
  const token = await client.tokenB(estab);
  const path = `${rootB}/orgs`;
  const pair = { rp: 'decided', estab };
  assert.deepEqual(await statuses(path, token), same(200));
  await changeState(db, { ...pair, from: ['Approved'], to: 'Paused' });
  assert.deepEqual(await statuses(path, token), same(403));
  await changeState(db, { ...pair, from: ['Paused'], to: 'Approved' });
  assert.deepEqual(await statuses(path, token), same(200));
  await db.begin((tx) => rotateTokenKey(tx, seal, { now: true }));
  assert.deepEqual(await statuses(path, token), same(401), 'signed by a key that was withdrawn');
  const next = await client.tokenB(estab);
  assert.deepEqual(await statuses(path, next), same(200), 'signed by one that they have not seen before');
  await rotateSchoolSecret(db, 'decided', estab, undefined, 0);
  assert.deepEqual(await statuses(path, next), same(401), 'given for a secret that was replaced');
});

test('a new version is served by all at the next call, page and list, with the same bytes and the same tag', longest, async () => {
  const token = await (await addClient('reading')).tokenB(estab);
  for (let version = 2; version <= 5; version += 1) {
    await service.load(estab, smallPackage({ users: [...smallPackageUsers(), user(`new${version}`, 'student')] }));
    for (const path of [`${rootB}/users?limit=50&sort=sourcedId`, `${rootB}/users`]) {
      const answers = await Promise.all(apis.map(async (at) => {
        const answer = await get(at, path, token);
        return [answer.status, answer.headers.get('x-roster-version'), answer.headers.get('etag'), await answer.text()] as const;
      }));
      assert.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1, path);
      const [[status, , tag, text] = []] = answers;
      assert.deepEqual([status, text?.includes(`"new${version}"`)], [200, true]);
      if (tag) for (const at of apis) assert.equal((await get(at, path, token, { 'if-none-match': tag })).status, 304);
    }
  }
});

function smallPackageUsers() {
  return [user('p1', 'student'), user('p2', 'student'), user('p3', 'student'), user('p9', 'student'), user('s1', 'teacher'), user('s2', 'aide'),
    user('a1', 'parent'), user('a2', 'guardian')];
}

// ---- Files that they share -------------------------------------------------------------------------------------------------

const folder = listsFolder(shared);
const filesNow = () => readdirSync(folder).map((name) => ({ name, size: statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0 }));

test('lists that two make in one folder at once are whole, the same from all, and take no more room than one may', longest, async (context) => {
  const client = await addClient('listing', large);
  const read = async (at: Running, school: string) => {
    const answer = await get(at, `${rootB}/users`, await tokenOf(school));
    assert.equal(answer.status, 200);
    return answer.text();
  };
  const tokens = new Map<string, Promise<string>>();
  const tokenOf = (school: string) => {
    const token = tokens.get(school) ?? client.tokenB(school);
    tokens.set(school, token);
    return token;
  };
  let most = 0;
  const watching = setInterval(() => (most = Math.max(most, filesNow().reduce((sum, { size }) => sum + size, 0))), 20);
  try {
    const first = new Map<string, string>();
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(large.flatMap((school) => apis.map(async (at) => {
        const text = await read(at, school);
        assert.equal(text, first.get(school) ?? text, `${school} as before`);
        first.set(school, text);
      })));
      await pause(300);
    }
    assert.equal((JSON.parse(first.get('L1') ?? '') as { users: unknown[] }).users.length, 1_200);
  } finally {
    clearInterval(watching);
  }
  await until('none is being written', () => filesNow().every(({ name }) => parseListName(name)));
  const kept = filesNow();
  assert.ok(kept.length > 0, 'some are kept');
  for (const { name } of kept) {
    const list = await openListFile(join(folder, name), { compressed: parseListName(name)?.compressed !== undefined });
    await list.handle.close();
  }
  const bytes = kept.reduce((sum, { size }) => sum + size, 0);
  context.diagnostic(`${kept.length} files of ${Math.round(bytes / 1024)} KiB are kept; with those being written, ${Math.round(most / 1024)} KiB at most`);
  assert.ok(bytes <= listCacheMb * 1024 ** 2, `${bytes} bytes`);
});

// ---- What happens once ---------------------------------------------------------------------------------------------------

test('calls that three workers share arrive once each', longest, async () => {
  await addClient('called');
  const ids = new Set<string>();
  for (let at = 0; at < 120; at += 1) {
    const url = `${receiver.origin}/${at % 12}`;
    const lane = { key: url, host: null, width: 4, lasting: false };
    const payload = { event: 'example', method: 'GET', url };
    ids.add(await db.begin((tx) => enqueue(tx, { estab, rp: 'called', kind: 'call', lane, payload, body: null })));
  }
  await until('all have arrived', () => receiver.arrivals.length >= ids.size);
  await until('all are settled', async () => (await db`select from outbox where rp = 'called' and state in ('waiting', 'running')`).length === 0);
  assert.deepEqual(receiver.arrivals.map(({ id }) => id).toSorted(), [...ids].toSorted());
  const workers = await db`select distinct claimed_by from outbox where rp = 'called'`;
  assert.ok(workers.length >= 2, 'and more than one had a part in it');
});

const none = citusUrl !== undefined && 'of a database on several nodes none is taken beside other work';
test('a backup that is due is made by one of them', { ...longest, skip: none }, async () => {
  await until('it is made', async () => (await db`select from backup_run where state = 'good'`).length > 0);
  assert.deepEqual((await db`select state from backup_run`).map(({ state }) => state as string), ['good']);
  assert.equal(readdirSync(backups).filter((name) => name.endsWith('.backup')).length, 1);
});

test('what is due once for all is begun once, and what each does by itself by each', longest, async () => {
  const found = await db<{ name: string; times: number; processes: number }[]>`
    select name, count(*)::int as times, count(distinct process)::int as processes from chore_begun group by name`;
  const begun = new Map(found.map(({ name, times, processes }) => [name, [times, processes]]));
  for (const name of ['warning of failing receivers', 'forgetting', 'purging']) assert.deepEqual(begun.get(name), [1, 1], name);
  for (const name of ['forgetting files', 'watching folders', 'refreshing data']) assert.equal(begun.get(name)?.[1], 3, name);
});

// ---- Last, when nothing else is under way ---------------------------------------------------------------------------------

/** A limit of this minute is not to be looked at over two of them. */
async function minuteLeft(seconds: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < seconds * 1000) await pause(left + 50);
}

test('a limit per minute holds over all of them, but for what the others take in two seconds', longest, async (context) => {
  const token = await (await addClient('hurried')).tokenB(estab);
  const perSecond = 15;
  await minuteLeft(25);
  const answers: Promise<number>[] = [];
  const begun = performance.now();
  for (let at = 0; at < 9 * perSecond; at += 1) {
    await pause(Math.max(0, begun + (at * 1000) / perSecond - performance.now()));
    answers.push(get(apis[at % 3] as Running, `${rootB}/orgs`, token).then(({ status }) => status));
  }
  const tookSeconds = (performance.now() - begun) / 1000;
  const all = await Promise.all(answers);
  const taken = all.filter((status) => status === 200).length;
  context.diagnostic(`${taken} of ${all.length} were taken in ${tookSeconds.toFixed(1)} s, ${perMinute} are the limit`);
  assert.ok(all.every((status) => status === 200 || status === 429));
  // Of each process the others make two thirds of all. Two seconds by the rule, and as many for a machine that is slow to tell.
  assert.ok(taken >= perMinute && taken <= perMinute + (2 + 2) * perSecond * (2 / 3), `${taken} were taken`);
  assert.deepEqual(await statuses(`${rootB}/orgs`, token), same(429));
});
