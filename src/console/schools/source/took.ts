// In charge of how long a collection or an import took.
import { formatDuration } from '../../../http/pages/figures.ts';

/** Nothing while it goes on. */
export function formatTook(from: Date, until: Date | null): string | undefined {
  return until === null ? undefined : formatDuration(Math.max(0, until.getTime() - from.getTime()));
}
