// In charge of ResetPassword: a new password for a login of the caller's school.
import type { Turns } from '../access/hash-pool.ts';
import { hashPassword, makePassword } from '../access/passwords.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import { audit } from './audit.ts';
import { findFlag, findGiven } from './identity-values.ts';
import { requirePassword, setPassword } from './logins.ts';
import { findByUserName } from './presences.ts';

type SchoolCredential = { rp: string; estab: string };

export async function resetPassword(db: Db, turn: Turns, caller: SchoolCredential, query: Query, body: unknown): Promise<{ Success: true; Password: string }> {
  const userName = findGiven(query, body, 'username');
  if (!userName) throw new SchoolbellError('invalid_request', 'username is missing.');
  const given = findGiven(query, body, 'password');
  if (given === '') throw new SchoolbellError('invalid_request', 'password is empty; leave it out to have one made.');
  const changeAtNextLogin = findFlag(query, body, 'ChangeAtNextLogin', given === undefined);
  const unlock = findFlag(query, body, 'UnlockLogin', false);

  const presence = await findByUserName(db, caller.estab, userName);
  if (!presence) throw new SchoolbellError('not_found', 'There is no such user with a login at this school.');
  const password = given ?? makePassword();
  if (given !== undefined) await requirePassword(given, presence);
  const hash = await turn((derive) => hashPassword(derive, password));
  await db.begin(async (tx) => {
    await setPassword(tx, caller.estab, presence.id, hash, { changeAtNextLogin, unlock });
    await audit(tx, { ...caller, operation: 'ResetPassword', presenceId: presence.id, outcome: 'done' });
  });
  return { Success: true, Password: password };
}
