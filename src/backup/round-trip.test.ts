// Tests that a backup which is taken while schools are imported and events delivered equals the original at one instant, table by
// table, wherever it is restored; and that what was waiting goes out again or is held, as it is told.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { usePlainDatabase } from '../../test/database.ts';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { useEmptyDatabases } from '../../test/empty-database.ts';
import { freePort } from '../../test/free-port.ts';
import { rootA, testSecretKey } from '../../test/service.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { enter } from '../../test/console.ts';
import { createApp, createPools } from '../app.ts';
import { readConfig } from '../config.ts';
import { connect, type Db, type Sql } from '../db/connect.ts';
import { openDatabase } from '../db/open.ts';
import { enqueueMail } from '../mail/mail.ts';
import { claimWork } from '../outbox/claim.ts';
import { Decrypter } from 'age-encryption';
import { restoreBackup } from './restore-backup.ts';
import { verifyBackup } from './verify-backup.ts';
import { writeBackup } from './write-backup.ts';

const delivering = await useDelivering({ worker: false, database: await usePlainDatabase() });
const { service, db } = delivering;
const folder = useDataDir();
// So that an embedded server, which root runs as somebody else, lives in it.
chmodSync(folder, 0o711);
const receiver = await useReceiver();
const databases = await useEmptyDatabases();
const passphrase = 'correct horse battery';
const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
const settings = (url: string, name: string) => ({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, name), BACKUP_PASSPHRASE: passphrase });
const back = (file: string, more: { snapshot?: string } = {}) => writeBackup({ db, config, passphrase, file: join(folder, file), workFactor: 4, ...more });

/** What a restore changes on purpose: leases of processes that are gone end, and versions from before do not name what comes. */
const changed: Record<string, string> = { outbox: 'lease_until', roster: 'id', roster_standing: 'roster_id' };

/** A line for each table, of all its columns but those; a restore adds its line to the trail. */
async function sumAll(sql: Sql): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = current_schema() order by tablename`;
  const sums: string[] = [];
  for (const { name } of tables) {
    const [sum] = await sql<{ sum: string }[]>`
      select count(*) || ' ' || coalesce(md5(string_agg(row::text, ',' order by row::text collate "C")), '') as sum
      from (select to_jsonb(t) - ${changed[name] ?? ''} as row from ${sql(name)} t) rows where row ->> 'action' is distinct from 'restore'`;
    sums.push(`${name}: ${sum?.sum ?? ''}`);
  }
  const numbers = await sql`select sequencename as name, last_value from pg_sequences where schemaname = current_schema() order by 1`;
  return [...sums, ...numbers.filter(({ name }) => name !== 'audit_event_number_seq').map((one) => JSON.stringify(one))];
}

/** Until they are told to stop: imports that change names and people, and events about each of them. */
function keepChanging(school: School): { stop(): Promise<void>; rounds(): number } {
  const stopping = new AbortController();
  let round = 0;
  const loop = async () => {
    for (; !stopping.signal.aborted; round += 1) {
      const users = [...smallSchool.users, user(`x${round % 3}`, 'student', { familyName: `Round ${round}` })];
      await service.load(school.estab, smallPackage({ users }), { approve: true });
      await delivering.send(school, `${receiver.origin}/round`);
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
    rounds: () => round,
  };
}

test('taken under imports and deliveries it equals the original at one instant, in an external database and in an embedded one', async () => {
  const school = await delivering.addSchool('School,Student,Staff,Contact,Identity');
  await delivering.register(school, `${receiver.origin}/events`);
  mkdirSync(join(service.dataDir, 'writeback', school.estab), { recursive: true });
  writeFileSync(join(service.dataDir, 'writeback', school.estab, 'marks.csv'), 'studentSourcedId\r\np1\r\n');
  // Somebody else's, with a name that no archive of ours has room for.
  writeFileSync(join(service.dataDir, 'writeback', school.estab, `${'long '.repeat(30)}.csv`), 'x');
  const worker = await delivering.start();
  const changing = keepChanging(school);
  await until('it changes', () => changing.rounds() > 2 && receiver.arrivals.length > 0);

  const connection = await db.reserve();
  await connection`begin isolation level repeatable read read only`;
  const [exported] = await connection<{ snapshot: string }[]>`select pg_export_snapshot() as snapshot`;
  const goneOn = async () => {
    const [rounds, arrived] = [changing.rounds(), receiver.arrivals.length];
    await until('it goes on changing', () => changing.rounds() > rounds && receiver.arrivals.length > arrived);
  };
  await goneOn();
  const facts = await back('under-load.backup', { snapshot: exported?.snapshot ?? '' });
  await goneOn();
  await changing.stop();
  await worker.stop();
  const original = (await sumAll(connection)).filter((line) => !line.startsWith('{'));
  await connection`rollback`;
  connection.release();
  assert.notDeepEqual((await sumAll(db)).filter((line) => !line.startsWith('{')), original, 'what came after the instant is no part of it');

  const url = await databases.make();
  const restored = await restoreBackup({ config: readConfig(settings(url, 'external')), file: facts.file, passphrase, deliveries: 'send' });
  assert.deepEqual([restored.takenAt, restored.rows, restored.tables], [facts.takenAt, facts.rows, facts.tables]);
  const there = databases.open(url);
  assert.deepEqual((await sumAll(there)).filter((line) => !line.startsWith('{')), original);
  assert.equal(readFileSync(join(folder, 'external/writeback', school.estab, 'marks.csv'), 'utf8'), 'studentSourcedId\r\np1\r\n');
  assert.ok(!existsSync(join(folder, 'external/secret.key')), 'SECRET_KEY has it');

  const { run } = useCommands({});
  const embedded = { DATA_DIR: join(folder, 'embedded'), BACKUP_PASSPHRASE: passphrase };
  const { code, err } = await run(['restore', facts.file, '--deliveries', 'send'], embedded);
  assert.deepEqual([code, err], [0, '']);
  const opened = await openDatabase(readConfig(embedded), undefined, { existing: true });
  try {
    const look = opened.pool({ ...there.policy, name: 'test look' });
    assert.deepEqual((await sumAll(look)).filter((line) => !line.startsWith('{')), original);
    assert.deepEqual(await schemaOf(look), await schemaOf(db), 'keys, indexes and constraints are there again');
  } finally {
    await opened.close();
  }
  const secretKey = join(folder, 'embedded/secret.key');
  assert.deepEqual([readFileSync(secretKey, 'utf8'), statSync(secretKey).mode & 0o777], [testSecretKey, 0o600]);
});

/** Without the order in which they were made. */
async function schemaOf(sql: Db): Promise<unknown[]> {
  return [
    ...(await sql`select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as what from pg_constraint
      where connamespace = current_schema()::regnamespace order by 1, 2`),
    ...(await sql`select indexname, indexdef from pg_indexes where schemaname = current_schema() order by 1`),
  ];
}

test('a database that is at rest is the same to the last number, and opens without us', async () => {
  const facts = await back('at-rest.backup');
  const [original, url] = [await sumAll(db), await databases.make()];
  await restoreBackup({ config: readConfig(settings(url, 'at-rest')), file: facts.file, passphrase, deliveries: 'send' });
  assert.deepEqual(await sumAll(databases.open(url)), original);

  const elsewhere = new Decrypter();
  elsewhere.addPassphrase(passphrase);
  const unpacked = join(folder, 'unpacked');
  mkdirSync(unpacked);
  const { zstdDecompressSync } = await import('node:zlib');
  execFileSync('tar', ['x'], { cwd: unpacked, input: zstdDecompressSync(await elsewhere.decrypt(readFileSync(facts.file))) });
  assert.deepEqual(readdirSync(unpacked).toSorted(), ['end.json', 'files', 'head.json', 'secret-keys.json', 'tables']);
  assert.match(readFileSync(join(unpacked, 'tables/establishment/00000001.copy'), 'utf8'), /^S1\tSchool S1\t/);
  assert.equal(statSync(facts.file).mode & 0o777, 0o600);
});

test('it is proven in a scratch folder, of which nothing is left', async () => {
  const scratch = join(folder, 'scratch');
  const { rows, tables } = await verifyBackup({ file: join(folder, 'at-rest.backup'), passphrase, scratch });
  assert.ok(rows > 100 && tables > 80);
  assert.ok(!existsSync(scratch));
  const large = verifyBackup({ file: join(folder, 'at-rest.backup'), passphrase, scratch, mostBytes: 2 ** 60 });
  await assert.rejects(large, /that may take 1073741824\.0 GiB, and .+ are free in /);
  assert.ok(!existsSync(scratch));
  mkdirSync(scratch);
  writeFileSync(join(scratch, 'mine'), '');
  await assert.rejects(verifyBackup({ file: join(folder, 'at-rest.backup'), passphrase, scratch }), /is not empty/);
  assert.ok(existsSync(join(scratch, 'mine')));
});

/** What had not gone out: a call that waits, one whose process is gone, a mail. */
async function leaveOpen() {
  await db`delete from outbox`;
  const school = await delivering.addSchool();
  const claimed = await delivering.send(school, `${receiver.origin}/claimed`);
  await until('the call is claimed', async () => (await claimWork(db, 3_600, 64)).some(({ id }) => id === claimed));
  const waiting = await delivering.send(school, `${receiver.origin}/waiting`);
  const mail = await db.begin((tx) => enqueueMail(tx, { estab: school.estab, rp: null, to: 'office@school.example', subject: 'Hello', text: 'Hi', html: '' }));
  return { claimed, waiting, mail };
}

test('sent, what waited goes out under the same ids, and tokens, secrets and sessions go on', async () => {
  const { claimed, waiting } = await leaveOpen();
  const client = await service.addClient('kept.example', ['S1']);
  const [token, cookie] = [await client.tokenA(), (await enter(service, 'admin')).cookie];
  const tag = (await client.a('/users')).headers.get('etag') ?? '';
  assert.equal((await client.a('/users', { 'if-none-match': tag })).status, 304);
  const facts = await back('send.backup');
  const url = await databases.make();
  const restored = await restoreBackup({ config: readConfig(settings(url, 'send')), file: facts.file, passphrase, deliveries: 'send' });
  assert.deepEqual([restored.held, restored.unsettled.calls >= 2, restored.unsettled.mails], [0, true, 1]);
  const there = databases.open(url);
  const worker = await delivering.start(there);
  await until('both arrive', () => [claimed, waiting].every((id) => receiver.arrivals.some((one) => one.id === id)));
  await worker.stop();

  const port = await freePort();
  const pools: Db[] = [];
  const app = createApp({
    config: readConfig({ ...settings(url, 'send'), PORT: String(port), PUBLIC_URL: service.url, LOG_LEVEL: 'silent' }),
    pools: createPools((options) => {
      const pool = connect(url, options);
      pools.push(pool);
      return pool;
    }),
    seal: delivering.seal,
  });
  after(async () => {
    await app.close();
    for (const pool of pools) await pool.end({ timeout: 5 });
  });
  const at = await app.listen({ host: '127.0.0.1', port });
  const authorization = `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`;
  const read = (more: Record<string, string> = {}) => fetch(`${at}${rootA}/users`, { headers: { authorization: `Bearer ${token}`, ...more } });
  assert.equal((await read()).status, 200, 'a token from before');
  assert.equal((await read({ 'if-none-match': tag })).status, 200, 'a tag from before fits nothing: its version may have come after the backup');
  assert.equal((await fetch(`${at}${rootA}/token`, { method: 'POST', headers: { authorization } })).status, 200, 'a secret from before');
  assert.equal((await fetch(`${at}/console`, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' })).status, 200, 'a session from before');
});

test('held, nothing goes out until somebody says so; what is new does', async () => {
  const { claimed, waiting, mail } = await leaveOpen();
  const facts = await back('hold.backup');
  const url = await databases.make();
  const { run, schoolbell, json, assertFails } = useCommands(settings(url, 'hold'));
  const before = receiver.arrivals.length;
  await assertFails(/2 calls and 1 mail had not gone out .* --deliveries hold.* Nothing was changed/, 'restore', facts.file);
  const questions: string[] = [];
  const unsure = await run(['restore', facts.file], settings(url, 'hold'), async (question) => {
    questions.push(question);
    return 'perhaps';
  });
  assert.deepEqual([unsure.code, unsure.err, questions.length], [1, 'schoolbell: nothing was changed\n', 1]);
  assert.match(questions[0] ?? '', /^2 calls and 1 mail had not gone out .*\nhold: .* send: .*\nhold or send\? $/);
  const { held, restoredAt, unsettled } = await json<{ held: number; restoredAt: string; unsettled: object }>('restore', facts.file, '--deliveries', 'hold');
  assert.deepEqual([held, unsettled], [3, { calls: 2, mails: 1, waits: 0, writebacks: 0 }]);

  const there = databases.open(url);
  const worker = await delivering.start(there);
  const [event] = await there<{ id: string }[]>`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at) select estab, 'msg_new', rp, kind, lane, payload, now() from outbox where id = ${waiting}
    returning id`;
  await there`update lane set next_at = now()`;
  await until('what is new arrives', () => receiver.arrivals.some(({ id }) => id === event?.id));
  assert.deepEqual(receiver.arrivals.slice(before).map(({ id }) => id), [event?.id]);

  const failed = await json<{ id: string; state: string }[]>('deliveries --state failed');
  assert.deepEqual(failed.map(({ id }) => id).toSorted(), [claimed, waiting].toSorted());
  assert.match((await schoolbell('deliveries', waiting)).out, /held/);
  assert.match((await schoolbell('mails')).out, /failed/);
  await json('replay --failed-since', restoredAt);
  await until('both arrive', () => [claimed, waiting].every((id) => receiver.arrivals.some((one) => one.id === id)));
  await json('work retry', mail);
  await until('the mail is done', async () => (await there`select from outbox where id = ${mail} and state = 'done'`).length > 0);
  await worker.stop();
  const [line] = await there<{ subject: string; detail: Record<string, unknown>; outcome: string }[]>`select * from audit_event where action = 'restore'`;
  assert.deepEqual([line?.subject, line?.detail.deliveries, line?.detail.held, line?.outcome], ['hold.backup', 'hold', 3, 'done']);
});
