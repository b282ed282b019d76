// In charge of reading the dates and times that callers compare with: YYYY-MM-DD is midnight UTC, and a time without
// a zone is UTC.
const pattern = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d+))?\s*(Z|[+ -]\d{2}(?::?\d{2})?)?)?$/i;

/** Milliseconds since 1970, with a fraction where the text is finer; undefined when it is no date or time. */
export function parseInstant(text: string): number | undefined {
  const match = pattern.exec(text.trim());
  if (!match) return undefined;
  const [, date = '', time = '00:00', fraction = '', zone = 'Z'] = match;
  const day = Date.parse(`${date}T00:00:00Z`);
  if (date.startsWith('0000') || Number.isNaN(day) || !new Date(day).toISOString().startsWith(date)) return undefined;
  const clock = Date.parse(`1970-01-01T${time.length === 5 ? `${time}:00` : time}Z`);
  if (Number.isNaN(clock)) return undefined;
  const fine = fraction === '' ? 0 : Number(`0.${fraction}`) * 1000;
  const offset = offsetMs(zone);
  return offset === undefined ? undefined : day + clock + fine - offset;
}

/** A plus sign that was not percent-encoded arrives as a space. */
function offsetMs(zone: string): number | undefined {
  if (zone.toUpperCase() === 'Z') return 0;
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0');
  const [hours, rest] = [Number(digits.slice(0, 2)), Number(digits.slice(2))];
  if (hours > 23 || rest > 59) return undefined;
  const minutes = hours * 60 + rest;
  return (zone.startsWith('-') ? -1 : 1) * minutes * 60_000;
}
