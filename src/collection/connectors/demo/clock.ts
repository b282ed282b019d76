// In charge of the moments that the clock of the demo school can be set to by name.
import { mostYears, sessionsOf, yearBeginning } from './calendar.ts';
import { isSchoolDay, localTimeOf } from './school-days.ts';

export const namedMoments = ['start-of-term', 'end-of-term', 'summer-roll-over'] as const;
export type NamedMoment = (typeof namedMoments)[number];

const dayMs = 24 * 60 * 60 * 1000;
/** Registers have been taken by then. */
const [morning, afternoon] = ['T10:00:00Z', 'T15:30:00Z'];

/** The next one by the clock of the school; undefined: its calendar has none any more. */
export function findMoment(name: NamedMoment, at: Date): Date | undefined {
  const next = listMoments(name).sort().find((moment) => Date.parse(moment) > at.getTime());
  return next === undefined ? undefined : new Date(next);
}

function listMoments(name: NamedMoment): string[] {
  const years = Array.from({ length: mostYears + 1 }, (_, before) => before);
  if (name === 'summer-roll-over') return years.slice(1).map((year) => firstSchoolDay(yearBeginning(year)) + morning);
  const terms = years.flatMap((year) => sessionsOf(year)).filter(({ type }) => type === 'term');
  return terms.map(({ start, end }) => (name === 'start-of-term' ? firstSchoolDay(start) + morning : lastSchoolDay(end) + afternoon));
}

/** A date alone is the morning of that day. */
export function parseMoment(text: string): Date | undefined {
  const [, date = '', time = morning] = /^(\d{4}-\d{2}-\d{2})(T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const moment = new Date(`${date}${time}`);
  return isDay(date) && !Number.isNaN(moment.getTime()) ? moment : undefined;
}

/** A date takes the thirtieth of February for the second of March. */
function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

const firstSchoolDay = (start: string) => walk(start, 1);
const lastSchoolDay = (end: string) => walk(localTimeOf(new Date(Date.parse(end) - dayMs)).date, -1);

function walk(from: string, step: 1 | -1): string {
  for (let days = 0; days < 14; days += 1) {
    const date = new Date(Date.parse(from) + step * days * dayMs).toISOString().slice(0, 10);
    if (isSchoolDay(date, mostYears)) return date;
  }
  return from;
}
