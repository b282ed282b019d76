// In charge of telling the ledger what an answer discloses: of which school how many records, with which fields.
import type { Ledger } from '../access/disclosures.ts';
import { collections } from '../roster/collections.ts';
import { versionPlaceholder } from '../roster/resource.ts';
import { dialects } from './dialects/all.ts';
import { selectableFields } from './field-path.ts';
import type { Question } from './plan.ts';

type Asked = Pick<Question, 'operation' | 'dialect'>;

/** Made once: the ledger sees that it is the same list again. */
const allFields = new Map(
  dialects.flatMap(({ name, edition }) =>
    Object.values(collections).map((resource) => [`${name} ${resource.collection}`, selectableFields(resource, edition)] as const),
  ),
);

/** Records by establishment. */
export type Counts = ReadonlyMap<string, number>;

const named = new RegExp(`${versionPlaceholder}([^ ${versionPlaceholder}]+) \\d+${versionPlaceholder}`, 'g');

/** Each record, as it is stored, names its school and version once. Of one school alone, those places are simply counted. */
export function countRecords(records: string, targets: readonly { estab: string }[]): Map<string, number> {
  const [only, ...others] = targets;
  if (only && others.length === 0) return new Map([[only.estab, countMarks(records) / 2]]);
  const counts = new Map<string, number>();
  for (const [, estab = ''] of records.matchAll(named)) counts.set(estab, (counts.get(estab) ?? 0) + 1);
  return counts;
}

function countMarks(records: string): number {
  let count = 0;
  for (let at = records.indexOf(versionPlaceholder); at >= 0; at = records.indexOf(versionPlaceholder, at + 1)) count += 1;
  return count;
}

export function disclose(note: Ledger['note'], rp: string, { operation, dialect }: Asked, fields: readonly string[] | undefined, counts: Counts): void {
  const { collection } = operation;
  const all = fields ?? allFields.get(`${dialect.name} ${collection}`) ?? [];
  for (const [estab, records] of counts) if (records > 0) note({ estab, rp, collection, records, fields: all });
}

/** Passes the pieces on, and tells when they have all gone out, or as many as were taken. */
export async function* disclosing(
  pieces: AsyncIterable<string>,
  targets: readonly { estab: string }[],
  tell: (counts: Counts) => unknown,
): AsyncGenerator<string> {
  const sums = new Map<string, number>();
  try {
    for await (const piece of pieces) {
      for (const [estab, count] of countRecords(piece, targets)) sums.set(estab, (sums.get(estab) ?? 0) + count);
      yield piece;
    }
  } finally {
    tell(sums);
  }
}
