// In charge of the roles or profiles that somebody has once a package is taken: those of its rows, and what stays of those that the roster has.
import type { Item, Status } from '../../../roster/resource.ts';
import { tellApart } from '../../invent-roles.ts';
import { profileParts, roleParts, type PersonPart } from '../../person-parts.ts';
import type { Mode } from '../../source.ts';
import type { ItemRow } from './person-files.ts';

/** row: where the package has it; what only the roster has came with none. */
export type Held = Readonly<{ item: Item; row?: ItemRow }>;

/** before: how the roster has the person. */
type Standing = Readonly<{ mode: Mode; status: Status; before: Status | undefined }>;

/** What of the former ones stays, as far as rows do not say otherwise. In a bulk package nothing, but of somebody who leaves it is all that is known. */
export function staysOf(had: readonly Item[], rows: readonly ItemRow[], { mode, status, before }: Standing): readonly Item[] {
  if (mode === 'bulk') return status === 'active' || rows.length > 0 ? [] : had;
  // Who left kept the last ones; who returns has those that they return with.
  const returns = before === 'tobedeleted' && status === 'active' && rows.some((row) => row.status === 'active');
  return returns ? [] : had;
}

/** What rows mark as deleted goes; the last that somebody had who leaves stays. By key, since a file may have a hundred thousand of one person. */
export function collectItems(before: readonly Item[], rows: readonly ItemRow[], { key }: PersonPart, status: Status): Held[] {
  const held = new Map<unknown, Held>(before.map((item) => [item[key], { item }]));
  for (const row of rows) {
    const had = held.get(row.id)?.item;
    // An id is of one person alone; who left has still been what they were.
    if (row.moved && status === 'tobedeleted' && had?.id !== undefined) held.set(row.id, { item: { ...had, id: undefined } });
    else if (row.moved) held.delete(row.id);
    else if (row.status === 'tobedeleted' && status === 'active') held.delete(row.id);
    else held.set(row.id, { item: row.item, row });
  }
  return [...held.values()];
}

/** Ids of what the roster has of somebody. */
type HadIds = Readonly<{ roles: readonly string[]; profiles: readonly string[] }>;

/** An export tells apart what several people have by one id; here they have it still. */
export function restoreIds(person: string, had: HadIds, rows: readonly ItemRow[]): readonly ItemRow[] {
  const roles = findApart(person, had.roles, ofPart(rows, roleParts).map(({ id }) => id));
  const profiles = findApart(person, had.profiles, [
    ...ofPart(rows, profileParts).map(({ id }) => id),
    ...rows.flatMap(({ item }) => (item.userProfile === undefined ? [] : [String(item.userProfile)])),
  ]);
  if (roles.size === 0 && profiles.size === 0) return rows;
  return rows.map((row): ItemRow => {
    const [{ key }, apart] = row.file === roleParts.file ? [roleParts, roles] : [profileParts, profiles];
    const [id, userProfile] = [apart.get(row.id), profiles.get(String(row.item.userProfile))];
    if (id === undefined && userProfile === undefined) return row;
    return { ...row, id: id ?? row.id, item: { ...row.item, ...(id !== undefined && { [key]: id }), ...(userProfile !== undefined && { userProfile }) } };
  });
}

const ofPart = (rows: readonly ItemRow[], { file }: PersonPart) => rows.filter((row) => row.file === file);

/** By what an export calls them. What is given by its own id is not called otherwise in the same package. */
function findApart(person: string, had: readonly string[], given: readonly string[]): ReadonlyMap<string, string> {
  const [known, named] = [new Set(had), new Set(given)];
  if (given.every((id) => known.has(id))) return new Map();
  const ids = [...known];
  return new Map(tellApart(person, ids).flatMap((apart, at) => (ids[at] === undefined || named.has(ids[at]) ? [] : [[apart, ids[at]]])));
}
