// Ids for roles and profiles that came without one, and the roles of a person whose source has one role for all organisations. An id is the
// same at each export, and only one person has it. It consists of characters that the standard allows in an id: 0-9 A-Z a-z . / @ _ -
import { createHash } from 'node:crypto';
import type { Item } from '../roster/resource.ts';
import { administratorAt } from '../roster/resources/user-role.ts';
import { maxIdCharacters } from './value-rules.ts';

/** Returns `person/org`, and for a second thing with the same parts `person/org/2`. */
export function inventId(parts: readonly string[], number = 1): string {
  const all = number > 1 ? [...parts, String(number)] : parts;
  // With a slash inside a part, two lists of parts could give the same id.
  return parts.some((part) => part.includes('/')) ? digestId(JSON.stringify(all)) : boundId(all.join('/'));
}

/** Returns the id, or its digest if it is too long. */
export function boundId(id: string): string {
  return id.length > maxIdCharacters ? digestId(id) : id;
}

const digestId = (text: string): string => `sha256/${createHash('sha256').update(text).digest('hex')}`;

/** Returns a primary role at each organisation. The role of an administrator depends on `typeOf` the organisation. */
export function inventRoles(user: string, role: string, orgs: readonly string[], typeOf: (org: string) => string | undefined): Item[] {
  return [...new Set(orgs)].map((org) => ({
    id: inventId([user, org]),
    roleType: 'primary',
    role: role === 'administrator' ? administratorAt(typeOf(org)) : role,
    org,
  }));
}

/** Returns the roles with their own ids, or with invented ones. */
export function nameRoles(user: string, roles: readonly Item[]): (Item & { id: string })[] {
  const taken = new Set(roles.map(({ id }) => id));
  const atOrg = new Map<string, number>();
  return roles.map((role) => {
    const org = String(role.org);
    if (role.id === undefined) return { ...role, id: takeFree(taken, atOrg, org, (number) => inventId([user, org], number)) };
    atOrg.set(org, (atOrg.get(org) ?? 0) + 1);
    return { ...role, id: String(role.id) };
  });
}

/** Returns an id for each of a person's ids that other people have too. It depends on this person alone, so an import can reverse it. */
export function tellApart(user: string, ids: readonly string[]): string[] {
  const [taken, numbers] = [new Set<unknown>(ids), new Map<string, number>()];
  return ids.map((id) => takeFree(taken, numbers, id, (number) => inventId([user, id], number)));
}

/** Returns the next id of a kind that is not taken, and adds it to `taken`. `numbers` has the last number of each kind. */
export function takeFree(taken: Set<unknown>, numbers: Map<string, number>, kind: string, toId: (number: number) => string): string {
  for (;;) {
    const number = (numbers.get(kind) ?? 0) + 1;
    numbers.set(kind, number);
    const id = toId(number);
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}
