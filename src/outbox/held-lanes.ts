// In charge of telling the statements of a transaction which lanes the one before them locked, without a word to the client between.
import type { Fragment, Sql } from '../db/connect.ts';

/** Notes them until the transaction ends; their keys as an array. `lanes` is a query of keys, which locks them. */
export const holdLanes = (sql: Sql, lanes: Fragment): Fragment =>
  sql`set_config('schoolbell.lanes', array(${lanes})::text, true)::text[] as keys`;

/** Read once for a statement, not for each row. */
export const heldLanes = (sql: Sql): Fragment => sql`(select current_setting('schoolbell.lanes')::text[])::text[]`;
