// In charge of whether a day is a school day of an establishment, and of which term, by the academic sessions that its
// roster has. A session's end is exclusive: the day after its last one.
import type { Fragment, Sql } from '../db/connect.ts';

export type SchoolDay = Readonly<{
  /** YYYY-MM-DD */
  date: string;
  isSchoolDay: boolean;
  /** The title of the term around it; weekends and half-term holidays have one too. */
  term: string | null;
}>;

/**
 * A query of (date, is_school_day, term) for the dates that another query of (date) gives.
 *
 * A school day is a weekday within a term, but not between two of its grading periods, which is how half-terms come. A
 * term of which only one half is listed is open throughout. A school that has no terms at all has semesters, or only school years, in their stead. One
 * that has no sessions says nothing about its holidays, and every weekday counts.
 */
export function schoolDays(sql: Sql, estab: string, dates: Fragment): Fragment {
  const gradingPeriods = sql`
    from roster_academic_session p where p.estab = ${estab} and p.parent_id = s.sourced_id and p.type = 'gradingPeriod' and p.status = 'active'`;
  return sql`
    select day.date, extract(isodow from day.date) < 6 and (level.type is null or coalesce(around.open, false)) as is_school_day, around.title as term
    from (${dates}) day
    cross join (
      select (array_agg(type order by array_position(array['term', 'semester', 'schoolYear'], type::text)))[1] as type
      from roster_academic_session where estab = ${estab} and status = 'active' and type in ('term', 'semester', 'schoolYear')
    ) level
    left join lateral (
      select s.title, not (exists (select ${gradingPeriods} and p.end_date <= day.date) and exists (select ${gradingPeriods} and p.start_date > day.date)
        and not exists (select ${gradingPeriods} and p.start_date <= day.date and day.date < p.end_date)) as open
      from roster_academic_session s
      where s.estab = ${estab} and s.status = 'active' and s.type = level.type and s.start_date <= day.date and day.date < s.end_date
      order by open desc, s.start_date, s.sourced_id limit 1
    ) around on true`;
}

/** Every day of a range, both ends included. */
export async function selectSchoolDays(sql: Sql, estab: string, from: string, to: string): Promise<SchoolDay[]> {
  const dates = sql`select generate_series(${from}::text::date, ${to}::text::date, interval '1 day')::date as date`;
  return sql<SchoolDay[]>`
    select to_char(date, 'YYYY-MM-DD') as date, is_school_day as "isSchoolDay", term from (${schoolDays(sql, estab, dates)}) days order by days.date`;
}

/**
 * From the first to the last day of the sessions that touch the year before or after today: last, this and next school
 * year. Never more than three years, whatever the sessions say. Undefined where the roster has no such session.
 */
export async function findCalendarRange(sql: Sql, estab: string, today: string): Promise<{ from: string; to: string } | undefined> {
  const [range] = await sql<{ from: string; to: string }[]>`
    select to_char(first, 'YYYY-MM-DD') as from, to_char(least(last, (first + interval '3 years')::date - 1), 'YYYY-MM-DD') as to
    from (
      select greatest(min(start_date), (now.today - interval '2 years')::date) as first, max(end_date) - 1 as last
      from roster_academic_session, (select ${today}::text::date as today) now
      where estab = ${estab} and status = 'active' and end_date > now.today - interval '1 year' and start_date <= now.today + interval '1 year'
      group by now.today
    ) touching`;
  return range;
}

/** The date, YYYY-MM-DD, that the calendar on a wall of that zone shows. */
export function localDate(instant: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, calendar: 'iso8601', year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(instant);
  return ['year', 'month', 'day'].map((type) => parts.find((part) => part.type === type)?.value).join('-');
}
