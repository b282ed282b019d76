// In charge of where each school's part of a list is: how many records it has, how many precede it, and which file would hold it. Found
// out once for the same schools at the same versions.
import { fileOf, viewOf } from './list-view.ts';
import { sumOf } from './milestones.ts';
import type { Plain, Question } from './question.ts';
import { countEach, countMatches, requireParents, type Counted, type Reader } from './statements.ts';
import type { Target } from './visibility.ts';

/** start: how many records precede it. file: undefined where the version has no name any more. */
export type Part = Readonly<{ target: Target; start: number; count: number; view: string; file: string | undefined }>;
export type Parts = Readonly<{ total: number; parts: readonly Part[] }>;
/** Some records of a part, by their places in it. */
export type Slice = Readonly<{ part: Part; from: number; to: number }>;

export type FindParts = (question: Question, plain: Plain) => Promise<Parts>;

/** Targets that are the same object are the same schools at the same versions, seen alike. */
export function createFindParts(reader: Reader): FindParts {
  const { facts, primary } = reader;
  const known = new WeakMap<readonly Target[], Map<string, Promise<Parts>>>();

  async function find(question: Question, plain: Plain): Promise<Parts> {
    const { collection } = question.operation;
    const found = await Promise.all(
      question.targets.map(async (target) => {
        // One after the other: what the first had to read is known to the second.
        const totals = await facts.totals(primary, target, collection);
        const versions = await facts.versions(primary, target);
        const view = viewOf(question, target, plain);
        const file = fileOf(view, target, versions);
        const known = plain.versions === undefined ? sumOf(totals, { ...target, ...plain }) : plain.versions === '' ? 0 : undefined;
        const count = known ?? (await countMatches(reader, question, target, [target.rosterId, target.version, view].join(' '))).count;
        return { target, count, view, file };
      }),
    );
    return inPlaces(found);
  }

  return (question, plain) => {
    const { targets, address } = question;
    const ofTargets = known.get(targets) ?? new Map<string, Promise<Parts>>();
    known.set(targets, ofTargets);
    const key = JSON.stringify([plain.status, plain.versions, address, question.operation.collection]);
    const parts = ofTargets.get(key) ?? find(question, plain);
    ofTargets.set(key, parts);
    parts.catch(() => ofTargets.delete(key));
    return parts;
  };
}

/** Of what has to be looked for in each school, and is in no file. */
export async function countParts(reader: Reader, question: Question): Promise<Parts> {
  const found = await countEach(reader, question);
  requireParents(found);
  return inPlaces(question.targets.map((target, at) => ({ target, count: placesOf(found[at]), view: '', file: undefined })));
}

const placesOf = (found: Counted | undefined) => (found?.parents ? found.count : 0);

function inPlaces(found: readonly Omit<Part, 'start'>[]): Parts {
  let total = 0;
  const parts = found.map((part) => {
    const start = total;
    total += part.count;
    return { ...part, start };
  });
  return { total, parts };
}

/** The records from one place of the whole list to before another, by school; none of them is empty. */
export function sliceParts(parts: readonly Part[], from: number, to: number): Slice[] {
  const slices: Slice[] = [];
  for (let at = findPart(parts, from); at < parts.length; at += 1) {
    const part = parts[at] as Part;
    if (part.start >= to) break;
    const slice = { part, from: Math.max(0, from - part.start), to: Math.min(part.count, to - part.start) };
    if (slice.from < slice.to) slices.push(slice);
  }
  return slices;
}

/** The first that ends behind a place. */
function findPart(parts: readonly Part[], place: number): number {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const { start, count } = parts[middle] as Part;
    if (start + count <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}
