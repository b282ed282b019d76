// In charge of the demo school's days: which dates have lessons, and what the time is there.
import { sessions, sessionsOf } from './calendar.ts';

/** YYYY-MM-DD and HH:MM on the clock of the school. */
export type LocalTime = Readonly<{ date: string; time: string }>;

const isHalfTerm = ({ type }: { type: string }) => type === 'gradingPeriod';
const halfTerms = sessions.filter(isHalfTerm);
/** years: how many school years have begun since. */
const halfTermsOf = (years: number) => [...halfTerms, ...Array.from({ length: years }, (_, before) => sessionsOf(before + 1).filter(isHalfTerm)).flat()];
const firstDay = halfTerms.map(({ start }) => start).sort()[0] ?? '';

export function localTimeOf(at: Date): LocalTime {
  // Swedish writes dates as this code does.
  const [date = '', time = ''] = at.toLocaleString('sv-SE', { timeZone: 'Europe/London', dateStyle: 'short', timeStyle: 'short' }).split(' ');
  return { date, time };
}

/** Monday to Friday within a half-term; the year before has none here, as most of its pupils were elsewhere. */
export function isSchoolDay(date: string, years = 0): boolean {
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
  return weekday >= 1 && weekday <= 5 && halfTermsOf(years).some(({ start, end }) => date >= start && date < end);
}

/** The last school days up to a date and with it, oldest first. */
export function lastSchoolDays(date: string, count: number, years = 0): string[] {
  const days: string[] = [];
  const day = new Date(`${date}T00:00:00Z`);
  for (let one = date; one >= firstDay && days.length < count; one = day.toISOString().slice(0, 10)) {
    if (isSchoolDay(one, years)) days.unshift(one);
    day.setUTCDate(day.getUTCDate() - 1);
  }
  return days;
}
