// In charge of removing an application for good: every school that still lets it in revokes it first and is told, then it
// goes with its authorisations, secrets, registrations and waiting calls. Its tokens are refused at the next call. What the
// schools decided about it stays, as their record.
import { recordErasure, type Counts } from '../access/erasures.ts';
import type { Sql } from '../db/connect.ts';
import { mailKind } from '../mail/mail.ts';
import { callbackLane } from '../notifications/move-callback.ts';
import { laneKey } from '../notifications/webhooks.ts';
import { removeWork } from '../outbox/remove-work.ts';
import { change, type Deciding } from './approve.ts';
import { listSchools } from './edit-application.ts';

const counted = {
  authorisations: 'authorisation',
  invitations: 'invitation',
  registrations: 'webhook',
  writebacks: 'writeback',
  'school secrets': 'school_secret',
} as const;

export async function countApplication(sql: Sql, rp: string): Promise<Counts> {
  const counts: Record<string, number> = {};
  const add = (words: string, rows: { count: number }[]) => {
    const count = rows[0]?.count ?? 0;
    if (count > 0) counts[words] = (counts[words] ?? 0) + count;
  };
  add('secrets', await sql<{ count: number }[]>`select count(*)::int as count from application_secret where rp = ${rp}`);
  for (const estab of await listSchools(sql, rp)) {
    for (const [words, table] of Object.entries(counted))
      add(words, await sql<{ count: number }[]>`select count(*)::int as count from ${sql(table)} where estab = ${estab} and rp = ${rp}`);
    add(
      'calls and other work',
      await sql<{ count: number }[]>`select count(*)::int as count from outbox where estab = ${estab} and rp = ${rp} and kind <> ${mailKind}`,
    );
  }
  return counts;
}

/** What schools keep of it stays theirs: what they decided, what it read and did, people whom it added, and mails. */
export async function removeApplication(deciding: Deciding, rp: string): Promise<Counts> {
  const live = await deciding.db<{ estab: string }[]>`select estab from authorisation where rp = ${rp} and state <> 'Revoked' order by estab`;
  for (const { estab } of live) await change(deciding, 'revoke', { estab, rp, actor: 'operator' });
  return deciding.db.begin(async (tx) => {
    const [application] = await tx<{ clientId: string }[]>`select client_id as "clientId" from application where rp = ${rp} for update`;
    const counts = await countApplication(tx, rp);
    const lanes = [callbackLane(rp)];
    for (const estab of await listSchools(tx, rp)) {
      lanes.push(...(await tx<{ id: string }[]>`select id from webhook where estab = ${estab} and rp = ${rp}`).map(({ id }) => laneKey(id)));
      await removeWork(tx, tx`estab = ${estab} and rp = ${rp} and kind <> ${mailKind}`);
      await tx`insert into authorisation_event (estab, rp, state, actor) values (${estab}, ${rp}, 'Removed', 'operator')`;
    }
    // Those of which nothing was kept: an application that is added under the same name later begins anew.
    await tx`delete from lane where key = any(${lanes}) and not exists (select from outbox o where o.lane = lane.key)`;
    await tx`delete from oidc_record where payload ->> 'clientId' = ${application?.clientId ?? ''}`;
    await tx`
      insert into past_decision (estab, rp, application, number, at, state, actor, scopes)
      select d.estab, d.rp, a.name, d.number, d.at, d.state, d.actor, d.scopes from authorisation_event d join application a using (rp) where d.rp = ${rp}`;
    await tx`delete from application where rp = ${rp}`;
    await recordErasure(tx, 'application', counts);
    return counts;
  });
}
