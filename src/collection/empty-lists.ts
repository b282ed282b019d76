// Whole lists without rows. An empty list deletes all records of its collection once a person has approved that. Other lists of the same source
// may still refer to these records. The import would be refused for that, and nobody would be asked, so they are part of the same loss:
//
// 1. A list is emptied if it is a bulk list without rows and the roster has active records of it; in a first import, also if it is users.
// 2. A list whose rows cannot be without a record of an emptied list is emptied too: its staged rows are deleted, and it counts as bulk.
// 3. Rows that merely may refer to an emptied list, and do, are deleted from the stage.
//
// Staged rows of every source have the references that 1.1 requires: the CSV files of 1.2 require them too, users of 1.2 get their organisations from
// their roles, and a course of a provider of 1.2 that names no organisation gets a school.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { isRequired, type Resource } from '../roster/resource.ts';
import type { Reading } from './reading.ts';
import type { SpooledRoster } from './read-source.ts';
import type { Mode } from './source.ts';
import { stageTable } from './stage.ts';
import { NotAsBefore } from './taken.ts';
import { referencesOf } from './verify.ts';

/** To be called before references are checked. Changes `modes`. Returns whether rows of the source were left out. */
export async function applyEmptyLists(
  tx: Tx,
  { estab, number }: Reading,
  spooled: SpooledRoster,
  modes: Map<Resource, Mode>,
  first: boolean,
): Promise<boolean> {
  const emptied = new Set<Resource>();
  for (const { resource, empty } of spooled.collections) {
    if (!empty) continue;
    const [lost] = await tx`select from ${tx(resource.table)} where estab = ${estab} and status = 'active' limit 1`;
    if (lost || (first && resource === collections.users)) emptied.add(resource);
  }
  // Unchanged rows that refer to an emptied list were not staged.
  if (emptied.size > 0 && spooled.relies) throw new NotAsBefore();
  let left = 0;
  // References lead to collections that come earlier.
  for (const { resource, field } of referencesOf(modes)) {
    if (emptied.has(resource) || !emptied.has(collections[field.to ?? 'users'])) continue;
    const required = isRequired(field, 'v1p1');
    const refers = required ? tx`` : field.type === 'refs' ? tx`and cardinality(${tx(field.column)}) > 0` : tx`and ${tx(field.column)} is not null`;
    left += (await tx`delete from ${tx(stageTable(resource))} where estab = ${estab} and reading = ${number} ${refers}`).count;
    if (!required) continue;
    emptied.add(resource);
    modes.set(resource, 'bulk');
  }
  return left > 0;
}
