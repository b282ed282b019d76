// Maps scopes to the kinds of records that they open in each collection.
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { visibleDemographics, visiblePeople } from './scopes.ts';

/** Returns the kinds of a collection that the scopes open; none if the collection is hidden. */
export function openedKinds(collection: CollectionName, scopes: readonly string[]): readonly string[] {
  if (collection === 'demographics') return visibleDemographics(scopes);
  if (collection === 'users' || collection === 'enrollments') return visiblePeople(scopes);
  return scopes.includes('School') ? collections[collection].kinds : [];
}
