// In charge of what a question is: which records of which schools, at which version of each, in which order and dialect.
import { statuses } from '../roster/resource.ts';
import { isPast } from './as-of.ts';
import { versionRanges } from './compare.ts';
import type { Version } from './field-path.ts';
import type { Check, ListRequest } from './list-request.ts';
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

/** A question about a collection in its own order, narrowed by nothing but kinds, a status, and the versions that records are of. */
export type Plain = Readonly<{ status: string | undefined; versions?: string }>;

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

/** Whatever the instant is that records are compared with: those of one school that match are those of certain versions. */
export function versionsAsked({ operation, filter, sort, targets }: Question, versions: readonly Version[]): Plain | undefined {
  const [target, ...others] = targets;
  const [check, ...more] = filter?.flat() ?? [];
  if (!target || !check || others.length + more.length > 0 || check.path.comparison !== 'instant' || check.operator === '~') return undefined;
  if (sort || operation.relation || operation.single || isPast(target)) return undefined;
  // Of those up to the newest the next version will have more.
  const ranges = versionRanges(check.operator, check.value, versions).map(([from, to]) => `${from}-${to === target.version ? '' : to}`);
  return { status: undefined, versions: ranges.join() };
}

/** Whether the versions of a school say that none of its records matches: so it is with most schools where only what is new is asked for. */
export function matchesNothing({ filter }: Question, { version }: Target, versions: readonly Version[]): boolean {
  const isLater = ([from]: readonly [number, number]) => from > version;
  const isEmpty = ({ path, operator, value }: Check) => path.comparison === 'instant' && versionRanges(operator, value, versions).every(isLater);
  return filter?.every((all) => all.some(isEmpty)) ?? false;
}
