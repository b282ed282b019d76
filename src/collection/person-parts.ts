// In charge of where the roster keeps what stands in files beside users.csv, and by what its rows are found there.
import { profilesFile } from '../roster/resources/user-profile.ts';
import { rolesFile } from '../roster/resources/user-role.ts';

/** key: the property of an item that is its id in the file. */
export type PersonPart = Readonly<{ file: string; column: string; key: string }>;

export const roleParts: PersonPart = { file: rolesFile.name, column: 'roles', key: 'id' };
export const profileParts: PersonPart = { file: profilesFile.name, column: 'user_profiles', key: 'profileId' };
export const personParts = [roleParts, profileParts] as const;
