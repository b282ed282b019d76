// In charge of CreateLogin: a login for a presence of the caller's school, with a registration mail to its work e-mail.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import { audit } from './audit.ts';
import { requirePair } from './identity-values.ts';
import { inviteToRegister } from './logins.ts';
import { requireMailsLeft } from './mail-limits.ts';
import { findPresence } from './presences.ts';
import { renderCamelCaseUser } from './user-records.ts';

export async function createLogin(
  db: Db,
  publicUrl: string,
  caller: { rp: string; estab: string },
  query: Query,
  body: unknown,
): Promise<Record<string, string>[]> {
  const [orgId, presenceId] = requirePair(query, body, ['OrgId', 'PresenceId']);
  return db.begin(async (tx) => {
    // One at a time for a person: of two at once the second finds the login of the first.
    await tx`select pg_advisory_xact_lock(hashtext(${`${caller.estab}|${presenceId}`}))`;
    const presence = orgId === caller.estab ? await findPresence(tx, caller.estab, presenceId) : undefined;
    if (!presence) throw new SchoolbellError('not_found', 'There is no such presence at this school.');
    if (presence.registered) throw new SchoolbellError('conflict', 'This person has registered already; use ResetPassword for a new password.');
    if (presence.workEmail === '')
      throw new SchoolbellError('unprocessable', 'This person has no work e-mail in the roster, so that no registration mail can be sent.');
    await requireMailsLeft(tx, caller.estab, { mails: 1, presenceId });
    await inviteToRegister(tx, publicUrl, { ...caller, presence });
    await audit(tx, { ...caller, operation: 'CreateLogin', presenceId, outcome: 'done' });
    const made = await findPresence(tx, caller.estab, presenceId);
    return [renderCamelCaseUser(made ?? presence)];
  });
}
