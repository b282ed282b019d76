// In charge of how the pages write numbers and dates: British English, and the clock of the school.

/** Made once: making one costs as much as a row of a table. */
const counts = new Intl.NumberFormat('en-GB');
const ledgerDays = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

export function formatCount(count: number): string {
  return counts.format(count);
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

/** A duration as one says it. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${ms < 10_000 ? (ms / 1_000).toFixed(1) : Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} minutes` : `${Math.round(ms / 3_600_000)} hours`;
}

export function formatBytes(bytes: number): string {
  const mebibytes = Math.ceil(bytes / 1024 ** 2);
  return mebibytes < 1024 ? `${mebibytes} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

/** A day of the ledger is the school's own day already, as text or as its midnight in UTC: it must not move again. */
export function formatLedgerDay(day: Date | string): string {
  return ledgerDays.format(new Date(day));
}
