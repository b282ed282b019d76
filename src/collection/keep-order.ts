// In charge of the order in which somebody has roles and profiles: it says nothing, so that whoever comes with the same ones in another
// order is as they were, and what 1.1 shows of them does not change with it.
import type { Item, Value } from '../roster/resource.ts';
import { mainRole, orgsOfRoles } from '../roster/resources/user-role.ts';
import { personAt as at } from './person-values.ts';
import type { LiveRoster, SourceRow } from './source.ts';

const isSeveral = (value: Value) => value !== undefined && value.length > 1;

/** Of people, whichever source they came from. */
export async function keepOrder(rows: readonly SourceRow[], live: LiveRoster): Promise<readonly SourceRow[]> {
  const asked = rows.filter(({ values }) => isSeveral(values[at.roles]) || isSeveral(values[at.profiles])).map(({ sourcedId }) => sourcedId);
  if (asked.length === 0) return rows;
  const known = await live.lists(asked);
  return rows.map((row) => {
    const before = known.get(row.sourcedId);
    return before ? { ...row, values: reorder(row, before) } : row;
  });
}

type Lists = Readonly<{ roles: readonly Item[]; profiles: readonly Item[] }>;

function reorder({ values: given, lacks }: SourceRow, before: Lists): readonly Value[] {
  const [roles, profiles] = [findSame(given[at.roles], before.roles), findSame(given[at.profiles], before.profiles)];
  if (!roles && !profiles) return given;
  const values = [...given];
  if (profiles) {
    values[at.profiles] = profiles;
    const [first] = profiles.flatMap(({ credentials }) => (credentials ?? []) as readonly Item[]);
    if (lacks?.includes('username') && first?.username !== undefined) values[at.username] = first.username as string;
  }
  if (roles) {
    values[at.roles] = roles;
    values[at.role] = mainRole(roles, values[at.primaryOrg] as string | undefined);
    values[at.orgs] = orgsOfRoles(roles);
  }
  return values;
}

/** The given ones in the order of those before, if they are the same in another one; ids in files do not count. */
function findSame(given: Value, before: readonly Item[]): Item[] | undefined {
  const items = (given ?? []) as readonly Item[];
  if (items.length < 2 || items.length !== before.length || isEqual(items, before)) return undefined;
  const left = Map.groupBy(items.toReversed(), keyOf);
  const same = before.map((item) => left.get(keyOf(item))?.pop()).filter((item) => item !== undefined);
  return same.length === items.length ? same : undefined;
}

/** Most are, and to make keys of them would take ten times as long. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return one === other;
  const [left, right] = [one, other] as Record<string, unknown>[];
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) => name === 'id' || isEqual(left?.[name], right?.[name]));
}

function keyOf(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(keyOf));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([name, one]) => name !== 'id' && one !== undefined);
  return JSON.stringify(entries.map(([name, one]) => [name, keyOf(one)]).toSorted());
}
