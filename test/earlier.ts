// In charge of moving instants of rows back in time, in words that a database on several nodes takes too: there, nothing that depends on the
// time zone of a connection may be done to a column.
import type { Fragment, Sql } from '../src/db/connect.ts';

export const earlier = (sql: Sql, column: string, by: string): Fragment => sql`(${sql(column)} at time zone 'UTC' - ${by}::interval) at time zone 'UTC'`;
