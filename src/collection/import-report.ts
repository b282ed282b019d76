// The report of an import: its numbers and faults, and in one sentence what a person has to do.
import type { CollectionName } from '../roster/resource.ts';
import type { MergeCount } from './compare-stage.ts';
import type { Shrinkage } from './deletion-guard.ts';
import { fixedMessages } from './fixed-messages.ts';
import type { ForeignWord } from './foreign-words.ts';
import type { CountedLoss } from './held.ts';
import type { Fault, Problem } from './problem.ts';
import { describeUnreported } from './unreported-leavers.ts';

export type ImportReport = MergeCount & {
  estab: string;
  outcome: 'done' | 'unchanged' | 'held' | 'refused';
  /** It was refused for having come too late. */
  overtaken?: true;
  /** It could not be read at all, so that there is nothing to leave out. */
  unusable?: true;
  /** Rows that were left out: those that are wrong, and those that refer to them. */
  rejected: number;
  version: number;
  collections: Partial<Record<CollectionName, MergeCount & { mode: string; rejected: number }>>;
  ignored: string[];
  /** Collections of which the source cannot show which records left, if there are any. */
  leaversUnreported?: readonly CollectionName[];
  /** Those that OneRoster 1.1 does not have, if any came. */
  words?: ForeignWord[];
  /** Marks that came with the package. */
  marks?: { written: number; unchanged: number; rejected: number };
  shrinkage: Shrinkage[];
  /** As it is kept: the import that was held, and that a person has approved to make this one. */
  approved?: string;
  /** Of one that was held, as it is kept: how many of what would go. */
  losses?: readonly CountedLoss[];
  /** The first of them; `faults` counts them all, by rule. */
  problems: Problem[];
  problemsTotal: number;
  faults: Fault[];
};

export const nothingMerged: MergeCount = { added: 0, changed: 0, removed: 0, unchanged: 0 };

export function emptyReport(estab: string): ImportReport {
  return {
    estab,
    outcome: 'unchanged',
    ...nothingMerged,
    rejected: 0,
    version: 0,
    collections: {},
    ignored: [],
    shrinkage: [],
    problems: [],
    problemsTotal: 0,
    faults: [],
  };
}

/** Returns what a person has to approve or put right, or undefined if the import went well. */
export function describeTrouble({ outcome, overtaken, problems, problemsTotal, shrinkage }: ImportReport): string | undefined {
  if (overtaken) return fixedMessages.overtaken;
  if (outcome === 'held') return describeWaiting(shrinkage);
  if (outcome !== 'refused') return undefined;
  const [first] = problems;
  const where = first ? [first.file, ...(first.line === null ? [] : [`line ${first.line}`]), ...(first.column === null ? [] : [first.column])].join(', ') : '';
  return `${fixedMessages.refused}: ${problemsTotal} problem${problemsTotal === 1 ? '' : 's'}${first ? `, the first: ${where}: ${first.rule}` : ''}`;
}

/** Returns the message of a database while an import of it waits for approval. */
export const describeWaiting = (shrinkage: readonly Shrinkage[]) =>
  [fixedMessages.waiting, describeShrinkage(shrinkage)].filter(Boolean).join(': ');

/** "50 of 64 student users (78.1 %), 12 of 50 classes (24 %) would be deleted": students first, then every other kind in the guard's order. */
export function describeShrinkage(shrinkage: readonly Shrinkage[]): string {
  const lacking = shrinkage.filter(({ size }) => size === 'none').map(({ collection }) => `no ${collection}`);
  const ways = Map.groupBy(shrinkage.filter(({ size }) => size !== 'none'), describeWay);
  const lost = [...ways].map(([way, some]) => `${some.map(describeShare).join(', ')} ${way}`);
  return [...lost, ...(lacking.length > 0 ? [`there are classes, but ${lacking.join(' and ')}`] : [])].join(', ');
}

function describeWay({ removed, staying = 0 }: Shrinkage): string {
  if (staying === 0) return 'would be deleted';
  return staying === removed ? 'would lose that role' : 'would be deleted or lose that role';
}

const describeShare = ({ collection, role, active, removed, percent }: Shrinkage) =>
  `${removed} of ${active} ${role ? `${role} ` : ''}${collection} (${percent} %)`;

/** Returns a line with the ignored files and columns, and a line with the collections whose leavers the source does not report, if there are any. */
export function describeIgnored({ ignored, leaversUnreported = [] }: Pick<ImportReport, 'ignored' | 'leaversUnreported'>): string[] {
  return [
    ...(ignored.length > 0 ? [`ignored: ${ignored.join(', ')}`] : []),
    ...(leaversUnreported.length > 0 ? [describeUnreported(leaversUnreported)] : []),
  ];
}

/** Names the import in what the operator types, because another one may wait by then. */
export function howToApprove(estab: string, id: string): string {
  const approve = `import approve --estab ${estab} --import ${id}`;
  return `Look at it with import held --estab ${estab}. If it is right: ${approve}. If not: import discard --estab ${estab}`;
}

/** Messages begin small and end without a stop, since they also stand inside other sentences. */
export function renderSentence(message: string): string {
  return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`;
}
