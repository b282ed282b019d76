// In charge of views: everything that shapes the bytes of one school's list. Two callers who would get the same bytes have the same
// view; its file is named by it, by the roster and by the version.
import { listName } from '../roster/list-folder.ts';
import { version as product } from '../version.ts';
import type { Version } from './field-path.ts';
import type { Plain, Question } from './question.ts';
import { findVersion } from './render.ts';
import { digest } from './sight.ts';
import { seesEveryone } from './visible-people.ts';
import type { Target } from './visibility.ts';

/** Raised when the same records become other bytes. */
const format = 2;

/** Of no version in particular. */
export function viewOf({ dialect, operation, address }: Question, { kinds, people, byAnyKind }: Target, { status, versions }: Plain): string {
  // Whom else the caller may see shows in people alone.
  const others = operation.collection === 'users' ? people.toSorted() : [];
  const shaping = [format, product, operation.collection, dialect.edition, address, kinds.toSorted(), others, byAnyKind, status ?? null, versions ?? null];
  return digest(JSON.stringify(shaping));
}

/** A version is known by its instant too: after a restore another may have the same number. None where that is forgotten. */
export function fileOf(view: string, { rosterId, version }: Target, versions: readonly Version[]): string | undefined {
  const found = findVersion(versions, version);
  return found && listName({ rosterId, version, instant: found.instant, view, compressed: undefined });
}

/** Whether a record's bytes follow from its own row: then those of the next version are those of this one, but for the rows that changed. */
export function isOfOwnRows({ operation }: Question, target: Target): boolean {
  return operation.collection !== 'users' || seesEveryone(target);
}
