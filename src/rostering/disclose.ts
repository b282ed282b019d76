// In charge of telling the ledger what an answer discloses: of which school how many records, with which fields.
import type { Ledger } from '../access/disclosures.ts';
import { collections } from '../roster/collections.ts';
import type { Counts } from '../roster/list-source.ts';
import { dialects } from './dialects/all.ts';
import { selectableFields } from './field-path.ts';
import type { Question } from './question.ts';

type Asked = Pick<Question, 'operation' | 'dialect'>;

/** Made once: the ledger sees that it is the same list again. */
const allFields = new Map(
  dialects.flatMap(({ name, edition }) =>
    Object.values(collections).map((resource) => [`${name} ${resource.collection}`, selectableFields(resource, edition)] as const),
  ),
);

export function disclose(note: Ledger['note'], rp: string, { operation, dialect }: Asked, fields: readonly string[] | undefined, counts: Counts): void {
  const { collection } = operation;
  const all = fields ?? allFields.get(`${dialect.name} ${collection}`) ?? [];
  for (const [estab, records] of counts) if (records > 0) note({ estab, rp, collection, records, fields: all });
}
