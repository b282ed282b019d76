// In charge of ids for what a file of 1.2 names by one and its source did not: they are the same every time, and each is only one's own.
// So are the roles of a person whose source has one role for all organisations.
import { createHash } from 'node:crypto';
import type { Item } from '../roster/resource.ts';
import { administratorAt } from '../roster/resources/user-role.ts';
import { maxIdCharacters } from './value-rules.ts';

/** Parts are told from one another; a number, from 2 on, tells those of one kind apart. */
export function inventId(parts: readonly string[], number = 1): string {
  return boundId(`${parts.map((part) => part.replace(/[%:#]/g, encodeURIComponent)).join(':')}${number > 1 ? `#${number}` : ''}`);
}

/** What is too long for an id is told by its digest. */
export function boundId(id: string): string {
  return id.length > maxIdCharacters ? `sha256:${createHash('sha256').update(id).digest('hex')}` : id;
}

/** One for each organisation, all primary. typeOf: what an administrator is called depends on what the organisation is. */
export function inventRoles(user: string, role: string, orgs: readonly string[], typeOf: (org: string) => string | undefined): Item[] {
  return [...new Set(orgs)].map((org) => ({
    id: inventId([user, org]),
    roleType: 'primary',
    role: role === 'administrator' ? administratorAt(typeOf(org)) : role,
    org,
  }));
}

/** Each with its own id, or with one that is the same every time. */
export function nameRoles(user: string, roles: readonly Item[]): (Item & { id: string })[] {
  const atOrg = new Map<string, number>();
  return roles.map((role) => {
    const org = String(role.org);
    const number = (atOrg.get(org) ?? 0) + 1;
    atOrg.set(org, number);
    return { ...role, id: role.id ?? inventId([user, org], number) };
  });
}
