// In charge of who was passed over, having left without ever having been there, and is somebody's agent: whoever names them comes without them.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { renderRecord } from '../roster/record.ts';
import type { Reading } from './reading.ts';
import { staged, stagedRejected, stageTable } from './stage.ts';

type Naming = { line: number; agents: string[] };

const { users } = collections;
/** So many are rewritten at once. */
const peopleAtOnce = 5_000;

export async function leaveOutPassedOver(tx: Tx, reading: Reading): Promise<void> {
  const { estab, number } = reading;
  const passed = tx`
    select r.sourced_id as id from ${stagedRejected(tx, reading)} r where r.collection = ${users.collection} and r.sourced_id is not null
      and not exists (select from ${tx(users.table)} l where l.estab = ${estab} and l.sourced_id = r.sourced_id)
    group by r.sourced_id having max(r.fault) = 0`;
  const [any] = await tx`${passed} limit 1`;
  if (!any) return;
  const rows = await tx<Naming[]>`
    with passed as materialized (${passed}), named as materialized (
      select s.line, a.id, a.at, p.id is not null as passed
      from ${staged(tx, users, reading)} s cross join lateral unnest(s.agent_ids) with ordinality a (id, at) left join passed p on p.id = a.id
    )
    select line, coalesce(array_agg(id order by at) filter (where not passed), '{}') as agents from named group by line having bool_or(passed)`;
  for (let from = 0; from < rows.length; from += peopleAtOnce) {
    const some = rows.slice(from, from + peopleAtOnce);
    await tx`
      update ${tx(stageTable(users))} s set agent_ids = nullif(array(select jsonb_array_elements_text(given.agents::jsonb)), '{}'), late = given.late
      from unnest(${some.map(({ line }) => line)}::int[], ${some.map(({ agents }) => JSON.stringify(agents))}::text[],
        ${some.map(({ agents }) => renderAgents(agents))}::text[]) as given (line, agents, late)
      where s.estab = ${estab} and s.reading = ${number} and s.line = given.line`;
  }
}

/** Nothing else of a person is rendered late. */
function renderAgents(agents: readonly string[]): string {
  const values = users.fields.map(({ name }) => (name === 'agents' && agents.length > 0 ? agents : undefined));
  return renderRecord(users, { sourcedId: '', values, metadata: undefined }).late;
}
