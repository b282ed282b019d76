// In charge of taking turns about a school's source: whoever changes it waits for those who rely on it, and they for whoever changes it. Not by
// the row of the establishment: where the database is spread that lies on every node, and its lock would wait for nodes of other schools.
import type { Sql } from '../db/connect.ts';

const advisoryLock = 5_219_030;

/** Until the transaction ends. */
export async function lockSource(tx: Sql, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

/** The same source until the transaction ends; others may rely on it, too. */
export async function holdSource(tx: Sql, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock_shared(${advisoryLock}, hashtext(${estab}))`;
}
