// In charge of what is left out of a field that names people, roles, or what belongs to roles, and of what kinds one has to see to get it.
import type { Item, Resource } from '../roster/resource.ts';
import type { RecordJson } from './see-record.ts';

/** needs: each a list of kinds of which one must be open; an empty one where nobody knows. */
export type LeftOut = Readonly<{ shown: number; of: number; needs: readonly (readonly string[])[] }>;
type Kinds = Readonly<{ kinds: readonly string[] }>;

/** full: the record with everything. people: those whom it names, with the kinds by which they are judged. */
export function leftOut({ fields, kindsBy }: Resource, name: string, full: RecordJson, value: unknown, people: ReadonlyMap<string, Kinds>): LeftOut {
  const { namedBy, relates, tellsOf, to } = fields.find((one) => one.name === name) ?? {};
  const isOfRoles = name === kindsBy?.field;
  if (tellsOf !== undefined && value === undefined) return { shown: 0, of: 1, needs: [[tellsOf]] };
  if (!isOfRoles && namedBy === undefined && to === undefined) return { shown: 0, of: 0, needs: [] };
  const roles = kindsBy ? partsOf(full[kindsBy.field]).map((item) => ({ item, kind: kindsBy.kindOf(item) })) : [];
  const [all, shown] = [partsOf(full[name]), partsOf(value).map((part) => JSON.stringify(part))];
  const hidden = all.filter((part) => !shown.includes(JSON.stringify(part)));
  const needs = hidden.flatMap((part): (readonly string[])[] => {
    if (isOfRoles) return [[kindsBy.kindOf(part)]];
    if (namedBy !== undefined) return [roles.filter(({ item }) => idOf(item[namedBy]) === idOf(part)).map(({ kind }) => kind)];
    const theirs = people.get(idOf(part))?.kinds ?? [];
    const [one, other] = relates ?? [];
    const is = (kinds: readonly string[], kind: string | undefined) => kind !== undefined && kinds.includes(kind);
    const own = roles.map(({ kind }) => kind);
    return (is(own, one) && is(theirs, other)) || (is(own, other) && is(theirs, one)) ? [...(relates ?? [])].map((kind) => [kind]) : [theirs];
  });
  return { shown: shown.length, of: all.length, needs };
}

const partsOf = (value: unknown): Item[] => (value === undefined ? [] : ([value].flat() as Item[]));

/** Of a reference, of an account elsewhere, or of what a role names of either. */
function idOf(named: unknown): string {
  const { sourcedId, profileId } = (named ?? {}) as { sourcedId?: string; profileId?: string };
  return sourcedId ?? profileId ?? String(named);
}

/** The ids that a list of references has. */
export function namedIn(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((one: { sourcedId?: string } | null) => one?.sourcedId ?? []) : [];
}
