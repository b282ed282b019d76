// In charge of the moment at which a school becomes live. The applications that were waiting for it are told, each once.
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import type { Db, Sql } from '../db/connect.ts';
import { announceApproval } from './authentication-event.ts';
import { whenLive } from './live.ts';

type Waiting = { estab: string; rp: string; secretId: string; sealed: Uint8Array | null };

/** To be called when a status changes, and again and again besides. Mostly nobody waits, and nothing is locked. */
export async function completeInstallations(db: Db, seal: Seal, estab?: string): Promise<number> {
  const find = (sql: Sql) => sql<Waiting[]>`
    select a.estab, a.rp, s.id as "secretId", s.sealed from authorisation a left join school_secret s on s.estab = a.estab and s.rp = a.rp
      and s.id = a.announced_secret
    where a.state = 'Approved' and a.installed_at is null ${estab === undefined ? sql`` : sql`and a.estab = ${estab}`} and ${whenLive(sql, sql`a.estab`)}`;
  if ((await find(db)).length === 0) return 0;
  return db.begin(async (tx) => {
    const waiting = await tx<Waiting[]>`${find(tx)} for update of a skip locked`;
    for (const { estab: school, rp, secretId, sealed } of waiting) {
      await tx`update authorisation set installed_at = now() where estab = ${school} and rp = ${rp}`;
      await tx`insert into authorisation_event (estab, rp, state, actor) values (${school}, ${rp}, 'Live', 'service')`;
      if (!sealed) continue;
      const schoolSecret = seal.open(sealed, sealedAs.schoolSecret(school, rp, secretId));
      await announceApproval(tx, seal, { estab: school, rp, secretId, schoolSecret, installed: true });
    }
    return waiting.length;
  });
}
