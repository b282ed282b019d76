// In charge of people who are gone and of whom a provider of OneRoster 1.2 no longer says what they were: they keep the roles that the
// roster has of them. Whoever was never there is passed over, with what is about them.
import { collections } from '../../../roster/collections.ts';
import type { Resource } from '../../../roster/resource.ts';
import { personAt } from '../../person-values.ts';
import type { LivePerson, LiveRoster, SourceBatch, SourceRow } from '../../source.ts';

export type CompleteLeavers = (resource: Resource, batch: SourceBatch, live: LiveRoster) => Promise<SourceBatch>;

const places: readonly number[] = [personAt.role, personAt.orgs, personAt.roles];

/** Of one reading, in which people come before what refers to them. */
export function createCompleteLeavers(): CompleteLeavers {
  const strangers = new Set<string>();
  return async (resource, batch, live) => {
    if (resource !== collections.users)
      return strangers.size === 0 ? batch : { ...batch, rows: batch.rows.filter((row) => !strangers.has(personOf(resource, row) ?? '')) };
    const asked = batch.rows.filter(lacksRoles).map(({ sourcedId }) => sourcedId);
    if (asked.length === 0) return batch;
    const known = await live.people(asked);
    const passed = batch.rows.filter((row) => lacksRoles(row) && !known.has(row.sourcedId)).map(({ line, sourcedId }) => ({ line, sourcedId, fault: 0 }));
    for (const { sourcedId } of passed) strangers.add(sourcedId);
    const rows = batch.rows.flatMap((row) => (lacksRoles(row) ? withRolesOf(known.get(row.sourcedId), row) : [row]));
    return { rows, rejected: [...batch.rejected, ...passed] };
  };
}

function lacksRoles({ values }: SourceRow): boolean {
  return values[personAt.role] === undefined;
}

function withRolesOf(known: LivePerson | undefined, row: SourceRow): SourceRow[] {
  return known ? [{ ...row, values: row.values.map((value, at) => (places.includes(at) ? known.values[at] : value)) }] : [];
}

function personOf({ personColumn, fields }: Resource, { sourcedId, values }: SourceRow): string | undefined {
  if (personColumn === undefined) return undefined;
  return personColumn === 'sourced_id' ? sourcedId : (values[fields.findIndex(({ column }) => column === personColumn)] as string | undefined);
}
