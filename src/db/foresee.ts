// In charge of foreseeing what migrations will do to a database that is in use: each step in words, how long it takes by the size
// of its table, and for how long somebody waits behind it.
import type { Migration } from './migrations.ts';
import { readSteps, type Cost, type Step } from './statement-kinds.ts';

/** Bytes of each table with its indexes; one that is not there yet has none. */
export type Sizes = ReadonlyMap<string, number>;

/** takesMs: 0 is a moment. */
export type ForeseenStep = Step & Readonly<{ takesMs: number }>;
/** holdsMs: the longest that somebody may wait for it; 0 is a moment, or nobody. */
export type Foreseen = Readonly<{
  version: number;
  name: string;
  outside: boolean;
  breaksBefore: number | null;
  steps: readonly ForeseenStep[];
  holdsMs: number;
}>;

/** What is allowed: requests wait for a second at most. */
export const longestHoldMs = 1_000;

const mb = 1024 ** 2;
/** What a slow disk does in a second: better to foresee too long. */
const bytesPerMs: Readonly<Record<Exclude<Cost, 'moment'>, number>> = { scan: (50 * mb) / 1000, rewrite: (10 * mb) / 1000 };
/** Below this it is a moment, as reading a page or a thousand is. */
const momentMs = 50;

export function foresee({ version, name, outside, breaksBefore, statements }: Migration, sizes: Sizes): Foreseen {
  const read = statements.map(readSteps);
  // What it makes itself is empty, and nobody else knows it.
  const made = new Set(read.flat().flatMap(({ kind, table }) => (kind.startsWith('create table') && table !== undefined ? [table] : [])));
  const old = new Map([...sizes].filter(([table]) => !made.has(table)));
  const foreseen = read.map((steps) =>
    steps.map((step): ForeseenStep => ({ ...step, ...(made.has(step.table ?? '') ? { holdsUp: 'nobody' } : {}), takesMs: findTime(step, old) })),
  );
  return { version, name, outside, breaksBefore, steps: foreseen.flat(), holdsMs: Math.max(0, ...foreseen.map(heldBy)) };
}

function findTime({ cost, table, names }: Step, sizes: Sizes): number {
  if (cost === 'moment') return 0;
  // What no table is named for may concern any.
  const bytes = table === undefined ? Math.max(0, ...sizes.values()) : Math.max(...[table, ...names].map((name) => sizes.get(name) ?? 0));
  const ms = Math.round(bytes / bytesPerMs[cost]);
  return ms < momentMs ? 0 : ms;
}

/** Locks last until the transaction ends: from the first step that has one on, whatever follows keeps people waiting. */
function heldBy(transaction: readonly ForeseenStep[]): number {
  const first = transaction.findIndex(({ holdsUp }) => holdsUp !== 'nobody');
  return first < 0 ? 0 : transaction.slice(first).reduce((sum, { takesMs }) => sum + takesMs, 0);
}
