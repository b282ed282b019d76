// Passes the keys of locked lanes from the first statement of a transaction to its later statements, without a round trip between them.
import type { Fragment, Sql } from '../db/connect.ts';

/**
 * Stores the keys of the lanes until the transaction ends, and returns them as an array. `lanes` is a query that locks the lanes and selects their
 * keys. Also makes the later statements use indexes: PostgreSQL keeps their plans, and a plan made while the outbox is empty would read the
 * whole table each time after work has come.
 */
export const holdLanes = (sql: Sql, lanes: Fragment): Fragment =>
  sql`set_config('schoolbell.lanes', array(${lanes})::text, true)::text[] as keys, set_config('enable_seqscan', 'off', true)`;

/** The stored keys. The subquery lets PostgreSQL read them once for a statement, not for each row. */
export const heldLanes = (sql: Sql): Fragment => sql`(select current_setting('schoolbell.lanes')::text[])::text[]`;
