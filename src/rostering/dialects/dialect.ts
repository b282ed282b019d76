// In charge of what may differ between the variants of the rostering API. A difference is a field here; no code asks
// which variant it serves.
import type { ErrorShape } from '../../http/error-shape.ts';
import type { CollectionName } from '../../roster/resource.ts';
import type { Operator } from '../filter.ts';

export type Dialect = Readonly<{
  name: string;
  /** Path under which the operations stand. */
  root: string;
  tokenKind: 'rostering-a' | 'rostering-b';
  /** Operations offered, by name. */
  offers: (operation: string) => boolean;
  filter: Readonly<{
    /** Fields that a filter may name; undefined means every field of the record. */
    fields: readonly string[] | undefined;
    operators: readonly Operator[];
    /** Whether expressions may be joined by and / or. */
    joined: boolean;
    /** Collections on which the filter parameter is ignored. */
    ignoredOn: readonly CollectionName[];
  }>;
  /** Whether sort, orderBy and fields have an effect. */
  sorts: boolean;
  selects: boolean;
  errors: ErrorShape;
  /** Of an error's body. */
  errorSchema: Readonly<Record<string, unknown>>;
  /** Whether a token opens several schools, in which a sourcedId may occur more than once. */
  severalSchools: boolean;
}>;
