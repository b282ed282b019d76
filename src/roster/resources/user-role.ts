// In charge of what a person is at an organisation. OneRoster 1.1 has one role for all of them, 1.2 a list: how one becomes the other.
import { administratorPlaceholder, type Field, type Item, type Value } from '../resource.ts';

const kinds: Readonly<Record<string, string>> = {
  student: 'student',
  teacher: 'teacher',
  administrator: 'staff',
  aide: 'staff',
  counselor: 'staff',
  districtAdministrator: 'staff',
  principal: 'staff',
  proctor: 'staff',
  siteAdministrator: 'staff',
  systemAdministrator: 'staff',
  guardian: 'contact',
  parent: 'contact',
  relative: 'contact',
};

/** Of a role by which the vocabulary was extended; in 1.1 it is an aide. */
const kindOfOthers = 'staff';

export const kindOfRole = (role: string): string => kinds[role] ?? kindOfOthers;

/** The roles of these kinds; `ext` stands for all by which the vocabulary was extended. */
export function rolesOfKinds(some: readonly string[]): string[] {
  return [...Object.keys(kinds), 'ext'].filter((role) => some.includes(kindOfRole(role)));
}

/** The last is what `administratorAt` makes of one where 1.2 has no word. */
const administrators = ['principal', 'siteAdministrator', 'districtAdministrator', 'systemAdministrator', 'ext:administrator'];

/** In the words of 1.1. */
export function toSingleRole(role: string): string {
  if (administrators.includes(role)) return 'administrator';
  return role === 'counselor' || role.startsWith('ext:') ? 'aide' : role;
}

/** The role that 1.1 shows: the primary one at the organisation that the person mainly belongs to, else the first primary one. */
export function mainRole(roles: readonly Item[], primaryOrg: string | undefined): string {
  const primary = roles.filter(({ roleType }) => roleType === 'primary');
  const main = primary.find(({ org }) => org === primaryOrg) ?? primary[0] ?? roles[0];
  return toSingleRole(String(main?.role));
}

export const orgsOfRoles = (roles: readonly Item[]): string[] => [...new Set(roles.map(({ org }) => String(org)))];

/** What 1.2 calls an administrator of an organisation of this type. */
export function administratorAt(orgType: string | undefined): string {
  if (orgType === 'school') return 'siteAdministrator';
  return ['district', 'local', 'state', 'national'].includes(orgType ?? '') ? 'districtAdministrator' : 'ext:administrator';
}

/** One role is held at every organisation, and there it is the primary one. */
function spreadRole(valueOf: (name: string) => Value): Item[] {
  const role = valueOf('role') as string;
  const shown = role === 'administrator' ? administratorPlaceholder : role;
  return [...new Set((valueOf('orgs') ?? []) as readonly string[])].map((org) => ({ roleType: 'primary', role: shown, org }));
}

export const rolesFile = {
  name: 'roles.csv',
  header: 'sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId,userProfileSourcedId',
};

const items: readonly Field[] = [
  {
    name: 'roleType', type: 'enum', column: 'roleType', csv: 'roleType', required: true, values: ['primary', 'secondary'], closed: true,
    about: 'Whether it is the main role at the organisation.',
  },
  {
    name: 'role', type: 'enum', column: 'role', csv: 'role', required: true, about: 'What the person is there.',
    values: Object.keys(kinds).filter((role) => role !== 'administrator').toSorted(),
  },
  { name: 'org', type: 'ref', column: 'org', csv: 'orgSourcedId', to: 'orgs', required: true, about: 'The organisation.' },
  { name: 'userProfile', type: 'uri', column: 'userProfile', csv: 'userProfileSourcedId', about: 'The `profileId` of the account with which it is used.' },
  { name: 'beginDate', type: 'date', column: 'beginDate', csv: 'beginDate', about: 'The first day.' },
  { name: 'endDate', type: 'date', column: 'endDate', csv: 'endDate', about: 'The end; the standard means the day after the last one.' },
];

export const userRoles: Field = {
  name: 'roles', type: 'items', column: 'roles', file: rolesFile.name, only: 'v1p2', required: 'v1p2', items, otherwise: spreadRole,
  about: 'What the person is, at each organisation; only roles of the kinds that the caller may see.',
};
