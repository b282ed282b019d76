// In charge of what waits for somebody's word: schools that only an application has named, which the operator confirms, and
// invitations that nobody has answered while they were open, or will not have soon.
import type { Db, Fragment, Sql } from '../db/connect.ts';

/** by: the applications that asked, of which so many are named. */
export type ProposedSchool = { estab: string; name: string; email: string; since: Date; applications: string[] };
export type UnansweredInvitation = { estab: string; school: string; rp: string; application: string; expired: boolean; at: Date };

/** An invitation is told of so many days before it ends, and so many after. */
const toldDays = { before: 3, after: 7 } as const;
const namedApplications = 3;

/** Those first that wait longest; also those of which nobody asks anything any more: they wait until they are confirmed or refused. */
export async function listProposedSchools(db: Db, most: number): Promise<ProposedSchool[]> {
  return db<ProposedSchool[]>`
    select e.estab, e.name, e.email, coalesce(asked.since, e.created_at) as since, coalesce(asked.applications, '{}') as applications
    from establishment e
    left join (select i.estab, min(i.created_at) as since, (array_agg(p.name order by i.created_at))[1:${namedApplications}] as applications
      from invitation i join application p using (rp) where i.state = 'Proposed' group by i.estab) asked on asked.estab = e.estab
    where e.confirmed_at is null order by since, e.estab limit ${most}`;
}

/**
 * Which invitations i nobody has answered: those that end soon, and those that have ended, unless the school was asked again or has approved meanwhile.
 * That is asked of the few that are looked at, one by one, from the latest on: put as "not exists" without "select" it is planned over all there are,
 * and took 35 ms with 20,000 of them.
 */
export const unanswered = {
  endsSoon: (sql: Sql): Fragment => sql`(i.state = 'Invited' and i.expires_at < now() + make_interval(days => ${toldDays.before}))`,
  ended: (sql: Sql): Fragment => sql`(i.state = 'Expired' and i.decided_at > now() - make_interval(days => ${toldDays.after})
    and not (select exists (select from invitation n where n.estab = i.estab and n.rp = i.rp and n.created_at > i.created_at))
    and not (select exists (select from authorisation a where a.estab = i.estab and a.rp = i.rp and a.state in ('Approved', 'Paused'))))`,
} as const;

export type UnsentInvitation = { estab: string; school: string; rp: string; application: string; since: Date };

/** Lists invitations of applications that had proposed a school, which the operator then added. The operator sends or withdraws each. */
export async function listUnsent(db: Db, most: number): Promise<UnsentInvitation[]> {
  return db<UnsentInvitation[]>`
    select i.estab, e.name as school, i.rp, p.name as application, i.created_at as since
    from invitation i join establishment e on e.estab = i.estab join application p on p.rp = i.rp
    where i.state = 'Proposed' and e.confirmed_at is not null order by i.created_at limit ${most}`;
}

/** Those first that end next, then those that have ended. */
export async function listUnanswered(db: Db, most: number): Promise<UnansweredInvitation[]> {
  return db<UnansweredInvitation[]>`
    select i.estab, e.name as school, i.rp, p.name as application, i.expired, i.at from (
      (select i.estab, i.rp, false as expired, i.expires_at as at from invitation i where ${unanswered.endsSoon(db)} order by i.expires_at limit ${most})
      union all
      (select i.estab, i.rp, true, i.decided_at from invitation i where ${unanswered.ended(db)} order by i.decided_at desc limit ${most})) i
    join establishment e on e.estab = i.estab join application p on p.rp = i.rp
    order by i.expired, case when i.expired then -extract(epoch from i.at) else extract(epoch from i.at) end limit ${most}`;
}
