// The lock of a login after wrong passwords.
import { isAhead } from '../db/clock.ts';
import type { Fragment, Sql } from '../db/connect.ts';

export const lockedMinutes = 15;

/** Condition on a row of the table login. */
export const isLocked = (sql: Sql, login: Fragment): Fragment => isAhead(sql, sql`${login}.locked_until`, lockedMinutes * 60);
