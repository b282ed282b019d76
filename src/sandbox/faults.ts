// In charge of what the sandbox does to an application on purpose, as it stands in the database: every process finds it there at its next
// request or call. Each ends by itself, so that nobody looks for a fault that somebody has forgotten.
import type { Db, Sql, Tx } from '../db/connect.ts';

export type FaultKind = 'events' | 'tokens' | 'answers';
export type Fault = Readonly<{ mode: string; seconds: number | null; remaining: number | null; until: Date }>;
export type NewFault = Readonly<{ mode: string; seconds?: number; remaining?: number | undefined; minutes: number }>;

export async function setFault(tx: Tx, rp: string, kind: FaultKind, { mode, seconds, remaining, minutes }: NewFault): Promise<void> {
  await tx`
    insert into sandbox_fault (rp, kind, mode, seconds, remaining, until)
    values (${rp}, ${kind}, ${mode}, ${seconds ?? null}, ${remaining ?? null}, now() + make_interval(mins => ${minutes}))
    on conflict (rp, kind) do update
      set mode = excluded.mode, seconds = excluded.seconds, remaining = excluded.remaining, holding = null, set_at = excluded.set_at, until = excluded.until`;
}

export async function endFault(tx: Tx, rp: string, kind: FaultKind): Promise<void> {
  await tx`delete from sandbox_fault where rp = ${rp} and kind = ${kind}`;
}

/** Those in force. */
export async function readFaults(sql: Sql, rp: string): Promise<Readonly<Partial<Record<FaultKind, Fault>>>> {
  const rows = await sql<(Fault & { kind: FaultKind })[]>`
    select kind, mode, seconds, remaining, until from sandbox_fault where rp = ${rp} and until > now() and (remaining is null or remaining > 0)`;
  return Object.fromEntries(rows.map(({ kind, ...fault }) => [kind, fault]));
}

export async function forgetFaults(db: Db, days: number): Promise<void> {
  await db`delete from sandbox_fault where until < now() - make_interval(days => ${days})`;
}
