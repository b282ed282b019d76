// In charge of asking many schools the same: a statement for each, many of them in one round trip, over a few connections.
import { atOnce } from '../at-once.ts';
import type { Db, Statement } from '../db/connect.ts';

/** What is asked of one school, where, and what follows from the row that answers it. */
export type Ask<Row, T> = Readonly<{ db: Db; statement: Statement<Row[]>; take: (row: Row | undefined) => T }>;

/** So that one question does not take all of them. */
const connections = 3;
/** After each round trip it is looked whether anybody still waits. */
const mostTogether = 64;

/** fewest: what is answered in no time is not worth a connection of its own; what is searched for is, as long as there are some. */
export async function askSchools<S, Row, T>(
  schools: readonly S[],
  plan: (school: S) => Promise<Ask<Row, T>>,
  { fewest, over }: { fewest: number; over: AbortSignal | undefined },
): Promise<T[]> {
  const size = Math.min(mostTogether, Math.max(fewest, Math.ceil(schools.length / connections)));
  const groups = Array.from({ length: Math.ceil(schools.length / size) }, (_, at) => schools.slice(at * size, (at + 1) * size));
  return (await atOnce(connections, groups, async (group) => askTogether(await Promise.all(group.map(plan))), over)).flat();
}

async function askTogether<Row, T>(asks: readonly Ask<Row, T>[]): Promise<T[]> {
  const rows = new Map<Ask<Row, T>, Row | undefined>();
  for (const [db, own] of Map.groupBy(asks, (ask) => ask.db)) {
    const statements = own.map(({ statement }) => statement);
    const answers = statements.length > 1 ? await db.together(...statements) : [await (statements[0] as Statement<Row[]>)];
    for (const [at, ask] of own.entries()) rows.set(ask, answers[at]?.[0]);
  }
  return asks.map((ask) => ask.take(rows.get(ask)));
}
