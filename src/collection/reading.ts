// In charge of the order of readings: each is numbered when it starts, and one that is older than the last that was
// merged comes too late, however long it took.
import { readClock } from '../db/clock.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { fixedMessages } from './fixed-messages.ts';

/** What it stages is found by its school and number. startedAt is by the database's clock. */
export type Reading = Readonly<{ estab: string; number: number; startedAt: Date }>;

const columns = { SchoolData: 'roster_merged', Attendance: 'marks_merged' } as const;
type Read = keyof typeof columns;

export async function beginReading(db: Db, estab: string): Promise<Reading> {
  const [row] = await db<{ number: number }[]>`
    insert into reading (estab, started) values (${estab}, 1) on conflict (estab) do update set started = reading.started + 1
    returning started as number`;
  if (!row) throw new Error(`the reading of ${estab} could not be numbered`);
  return { estab, ...row, startedAt: await readClock(db) };
}

/** A newer one was merged while this one was read, or another source was set: nothing of it is taken. */
export class Overtaken extends Error {
  constructor() {
    super(fixedMessages.overtaken);
  }
}

/** To be asked under the lock of what is merged. */
export async function isOvertaken(tx: Tx, { estab, number }: Reading, database: Read): Promise<boolean> {
  const [row] = await tx`select from reading where estab = ${estab} and ${tx(columns[database])} >= ${number}`;
  return row !== undefined;
}

export async function requireNewest(tx: Tx, reading: Reading, database: Read): Promise<void> {
  if (await isOvertaken(tx, reading, database)) throw new Overtaken();
}

/** Once more, since another source may have been set while it was merged. */
export async function noteMerged(tx: Tx, { estab, number }: Reading, database: Read): Promise<void> {
  const column = tx(columns[database]);
  const { count } = await tx`update reading set ${column} = ${number} where estab = ${estab} and ${column} < ${number}`;
  if (count === 0) throw new Overtaken();
}

/** What is being read now is of a source that no longer counts. */
export async function overtakeAll(sql: Sql, estab: string): Promise<void> {
  await sql`update reading set roster_merged = started, marks_merged = started where estab = ${estab}`;
}
