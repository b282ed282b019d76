// In charge of the record of identity operations and sign-ins.
import type { Sql } from '../db/connect.ts';

export type Audited = { estab: string; rp: string | null; operation: string; presenceId: string | null; outcome: string };

const keptDays = 365;

export async function audit(sql: Sql, { estab, rp, operation, presenceId, outcome }: Audited): Promise<void> {
  await sql`insert into identity_audit (estab, rp, operation, presence_id, outcome) values (${estab}, ${rp}, ${operation}, ${presenceId}, ${outcome})`;
}

export async function forgetIdentity(sql: Sql): Promise<void> {
  await sql`delete from identity_audit where at < now() - make_interval(days => ${keptDays})`;
  await sql`delete from login_session where expires_at < now()`;
  await sql`delete from registration_link where expires_at < now()`;
  await sql`delete from oidc_record where expires_at < now()`;
}
