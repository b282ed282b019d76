// In charge of the roles and profiles of a person as rows of roles.csv and userProfiles.csv. Ids that came with them are kept; what came
// without one gets one that is the same every time.
import type { Item } from '../roster/resource.ts';
import type { Ref, Shown } from './export-rows.ts';
import { boundId, inventId, inventRoles, nameRoles } from './invent-roles.ts';

/** Cells by column, in a row of their own each. */
export type Cells = Readonly<Record<string, string | undefined>>;

/** isGone: whether an organisation is not part of the package. typeOf: of an organisation. */
export type OrgsBeside = Readonly<{ isGone(org: string): boolean; typeOf(org: string): string | undefined }>;

/** shared: ids of profiles that several people have, and that no file could hold twice. */
export function rolesOf(record: Shown, { isGone, typeOf }: OrgsBeside, shared: ReadonlySet<string>): Cells[] {
  const written = new Set(profilesOf(record, shared).map((profile) => profile.sourcedId));
  const findProfile = (id: unknown) => {
    const named = nameProfile(record.sourcedId, String(id), shared);
    return written.has(named) ? named : undefined;
  };
  const orgs = ((record.orgs ?? []) as Ref[]).map(({ sourcedId }) => sourcedId);
  const roles = (record.roles as Item[] | undefined) ?? inventRoles(record.sourcedId, String(record.role), orgs, typeOf);
  return nameRoles(record.sourcedId, roles)
    .filter(({ org }) => !isGone(String(org)))
    .map(({ id, roleType, role, org, userProfile, beginDate, endDate }) => ({
      sourcedId: id,
      userSourcedId: record.sourcedId,
      ...asCells({ roleType, role, beginDate, endDate, orgSourcedId: org, userProfileSourcedId: findProfile(userProfile) }),
    }));
}

/** A row has one credential, and must have one: further ones are rows of their own, and a profile without any cannot be written. */
export function profilesOf(record: Shown, shared: ReadonlySet<string>): Cells[] {
  return ((record.userProfiles ?? []) as Item[]).flatMap(({ profileId, profileType, vendorId, applicationId, description, credentials = [] }) => {
    const named = nameProfile(record.sourcedId, String(profileId), shared);
    return (credentials as readonly Item[]).map(({ type, username }, at) => ({
      sourcedId: at === 0 ? named : boundId(`${named}#${at + 1}`),
      userSourcedId: record.sourcedId,
      ...asCells({ profileType, vendorId, applicationId, description, credentialType: type, username }),
    }));
  });
}

const nameProfile = (user: string, id: string, shared: ReadonlySet<string>) => (shared.has(id) ? inventId([user, id]) : id);

function asCells(item: Item): Cells {
  return Object.fromEntries(Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}
