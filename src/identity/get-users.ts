// In charge of GetUsers: everybody at the caller's school who has or can have a login.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import { audit } from './audit.ts';
import { findValue } from './identity-values.ts';
import { listPresences, presenceTypes } from './presences.ts';
import { renderUser } from './user-records.ts';

export async function getUsers(db: Db, caller: { rp: string; estab: string }, query: Query): Promise<Record<string, string>[]> {
  const given = findValue(query, 'presenceType');
  const type = presenceTypes.find((one) => one.toLowerCase() === given?.toLowerCase());
  if (given !== undefined && !type)
    throw new SchoolbellError('invalid_request', `presenceType: "${given.slice(0, 40)}" is not one of ${presenceTypes.join(', ')}.`);
  const users = await listPresences(db, caller.estab, type);
  await audit(db, { ...caller, operation: 'GetUsers', presenceId: null, outcome: `${users.length} users` });
  return users.map(renderUser);
}
