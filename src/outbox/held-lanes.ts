// In charge of telling the later statements of a transaction which lanes its first statement locked, without a round trip between.
import type { Fragment, Sql } from '../db/connect.ts';

/**
 * Notes the keys of the lanes until the transaction ends, and returns them as an array. `lanes` is a query of keys, which locks them.
 * PostgreSQL keeps the plans of the later statements. A plan made while the outbox is empty would read the whole table each
 * time, also after work has come, so these statements must use indexes.
 */
export const holdLanes = (sql: Sql, lanes: Fragment): Fragment =>
  sql`set_config('schoolbell.lanes', array(${lanes})::text, true)::text[] as keys, set_config('enable_seqscan', 'off', true)`;

/** Read once for a statement, not for each row. */
export const heldLanes = (sql: Sql): Fragment => sql`(select current_setting('schoolbell.lanes')::text[])::text[]`;
