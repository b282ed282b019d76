// In charge of the first operator, `admin`: whose password is a setting, or was made at the first start and is kept in a file.
// When another is set, it takes the place of the old one, and sessions that the old one opened end.
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { noteLook } from '../access/audit-trail.ts';
import type { Turns } from '../access/hash-pool.ts';
import { hashPassword, matchesPassword } from '../access/passwords.ts';
import { makeReadableSecret } from '../access/readable-secret.ts';
import { adminPasswordFile, type Config } from '../config.ts';
import type { Db } from '../db/connect.ts';
import { readOrMakeSecret } from '../secret-file.ts';
import { endSessionsOf } from './sessions.ts';

export const adminName = 'admin';
const groups = [5, 5, 5, 5, 5, 5] as const;

/** file: where it is kept, if nobody has set one. made: just now, so that it has to be shown. */
export type AdminPassword = Readonly<{ password: string; file: string | undefined; made: boolean }>;

/** Whether a setting or the file of the first start says what the password of `admin` is. */
export function isAdminKept({ adminPassword, databaseUrls }: Pick<Config, 'adminPassword' | 'databaseUrls'>): boolean {
  return adminPassword !== undefined || databaseUrls === undefined;
}

/** For a start of the service. None with a database of the operator's own: there is no console until they set one. */
export function findAdminPassword(config: Pick<Config, 'adminPassword' | 'databaseUrls' | 'dataDir'>): AdminPassword | undefined {
  const { adminPassword, databaseUrls, dataDir } = config;
  const file = join(dataDir, adminPasswordFile);
  if (adminPassword !== undefined) {
    // One that was replaced, perhaps because somebody knows it, does not come back when the setting goes.
    if (databaseUrls === undefined) rmSync(file, { force: true });
    return { password: adminPassword, file: undefined, made: false };
  }
  if (databaseUrls !== undefined) return undefined;
  const made = makeReadableSecret(groups);
  // Of several that start at once one has made it, and shows it.
  const password = readOrMakeSecret(file, () => made);
  return { password, file, made: password === made };
}

const mostAttempts = 5;

/**
 * Any number of processes may start at once: each writes only where it finds what it has read, and looks again where it does
 * not. What is right already stays, and so do its sessions.
 */
export async function keepAdmin(db: Db, turn: Turns, { password }: AdminPassword): Promise<void> {
  await turn(async (derive) => {
    for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
      const [account] = await db<{ hash: string | null; role: string }[]>`
        select password_hash as hash, role from console_account where sign_in_name = ${adminName}`;
      if (account?.role === 'admin' && (await matchesPassword(derive, password, account.hash ?? undefined))) return;
      const hash = await hashPassword(derive, password);
      if (await write(db, account?.hash ?? null, hash)) return;
    }
    throw new Error(`the password of ${adminName} was changed by others ${mostAttempts} times while it was written`);
  });
}

async function write(db: Db, before: string | null, hash: string): Promise<boolean> {
  return db.begin(async (tx) => {
    const [kept] = await tx<{ id: string }[]>`
      insert into console_account (sign_in_name, name, role, password_hash, created_by) values (${adminName}, 'Administrator', 'admin', ${hash}, 'setting')
      on conflict (sign_in_name) do update set password_hash = excluded.password_hash, role = 'admin', wrong_tries = 0, locked_until = null
        where console_account.password_hash is not distinct from ${before}
      returning id`;
    if (!kept) return false;
    await endSessionsOf(tx, kept.id);
    await noteLook(tx, { name: 'the start of the service', via: 'command line', from: hostname() }, { action: 'set password of admin', subject: adminName });
    return true;
  });
}
