// In charge of the demo school's calendar: two school years with their terms and half-terms,
// and the dates on which people join and leave.

export type DemoSession = {
  readonly id: string;
  readonly title: string;
  readonly type: 'schoolYear' | 'term' | 'gradingPeriod';
  readonly start: string;
  /** Exclusive: the day after the last one. */
  readonly end: string;
  readonly parent: string;
  readonly schoolYear: string;
};

export const currentYear = 'ses-2027';
export const currentTerms: readonly string[] = ['ses-2027-aut', 'ses-2027-spr', 'ses-2027-sum'];

/** First day of teaching, and the day after the last one for most pupils and for exam years. */
export const yearBegins = '2026-09-01';
export const yearEnds = '2027-07-23';
export const examYearEnds = '2027-06-26';

/** When a change in the autumn was recorded, the end (exclusive) of what it closed and the start of what replaced it. */
export const changeRecorded = '2026-10-16T16:00:00.000Z';
export const changeEnds = '2026-10-17';
export const changeBegins = '2026-10-19';

export const sessions: readonly DemoSession[] = [
  session('ses-2026', 'School Year 2025/26', 'schoolYear', '2025-09-01', '2026-09-01', ''),
  session('ses-2026-aut', 'Autumn Term 2025', 'term', '2025-09-02', '2025-12-20', 'ses-2026'),
  session('ses-2026-spr', 'Spring Term 2026', 'term', '2026-01-05', '2026-03-28', 'ses-2026'),
  session('ses-2026-sum', 'Summer Term 2026', 'term', '2026-04-13', '2026-07-22', 'ses-2026'),
  session('ses-2027', 'School Year 2026/27', 'schoolYear', '2026-09-01', '2027-09-01', ''),
  session('ses-2027-aut', 'Autumn Term 2026', 'term', '2026-09-01', '2026-12-19', 'ses-2027'),
  session('ses-2027-spr', 'Spring Term 2027', 'term', '2027-01-04', '2027-03-26', 'ses-2027'),
  session('ses-2027-sum', 'Summer Term 2027', 'term', '2027-04-12', '2027-07-23', 'ses-2027'),
  session('ses-2027-aut1', 'Autumn 1', 'gradingPeriod', '2026-09-01', '2026-10-24', 'ses-2027-aut'),
  session('ses-2027-aut2', 'Autumn 2', 'gradingPeriod', '2026-11-02', '2026-12-19', 'ses-2027-aut'),
  session('ses-2027-spr1', 'Spring 1', 'gradingPeriod', '2027-01-04', '2027-02-13', 'ses-2027-spr'),
  session('ses-2027-spr2', 'Spring 2', 'gradingPeriod', '2027-02-22', '2027-03-26', 'ses-2027-spr'),
  session('ses-2027-sum1', 'Summer 1', 'gradingPeriod', '2027-04-12', '2027-05-29', 'ses-2027-sum'),
  session('ses-2027-sum2', 'Summer 2', 'gradingPeriod', '2027-06-07', '2027-07-23', 'ses-2027-sum'),
];

/** The day after which a year group has no more lessons (exclusive): exam years stop in June. years: so many school years later. */
export function lessonsEnd(yearGroup: number, years = 0): string {
  return later(yearGroup === 11 || yearGroup === 13 ? examYearEnds : yearEnds, years);
}

/** As far as the school is drawn, if somebody moves its clock. */
export const mostYears = 3;
const firstYear = 2027;

/** How many summers lie between the school as it is drawn and an instant. */
export function countYears(at: Date): number {
  const date = at.toISOString();
  const year = Number(date.slice(0, 4)) + (date.slice(5, 7) >= '09' ? 1 : 0);
  return Math.min(mostYears, Math.max(0, year - firstYear));
}

/** Of the school year that begins so many years later than the present one; by weekdays, so that Mondays stay Mondays. */
export function sessionsOf(years: number): DemoSession[] {
  const [from, to] = [String(firstYear), String(firstYear + years)];
  return sessions.filter(({ schoolYear }) => schoolYear === from).map((one) => {
    const start = one.type === 'schoolYear' ? yearBeginning(years) : [later(one.start, years), yearBeginning(years)].sort().at(-1) ?? '';
    return {
      ...one,
      id: one.id.replace(from, to),
      parent: one.parent.replace(from, to),
      schoolYear: to,
      title: one.title.replace('2026/27', `${Number(to) - 1}/${to.slice(2)}`).replace(/ (2026|2027)$/, (_, year: string) => ` ${Number(year) + years}`),
      start,
      end: one.type === 'schoolYear' ? yearBeginning(years + 1) : later(one.end, years),
    };
  });
}

export const yearBeginning = (years: number) => `${firstYear - 1 + years}-09-01`;

/** A day of the same week and weekday, so many years on; what has no end has none then. */
export function later(date: string, years: number): string {
  if (date === '') return date;
  return new Date(Date.parse(date) + years * 364 * 86_400_000).toISOString().slice(0, 10);
}

function session(id: string, title: string, type: DemoSession['type'], start: string, end: string, parent: string): DemoSession {
  return { id, title, type, start, end, parent, schoolYear: id.slice(4, 8) };
}
