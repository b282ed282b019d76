// In charge of the schools of an application as it sees them: each that it asked or that authorises it, with how it stands,
// what is granted and when what happened. It only reads.
import { shownState } from '../access/authorisations.ts';
import type { Db, Fragment, Sql } from '../db/connect.ts';

type Row = {
  estab: string;
  name: string;
  state: string;
  scopes: string[];
  asked: string[];
  proposedAt: Date | null;
  invitedAt: Date | null;
  expiresAt: Date | null;
  approvedAt: Date | null;
  liveAt: Date | null;
  changedAt: Date;
};

/** `estab`: only that one. An invitation that the application took back is none. */
export async function listOwnSchools(db: Db, rp: string, estab?: string): Promise<Record<string, unknown>[]> {
  const only = estab === undefined ? db`` : db`and estab = ${estab}`;
  const rows = await db<Row[]>`
    with own as materialized (
      select estab from authorisation where rp = ${rp} ${only} union select estab from invitation where rp = ${rp} and state <> 'Withdrawn' ${only}
    )
    ${standingOf(db, rp)}
    order by own.estab`;
  return rows.map(render);
}

/** How each school among `own` stands. What was revoked or never approved stands as the last invitation does, unless the school has spoken since. */
export function standingOf(sql: Sql, rp: string): Fragment {
  return sql`
    select own.estab, case when a.estab is null then i.school_name else e.name end as name,
      case when a.state in ('Approved', 'Paused') then ${shownState(sql)}
        when i.id is null or coalesce(i.decided_at, i.created_at) <= a.changed_at then a.state
        when i.state = 'Invited' and i.expires_at <= now() then 'Expired' else i.state end as state,
      case when a.state in ('Approved', 'Paused') then a.scopes else '{}' end as scopes,
      coalesce(i.required_scopes || i.optional_scopes, p.required_scopes || p.optional_scopes) as asked,
      i.created_at as "proposedAt", i.invited_at as "invitedAt", i.expires_at as "expiresAt", a.created_at as "approvedAt",
      a.installed_at as "liveAt", greatest(a.changed_at, a.installed_at, i.created_at, i.invited_at, i.decided_at) as "changedAt"
    from own join establishment e on e.estab = own.estab join application p on p.rp = ${rp}
      left join authorisation a on a.estab = own.estab and a.rp = ${rp}
      left join lateral (select * from invitation n where n.estab = own.estab and n.rp = ${rp} and n.state <> 'Withdrawn' order by n.created_at desc limit 1) i
        on true`;
}

function render({ estab, name, state, scopes, asked, proposedAt, invitedAt, expiresAt, approvedAt, liveAt, changedAt }: Row): Record<string, unknown> {
  const date = (at: Date | null) => at?.toISOString() ?? null;
  return {
    Estab: estab,
    SchoolName: name,
    State: state,
    Scopes: scopes,
    ScopesAsked: asked,
    Proposed: date(proposedAt),
    Invited: date(invitedAt),
    Expires: state === 'Invited' ? date(expiresAt) : null,
    Approved: date(approvedAt),
    Live: date(liveAt),
    Changed: date(changedAt),
  };
}
