// In charge of what one reading leaves for the next: from when on changes are to be asked for, and when everything
// was read last.
import { isDateTime } from '../../value-rules.ts';
import type { JsonRecord } from './read-page.ts';

export type ReadingState = Readonly<{ since: string | undefined; fullAt: string | undefined; deltas: boolean }>;

/** After that everything is read again: what vanished without a word is noticed then. */
const fullEveryMs = 7 * 24 * 60 * 60 * 1000;

export function parseState({ since, fullAt, deltas }: Readonly<Record<string, unknown>>): ReadingState {
  const instant = (value: unknown) => (typeof value === 'string' && instantOf(value) !== undefined ? value : undefined);
  return { since: instant(since), fullAt: instant(fullAt), deltas: deltas === true };
}

/** From when on changes will do; undefined when everything must be read. */
export function findSince({ since, fullAt, deltas }: ReadingState, now: number): string | undefined {
  return deltas && fullAt !== undefined && now - (instantOf(fullAt) ?? 0) < fullEveryMs ? since : undefined;
}

export type Watch = Readonly<{ see(record: JsonRecord): void; next(): ReadingState }>;

/**
 * Watches the records of a reading go by. `beganAt` is when it began by the provider's clock: what changed later may
 * have been read already in its older form, however new the newest record is, so the next reading goes back to it.
 */
export function watchReading(before: ReadingState, reading: { full: boolean; filters: boolean; beganAt: number; now: number }): Watch {
  let since = before.since;
  let greatest = instantOf(since ?? '') ?? Number.NEGATIVE_INFINITY;
  let allDated = true;
  return {
    see({ dateLastModified: given }) {
      const instant = typeof given === 'string' ? instantOf(given) : undefined;
      if (instant === undefined) allDated = false;
      if (instant === undefined || instant <= greatest || greatest >= reading.beganAt) return;
      greatest = instant;
      since = instant > reading.beganAt ? new Date(reading.beganAt).toISOString() : (given as string);
    },
    next: () => ({
      since: allDated ? since : undefined,
      fullAt: reading.full ? new Date(reading.now).toISOString() : before.fullAt,
      deltas: allDated && reading.filters,
    }),
  };
}

/** Milliseconds since 1970; a time without a zone is UTC. */
function instantOf(text: string): number | undefined {
  if (!isDateTime(text)) return undefined;
  const instant = Date.parse(/T.*(Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`);
  return Number.isNaN(instant) ? undefined : instant;
}
