// In charge of guessing at an operator's account, password and second factor alike: limits that count only wrong tries, and a
// lock after ten of them, which stands in the audit trail.
import { noteLook } from '../access/audit-trail.ts';
import type { TryLimit } from '../access/wrong-tries.ts';
import { isAhead } from '../db/clock.ts';
import type { Fragment, Sql } from '../db/connect.ts';

export const consoleTries: TryLimit = { kind: 'console', what: 'wrong passwords or codes', minutes: 1, most: { address: 30, client: 15 } };
const mostWrongTries = 10;
const lockedMinutes = 15;

/** isKnown: it is tried by a browser for which no lock holds. */
export function isUnlocked(sql: Sql, isKnown = false): Fragment {
  return sql`(${isKnown}::boolean or not ${isAhead(sql, sql`locked_until`, lockedMinutes * 60)})`;
}

/** While it is locked nothing is counted, so that nobody can keep it locked. For nobody the statement does nothing. */
export async function countWrong(sql: Sql, account: string | null, address: string): Promise<void> {
  const [counted] = await sql<{ name: string; locked: boolean }[]>`
    update console_account set wrong_tries = case when locked_until is null then wrong_tries + 1 else 1 end,
      locked_until = case when locked_until is null and wrong_tries + 1 >= ${mostWrongTries} then lock.until end
    from (select now() + make_interval(mins => ${lockedMinutes}) as until) lock
    where id = ${account} and ${isUnlocked(sql)}
    returning sign_in_name as name, locked_until is not null as locked`;
  if (counted?.locked) await noteLook(sql, { name: counted.name, via: 'console', from: address }, { action: 'lock after wrong tries' });
}
