// In charge of what follows from a caller's reach alone, found out once as long as nothing of it changes: which schools an operation shows
// in a dialect, and what that is called.
import { createHash } from 'node:crypto';
import type { Caller, Reach } from '../access/authenticate.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Operation } from './operations.ts';
import { requireOneRosterScope, requireTargets, type Target } from './visibility.ts';

/** name: of these schools at these versions, seen like this. */
export type Sight = Readonly<{ targets: readonly Target[]; name: string }>;

export type FindSight = (caller: Caller, operation: Operation, dialect: Dialect) => Sight;

/** A reach that is the same object is the same. */
export function createFindSight(): FindSight {
  const known = new WeakMap<readonly Reach[], Map<string, Sight>>();
  return (caller, operation, dialect) => {
    requireOneRosterScope(caller, operation, dialect);
    const ofReach = known.get(caller.reach) ?? new Map<string, Sight>();
    known.set(caller.reach, ofReach);
    const key = `${dialect.name} ${operation.name}`;
    const found = ofReach.get(key) ?? sightOf(requireTargets(caller, operation, dialect));
    ofReach.set(key, found);
    return found;
  };
}

export function sightOf(targets: readonly Target[]): Sight {
  const seen = targets.map(({ estab, rosterId, version, kinds, people }) => [estab, rosterId, version, kinds, people]);
  return { targets, name: digest(JSON.stringify(seen)) };
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
