// In charge of the schools of an application as an operator sees them: how many stand how, and page by page each that it asked
// or that authorises it, with what is granted and how old its secret is.
import type { Db, Sql } from '../db/connect.ts';
import { standingOf } from './own-schools.ts';

export const applicationSchoolStates = ['Live', 'Installing', 'Approved', 'Paused', 'Invited', 'Proposed', 'Expired', 'Declined', 'Revoked'] as const;
export type ApplicationSchoolState = (typeof applicationSchoolStates)[number];

/** live: can read. waiting: approved, and its data is not there yet. asked: has not decided. */
export type SchoolCounts = { live: number; waiting: number; paused: number; asked: number };

export type ApplicationSchool = {
  estab: string;
  name: string;
  state: ApplicationSchoolState;
  scopes: string[];
  changed: Date;
  /** When the present secret was made, and until when one that was replaced works beside it. */
  secretMade: Date | null;
  oldSecretUntil: Date | null;
};

/**
 * after: the estab of the last that was seen. words: of the name or the estab. asApplication: under the name that SchoolRegister tells the
 * application, which is its own word for a school that has not approved it.
 */
export type SchoolQuestion = {
  words?: string | undefined;
  state?: ApplicationSchoolState | undefined;
  after?: string | undefined;
  most: number;
  asApplication?: boolean;
};

const none: SchoolCounts = { live: 0, waiting: 0, paused: 0, asked: 0 };

export async function countSchoolsByState(sql: Sql, rps: readonly string[]): Promise<(rp: string) => SchoolCounts> {
  const rows = await sql<(SchoolCounts & { rp: string })[]>`
    select p.rp, coalesce(a.live, 0) as live, coalesce(a.waiting, 0) as waiting, coalesce(a.paused, 0) as paused, coalesce(i.asked, 0) as asked
    from unnest(${[...rps]}::text[]) as p (rp)
    left join (
      select rp, (count(*) filter (where state = 'Approved' and installed_at is not null))::int as live,
        (count(*) filter (where state = 'Approved' and installed_at is null))::int as waiting, (count(*) filter (where state = 'Paused'))::int as paused
      from authorisation where rp = any(${[...rps]}) group by rp) a on a.rp = p.rp
    left join (
      select rp, count(*)::int as asked from invitation where rp = any(${[...rps]}) and (state = 'Proposed' or state = 'Invited' and expires_at > now())
      group by rp) i on i.rp = p.rp`;
  const byRp = new Map(rows.map(({ rp, ...counts }) => [rp, counts]));
  return (rp) => byRp.get(rp) ?? none;
}

export async function listApplicationSchools(db: Db, rp: string, question: SchoolQuestion): Promise<ApplicationSchool[]> {
  const { words, state, after, most, asApplication = false } = question;
  const [wanted, seen, name] = [words?.toLowerCase() ?? '', after ?? '', asApplication ? db`s.name` : db`known.name`];
  return db<ApplicationSchool[]>`
    with own as materialized (
      select estab from authorisation where rp = ${rp} and estab > ${seen}
      union select estab from invitation where rp = ${rp} and state <> 'Withdrawn' and estab > ${seen}
    ), page as materialized (
      select s.estab, ${name}, s.state, s.scopes, s."changedAt" as changed from (${standingOf(db, rp)}) s join establishment known on known.estab = s.estab
      where (${wanted} = '' or position(${wanted} in lower(${name})) > 0 or position(${wanted} in lower(s.estab)) > 0)
        and (${state ?? ''} = '' or s.state = ${state ?? ''})
      order by s.estab limit ${most}
    )
    select page.*, s.made as "secretMade", s.old as "oldSecretUntil"
    from page left join lateral (
      select max(created_at) filter (where valid_until is null) as made, max(valid_until) filter (where valid_until > now()) as old
      from school_secret where estab = page.estab and rp = ${rp}) s on true
    order by page.estab`;
}
