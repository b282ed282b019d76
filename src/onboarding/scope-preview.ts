// In charge of showing a school what a scope opens, in its own numbers and with three rows of its own records.
import { scopeDescriptions, type Scope } from '../access/scopes.ts';
import type { Fragment, Sql } from '../db/connect.ts';

export type ScopePreview = { scope: Scope; description: string; counts: { label: string; count: number }[]; columns: string[]; rows: string[][] };

type Opened = {
  counts: readonly [label: string, collection: string, kinds: readonly string[] | null][];
  columns: readonly string[];
  rows: (sql: Sql, estab: string) => Fragment;
};

const shownRows = 3;
const name = (sql: Sql) => sql`u.given_name || ' ' || u.family_name`;

/** Rows have columns c1, c2, …, as text. */
const opened: Readonly<Partial<Record<Scope, Opened>>> = {
  School: {
    counts: [['classes', 'classes', null], ['courses', 'courses', null], ['terms and other sessions', 'academicSessions', null]],
    columns: ['Class', 'Code', 'Room'],
    rows: (sql, estab) =>
      sql`select u.title as c1, u.class_code as c2, u.location as c3 from roster_class u where u.estab = ${estab} and u.status = 'active'
        order by u.sourced_id`,
  },
  Student: {
    counts: [['students', 'users', ['student']]],
    columns: ['Name', 'Year', 'User name', 'E-mail'],
    rows: (sql, estab) =>
      sql`select ${name(sql)} as c1, u.grades[1] as c2, u.username as c3, u.email as c4 from roster_user u where u.estab = ${estab} and u.kind = 'student'
        and u.status = 'active' order by u.sourced_id`,
  },
  Staff: {
    counts: [['teachers', 'users', ['teacher']], ['other staff', 'users', ['staff']]],
    columns: ['Name', 'Role', 'E-mail'],
    rows: (sql, estab) =>
      sql`select ${name(sql)} as c1, u.role as c2, u.email as c3 from roster_user u where u.estab = ${estab} and u.kind in ('teacher', 'staff')
        and u.status = 'active' order by u.sourced_id`,
  },
  Contact: {
    counts: [['parents, guardians and relatives', 'users', ['contact']]],
    columns: ['Name', 'Role', 'E-mail', 'Phone'],
    rows: (sql, estab) =>
      sql`select ${name(sql)} as c1, u.role as c2, u.email as c3, coalesce(u.phone, u.sms) as c4 from roster_user u where u.estab = ${estab}
        and u.kind = 'contact' and u.status = 'active' order by u.sourced_id`,
  },
  StudentDemographic: {
    counts: [['records of students', 'demographics', null]],
    columns: ['Name', 'Born', 'Sex'],
    rows: (sql, estab) => sql`
      select ${name(sql)} as c1, d.birth_date::text as c2, d.sex as c3 from roster_demographics d join roster_user u on u.estab = d.estab
        and u.sourced_id = d.sourced_id where d.estab = ${estab} and d.status = 'active' order by d.sourced_id`,
  },
  Attendance: {
    counts: [],
    columns: ['Day', 'Session', 'Student', 'Mark'],
    rows: (sql, estab) => sql`
      select m.date::text as c1, m.session as c2, ${name(sql)} as c3, m.mark as c4 from attendance_mark m join roster_user u on u.estab = m.estab
        and u.sourced_id = m.student_id
      where m.estab = ${estab} and m.mark is not null order by m.date desc, m.student_id, m.session`,
  },
};

export async function previewScopes(sql: Sql, estab: string, scopes: readonly string[]): Promise<ScopePreview[]> {
  const previews: ScopePreview[] = [];
  for (const scope of scopes as Scope[]) {
    const { description } = scopeDescriptions[scope];
    const what = opened[scope];
    const counts = [];
    for (const [label, collection, kinds] of what?.counts ?? []) counts.push({ label, count: await count(sql, estab, collection, kinds) });
    if (scope === 'Attendance') counts.push({ label: 'marks', count: await countMarks(sql, estab) });
    const rows = what ? await sql<Record<string, string | null>[]>`select * from (${what.rows(sql, estab)}) preview limit ${shownRows}` : [];
    previews.push({ scope, description, counts, columns: [...(what?.columns ?? [])], rows: rows.map((row) => Object.values(row).map((value) => value ?? '')) });
  }
  return previews;
}

async function count(sql: Sql, estab: string, collection: string, kinds: readonly string[] | null): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(count), 0)::int as count from roster_total where estab = ${estab} and collection = ${collection} and status = 'active'
      and (${kinds === null} or kind = any(${[...(kinds ?? [])]}::text[]))`;
  return row?.count ?? 0;
}

async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select coalesce(row_count, 0) as count from component_database where estab = ${estab} and name = 'Attendance'`;
  return row?.count ?? 0;
}
