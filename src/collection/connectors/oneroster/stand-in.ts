// In charge of what a record must have and a provider of OneRoster 1.2 says otherwise or not at all: what stands in its place, and which
// fields that 1.1 requires were lacking.
import type { Item, Resource, Value } from '../../../roster/resource.ts';
import { collections } from '../../../roster/collections.ts';
import { mainRole, orgsOfRoles } from '../../../roster/resources/user-role.ts';
import { idText, isAbsent } from './json-value.ts';
import type { JsonRecord } from './read-page.ts';

type Filled = Readonly<{ values: Value[]; lacks: string[] }>;
type Values = Readonly<Record<string, Value>>;

/** Of one who has no user name: that of an account elsewhere, the e-mail address, or the id. */
function findUsername({ userProfiles, email }: Values, sourcedId: string): string {
  const credentials = ((userProfiles ?? []) as readonly Item[]).flatMap((profile) => (profile.credentials ?? []) as readonly Item[]);
  return String(credentials[0]?.username ?? email ?? sourcedId);
}

type StandIn = (values: Values, sourcedId: string) => Readonly<Record<string, string>>;

const standIns: Partial<Record<Resource['collection'], StandIn>> = {
  users: (values, sourcedId) => ({ username: findUsername(values, sourcedId) }),
  classes: () => ({ classType: 'scheduled' }),
};

/** values: in the order of the resource's fields, as 1.2 has them. */
export function fillIn(resource: Resource, sourcedId: string, values: readonly Value[]): Filled {
  const given: Record<string, Value> = Object.fromEntries(resource.fields.map(({ name }, at) => [name, values[at]]));
  const lacks: string[] = [];
  for (const [name, value] of Object.entries(standIns[resource.collection]?.(given, sourcedId) ?? {})) {
    if (given[name] !== undefined) continue;
    given[name] = value;
    lacks.push(name);
  }
  // Of whoever is gone there may be none.
  if (resource === collections.users && given.roles !== undefined) {
    const roles = given.roles as readonly Item[];
    Object.assign(given, { role: mainRole(roles, given.primaryOrg as string | undefined), orgs: orgsOfRoles(roles) });
  }
  return { values: resource.fields.map(({ name }) => given[name]), lacks };
}

/** Of a person, as the provider wrote them: at each organisation one is primary, the first where none is called so. Whatever is no role is left. */
export function fillRoleTypes(given: unknown): unknown {
  const roles: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (!roles.some((role) => isRole(role) && isAbsent(role.roleType))) return given;
  const primaryAt = new Set(roles.filter(isRole).filter(({ roleType }) => roleType === 'primary').map(({ org }) => idText(org)));
  return roles.map((role) => {
    if (!isRole(role) || !isAbsent(role.roleType)) return role;
    const roleType = primaryAt.has(idText(role.org)) ? 'secondary' : 'primary';
    primaryAt.add(idText(role.org));
    return { ...role, roleType };
  });
}

function isRole(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
