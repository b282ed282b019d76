// In charge of how answers may be compressed, and which of these ways a caller prefers.
import negotiator from '@fastify/accept-negotiator';
import type { Encoding } from '../roster/list-source.ts';

/** What is preferred comes first: of two that a caller takes alike, the one that costs less. */
export const encodings: readonly Encoding[] = ['zstd', 'gzip'];

/** Undefined: as it is. */
export function chooseEncoding(accepted: string | string[] | undefined, offered: readonly Encoding[]): Encoding | undefined {
  const header = String(accepted ?? '').toLowerCase().replaceAll('x-gzip', 'gzip');
  return (negotiator.negotiate(header, [...offered]) as Encoding | null) ?? undefined;
}
