// In charge of where what a person is stands among the values of a row: what 1.1 says of it follows from what 1.2 does.
import { collections } from '../roster/collections.ts';

const positionOf = (name: string) => collections.users.fields.findIndex((field) => field.name === name);

export const personAt = {
  username: positionOf('username'),
  role: positionOf('role'),
  orgs: positionOf('orgs'),
  primaryOrg: positionOf('primaryOrg'),
  profiles: positionOf('userProfiles'),
  roles: positionOf('roles'),
} as const;
