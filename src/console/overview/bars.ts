// In charge of time on the console's charts: the last hours or days, and a bar for each, whether anything happened in it or not.
import type { Bar } from '../../http/pages/chart.ts';

/** starts: when each hour or day begins, the earliest first, in UTC; the last one is not over yet. */
export type Span = Readonly<{ since: Date; by: 'hour' | 'day'; starts: readonly Date[] }>;

const hourMs = 3_600_000;
const lengths = { hour: hourMs, day: 24 * hourMs } as const;

export const lastHours = (now: number, hours: number): Span => spanOf(now, hours, 'hour');
export const lastDays = (now: number, days: number): Span => spanOf(now, days, 'day');

function spanOf(now: number, count: number, by: Span['by']): Span {
  const length = lengths[by];
  const last = now - (now % length);
  const starts = Array.from({ length: count }, (_, at) => new Date(last - (count - 1 - at) * length));
  return { since: starts[0] ?? new Date(last), by, starts };
}

export function spreadBars<Row extends { at: Date }>(span: Span, rows: readonly Row[], of: (row: Row) => Omit<Bar, 'label'>): Bar[] {
  const known = new Map(rows.map((row) => [row.at.getTime(), row]));
  return span.starts.map((start) => {
    const row = known.get(start.getTime());
    return { label: labelOf(start, span.by), ...(row ? of(row) : { value: 0, bad: 0 }) };
  });
}

function labelOf(start: Date, by: Span['by']): string {
  if (by === 'hour') return `${start.toISOString().slice(11, 13)}:00`;
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(start);
}
