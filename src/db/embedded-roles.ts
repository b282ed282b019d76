// The three roles of the embedded PostgreSQL. A new cluster gets them before its first start:
// - the superuser, which makes the other two and is not used afterwards;
// - the owner, which owns the database and its tables: migrations, `restore` and `distribute` run as this role;
// - the serving role, which reads and writes rows and may maintain tables (ANALYZE): the service and all other commands run as this role.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { EnvironmentFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import { readOrMakeSecret } from '../secret-file.ts';
import { adviceForUnreleased } from './migrations.ts';

export type DatabaseRole = 'superuser' | 'owner' | 'serving';
export type RolePasswords = Readonly<Record<DatabaseRole, string>>;

export const roleNames: Readonly<Record<DatabaseRole, string>> = { superuser: 'postgres', owner: 'schoolbell_owner', serving: 'schoolbell' };
export const databaseName = 'schoolbell';

const passwordFiles: Readonly<Record<DatabaseRole, string>> = {
  superuser: 'postgres.password',
  owner: 'postgres.owner.password',
  serving: 'postgres.serving.password',
};

/** Reads the password of each role from DATA_DIR. Generates them only while there is no cluster: an existing one has its own. */
export function readOrCreatePasswords(dataDir: string, cluster: string | undefined): RolePasswords {
  const fileOf = (role: DatabaseRole) => path.join(dataDir, passwordFiles[role]);
  const missing = (['superuser', 'owner', 'serving'] as const).map(fileOf).filter((file) => !existsSync(file));
  if (cluster !== undefined && missing.length > 0)
    throw new SchoolbellError(
      'conflict',
      `The embedded database in ${cluster} cannot be opened without ${missing.join(' and ')}. If the files were lost, copy them ` +
        `from your copy of DATA_DIR. If there never were such files, an unreleased version of Schoolbell made the database. ${adviceForUnreleased}`,
    );
  const passwordOf = (role: DatabaseRole) => readOrMakeSecret(fileOf(role), () => randomBytes(24).toString('hex'));
  return { superuser: passwordOf('superuser'), owner: passwordOf('owner'), serving: passwordOf('serving') };
}

/**
 * Refuses passwords with other characters than letters, digits, `_` and `-`. SQL statements contain the passwords without escaping, and
 * hidePasswords finds a password in PostgreSQL's output only if it is printed unchanged.
 */
export function requirePlainPasswords(passwords: RolePasswords): void {
  const strange = Object.entries(passwords).filter(([, password]) => !/^[\w-]+$/.test(password)).map(([role]) => passwordFiles[role as DatabaseRole]);
  if (strange.length > 0)
    throw new EnvironmentFault(`DATA_DIR: ${strange.join(' and ')} holds other characters than letters, digits, _ and -. Remove it, and a new one is made`);
}

/** Removes the passwords from the output of a program: a statement that fails is printed whole. */
export function hidePasswords(output: string, passwords: RolePasswords): string {
  return Object.values(passwords).reduce((text, password) => text.replaceAll(password, '…'), output);
}

/**
 * Returns the statements that make roles and database in a new cluster, in the database template1: every database that is made from it inherits
 * the default privileges, so that the serving role may use whatever tables the owner makes later. Both roles see the sessions of the other
 * (`pg_read_all_stats`), which tells commands who else is connected, and the server's folder (`pg_read_all_settings`), by which the backup plan
 * recognises a copy of its database.
 */
export function renderRoleSetup(passwords: RolePasswords): readonly string[] {
  const { owner, serving } = roleNames;
  return [
    `create role ${owner} login password '${passwords.owner}'`,
    `create role ${serving} login password '${passwords.serving}'`,
    `grant pg_read_all_stats, pg_read_all_settings to ${owner}, ${serving}`,
    `alter default privileges for role ${owner} grant select, insert, update, delete, maintain on tables to ${serving}`,
    `alter default privileges for role ${owner} grant usage, select on sequences to ${serving}`,
    `create database ${databaseName} owner ${owner}`,
  ];
}
