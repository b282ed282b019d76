// In charge of one person of a 1.2 package: the row of users.csv with the roles and profiles of the other two files, and in a delta
// package with those that the roster has already. Whoever does not come out whole is rejected, with a problem that says where and why.
import { collections } from '../../../roster/collections.ts';
import type { Item, Value } from '../../../roster/resource.ts';
import { profilesFile } from '../../../roster/resources/user-profile.ts';
import { mainRole, orgsOfRoles, rolesFile } from '../../../roster/resources/user-role.ts';
import { inventRoles, nameRoles } from '../../invent-roles.ts';
import { personAt as at } from '../../person-values.ts';
import { numberOfPlace, placeOf } from '../../place.ts';
import { noSuchRecord, type Problem } from '../../problem.ts';
import type { LivePerson, Mode, RejectedRow, SourceBatch, SourceRow } from '../../source.ts';
import { collectItems, restoreIds, staysOf, type Held } from './collect-items.ts';
import { personColumn, profileRows, roleRows, type ItemRow } from './person-files.ts';

/** All that a package says of somebody. broken: their faulty rows of the other two files. rejected: those of users.csv. */
export type GivenPerson = { id: string; rows: SourceRow[]; rejected: RejectedRow[]; items: ItemRow[]; broken: RejectedRow[] };

/**
 * What there is beside the person: `findOrg` gives the type of an organisation that is or will be there; `had` are the profiles that the
 * roster has, where a bulk package does not say any.
 */
export type Beside = Readonly<{
  mode: Mode;
  saysProfiles: boolean;
  hasUsers: boolean;
  hasOrgs: boolean;
  live: LivePerson | undefined;
  had: readonly Item[] | undefined;
  findOrg(id: string, status: SourceRow['status']): Readonly<{ type: string | undefined }> | undefined;
}>;

const { file: usersFile } = collections.users;

/** Where the roster has somebody. */
export const orgsOf = (live: LivePerson | undefined): readonly string[] => (live?.values[at.orgs] ?? []) as readonly string[];

const profilesIn = (live: LivePerson | undefined) => (live?.values[at.profiles] ?? []) as readonly Item[];

const rolesIn = (live: LivePerson | undefined) => (live?.values[at.roles] ?? []) as readonly Item[];

const idsIn = (id: string, live: LivePerson | undefined) => ({
  roles: nameRoles(id, rolesIn(live)).map((role) => role.id),
  profiles: profilesIn(live).map(({ profileId }) => String(profileId)),
});

/** fail: gives the number of the problem. */
export function joinPerson(read: GivenPerson, beside: Beside, fail: (problem: Problem) => number): SourceBatch {
  const { id, rows } = read;
  const items = beside.mode === 'bulk' || read.items.length === 0 ? read.items : restoreIds(id, idsIn(id, beside.live), read.items);
  const given = { ...read, items: [...items], known: beside.live !== undefined };
  const [first] = [...given.broken, ...given.rejected];
  if (first) return rejectAll(given, first.fault);
  const status = rows[0]?.status ?? (beside.mode === 'delta' ? beside.live?.status : undefined);
  const line = rows[0]?.line ?? placeOfItems(items);
  if (status === undefined) {
    const rule = noSuchRecord(usersFile, beside.hasUsers);
    return rejectAll(given, items.map((row) => fail({ ...placeIn(row), column: personColumn, value: id, rule }))[0]);
  }
  const profiles = collectProfiles(given, beside, status);
  const profileIds = new Set(profiles.map(({ item }) => item.profileId));
  const collected = collectRoles(given, beside, status);
  const roles = status === 'active' ? collected : collected?.map((held) => withoutLost(held, profileIds));
  if (roles?.length === 0) {
    // Who leaves without ever having been there is passed over.
    if (status === 'tobedeleted') return rejectAll(given);
    const none = beside.mode === 'delta' ? 'none would be left of this person' : noneIn(ofFile(items, rolesFile.name));
    return rejectAll(given, fail({ ...placeOf(line, usersFile), column: null, value: id, rule: `must have a role: ${none}` }));
  }
  const faults = (roles ?? []).flatMap((held) => findFaults(held, profileIds, beside, { status, line })).map(fail);
  if (faults.length > 0) return rejectAll(given, faults[0]);

  const own = { roles: roles?.map(({ item }) => item), profiles: profiles.map(({ item }) => item) };
  const whole = rows.map((row): SourceRow => ({ ...row, values: complete(row.values, own, beside.live) }));
  if (rows.length > 0 || !beside.live) return { rows: whole, rejected: [] };
  const { values, metadata, lacks } = beside.live;
  return { rows: [{ line, sourcedId: id, status, values: complete(values, own, beside.live), metadata, ...(lacks && { lacks }) }], rejected: [] };
}

const noneIn = (rows: readonly ItemRow[]) =>
  rows.length === 0 ? `no row of ${rolesFile.name} is of this person` : `all of this person in ${rolesFile.name} are tobedeleted`;

const ofFile = (items: readonly ItemRow[], file: string) => items.filter((row) => row.file === file);

/** Where somebody is told to stand who has no row in users.csv: the first of roles.csv, else of userProfiles.csv. */
function placeOfItems(items: readonly ItemRow[]): number {
  const first = ofFile(items, rolesFile.name)[0] ?? items[0];
  return first ? numberOfPlace(first) : 0;
}

/** With what rows would have given to the person: whoever has it must not lose it. known: to the roster. */
function rejectAll({ id, rows, rejected, items, broken, known }: GivenPerson & { known: boolean }, fault = 0): SourceBatch {
  const given = items.filter(({ moved, status }) => !moved && status === 'active');
  const parts = [...given.map(({ file, id: part }) => ({ file, id: part })), ...broken.flatMap((row) => row.parts ?? [])];
  const [first, ...others] = [...rejected, ...rows.map(({ line, sourcedId }): RejectedRow => ({ line, sourcedId, fault }))];
  const beside: RejectedRow = { line: broken[0]?.line ?? placeOfItems(items), sourcedId: id, fault, ofNobody: !known };
  return { rows: [], rejected: [{ ...(first ?? beside), parts }, ...others] };
}

function collectProfiles({ items }: GivenPerson, { mode, saysProfiles, live, had: unsaid }: Beside, status: SourceRow['status']): Held[] {
  if (mode === 'bulk' && !saysProfiles) return (unsaid ?? []).map((item) => ({ item }));
  const own = ofFile(items, profilesFile.name);
  return collectItems(staysOf(profilesIn(live), own, { mode, status, before: live?.status }), own, profileRows.part, status);
}

/** Undefined: they are as a source of 1.1 had them, and no row says otherwise. */
function collectRoles({ id, items }: GivenPerson, { mode, live, findOrg }: Beside, status: SourceRow['status']): Held[] | undefined {
  const own = ofFile(items, rolesFile.name);
  const spread = live !== undefined && live.values[at.roles] === undefined;
  if (spread && own.length === 0 && (mode === 'delta' || status === 'tobedeleted')) return undefined;
  // A row takes the place of the role at the same organisation: that one has no id which its sender could know.
  const named = new Set(own.map(({ item }) => item.org));
  const had = spread
    ? inventRoles(id, String(live.values[at.role]), orgsOf(live).filter((org) => !named.has(org)), (org) => findOrg(org, status)?.type)
    : nameRoles(id, rolesIn(live));
  return collectItems(staysOf(had, own, { mode, status, before: live?.status }), own, roleRows.part, status);
}

/** The account of somebody who leaves may have gone to another person. */
function withoutLost(held: Held, profiles: ReadonlySet<unknown>): Held {
  return held.row || profiles.has(held.item.userProfile) ? held : { item: { ...held.item, userProfile: undefined } };
}

type Standing = Readonly<{ status: SourceRow['status']; line: number }>;

function findFaults({ item, row }: Held, profiles: ReadonlySet<unknown>, beside: Beside, { status, line }: Standing): Problem[] {
  const { mode, saysProfiles, hasOrgs, findOrg } = beside;
  const faults: Problem[] = [];
  const found = (column: string, value: string, rule: string) =>
    faults.push(row ? { ...placeIn(row), column, value, rule } : { ...placeOf(line, usersFile), column: null, value, rule: `a role is there: ${rule}` });
  const [org, profile] = [String(item.org), item.userProfile];
  if (!findOrg(org, status)) found('orgSourcedId', org, noSuchRecord(collections.orgs.file, hasOrgs));
  if (profile !== undefined && !profiles.has(profile)) {
    const where = mode === 'bulk' && saysProfiles ? profilesFile.name : `${profilesFile.name} or the roster`;
    found('userProfileSourcedId', String(profile), `must be a profile of the same person: there is none in ${where}`);
  }
  return faults;
}

const placeIn = ({ file, line }: ItemRow) => ({ file, line });

/** What 1.1 shows follows from the roles. */
function complete(values: readonly Value[], { roles, profiles }: { roles: Item[] | undefined; profiles: Item[] }, live: LivePerson | undefined): Value[] {
  const completed = values.map((value) => value ?? undefined);
  completed[at.profiles] = profiles.length > 0 ? profiles : undefined;
  completed[at.roles] = roles;
  completed[at.role] = roles ? mainRole(roles, completed[at.primaryOrg] as string | undefined) : live?.values[at.role];
  completed[at.orgs] = roles ? orgsOfRoles(roles) : live?.values[at.orgs];
  return completed;
}
