// In charge of how roster and register become the rows of the data endpoints. Each gives the active rows with a
// LastUpdated that moves whenever something that the row shows has moved, and the ids that have gone.
import type { Fragment, Sql } from '../db/connect.ts';
import { openedKinds } from '../access/opened-kinds.ts';
import { visiblePeople } from '../access/scopes.ts';
import type { CollectionName } from '../roster/resource.ts';
import { schoolDays } from './school-day.ts';

/** What a projection may depend on. */
export type DataQuestion = Readonly<{
  estab: string;
  scopes: readonly string[];
  /** Checked values of the endpoint's own parameters. */
  values: Readonly<Record<string, string>>;
  /** The days of the school's calendar. */
  calendar: Readonly<{ from: string; to: string }> | undefined;
}>;

/** rows: in their order, with a column "at" (an instant) where they have a LastUpdated. gone: (id, at). */
export type Projection = Readonly<{
  rows(sql: Sql, asked: DataQuestion): Fragment;
  gone?(sql: Sql, asked: DataQuestion): Fragment;
  /** Which of the rows r are asked for; undefined: all of them. */
  narrowed?(sql: Sql, asked: DataQuestion): Fragment | undefined;
  /** Its rows follow from the roster, and whom the scopes show of it: what they are at a version is found out once. */
  ofRoster?: true;
  /** How many rows there are, where that is cheaper than counting them. */
  count?(sql: Sql, asked: DataQuestion): Fragment;
}>;

const stamp = (sql: Sql, instant: Fragment) => sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const displayName = (sql: Sql) => sql`u.given_name || ' ' || u.family_name`;
const versionAt = (sql: Sql, { estab }: DataQuestion, version: Fragment) =>
  sql`(select v.instant from roster_version v where v.estab = ${estab} and v.version = ${version})`;
/** Of the kinds asked for, those that the scopes open. */
const seen = (asked: DataQuestion, kinds: readonly string[]) => visiblePeople(asked.scopes).filter((kind) => kinds.includes(kind));

/** The version in which it last lost something that the other record, having changed, no longer mentions. */
const touched = (sql: Sql, { estab }: DataQuestion, what: string) =>
  sql`(select x.version from roster_touch x where x.estab = ${estab} and x.what = ${what} and x.sourced_id = u.sourced_id)`;

type Asking = (sql: Sql, asked: DataQuestion) => Fragment;

function people(kinds: readonly string[], columns: Asking, version: Asking): Projection {
  return {
    ofRoster: true,
    rows: (sql, asked) => sql`
      select r.*, ${stamp(sql, sql`r.at`)} as "LastUpdated" from (
        select ${columns(sql, asked)}, ${versionAt(sql, asked, sql`greatest(${version(sql, asked)}, ${touched(sql, asked, 'users')})`)} as at from roster_user u
          where u.estab = ${asked.estab} and u.kind = any(${[...kinds]}) and u.status = 'active') r
      order by r."Id"`,
    gone: (
      sql,
      asked,
    ) => sql`select u.sourced_id as id, ${versionAt(sql, asked, sql`u.version`)} as at from roster_user u where u.estab = ${asked.estab}
      and u.kind = any(${[...kinds]}) and u.status = 'tobedeleted'
      union all select u.sourced_id, ${versionAt(sql, asked, sql`x.version`)} from roster_touch x join roster_user u on u.estab = ${asked.estab}
        and u.sourced_id = x.sourced_id
        where x.estab = ${asked.estab} and x.what = any(${kinds.map((kind) => `left ${kind}`)}) and u.kind <> all(${[...kinds]})`,
    count: (sql, asked) =>
      sql`select coalesce(sum(count), 0)::int as count from roster_total where estab = ${asked.estab} and collection = 'users' and kind = any(${[...kinds]})
        and status = 'active'`,
  };
}

const registration = (sql: Sql, { estab }: DataQuestion) => sql`
  from roster_enrollment e join roster_class c on c.estab = ${estab} and c.sourced_id = e.class_id and c.class_type = 'homeroom' where e.estab = ${estab}
    and e.user_id = u.sourced_id`;

/** Systems differ in how they write a year: 7 is 07. */
const plainYear = (sql: Sql, year: Fragment) => sql`ltrim(lower(${year}), '0')`;

export const students: Projection = {
  ...people(
    ['student'],
    (sql, asked) => sql`
      u.sourced_id as "Id", u.given_name as "Forename", u.middle_name as "MiddleName", u.family_name as "Surname", ${displayName(sql)} as "DisplayName",
      u.email as "Email", u.grades[1] as "YearGroup",
      (select c.title ${registration(sql, asked)} and e.status = 'active' and c.status = 'active' order by e."primary" desc nulls last, c.sourced_id
        limit 1) as "RegistrationGroup"`,
    (sql, asked) => sql`greatest(u.version, (select max(greatest(e.version, c.version)) ${registration(sql, asked)}))`,
  ),
  narrowed: (sql, { values }) =>
    values.yearGroup === undefined ? undefined : sql`${plainYear(sql, sql`r."YearGroup"`)} = ${plainYear(sql, sql`${values.yearGroup}::text`)}`,
};

export const staff = people(
  ['teacher', 'staff'],
  (sql) => sql`
    u.sourced_id as "Id", u.given_name as "Forename", u.middle_name as "MiddleName", u.family_name as "Surname", ${displayName(sql)} as "DisplayName",
    u.email as "Email", u.role as "Role"`,
  (sql) => sql`u.version`,
);

/** Some systems note the children with the contact, some the contacts with the child. Pairs of (contact, child, version). */
const families = (sql: Sql, asked: DataQuestion) => sql`
  select a.id as contact, s.sourced_id as child, s.status, s.version from roster_user s cross join unnest(s.agent_ids) as a (id)
    where s.estab = ${asked.estab} and s.kind = 'student'
  union select k.sourced_id, s.sourced_id, s.status, s.version from roster_user k cross join unnest(k.agent_ids) as a (id)
    join roster_user s on s.estab = ${asked.estab} and s.sourced_id = a.id and s.kind = 'student' where k.estab = ${asked.estab} and k.kind = 'contact'`;

export const contacts: Projection = {
  ...people(['contact'], (sql) => sql``, (sql) => sql``),
  rows: (sql, asked) => sql`
    with family as materialized (
      select contact, array_agg(child order by child) filter (where status = 'active') as children, max(version) as version
        from (${families(sql, asked)}) pairs group by contact
    )
    select r.*, ${stamp(sql, sql`r.at`)} as "LastUpdated" from (
      select u.sourced_id as "Id", u.given_name as "Forename", u.family_name as "Surname", ${displayName(sql)} as "DisplayName", u.email as "Email",
        coalesce(u.phone, u.sms) as "Phone", u.role as "Role",
        case when ${seen(asked, ['student']).length > 0} then coalesce(f.children, '{}') else '{}' end as "StudentIds",
        ${versionAt(sql, asked, sql`greatest(u.version, f.version, ${touched(sql, asked, 'users')})`)} as at
      from roster_user u left join family f on f.contact = u.sourced_id where u.estab = ${asked.estab} and u.kind = 'contact' and u.status = 'active') r
    order by r."Id"`,
};

const members = (sql: Sql, asked: DataQuestion, kinds: readonly string[]) => sql`coalesce((
  select array_agg(distinct e.user_id order by e.user_id) from roster_enrollment e join roster_user p on p.estab = ${asked.estab} and p.sourced_id = e.user_id
    and p.status = 'active'
  where e.estab = ${asked.estab} and e.class_id = u.sourced_id and e.status = 'active' and e.kind = any(${seen(asked, kinds)})), '{}')`;

/** The newest version of an enrolment in the class, or of whom it is about. */
const ofMembers = (sql: Sql, { estab }: DataQuestion) => sql`(
  select max(greatest(e.version, p.version)) from roster_enrollment e left join roster_user p on p.estab = ${estab} and p.sourced_id = e.user_id
  where e.estab = ${estab} and e.class_id = u.sourced_id)`;

export const groups: Projection = {
  ofRoster: true,
  rows: (sql, asked) => sql`
    select r.*, ${stamp(sql, sql`r.at`)} as "LastUpdated" from (
      select u.sourced_id as "Id", u.title as "Name", u.class_code as "Code", case when u.class_type = 'homeroom' then 'RegGrp'
        else 'TeachingGrp' end as "Type", coalesce(u.subjects[1], c.subjects[1]) as "Subject",
        ${members(sql, asked, ['teacher', 'staff'])} as "StaffIds", ${members(sql, asked, ['student'])} as "StudentIds",
        ${versionAt(sql, asked, sql`greatest(u.version, c.version, ${touched(sql, asked, 'classes')}, ${ofMembers(sql, asked)})`)} as at
      from roster_class u left join roster_course c on c.estab = ${asked.estab} and c.sourced_id = u.course_id
      where u.estab = ${asked.estab} and u.status = 'active') r
    order by r."Id"`,
  gone: (sql, asked) => sql`
    select u.sourced_id as id, ${versionAt(sql, asked, sql`u.version`)} as at from roster_class u
    where u.estab = ${asked.estab} and u.status = 'tobedeleted'`,
  narrowed: (sql, { values }) => (values.type === undefined ? undefined : sql`r."Type" = ${values.type}`),
  count: (sql, asked) =>
    sql`select coalesce(sum(count), 0)::int as count from roster_total where estab = ${asked.estab} and collection = 'classes' and status = 'active'`,
};

export const schoolInfo: Projection = {
  rows: (sql, asked) => sql`
    select e.estab as "Estab", e.name as "Name", e.email as "Email", e.time_zone as "TimeZone", e.connector as "Connector",
      ${stamp(sql, sql`d.updated_at`)} as "LastUpdated"
    from establishment e left join component_database d on d.estab = e.estab and d.name = 'SchoolData' where e.estab = ${asked.estab}`,
};

export const calendar: Projection = {
  rows: (sql, asked) => sql`
    select to_char(d.date, 'YYYY-MM-DD') as "Date", d.is_school_day as "IsSchoolDay", d.term as "Term"
    from (${schoolDays(sql, asked.estab, sql`select generate_series(${asked.calendar?.from ?? null}::text::date, ${asked.calendar?.to ?? null}::text::date,
      interval '1 day')::date as date`)}) d order by d.date`,
};

/** The areas of Counts. kinds: those of the collection that belong to the area; undefined: all. */
const countedAreas: readonly Readonly<{ area: string; collection: CollectionName; kinds?: readonly string[] }>[] = [
  { area: 'Students', collection: 'users', kinds: ['student'] },
  { area: 'Staff', collection: 'users', kinds: ['teacher', 'staff'] },
  { area: 'Contacts', collection: 'users', kinds: ['contact'] },
  { area: 'Groups', collection: 'classes' },
  { area: 'Courses', collection: 'courses' },
  { area: 'Enrollments', collection: 'enrollments' },
  { area: 'Demographics', collection: 'demographics' },
  { area: 'Orgs', collection: 'orgs' },
  { area: 'AcademicSessions', collection: 'academicSessions' },
];

/** Counts every kind that the scopes open, so that the counts add up to the caller's RowCount of SchoolData. */
export const counts: Projection = {
  rows(sql, asked) {
    const shown = countedAreas
      .map(({ area, collection, kinds: own }) => {
        const opened = openedKinds(collection, asked.scopes);
        return { area, collection, kinds: own ? opened.filter((kind) => own.includes(kind)) : opened };
      })
      .filter(({ kinds }) => kinds.length > 0);
    return sql`
      select area as "Area", coalesce((select sum(t.count)::int from roster_total t where t.estab = ${asked.estab} and t.status = 'active'
        and t.collection = a.collection and t.kind = any(string_to_array(a.kinds, ' '))), 0) as "Count"
      from unnest(${shown.map(({ area }) => area)}::text[], ${shown.map(({ collection }) => collection)}::text[],
        ${shown.map(({ kinds }) => kinds.join(' '))}::text[]) with ordinality as a (area, collection, kinds, at)
      order by a.at`;
  },
};

const marksAsked = (sql: Sql, { estab, values }: DataQuestion) => sql`
  m.estab = ${estab} and m.date between ${values.date ?? values.dateFrom ?? ''}::text::date and ${values.date ?? values.dateTo ?? ''}::text::date
  ${values.sessionType ? sql`and m.session = ${values.sessionType}` : sql``} ${values.id ? sql`and m.student_id = ${values.id}` : sql``}`;
const markId = (sql: Sql) => sql`m.student_id || '.' || to_char(m.date, 'YYYY-MM-DD') || '.' || m.session`;
const markAt = (sql: Sql, { estab }: DataQuestion) => sql`(select v.instant from attendance_version v where v.estab = ${estab} and v.version = m.version)`;

export const attendance: Projection = {
  rows: (sql, asked) => sql`
    select ${markId(sql)} as "Id", m.student_id as "StudentId", to_char(m.date, 'YYYY-MM-DD') as "Date", 'S' as "Type", m.session as "Session",
      m.mark as "Mark", m.minutes_late as "MinsLate", m.notes as "Notes",
      ${markAt(sql, asked)} as at, ${stamp(sql, markAt(sql, asked))} as "LastUpdated"
    from attendance_mark m where ${marksAsked(sql, asked)} and m.mark is not null order by m.date, m.student_id, m.session`,
  gone: (sql, asked) => sql`select ${markId(sql)} as id, ${markAt(sql, asked)} as at from attendance_mark m where ${marksAsked(sql, asked)} and m.mark is null`,
  count: (sql, asked) => sql`select count(*)::int as count from attendance_mark m where ${marksAsked(sql, asked)} and m.mark is not null`,
};
