// In charge of what a question is: which records of which schools, at which version of each, in which order and dialect.
import { statuses } from '../roster/resource.ts';
import type { ListRequest } from './list-request.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Operation } from './operations.ts';
import type { Target } from './visibility.ts';

export type Question = Readonly<{
  dialect: Dialect;
  operation: Operation;
  /** The ids in the path, in their order. */
  ids: readonly string[];
  /** In the order of the schools, which is that of the records unless they are sorted. */
  targets: readonly Target[];
  filter: ListRequest['filter'];
  sort: ListRequest['sort'];
  address: string;
}>;

/** A question about a collection in its own order, narrowed by nothing but kinds and a status. */
export type Plain = Readonly<{ status: string | undefined }>;

/** How a question is plain, or that it is not. */
export function plainness({ operation, filter, sort }: Question): Plain | undefined {
  return sort ? undefined : countable({ operation, filter });
}

/** What can be counted by kind and status alone. */
export function countable({ operation, filter }: Pick<Question, 'operation' | 'filter'>): Plain | undefined {
  if (operation.relation || operation.single) return undefined;
  if (!filter) return { status: undefined };
  const [check, ...more] = filter.flat();
  if (!check || more.length > 0 || check.path.name !== 'status' || check.operator !== '=') return undefined;
  // Of no other is anything known: it is looked for as any filter is.
  const status = statuses.find((one) => one === check.value.toLowerCase());
  return status && { status };
}
