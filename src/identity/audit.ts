// In charge of the record of identity operations and sign-ins.
import type { Db, Sql } from '../db/connect.ts';
import { deleteInBatches, deleteOfSchool } from '../db/delete-in-batches.ts';

export type Audited = { estab: string; rp: string | null; operation: string; presenceId: string | null; outcome: string };

export async function audit(sql: Sql, { estab, rp, operation, presenceId, outcome }: Audited): Promise<void> {
  await sql`insert into identity_audit (estab, rp, operation, presence_id, outcome) values (${estab}, ${rp}, ${operation}, ${presenceId}, ${outcome})`;
}

/** Of all schools, those included that are there no more: an entry may be written while its school is removed. */
export async function forgetAudited(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'identity_audit', db`at < now() - make_interval(days => ${days})`);
}

/** Sessions and registration links say themselves when they end. */
export async function forgetExpiredSessions(db: Db, estab: string): Promise<void> {
  for (const table of ['login_session', 'registration_link']) await deleteOfSchool(db, table, estab, db`expires_at < now()`);
}

/** So does what the OpenID Connect provider keeps. */
export async function forgetExpiredRecords(db: Db): Promise<void> {
  await deleteInBatches(db, 'oidc_record', db`expires_at < now()`);
}
