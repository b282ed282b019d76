// In charge of what a caller may see of a collection: which establishments, and which kinds of records in each.
import type { Caller } from '../access/authenticate.ts';
import { openedKinds } from '../access/opened-kinds.ts';
import { visiblePeople, type OneRosterScope, type OneRosterScopes } from '../access/scopes.ts';
import { SchoolbellError } from '../errors.ts';
import type { CollectionName } from '../roster/resource.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Operation } from './operations.ts';

/** What of a dialect decides what a caller sees. */
export type Judging = Pick<Dialect, 'scopes' | 'byAnyKind'>;

/** One establishment as the caller sees it for one operation. */
export type Target = Readonly<{
  estab: string;
  rosterId: string;
  /** The version that is asked for, and the one that the roster is at. */
  version: number;
  current: number;
  /** The oldest that can be read. */
  keptFrom: number;
  kinds: readonly string[];
  /** Kinds of people to whom references may be shown. */
  people: readonly string[];
  /** Whether one kind of several is enough. */
  byAnyKind: boolean;
}>;

/** In words, what a school has to grant. */
export const neededScopes: Readonly<Record<CollectionName, string>> = {
  orgs: 'School',
  academicSessions: 'School',
  courses: 'School',
  classes: 'School',
  users: 'Student, Staff or Contact',
  enrollments: 'Student, Staff or Contact',
  demographics: 'StudentDemographic',
};

/** The establishments in which the scopes open something of the operation; none is refused, never an empty list. */
export function requireTargets(caller: Caller, operation: Operation, dialect: Judging): Target[] {
  requireOneRosterScope(caller, operation, dialect);
  const { byAnyKind } = dialect;
  const targets = caller.reach.flatMap(({ estab, scopes, rosterId, version, keptFrom }) => {
    const opened = openedKinds(operation.collection, scopes);
    const kinds = operation.kinds ? opened.filter((kind) => operation.kinds?.includes(kind)) : opened;
    return kinds.length > 0 ? [{ estab, rosterId, version, current: version, keptFrom, kinds, people: visiblePeople(scopes), byAnyKind }] : [];
  });
  if (targets.length > 0) return targets;
  throw new SchoolbellError('forbidden', `The school has not granted a scope that opens this: it needs ${neededScopes[operation.collection]}.`);
}

/** One of these is enough. */
export function acceptedScopes(scopes: OneRosterScopes, needed: OneRosterScope): string[] {
  return needed === 'core' ? [scopes.core, scopes.roster] : [scopes[needed]];
}

/** A token that was asked for with fewer OneRoster scopes opens fewer operations; roster.readonly opens the core too. */
export function requireOneRosterScope({ oneRosterScopes: held }: Caller, { scope }: Operation, { scopes }: Judging): void {
  if (!held) return;
  const accepted = acceptedScopes(scopes, scope);
  if (!accepted.some((one) => held.includes(one)))
    throw new SchoolbellError('forbidden', `The token was narrowed to ${held.join(' ')}; this needs ${accepted.join(' or ')}.`);
}
