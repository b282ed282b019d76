// Whole lists without rows. An empty list deletes all records of its collection once a person has approved that. Other lists of the same source
// may still refer to these records. The import would be refused for that, and nobody would be asked, so they are part of the same loss:
//
// 1. A list is emptied if it is a bulk list (it replaces its whole collection) without rows, and the roster has active records of that collection.
//    In a first import, an empty list of users counts as emptied as well.
// 2. If every row of a list must refer to a record of an emptied list, the list is emptied too: its staged rows are deleted, and it counts as bulk.
// 3. If the reference is optional, only the rows that have it are deleted from the staging table.
//
// Rule 2 goes by the references that OneRoster 1.1 requires, because staged rows of every source have them: the CSV files of OneRoster 1.2 require
// them as well, users of 1.2 get their organisations from their roles, and a course of a 1.2 provider without an organisation gets a school.
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
