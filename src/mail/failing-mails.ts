// In charge of which mails need a person: those that were given up lately, and those that failed and wait to be tried again.
import type { Db } from '../db/connect.ts';
import { withoutSecrets } from './links.ts';
import { mailLane } from './mail.ts';

export type FailingMail = { estab: string; id: string; to: string; subject: string; givenUp: boolean; at: Date; why: string | null };

/** One that was given up longer ago was seen, or is missed by nobody. */
const toldDays = 7;

/** Those that were given up first, the latest before others. */
export async function listFailingMails(db: Db, most: number): Promise<FailingMail[]> {
  const rows = await db<FailingMail[]>`
    select m.estab, m.id, m.payload ->> 'to' as to, m.payload ->> 'subject' as subject, m.given_up as "givenUp", m.at, a.detail ->> 'message' as why from (
      (select estab, id, payload, true as given_up, settled_at as at from outbox
        where kind = 'mail' and state = 'failed' and settled_at > now() - make_interval(days => ${toldDays})
        order by settled_at desc limit ${most})
      union all
      (select estab, id, payload, false, created_at from outbox where lane = ${mailLane} and state = 'waiting' and attempts > forgiven
        order by due_at limit ${most})) m
    left join lateral (
      select detail from outbox_attempt a where a.estab = m.estab and a.id = m.id and not a.success order by a.number desc limit 1) a on true
    order by m.given_up desc, m.at desc limit ${most}`;
  return rows.map((row) => ({ ...row, subject: withoutSecrets(row.subject) }));
}
