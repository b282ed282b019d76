// In charge of what the operator sees of an application at a school: whether it may read and what, what it asks for, when
// that was decided, and how old its secrets are. It only reads.
import { requireApplication, type Application } from '../access/applications.ts';
import { listSecrets, type KeptSecret } from '../access/credentials.ts';
import { shownState } from '../access/authorisations.ts';
import { readLastReads } from '../access/last-reads.ts';
import type { Db } from '../db/connect.ts';
import { cutPage } from '../http/cut-page.ts';
import { pausedBy } from './pause-school.ts';

/** pausedBy: of one that is paused. */
export type ListedGrant = {
  rp: string;
  application: string;
  state: string;
  pausedBy: string | null;
  scopes: string[];
  since: Date;
  lastRead: Date | null;
};

/** Somebody asks the school to decide, or would, were the school confirmed. contact, schoolName: as whoever asked wrote them. */
export type Asked = {
  rp: string;
  application: string;
  state: 'Proposed' | 'Invited' | 'Expired';
  by: 'application' | 'operator';
  reason: string | null;
  required: string[];
  optional: string[];
  schoolName: string;
  contact: string;
  askedAt: Date;
  expiresAt: Date | null;
};

/** state: none, where the school has never approved. */
export type Grant = {
  application: Application;
  state: 'Approved' | 'Installing' | 'Live' | 'Paused' | 'Revoked' | undefined;
  scopes: string[];
  approvedAt: Date | null;
  changedAt: Date | null;
  liveAt: Date | null;
  lastRead: Date | null;
  asked: Asked | undefined;
  decisions: ScopeDecisions;
  secrets: KeptSecret[];
};

/** The last decision about each scope; only the school refuses one. A scope without an entry was never decided about. */
export type ScopeDecisions = Readonly<Partial<Record<string, 'granted' | 'revoked' | 'refused'>>>;

/** More than any school has. */
const mostListed = 200;

/** What is said below a list that may have been cut. */
export const sayCut = ({ length }: readonly unknown[]): string | undefined =>
  length === mostListed ? `Only the first ${mostListed} are listed. Any other is found by its application, among the schools of that.` : undefined;

export async function listGrants(db: Db, estab: string): Promise<ListedGrant[]> {
  const rows = await db<Omit<ListedGrant, 'lastRead'>[]>`
    select a.rp, p.name as application, ${shownState(db)} as state, ${pausedBy(db)} as "pausedBy", a.scopes, a.changed_at as since
    from authorisation a join application p using (rp) join establishment e using (estab) where a.estab = ${estab}
    order by a.state = 'Revoked', lower(p.name), a.rp limit ${mostListed}`;
  const lastRead = await readLastReads(db, estab, rows.map(({ rp }) => rp));
  return rows.map((row) => ({ ...row, lastRead: lastRead(row.rp) }));
}

export async function listAsked(db: Db, estab: string, rp?: string): Promise<Asked[]> {
  return db<Asked[]>`
    select i.rp, p.name as application, case when i.state = 'Invited' and i.expires_at <= now() then 'Expired' else i.state end as state, i.invited_by as by,
      i.reason, i.required_scopes as required, i.optional_scopes as optional, i.school_name as "schoolName", i.contact_email as contact,
      coalesce(i.invited_at, i.created_at) as "askedAt", i.expires_at as "expiresAt"
    from invitation i join application p using (rp)
    where i.estab = ${estab} and i.state in ('Proposed', 'Invited') ${rp === undefined ? db`` : db`and i.rp = ${rp}`}
    order by i.created_at, i.rp limit ${mostListed}`;
}

export async function readGrant(db: Db, estab: string, rp: string): Promise<Grant> {
  const application = await requireApplication(db, rp);
  const [[row], lastRead, [asked], secrets, history] = await Promise.all([
    db<Omit<Grant, 'application' | 'lastRead' | 'asked' | 'secrets' | 'decisions'>[]>`
      select ${shownState(db)} as state, a.scopes, a.created_at as "approvedAt", a.changed_at as "changedAt", a.installed_at as "liveAt"
      from authorisation a join establishment e using (estab) where a.estab = ${estab} and a.rp = ${rp}`,
    readLastReads(db, estab, [rp]),
    listAsked(db, estab, rp),
    listSecrets(db, { rp, estab, kind: 'school' }),
    listDecisions(db, estab, rp),
  ]);
  const none = { state: undefined, scopes: [], approvedAt: null, changedAt: null, liveAt: null };
  return { application, ...(row ?? none), lastRead: row ? lastRead(rp) : null, asked, secrets, decisions: decideScopes(row, history) };
}

/** A step in the history of an authorisation. `scopes`: the granted scopes, or those that the school was asked for. */
type Decision = { kind: 'granted' | 'answered' | 'revoked'; scopes: string[] };

/** Lists, oldest first, the grants and revocations, and the school's own answers to requests. An answer comes just before the grant that it led to. */
async function listDecisions(db: Db, estab: string, rp: string): Promise<Decision[]> {
  return db<Decision[]>`
    select kind, scopes from (
      select at, case when state = 'Revoked' then 'revoked' else 'granted' end as kind, coalesce(scopes, '{}') as scopes from authorisation_event
        where estab = ${estab} and rp = ${rp} and (state = 'Revoked' or scopes is not null and state <> 'Declined')
      union all
      select decided_at, 'answered', required_scopes || optional_scopes from invitation
        where estab = ${estab} and rp = ${rp} and state in ('Approved', 'Declined') and decided_by = 'school'
    ) decision order by at`;
}

function decideScopes(row: Pick<Grant, 'state' | 'scopes'> | undefined, history: readonly Decision[]): ScopeDecisions {
  const decided = new Map<string, 'granted' | 'revoked' | 'refused'>();
  const grant = (scopes: readonly string[]) => {
    for (const [scope, decision] of decided) if (decision === 'granted') decided.set(scope, 'revoked');
    for (const scope of scopes) decided.set(scope, 'granted');
  };
  // A scope of the authorisation may have no grant in the history. It counts as revoked unless it is still in force.
  grant(row?.scopes ?? []);
  grant([]);
  for (const { kind, scopes } of history) {
    if (kind !== 'answered') grant(scopes);
    else for (const scope of scopes) if (decided.get(scope) !== 'granted') decided.set(scope, 'refused');
  }
  grant(row && row.state !== 'Revoked' ? row.scopes : []);
  return Object.fromEntries(decided);
}

export type Stranger = { rp: string; name: string; required: string[]; optional: string[] };

/** Applications that may not read data of the school, by their identifiers. after: the last that was seen. */
export async function listStrangers(
  db: Db,
  estab: string,
  { q, after, most }: { q: string; after?: string | undefined; most: number },
): Promise<{ applications: Stranger[]; next: string | undefined }> {
  const asked = q.toLowerCase();
  const rows = await db<Stranger[]>`
    select p.rp, p.name, p.required_scopes as required, p.optional_scopes as optional from application p
    where not exists (select from authorisation a where a.estab = ${estab} and a.rp = p.rp and a.state <> 'Revoked')
      and (strpos(lower(p.name), ${asked}) > 0 or strpos(lower(p.rp), ${asked}) > 0) ${after === undefined ? db`` : db`and p.rp > ${after}`}
    order by p.rp limit ${most + 1}`;
  const { shown, last } = cutPage(rows, most);
  return { applications: shown, next: last?.rp };
}
