// In charge of what 1.1 requires of a record and a provider of OneRoster 1.2 says otherwise or not at all: what stands in its place, and
// which fields were lacking.
import type { Item, Resource, Value } from '../../../roster/resource.ts';
import { collections } from '../../../roster/collections.ts';
import { mainRole, orgsOfRoles } from '../../../roster/resources/user-role.ts';

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
  if (resource === collections.users) {
    const roles = (given.roles ?? []) as readonly Item[];
    Object.assign(given, { role: mainRole(roles, given.primaryOrg as string | undefined), orgs: orgsOfRoles(roles) });
  }
  return { values: resource.fields.map(({ name }) => given[name]), lacks };
}
