// In charge of where the roster keeps what stands in files beside users.csv, and by what its rows are found there.
import { profilesFile } from '../roster/resources/user-profile.ts';
import { rolesFile } from '../roster/resources/user-role.ts';

/** key: the property of an item that is its id in the file. same: those by which it is the same one under another id. */
export type PersonPart = Readonly<{ file: string; column: string; key: string; same: readonly [string, string] }>;

export const roleParts: PersonPart = { file: rolesFile.name, column: 'roles', key: 'id', same: ['role', 'org'] };
export const profileParts: PersonPart = { file: profilesFile.name, column: 'user_profiles', key: 'profileId', same: ['vendorId', 'credentials'] };
export const personParts = [roleParts, profileParts] as const;
