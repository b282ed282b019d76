// Tests what a backup and a restore refuse, each before anything is changed, and that nothing half is left of those that are killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertFailed, useCommands } from '../../test/commands.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { usePlainDatabase } from '../../test/database.ts';
import { countTables, useEmptyDatabases } from '../../test/empty-database.ts';
import { madeUpMigration, makeNextVersion } from '../../test/next-version.ts';
import { ended, launch } from '../../test/processes.ts';
import { testSecretKey } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { createSeal } from '../access/seal.ts';
import { addEstablishment } from '../access/establishments.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { findCluster } from '../db/embedded-place.ts';
import { DamagedBackup } from './age.ts';
import { compareTables } from './load-tables.ts';
import { findBackupPlan, setBackupPlan } from './plan.ts';
import { readBackup } from './read-backup.ts';
import { restoreBackup } from './restore-backup.ts';
import { RowsDigest } from './rows-digest.ts';
import { listBackupRuns } from './runs.ts';
import { writeBackup } from './write-backup.ts';

const { db, url } = await usePlainDatabase();
const databases = await useEmptyDatabases();
const folder = useDataDir();
const passphrase = 'correct horse battery';
const settings = { DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, 'data'), BACKUP_PASSPHRASE: passphrase };
const config = readConfig(settings);
const { run, schoolbell, json, assertFails } = useCommands(settings);
await addEstablishment(db, { estab: '1234567', name: 'Hill Top', email: 'office@hill-top.example' });
const plan = { folder: join(folder, 'planned'), everySeconds: 86_400, keep: 1, passphrase, by: 'ann' };
const { id: planned } = await setBackupPlan(db, createSeal([testSecretKey]), plan, new Date());
await db`insert into backup_run (plan, why, file, host, started_at) values (${planned}, 'plan', 'this very one', 'here', now())`;
const file = join(folder, 'small.backup');
await writeBackup({ db, config, passphrase, file, workFactor: 4 });
const empty = await databases.make();
const into = { ...settings, DATABASE_URL: empty, DATA_DIR: join(folder, 'into') };
const restore = (env: Record<string, string> = into, ...more: string[]) => run(['restore', file, ...more], env);

/** Neither in the database nor beside it. */
async function assertNothingChanged(): Promise<void> {
  assert.equal(await databases.look(empty, countTables), 0);
  assert.ok(!existsSync(into.DATA_DIR), 'no file was put there');
}

const reads = (bytes: Uint8Array) => readBackup({ source: Readable.from([bytes]), passphrase });

test('cut anywhere, or with a bit changed anywhere, a backup is refused', async () => {
  const whole = readFileSync(file);
  await reads(whole);
  const anywhere = fc.oneof(fc.nat(whole.length - 1), fc.nat(200), fc.nat(40).map((from) => whole.length - 1 - from));
  await fc.assert(
    fc.asyncProperty(anywhere, fc.nat(7), async (at, bit) => {
      await assert.rejects(reads(whole.subarray(0, at)), DamagedBackup, `cut at ${at}`);
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      await assert.rejects(reads(changed), DamagedBackup, `bit ${bit} of ${at}`);
    }),
    { numRuns: 60 },
  );
});

test('a restore of such a file, or with another passphrase, changes nothing', async () => {
  const whole = readFileSync(file);
  const damaged = join(folder, 'damaged.backup');
  for (const at of [0, 30, Math.floor(whole.length / 2), whole.length - 1]) {
    writeFileSync(damaged, whole.subarray(0, at));
    assertFailed(await run(['restore', damaged], into), /damaged|cut off|no backup/);
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(damaged, changed);
    assertFailed(await run(['restore', damaged], into), /damaged|cut off|no backup|changed/);
    assertFailed(await run(['restore', damaged, '--check'], into), /damaged|cut off|no backup|changed/);
  }
  assertFailed(await restore({ ...into, BACKUP_PASSPHRASE: 'correct horse batterz' }), /the passphrase is wrong/);
  assertFailed(await run(['restore', join(folder, 'none.backup')], into), /no such file/);
  await assertNothingChanged();
});

test('a backup says what its passphrase needs, and overwrites nothing', async () => {
  const { BACKUP_PASSPHRASE: _, ...without } = settings;
  assertFailed(await run(['backup', join(folder, 'x.backup')], without), /needs a passphrase: .*--passphrase-file.*BACKUP_PASSPHRASE/);
  assertFailed(await run(['restore', file], { ...without, DATABASE_URL: empty }), /needs a passphrase/);
  assertFailed(await run(['status'], { ...settings, BACKUP_PASSPHRASE: 'short' }), /BACKUP_PASSPHRASE: needs at least 12 characters/);
  const words = join(folder, 'words');
  writeFileSync(words, 'short\n');
  await assertFails(/needs at least 12 characters/, 'backup', join(folder, 'x.backup'), '--passphrase-file', words);
  await assertFails(/--passphrase-file .*nowhere: there is no such file/, 'backup', join(folder, 'x.backup'), '--passphrase-file', join(folder, 'nowhere'));
  await assertFails(/x\.backup: its folder does not exist/, 'backup', join(folder, 'nowhere/x.backup'));
  writeFileSync(words, 'another passphrase\n');
  writeFileSync(join(folder, 'x.backup.half'), 'left by one that was killed');
  const facts = await json<Record<string, unknown>>('backup', join(folder, 'x.backup'), '--passphrase-file', words);
  assert.deepEqual(Object.keys(facts), ['file', 'bytes', 'takenAt', 'version', 'migration', 'tables', 'rows', 'tookMs']);
  assert.ok(!existsSync(join(folder, 'x.backup.half')));
  const before = readFileSync(join(folder, 'x.backup'));
  await assertFails(/x\.backup is there already; a backup overwrites nothing/, 'backup', join(folder, 'x.backup'), '--passphrase-file', words);
  assert.ok(before.equals(readFileSync(join(folder, 'x.backup'))));
  const { out } = await schoolbell('restore', join(folder, 'x.backup'), '--check', '--passphrase-file', words);
  assert.match(out, /x\.backup is whole: [\d,]+ rows of \d+ tables and 0 files/);
});

test('only an empty database is restored into, that nobody else uses', async () => {
  assertFailed(await restore(settings), /there are \d+ tables in DATABASE_URL .*nothing was changed/);
  const other = connect(empty, { max: 1, name: 'somebody else' });
  await other`select 1`;
  assertFailed(await restore(), /others are connected to DATABASE_URL .*"schoolbell somebody else .*" from .*; end them first\. Nothing was changed/);
  await other.end();
  await assertNothingChanged();
});

test('whoever ends their connection a moment later does not keep a restore from beginning', async () => {
  const target = await databases.make();
  const other = connect(target, { max: 1, name: 'somebody going' });
  await other`select 1`;
  const looked = databases.look(target, (there) =>
    until('the restore has looked who is there', async () => {
      const [row] = await there<{ asked: boolean }[]>`
        select exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like '%client_addr%') as asked`;
      return row?.asked === true;
    }),
  );
  const restored = restore({ ...into, DATABASE_URL: target, DATA_DIR: join(folder, 'going') });
  await looked.finally(() => other.end());
  assert.equal((await restored).code, 0);
});

test('a role that is no superuser restores, sees others whose connections it cannot look into, and leaves tables of extensions alone', async () => {
  const [target, role] = [await databases.make(), `restorer_${randomBytes(6).toString('hex')}`];
  const as = Object.assign(new URL(target), { username: role, password: 'pw' }).href;
  const its = { ...into, DATABASE_URL: as, DATA_DIR: join(folder, 'its') };
  await databases.look(target, async (there) => {
    await there.unsafe(`create role ${role} login password 'pw'; alter database ${new URL(target).pathname.slice(1)} owner to ${role}`);
    await there.unsafe(`create table of_extension as select 1 as kept; alter extension plpgsql add table of_extension`);
    assertFailed(await restore(its), /others are connected to DATABASE_URL .*; end them first/);
  });
  try {
    assert.equal((await restore(its)).code, 0);
    await databases.look(target, async (there) => assert.equal((await there`select from of_extension`).length, 1));
  } finally {
    await databases.look(target, (there) =>
      there.unsafe(`drop owned by ${role} cascade; alter database ${new URL(target).pathname.slice(1)} owner to current_user; drop role ${role}`));
  }
});

test('a start that makes a key of its own meanwhile is found, and what it made is left', async () => {
  const dataDir = join(folder, 'meanwhile');
  const own = 'a key that another process made just now';
  const deliveries = async () => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'secret.key'), own);
    return 'hold' as const;
  };
  await assert.rejects(restoreBackup({ config: readConfig({ DATA_DIR: dataDir }), file, passphrase, deliveries }), /secret\.key is there already/);
  assert.equal(readFileSync(join(dataDir, 'secret.key'), 'utf8'), own);
});

test('Ctrl-C in the midst of a restore is told, and leaves no server behind', async () => {
  const { code, err, dataDir } = await interruptRestore();
  assert.equal(code, 1);
  assert.match(err, /^schoolbell: stopped; nothing was changed\n$/m);
  assert.ok(existsSync(join(dataDir, 'secret.key')), 'a start may use the key already');
  const cluster = findCluster(dataDir) ?? assert.fail();
  assert.ok(!existsSync(join(cluster, 'postmaster.pid')));
});

test('the keys must be those of the backup, which it gives out', async () => {
  const strange = { ...into, SECRET_KEY: 'another key for tests that is long enough' };
  assertFailed(await restore(strange), /SECRET_KEY does not hold the key of the backup; restore <file> --secret-key-to <new file>/);
  const keyFile = join(folder, 'key');
  assert.equal((await restore(strange, '--secret-key-to', keyFile)).code, 0);
  assert.deepEqual([readFileSync(keyFile, 'utf8'), statSync(keyFile).mode & 0o777], [`${testSecretKey}\n`, 0o600]);
  assertFailed(await restore(strange, '--secret-key-to', keyFile), /--secret-key-to .*key: it exists already\. Name a new file/);
  assertFailed(await restore(strange, '--secret-key-to', keyFile, '--check'), /--check and --secret-key-to: give one of them at a time/);
  assertFailed(await run(['restore', join(folder, 'none')], into), /none: there is no such file/);
  assertFailed(await run(['restore', folder], into), /it is a directory\. Name a file/);
  const { SECRET_KEY: _, ...lost } = into;
  assertFailed(await restore(lost), /SECRET_KEY: required with DATABASE_URL/);
  assert.equal((await restore(lost, '--secret-key-to', join(folder, 'key2'))).code, 0, 'whoever has lost it gets it back');
  assert.equal((await restore(lost, '--check')).code, 0);
  const withReplica = { ...lost, DATABASE_URL: 'postgres://127.0.0.1:1/x', DATABASE_READ_URL: 'postgres://127.0.0.1:1/x' };
  assert.equal((await restore(withReplica, '--check')).code, 0);
  mkdirSync(join(folder, 'taken'));
  writeFileSync(join(folder, 'taken/secret.key'), 'another key for tests that is long enough');
  const embedded = { DATA_DIR: join(folder, 'taken'), BACKUP_PASSPHRASE: passphrase };
  assertFailed(await restore(embedded), /taken\/secret\.key is there already, and is not that of the backup/);
  assert.deepEqual(readdirSync(join(folder, 'taken')), ['secret.key']);
  const two = join(folder, 'two.backup');
  await writeBackup({ db, config: { ...config, secretKeys: [testSecretKey, strange.SECRET_KEY] }, passphrase, file: two, workFactor: 4 });
  assertFailed(await run(['restore', two], into), /SECRET_KEY does not hold all 2 keys/);
  assertFailed(await run(['restore', two], { DATA_DIR: join(folder, 'taken2'), BACKUP_PASSPHRASE: passphrase }), /has 2 keys, .* set SECRET_KEY/);
  await assertNothingChanged();
});

test('a backup of a newer version, or of another history, is refused by name', async () => {
  const [newest] = await db<{ version: number; checksum: string }[]>`select version, checksum from migration order by version desc limit 1`;
  await db`insert into migration (version, name, checksum) values (9001, '9001_of_tomorrow.sql', 'x')`;
  const newer = join(folder, 'newer.backup');
  await writeBackup({ db, config, passphrase, file: newer, workFactor: 4 });
  await db`delete from migration where version = 9001`;
  assertFailed(await run(['restore', newer], into), /of a newer version: Schoolbell .* with the migration 9001_of_tomorrow\.sql, which this one .* not have/);
  await db`update migration set checksum = 'x' where version = ${newest?.version ?? 0}`;
  const strange = join(folder, 'strange.backup');
  await writeBackup({ db, config, passphrase, file: strange, workFactor: 4 });
  await db`update migration set checksum = ${newest?.checksum ?? ''} where version = ${newest?.version ?? 0}`;
  assertFailed(await run(['restore', strange], into), /backup was made by an unreleased version .* does not carry: grants .* secrets, logins .* history/);
  await assertNothingChanged();
});

test('a backup of this version is restored by the next one, and brought up to it', async () => {
  const tree = makeNextVersion(join(folder, 'next'));
  const [old, target] = [await databases.make(), await databases.make()];
  const path = join(folder, 'old.backup');
  await databases.look(old, async (there) => {
    await migrate(there);
    await there`insert into establishment (estab, name, email) values ('7654321', 'Old School', 'office@old.example')`;
    await there`insert into roster (estab) values ('7654321')`;
    await writeBackup({ db: there, config, passphrase, file: path, workFactor: 4 });
  });
  const restoring = launch('src/cli.ts', ['restore', path], folder, { env: { ...into, DATABASE_URL: target }, tree });
  assert.equal(await ended(restoring), 0, restoring.output());
  await databases.look(target, async (there) => {
    assert.deepEqual([...(await there`select name, made_up from establishment`)], [{ name: 'Old School', made_up: null }]);
    assert.equal((await there`select from migration where name = ${madeUpMigration.name}`).length, 1);
    assert.equal((await there`select from audit_event where action = 'restore'`).length, 1);
  });
});

async function killed(what: 'write' | 'restore', at: string, env: Record<string, string>, path: string): Promise<string> {
  const args = [join(import.meta.dirname, '../../test/backup-worker.ts'), what, '--at', at, '--file', path];
  const child = spawn(process.execPath, args, { env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return String(signal);
}

test('killed while it is written, a backup has no name; the next one to that name goes well', async () => {
  const path = join(folder, 'killed.backup');
  for (const at of ['copying migration', 'giving it its name']) {
    assert.equal(await killed('write', at, settings, path), 'SIGKILL');
    assert.deepEqual([existsSync(path), existsSync(`${path}.half`)], [false, true], at);
  }
  await writeBackup({ db, config, passphrase, file: path, workFactor: 4 });
  assert.deepEqual([existsSync(path), existsSync(`${path}.half`)], [true, false]);
});

test('what a disk has not kept as it was written is found before it counts', async () => {
  const path = join(folder, 'bad-disk.backup');
  const spoil = (words: string) => {
    if (words !== 'reading it back') return;
    const kept = openSync(`${path}.half`, 'r+');
    writeSync(kept, Buffer.from([0]), 0, 1, statSync(`${path}.half`).size - 20);
    closeSync(kept);
  };
  await assert.rejects(writeBackup({ db, config, passphrase, file: path, workFactor: 4, tell: spoil }), DamagedBackup);
  assert.deepEqual([existsSync(path), existsSync(`${path}.half`)], [false, false]);
});

test('rows that are others than were backed up are found by their table', async () => {
  const connection = await db.reserve();
  const copied = '1234567\tHill Top\n';
  const digest = new RowsDigest();
  digest.take(Buffer.from(copied));
  const table = { name: 'establishment', columns: ['estab', 'name'], rows: 1, bytes: copied.length, digest: digest.value };
  const compare = (more: Partial<typeof table>) => compareTables(connection, [{ ...table, ...more }], () => {});
  await compare({});
  await assert.rejects(compare({ rows: 2 }), /has 1 rows of establishment, not 2/);
  await assert.rejects(compare({ digest: digest.value.replace(/^./, (first) => (first === '0' ? '1' : '0')) }), /other rows of establishment/);
  connection.release();
});

test('stopped at any step, a backup leaves nothing at all', async () => {
  const path = join(folder, 'stopped.backup');
  for (const at of ['copying application ', 'copying wrong_try', 'copying files', 'reading it back']) {
    const stop = new AbortController();
    const tell = (words: string) => words.startsWith(at) && stop.abort();
    await assert.rejects(writeBackup({ db, config, passphrase, file: path, workFactor: 4, tell, signal: stop.signal }), { name: 'AbortError' }, at);
    assert.deepEqual([existsSync(path), existsSync(`${path}.half`)], [false, false], at);
  }
});

test('killed or stopped at any step, a restore leaves a database as empty as it was, and can be repeated', async () => {
  for (const at of ['restoring establishment', 'comparing migration']) {
    const stop = new AbortController();
    const tell = (words: string) => words.startsWith(at) && stop.abort();
    const given = { config: readConfig(into), file, passphrase, deliveries: 'hold', tell, signal: stop.signal } as const;
    await assert.rejects(restoreBackup(given), { name: 'AbortError' }, at);
    await untilAlone();
    await assertNothingChanged();
  }
  for (const at of ['making the indexes', 'ending']) {
    assert.equal(await killed('restore', at, into, file), 'SIGKILL');
    await untilAlone();
    assert.equal(await databases.look(empty, countTables), 0, at);
  }
  const { code, out, err } = await restore();
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /^restored [\d,]+ rows of \d+ tables into DATABASE_URL .*\nthey are as of /);
  assert.equal((await databases.look(empty, (there) => there`select from establishment where estab = '1234567'`)).length, 1);
  const after = await databases.look(empty, async (there) => [await findBackupPlan(there), ...(await listBackupRuns(there, 9))]);
  const stands = after.map((one) => one && ('moved' in one ? one.moved : one.state));
  assert.deepEqual(stands, [true, 'cut off'], 'its plan is off, and its own backup is not under way');
  assert.equal((await databases.look(empty, (there) => there`select from backup_plan where database = 'restored'`)).length, 1);
});

/** Ctrl-C once a restore into an embedded database has begun to change it. */
async function interruptRestore(): Promise<{ code: number | null; err: string; dataDir: string }> {
  const dataDir = join(folder, 'interrupted');
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, DATA_DIR: dataDir, BACKUP_PASSPHRASE: passphrase };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../cli.ts'), 'restore', file], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const closed = once(child, 'close');
  await until('it has put the key there', () => existsSync(join(dataDir, 'secret.key')));
  child.kill('SIGINT');
  const [code] = (await closed) as [number | null];
  return { code, err, dataDir };
}

/** A server finds out a moment later that whom it worked for is gone. */
async function untilAlone(): Promise<void> {
  await databases.look(empty, (there) =>
    until('nobody is connected any more', async () => {
      const [row] = await there<{ others: number }[]>`
        select count(*)::int as others from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`;
      return row?.others === 0;
    }),
  );
}

test('however large a table is, little of it is held at a time', async () => {
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  const mebi = 2 ** 20;
  const collectGarbage = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  await db`insert into upload (estab, id) values ('1234567', '00000000-0000-4000-8000-000000000000')`;
  await db`
    insert into upload_piece (estab, upload, number, bytes)
    select '1234567', '00000000-0000-4000-8000-000000000000', n, ${randomBytes(mebi)} from generate_series(1, 12) n`;
  const samples: number[] = [];
  let parts = 0;
  const held = () => {
    // What the first finds, others free beside it; the second waits for them.
    collectGarbage();
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = held();
  const large = join(folder, 'large.backup');
  const tell = (words: string) => {
    if (words.includes('upload_piece') && (parts += 1) % 4 === 0) samples.push(held());
  };
  const { rows, bytes } = await writeBackup({ db, config, passphrase, file: large, workFactor: 4, tell });
  assert.ok(rows > 12 && parts > 20, `${bytes} bytes in ${parts} parts`);
  // What was dropped is not always free at once: with all of it held, none of the later samples would be small.
  const least = (Math.min(...samples.slice(samples.length / 2)) - before) / mebi;
  assert.ok(least < 8, `${least} MiB were held`);
});
