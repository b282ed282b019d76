// In charge of the record of identity operations and sign-ins.
import type { Db, Sql } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';

export type Audited = { estab: string; rp: string | null; operation: string; presenceId: string | null; outcome: string };

export async function audit(sql: Sql, { estab, rp, operation, presenceId, outcome }: Audited): Promise<void> {
  await sql`insert into identity_audit (estab, rp, operation, presence_id, outcome) values (${estab}, ${rp}, ${operation}, ${presenceId}, ${outcome})`;
}

export async function forgetAudited(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'identity_audit', db`at < now() - make_interval(days => ${days})`);
}

/** Sessions, registration links and what the OpenID Connect provider keeps say themselves when they end. */
export async function forgetExpiredSignIns(db: Db): Promise<void> {
  for (const table of ['login_session', 'registration_link', 'oidc_record']) await deleteInBatches(db, table, db`expires_at < now()`);
}
