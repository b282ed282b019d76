// The roles and profiles of a person as rows of roles.csv and userProfiles.csv. Roles and profiles keep the ids that they came with; the others
// get invented ids, the same at each export.
import type { Item } from '../roster/resource.ts';
import type { Ref, Shown } from './export-rows.ts';
import { boundId, inventRoles, nameRoles, takeFree, tellApart } from './invent-roles.ts';

/** One row: its cells by column. */
export type Cells = Readonly<Record<string, string | undefined>>;

/** `isGone`: whether the package leaves the organisation out. `typeOf` returns the type of an organisation. */
export type OrgsBeside = Readonly<{ isGone(org: string): boolean; typeOf(org: string): string | undefined }>;

/** Ids that several people have. A file must not contain an id twice. */
export type SharedIds = Readonly<{ roles: ReadonlySet<string>; profiles: ReadonlySet<string> }>;

export function rolesOf(record: Shown, { isGone, typeOf }: OrgsBeside, shared: SharedIds): Cells[] {
  const user = record.sourcedId;
  const written = nameProfiles(record, shared).filter(({ profile }) => credentialsOf(profile).length > 0);
  const profiles = new Map(written.map(({ id, profile }) => [profile.profileId, id]));
  const orgs = ((record.orgs ?? []) as Ref[]).map(({ sourcedId }) => sourcedId);
  const roles = nameRoles(user, (record.roles as Item[] | undefined) ?? inventRoles(user, String(record.role), orgs, typeOf));
  const ids = withoutShared(user, roles.map(({ id }) => id), shared.roles);
  return roles.flatMap(({ roleType, role, org, userProfile, beginDate, endDate }, at): Cells[] => {
    if (isGone(String(org))) return [];
    const cells = asCells({ roleType, role, beginDate, endDate, orgSourcedId: org, userProfileSourcedId: profiles.get(userProfile) });
    return [{ sourcedId: ids[at], userSourcedId: user, ...cells }];
  });
}

/** Returns a row for each credential. A profile without a credential has no row, because the file requires one. */
export function profilesOf(record: Shown, shared: SharedIds): Cells[] {
  const named = nameProfiles(record, shared);
  const taken = new Set<unknown>(named.map(({ id }) => id));
  return named.flatMap(({ id, profile }) => {
    const { profileType, vendorId, applicationId, description } = profile;
    const numbers = new Map([[id, 1]]);
    return credentialsOf(profile).map(({ type, username }, at) => ({
      sourcedId: at === 0 ? id : takeFree(taken, numbers, id, (number) => boundId(`${id}/${number}`)),
      userSourcedId: record.sourcedId,
      ...asCells({ profileType, vendorId, applicationId, description, credentialType: type, username }),
    }));
  });
}

function nameProfiles({ sourcedId, userProfiles = [] }: Shown, shared: SharedIds): { id: string; profile: Item }[] {
  const profiles = userProfiles as readonly Item[];
  const ids = withoutShared(sourcedId, profiles.map(({ profileId }) => String(profileId)), shared.profiles);
  return profiles.map((profile, at) => ({ id: String(ids[at]), profile }));
}

const credentialsOf = ({ credentials = [] }: Item) => credentials as readonly Item[];

function withoutShared(user: string, ids: readonly string[], shared: ReadonlySet<string>): readonly string[] {
  if (!ids.some((id) => shared.has(id))) return ids;
  const apart = tellApart(user, ids);
  return ids.map((id, at) => (shared.has(id) ? (apart[at] ?? id) : id));
}

function asCells(item: Item): Cells {
  return Object.fromEntries(Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}
