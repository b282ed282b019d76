// Tests the password of the first operator: made once, kept for its owner alone, replaced by a setting, whoever starts at once.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { createHashPool } from '../access/hash-pool.ts';
import { readConfig } from '../config.ts';
import { findAdminPassword, isAdminKept, keepAdmin } from './admin.ts';
import { openSession } from './sessions.ts';
import { tryPassword } from './try-sign-in.ts';

const { db } = await useDatabase();
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-admin-'));
const hashing = createHashPool({ threads: 1 });
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await hashing.close();
});
beforeEach(async () => {
  await db`delete from console_account`;
  await db`truncate audit_event`;
});

const external = { DATABASE_URL: 'postgres://db.example/x', SECRET_KEY: 'k'.repeat(32) };
const configOf = (env: Record<string, string>) => readConfig({ DATA_DIR: join(folder, 'data'), ...env });
const keep = (password: string) => keepAdmin(db, hashing.known, { password, file: undefined, made: false });
const opens = async (password: string) =>
  (await tryPassword(db, hashing.known, { name: 'admin', password, address: '::1' }, async (_tx, id) => id)) !== undefined;
const open = async () => {
  const [admin] = await db<{ id: string }[]>`select id from console_account where sign_in_name = 'admin'`;
  await db.begin((tx) => openSession(tx, admin?.id ?? '', { address: '::1', publicUrl: 'http://x' }));
};
const sessions = async () => (await db`select from console_session`).length;

test('with the embedded database it is made once, for its owner alone, and shown by who made it', () => {
  const first = findAdminPassword(configOf({}));
  assert.match(first?.password ?? '', /^([a-hj-km-np-z2-9]{5}-){5}[a-hj-km-np-z2-9]{5}$/);
  const file = join(folder, 'data', 'admin.password');
  assert.deepEqual([first?.file, first?.made, statSync(file).mode & 0o777, readFileSync(file, 'utf8')], [file, true, 0o600, first?.password]);
  assert.deepEqual(findAdminPassword(configOf({})), { ...first, made: false });
  assert.deepEqual(findAdminPassword(configOf({ ADMIN_PASSWORD: 'a password that is set' })), {
    password: 'a password that is set', file: undefined, made: false,
  });
  const second = findAdminPassword(configOf({}));
  assert.deepEqual([second?.made, second?.password === first?.password], [true, false], 'one that was replaced does not come back');
  writeFileSync(file, 'half');
  assert.throws(() => findAdminPassword(configOf({})), /damaged/);
});

test('with another database there is none until it is set', () => {
  assert.equal(findAdminPassword(configOf(external)), undefined);
  assert.deepEqual([isAdminKept(configOf(external)), isAdminKept(configOf({})), isAdminKept(configOf({ ...external, ADMIN_PASSWORD: 'twelve-signs' }))], [
    false, true, true,
  ]);
});

test('several that start at once agree, and end no session of one another', async () => {
  await Promise.all(Array.from({ length: 6 }, () => keep('the first password')));
  assert.ok(await opens('the first password'));
  await open();
  await Promise.all(Array.from({ length: 6 }, () => keep('the first password')));
  assert.equal(await sessions(), 1, 'it is the same, so that nothing changes');
});

test('set later it replaces the old one: sessions and a lock end, and the role is admin again; name and second factor stay', async () => {
  await keep('the first password');
  await open();
  await db`update console_account set name = 'Ada', role = 'viewer', wrong_tries = 10, locked_until = now() + interval '1 hour', sealed_totp = '\\x00'`;
  await Promise.all(Array.from({ length: 4 }, () => keep('the second password')));
  assert.deepEqual([await opens('the first password'), await opens('the second password'), await sessions()], [false, true, 0]);
  const lines = await db<{ line: string }[]>`select concat_ws(' ', actor, action, address, outcome) as line from audit_event order by number desc limit 2`;
  assert.deepEqual(new Set(lines.map(({ line }) => line)), new Set([`the start of the service set password of admin ${hostname()} done`]));
  const [{ count } = { count: 0 }] = await db<{ count: number }[]>`select count(*)::int as count from audit_event`;
  assert.equal(count, 2, 'of four that start at once one sets it, and one did before');
  const [row] = await db<{ name: string; role: string; on: boolean }[]>`select name, role, sealed_totp is not null as on from console_account`;
  assert.deepEqual({ ...row }, { name: 'Ada', role: 'admin', on: true });
});
