// In charge of the roles or profiles that somebody has once a package is taken: those of its rows, and what stays of those that the roster has.
import type { Item, Status } from '../../../roster/resource.ts';
import { inventId } from '../../invent-roles.ts';
import type { PersonPart } from '../../person-parts.ts';
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

/** An export tells profiles of several people that have one id apart; here they have it still. */
export function restoreProfiles(person: string, had: readonly Item[], rows: readonly ItemRow[]): readonly ItemRow[] {
  if (had.length === 0 || rows.length === 0) return rows;
  const known = new Set(had.map(({ profileId }) => String(profileId)));
  const exported = new Map([...known].flatMap((id) => (known.has(inventId([person, id])) ? [] : [[inventId([person, id]), id] as const])));
  return rows.map((row): ItemRow => {
    const [own, named] = [exported.get(String(row.item.profileId)), exported.get(String(row.item.userProfile))];
    if (own !== undefined) return { ...row, id: own, item: { ...row.item, profileId: own } };
    return named === undefined ? row : { ...row, item: { ...row.item, userProfile: named } };
  });
}
