// In charge of durations as people type them: 30m, 24h, 7d.
import { SchoolbellError } from '../errors.ts';

const units: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400 };
const longestDays = 30;

/** In seconds; 0 is at once. */
export function parseDuration(text: string, option: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (units[unit ?? ''] ?? Number.NaN);
  if (text !== '0' && Number.isNaN(seconds)) throw new SchoolbellError('invalid_request', `${option} "${text}": not a duration such as 30m, 24h or 7d`);
  if (seconds > longestDays * 86_400) throw new SchoolbellError('invalid_request', `${option} "${text}": ${longestDays}d is the most`);
  return text === '0' ? 0 : seconds;
}
