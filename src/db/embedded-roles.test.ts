// Covers the three roles of the embedded PostgreSQL: what the service's own role may do, who owns the tables, and a data folder without these roles.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { smallSchool, user } from '../../test/small-school.ts';
import { addEstablishment } from '../access/establishments.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { importRoster } from '../collection/import.ts';
import { readConfig } from '../config.ts';
import { migrate } from './migrate.ts';
import { openDatabase, type OpenDatabase } from './open.ts';
import { policies } from './policies.ts';

const dataDir = useDataDir();
const config = readConfig({ DATA_DIR: dataDir });
let database: OpenDatabase | undefined = await openDatabase(config);
after(() => database?.close());
const serving = database.pool(policies.commands);
const owner = database.owner({ ...policies.commands, name: 'owner' });

const attributesOf = 'select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls as privileged from pg_roles';
const mayNot = { code: '42501' };

test('neither the role that serves nor the owner of the tables has a privilege on the whole server', async () => {
  for (const db of [serving, owner]) assert.deepEqual(await db.unsafe(`${attributesOf} where rolname = current_user`), [{ privileged: false }]);
  const owners = await serving`select distinct tableowner from pg_tables where schemaname = 'public'`;
  assert.deepEqual(owners, await owner`select current_user::text as tableowner`);
});

test('the role that serves reads and writes data, and changes no table', async () => {
  await serving`update migration set applied_at = applied_at`;
  for (const statement of ['create table mine (n int)', 'alter table migration add column more int', 'drop table migration', 'truncate roster cascade'])
    await assert.rejects(serving.unsafe(statement), mayNot, statement);
  await assert.rejects(serving.unsafe(`copy (select 1) to program 'true'`), mayNot);
  await assert.rejects(serving.unsafe(`select pg_read_file('postmaster.pid')`), mayNot);
});

test('the role that serves sees the folder of the server, by which a copy of the database is recognised', async () => {
  assert.equal((await serving`select from pg_settings where name = 'data_directory'`).length, 1);
});

test('it may use and maintain every table and sequence, those of a later migration too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'schoolbell-migrations-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of readdirSync('migrations')) writeFileSync(join(folder, file), readFileSync(join('migrations', file)));
  writeFileSync(join(folder, '9000_later.sql'), 'create table later_thing (n bigint generated always as identity, word text);\n');
  await migrate(owner, { folder });
  const without = await serving`
    select relname from pg_class where relnamespace = 'public'::regnamespace and case relkind
      when 'r' then not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update')
        and has_table_privilege(oid, 'delete') and has_table_privilege(oid, 'maintain'))
      when 'S' then not (has_sequence_privilege(oid, 'usage') and has_sequence_privilege(oid, 'select')) end`;
  assert.deepEqual(without, []);
  await serving`insert into later_thing (word) values ('a')`;
  await serving`analyze later_thing`;
  const [known] = await serving`select last_analyze is not null as analyzed from pg_stat_user_tables where relname = 'later_thing'`;
  assert.equal(known?.analyzed, true);
});

test('an import under it refreshes the statistics of what it changed', async () => {
  const [before] = await serving<{ at: Date }[]>`select clock_timestamp() as at`;
  await addEstablishment(serving, { estab: 'S1', name: 'School', email: 'office@school.example' });
  const users = [...smallSchool.users, ...Array.from({ length: 600 }, (_, at) => user(`n${at}`, 'student'))];
  const source = async () => openCsvSource(csvPackage({ ...smallSchool, users }));
  const report = await importRoster(serving, source, { estab: 'S1', dataDir, partial: false, force: false, shrinkLimitPercent: 20 });
  assert.equal(report.outcome, 'done');
  const [known] = await serving`select last_analyze >= ${before?.at ?? null} as refreshed from pg_stat_user_tables where relname = 'roster_user'`;
  assert.deepEqual(known, { refreshed: true });
});

test('a data folder without the passwords of the roles is refused before anything is started or made', async () => {
  await database?.close();
  database = undefined;
  const files = readdirSync(dataDir).filter((file) => /^postgres\..+\.password$/.test(file));
  assert.equal(files.length, 2);
  for (const file of files) rmSync(join(dataDir, file));
  const before = readdirSync(dataDir, { recursive: true });
  for (const existing of [true, false])
    await assert.rejects(openDatabase(config, undefined, { existing }), /postgres\.owner\.password.*DATA_DIR/s);
  assert.deepEqual(readdirSync(dataDir, { recursive: true }), before);
});
