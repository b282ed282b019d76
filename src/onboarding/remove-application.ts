// In charge of removing an application for good: every school that still lets it in revokes it first and is told, then it
// goes with its authorisations, secrets, registrations and waiting calls. Its tokens are refused at the next call. What the
// schools decided about it stays, as their record.
import { atOnce } from '../at-once.ts';
import { recordErasure, type Counts } from '../access/erasures.ts';
import { removeRequests } from '../access/requests.ts';
import type { Sql } from '../db/connect.ts';
import { mailKind } from '../mail/mail.ts';
import { callbackLane } from '../notifications/move-callback.ts';
import { oneOffLane } from '../notifications/one-off.ts';
import { laneKey } from '../notifications/webhooks.ts';
import { removeDeliveryHours } from '../outbox/delivery-hours.ts';
import { removeWork } from '../outbox/remove-work.ts';
import { change, type Deciding } from './approve.ts';
import { listSchools } from './edit-application.ts';

const counted = {
  authorisations: 'authorisation',
  invitations: 'invitation',
  registrations: 'webhook',
  'school secrets': 'school_secret',
} as const;

const schoolsAtOnce = 8;
/** The establishment of outbox rows that belong to no school. */
const noSchool = '';

/** At all of its schools together. most: a page counts no further, however much there is. */
export async function countApplication(sql: Sql, rp: string, most: number | null = null): Promise<Counts> {
  const own = sql`(select estab from authorisation where rp = ${rp} union select estab from invitation where rp = ${rp}) own`;
  const rows = await sql<{ words: string; count: number }[]>`
    select 'secrets' as words, count(*)::int as count from application_secret where rp = ${rp}
    union all select 'inboxes', count(*)::int from inbox where rp = ${rp}
    ${Object.entries(counted).reduce((all, [words, table]) => sql`${all}
      union all select ${words}, count(*)::int from (select from ${own} join ${sql(table)} t on t.estab = own.estab and t.rp = ${rp} limit ${most}) t`, sql``)}
    union all select 'calls and other work', count(*)::int
      from (select from ${own} join outbox o on o.estab = own.estab and o.rp = ${rp} and o.kind <> ${mailKind} limit ${most}) t`;
  const people = await sql<{ words: string; count: number }[]>`select 'developers' as words, count(*)::int as count from console_developer where rp = ${rp}`;
  const writebacks = { words: 'writebacks', count: await countWritebacks(sql, rp, most) };
  return Object.fromEntries([...rows, writebacks, ...people].filter(({ count }) => count > 0).map(({ words, count }) => [words, count]));
}

/** They lie with the records of each school; when there are as many as are counted, no other is asked. */
async function countWritebacks(sql: Sql, rp: string, most: number | null): Promise<number> {
  let count = 0;
  await atOnce(schoolsAtOnce, await listSchools(sql, rp), async (estab) => {
    if (most !== null && count >= most) return;
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from (select from writeback where estab = ${estab} and rp = ${rp} limit ${most}::bigint) counted`;
    count += row?.count ?? 0;
  });
  return most === null ? count : Math.min(count, most);
}

/** What schools keep of it stays theirs: what they decided, what it read and did, people whom it added, and mails. */
export async function removeApplication(deciding: Deciding, rp: string): Promise<Counts> {
  const live = await deciding.db<{ estab: string }[]>`select estab from authorisation where rp = ${rp} and state <> 'Revoked' order by estab`;
  for (const { estab } of live) await change(deciding, 'revoke', { estab, rp, actor: 'operator' });
  return deciding.db.begin(async (tx) => {
    const [application] = await tx<{ clientId: string; name: string }[]>`select client_id as "clientId", name from application where rp = ${rp} for update`;
    const counts = await countApplication(tx, rp);
    const lanes = [callbackLane(rp)];
    for (const estab of await listSchools(tx, rp)) {
      // Before their lanes, as whoever announces or pauses does it.
      const registrations = await tx<{ id: string }[]>`select id from webhook where estab = ${estab} and rp = ${rp} order by id for update`;
      lanes.push(...registrations.map(({ id }) => laneKey(id)));
      await removeWork(tx, tx`estab = ${estab} and rp = ${rp} and kind <> ${mailKind}`);
      await tx`insert into authorisation_event (estab, rp, state, actor) values (${estab}, ${rp}, 'Removed', 'operator')`;
    }
    // Tests of its callback URL belong to no school.
    await removeWork(tx, tx`estab = ${noSchool} and rp = ${rp} and kind <> ${mailKind}`);
    // Those of which nothing was kept: an application that is added under the same name later begins anew.
    await tx`delete from lane where (key = any(${lanes}) or starts_with(key, ${oneOffLane(rp, '')}))
      and not exists (select from outbox o where o.lane = lane.key)`;
    await tx`delete from oidc_record where payload ->> 'clientId' = ${application?.clientId ?? ''}`;
    await tx`
      insert into past_decision (estab, rp, application, number, at, state, actor, scopes)
      select estab, rp, ${application?.name ?? ''}, number, at, state, actor, scopes from authorisation_event
      where rp = ${rp} and ${application !== undefined}::boolean`;
    await removeRequests(tx, rp);
    await removeDeliveryHours(tx, rp);
    await tx`delete from application where rp = ${rp}`;
    await recordErasure(tx, 'application', counts);
    return counts;
  });
}
