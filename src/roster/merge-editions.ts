// In charge of a record with everything that any edition of OneRoster shows of it, for people.
import type { Edition, Resource } from './resource.ts';

/** With what only 1.2 can say behind what 1.1 has. */
export function mergeEditions(resource: Resource, stored: Readonly<Record<Edition, string>>, finish: (stored: string) => string): Record<string, unknown> {
  const parse = (edition: Edition) => JSON.parse(finish(stored[edition])) as Record<string, unknown>;
  const [record, further] = [parse('v1p1'), parse('v1p2')];
  for (const { name, only } of resource.fields) if (only === 'v1p2' && further[name] !== undefined) record[name] = further[name];
  return record;
}
