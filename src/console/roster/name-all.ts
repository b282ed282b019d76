// In charge of the names of everything that a record refers to.
import { nameRecords } from '../../rostering/record-names.ts';
import type { ConsoleParts } from '../visit.ts';
import { keyOf, listReferences, type Names } from './show-value.ts';

/** What is referred to, by name: one statement for each collection. */
export async function nameAll({ db }: ConsoleParts, estab: string, record: Readonly<Record<string, unknown>>): Promise<Names> {
  const names = new Map();
  for (const [collection, all] of Map.groupBy(listReferences(record), (one) => one.collection)) {
    const found = await nameRecords(db, estab, collection, all.map((one) => one.sourcedId));
    for (const [id, named] of found) names.set(keyOf(collection, id), named);
  }
  return names;
}
