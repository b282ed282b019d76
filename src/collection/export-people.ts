// In charge of the roles and profiles of a person as rows of roles.csv and userProfiles.csv. Ids that came with them are kept; what came
// without one gets one that is the same every time.
import type { Item } from '../roster/resource.ts';
import type { Ref, Shown } from './export-rows.ts';
import { boundId, inventRoles, nameRoles } from './invent-roles.ts';

/** Cells by column, in a row of their own each. */
export type Cells = Readonly<Record<string, string | undefined>>;

/** isGone: whether an organisation is not part of the package. typeOf: of an organisation. */
export type OrgsBeside = Readonly<{ isGone(org: string): boolean; typeOf(org: string): string | undefined }>;

export function rolesOf(record: Shown, { isGone, typeOf }: OrgsBeside): Cells[] {
  const written = new Set(profilesOf(record).map((profile) => profile.sourcedId));
  const orgs = ((record.orgs ?? []) as Ref[]).map(({ sourcedId }) => sourcedId);
  const roles = (record.roles as Item[] | undefined) ?? inventRoles(record.sourcedId, String(record.role), orgs, typeOf);
  return nameRoles(record.sourcedId, roles)
    .filter(({ org }) => !isGone(String(org)))
    .map(({ id, roleType, role, org, userProfile, beginDate, endDate }) => ({
      sourcedId: id,
      userSourcedId: record.sourcedId,
      ...asCells({ roleType, role, beginDate, endDate, orgSourcedId: org, userProfileSourcedId: written.has(String(userProfile)) ? userProfile : undefined }),
    }));
}

/** A row has one credential, and must have one: further ones are rows of their own, and a profile without any cannot be written. */
export function profilesOf(record: Shown): Cells[] {
  return ((record.userProfiles ?? []) as Item[]).flatMap(({ profileId, profileType, vendorId, applicationId, description, credentials = [] }) =>
    (credentials as readonly Item[]).map(({ type, username }, at) => ({
      sourcedId: at === 0 ? String(profileId) : boundId(`${String(profileId)}#${at + 1}`),
      userSourcedId: record.sourcedId,
      ...asCells({ profileType, vendorId, applicationId, description, credentialType: type, username }),
    })),
  );
}

function asCells(item: Item): Cells {
  return Object.fromEntries(Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}
