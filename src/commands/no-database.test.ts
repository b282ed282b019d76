// Covers that only a start makes a database: a command that finds none says where it looked and leaves nothing behind.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import pg from 'pg';
import { assertFailed, runProcess, useCommands } from '../../test/commands.ts';
import { testSecretKey, useService } from '../../test/service.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-no-database-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const service = await useService();
const { run } = useCommands({});
const external = (change: (url: URL) => void) => {
  const url = new URL(service.databaseUrl);
  change(url);
  return { DATABASE_URL: url.href, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, 'beside') };
};

test('without a cluster in DATA_DIR every command fails, naming it, and makes neither folder nor key', async () => {
  const missing = join(folder, 'missing');
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  for (const dataDir of [missing, empty]) {
    const lines = ['status', 'school list', 'status --check', 'school add --estab 1 --name A --email a@a.example', 'keys rotate', 'upgrade', 'upgrade --check'];
    for (const line of lines) {
      const result = await run(line.split(' '), { DATA_DIR: dataDir });
      assertFailed(result, new RegExp(`no database in DATA_DIR ${dataDir}\\. Only a start makes a database: npx schoolbell start`), line);
      assert.equal(result.out, '');
    }
  }
  assert.deepEqual([existsSync(missing), readdirSync(empty)], [false, []]);
});

test('a process in a folder without settings says so too, and leaves the folder empty', async () => {
  const here = join(folder, 'here');
  mkdirSync(here);
  const result = await runProcess(here, {}, ['school', 'list', '--json']);
  assertFailed(result, /no database in DATA_DIR .*here\/data\./);
  assert.deepEqual([result.out, readdirSync(here)], ['', []]);
});

test('a DATABASE_URL that leads nowhere is named without its password', async () => {
  const away = await run(['status'], { ...external(() => {}), DATABASE_URL: 'postgres://bell:s3cret-word@127.0.0.1:1/x?password=s3cret-word' });
  assertFailed(away, /cannot use the database of DATABASE_URL postgres:\/\/bell@127\.0\.0\.1:1\/x: .*ECONNREFUSED/);
  assert.doesNotMatch(away.err, /s3cret-word/);
  const unknown = await run(['status'], external((url) => (url.pathname = '/not_there')));
  assertFailed(unknown, /cannot use the database of DATABASE_URL postgres.*\/not_there: .*database "not_there" does not exist/);
});

test('a database without our tables is left as it was', async () => {
  const name = `bare_${process.pid}`;
  const admin = new pg.Client({ connectionString: service.databaseUrl });
  await admin.connect();
  try {
    await admin.query(`create database ${name}`);
    const settings = external((url) => (url.pathname = `/${name}`));
    assertFailed(await run(['school', 'list'], settings), new RegExp(`no start of Schoolbell has made anything in DATABASE_URL postgres.*/${name}\\.`));
    const bare = new pg.Client({ connectionString: settings.DATABASE_URL });
    await bare.connect();
    const { rows } = await bare.query("select relname from pg_class where relnamespace = 'public'::regnamespace");
    await bare.end();
    assert.deepEqual(rows, []);
  } finally {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
  }
  assert.equal(existsSync(join(folder, 'beside')), false, 'no DATA_DIR is made beside it');
});
