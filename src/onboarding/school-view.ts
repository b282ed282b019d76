// In charge of what a school's pages show: who asks, who may read what, and what each has read. It only reads.
import { shownState } from '../access/authorisations.ts';
import { readLastReads } from '../access/last-reads.ts';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export type School = {
  estab: string;
  name: string;
  email: string;
  timeZone: string;
  connector: string | null;
  /** csv: a folder is watched. */ watched: boolean;
};
/** Who an application says that it is; null where it says nothing. */
export type Asker = { website: string | null; privacyNotice: string | null; contact: string | null };
/** invitedBy: the application itself, or the operator for it. */
export type Request = Asker & {
  id: string;
  invitedBy: 'application' | 'operator';
  rp: string;
  application: string;
  reason: string | null;
  required: string[];
  optional: string[];
  state: string;
  expiresAt: Date;
  granted: string[];
};
/** state: Approved, Installing, Live, Paused, Revoked or, of one that was removed from the service, Removed. */
export type SharedApplication = Asker & {
  rp: string;
  name: string;
  state: string;
  scopes: string[];
  required: string[];
  optional: string[];
  since: Date;
  lastRead: Date | null;
  waitingCalls: number;
};
/** Whether nothing is shared any more. */
export const isOver = ({ state }: Pick<SharedApplication, 'state'>): boolean => state === 'Revoked' || state === 'Removed';
export type Entry = { at: Date; state: string; actor: string; scopes: string[] | null };
export type Read = { day: string; collection: string; requests: number; records: number; fields: string[] };
const shownDays = 400;
const asker = (sql: Sql) => sql`p.website, p.privacy_notice as "privacyNotice", p.contact`;

export async function requireSchool(db: Db, estab: string): Promise<School> {
  const [school] = await db<
    School[]
  >`select e.estab, e.name, e.email, e.time_zone as "timeZone", e.connector, coalesce(s.settings ? 'folder', false) as watched from establishment e left
    join connector_setting s using (estab) where e.estab = ${estab}`;
  if (!school) throw new SchoolbellError('not_found', 'This school is not known any more.');
  return school;
}

/** Open requests first. */
export async function listRequests(db: Db, estab: string): Promise<Request[]> {
  return db<Request[]>`
    select i.id, i.rp, p.name as application, ${asker(db)}, i.invited_by as "invitedBy", i.reason, i.required_scopes as required,
      i.optional_scopes as optional, case when i.expires_at <= now() then 'Expired' else i.state end as state,
      i.expires_at as "expiresAt", coalesce(a.scopes, '{}') as granted
    from invitation i join application p using (rp) left join authorisation a on a.estab = i.estab and a.rp = i.rp and a.state in ('Approved', 'Paused')
    where i.estab = ${estab} and i.state = 'Invited' order by i.invited_at`;
}

export async function requireRequest(db: Db, estab: string, id: string): Promise<Request> {
  const found = (await listRequests(db, estab)).find((request) => request.id === id);
  if (!found || found.state !== 'Invited') throw new SchoolbellError('not_found', 'This request has been decided, withdrawn, or has expired.');
  return found;
}

export async function listApplications(db: Db, estab: string): Promise<SharedApplication[]> {
  const rows = await db<Omit<SharedApplication, 'lastRead'>[]>`
    select a.rp, p.name, ${asker(db)}, a.scopes, p.required_scopes as required, p.optional_scopes as optional, a.changed_at as since,
      ${shownState(db)} as state,
      (select count(*)::int from outbox o where o.estab = a.estab and o.rp = a.rp and o.kind = 'call' and o.state in ('waiting', 'running')) as "waitingCalls"
    from authorisation a join application p using (rp) join establishment e using (estab) where a.estab = ${estab}
    union all
    select d.rp, (array_agg(d.application order by d.number desc))[1], null, null, null, '{}', '{}', '{}', max(d.at), 'Removed', 0
    from past_decision d where d.estab = ${estab} and not exists (select from authorisation a where a.estab = ${estab} and a.rp = d.rp) group by d.rp
    order by name, rp`;
  const lastRead = await readLastReads(db, estab, rows.map(({ rp }) => rp));
  return rows.map((row) => ({ ...row, lastRead: lastRead(row.rp) }));
}

export async function requireApplication(db: Db, estab: string, rp: string): Promise<SharedApplication> {
  const found = (await listApplications(db, estab)).find((application) => application.rp === rp);
  if (!found) throw new SchoolbellError('not_found', 'Your school shares nothing with this application.');
  return found;
}

export async function listEntries(db: Db, estab: string, rp: string): Promise<Entry[]> {
  return db<Entry[]>`
    select at, state, actor, scopes from (
      select number, at, state, actor, scopes from authorisation_event where estab = ${estab} and rp = ${rp}
      union all
      select number, at, state, actor, scopes from past_decision where estab = ${estab} and rp = ${rp}) decided
    order by number desc limit 200`;
}

export async function listReads(db: Db, estab: string, rp: string, days = shownDays): Promise<Read[]> {
  return db<
    Read[]
  >`select to_char(day, 'YYYY-MM-DD') as day, collection, requests, records::float8 as records, fields from disclosure where estab = ${estab} and rp = ${rp}
    and day > current_date - ${days}::int order by day desc, collection`;
}
