// In charge of what only 1.2 says of people whom a delta of 1.1 changes: that edition cannot say it, and what a delta does not say stays.
import { collections } from '../../../roster/collections.ts';
import type { Value } from '../../../roster/resource.ts';
import { personAt as at } from '../../person-values.ts';
import type { LivePerson, LiveRoster, SourceBatch } from '../../source.ts';

const { fields } = collections.users;
const second = fields.flatMap(({ name, only }, position) => (only === 'v1p2' ? [{ name, position }] : []));
/** They say in other words what 1.1 says as well. */
const restated = ['roles', 'primaryOrg'];

export async function* keepSecond(batches: AsyncIterable<SourceBatch>, live: LiveRoster): AsyncGenerator<SourceBatch> {
  for await (const batch of batches) {
    const known = batch.rows.length > 0 ? await live.people(batch.rows.map(({ sourcedId }) => sourcedId)) : undefined;
    const rows = batch.rows.map((row) => {
      const before = known?.get(row.sourcedId);
      return before ? { ...row, values: complete(row.values, before) } : row;
    });
    yield { ...batch, rows };
  }
}

function complete(given: readonly Value[], { values: before }: LivePerson): Value[] {
  const values = [...given];
  const same = given[at.role] === before[at.role] && isSame(given[at.orgs], before[at.orgs]);
  // In the order of the roles, which stay.
  if (same && before[at.roles] !== undefined) values[at.orgs] = before[at.orgs];
  for (const { name, position } of second) if (same || !restated.includes(name)) values[position] = before[position];
  const primary = before[at.primaryOrg];
  if (((given[at.orgs] ?? []) as readonly Value[]).includes(primary)) values[at.primaryOrg] = primary;
  return values;
}

function isSame(one: Value, other: Value): boolean {
  const [given, before] = [new Set((one ?? []) as readonly string[]), new Set((other ?? []) as readonly string[])];
  return given.size === before.size && [...given].every((id) => before.has(id));
}
