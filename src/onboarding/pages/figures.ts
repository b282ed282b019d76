// In charge of how the pages write numbers and dates: British English, and the clock of the school.

export function formatCount(count: number): string {
  return count.toLocaleString('en-GB');
}

/** "1 record", "1,198 records". */
export function formatMany(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatMoment(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZone }).format(at);
}

export function formatDay(at: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone }).format(at);
}

/** A day of the ledger is the school's own day already, as text or as its midnight in UTC: it must not move again. */
export function formatLedgerDay(day: Date | string): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(day));
}
