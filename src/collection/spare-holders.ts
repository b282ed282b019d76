// In charge of those who would lose a role or a profile only because its row was left out: in a bulk package, whatever is not there is gone.
// They are left as they were.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { personParts } from './person-parts.ts';
import type { Reading } from './reading.ts';
import { stagedRejected, stageTable } from './stage.ts';

export async function spareHolders(tx: Tx, reading: Reading): Promise<void> {
  const { estab, number } = reading;
  const { collection, table } = collections.users;
  const lost = await tx<{ file: string }[]>`
    select distinct collection as file from ${stagedRejected(tx, reading)} r where collection = any(${personParts.map(({ file }) => file)})`;
  for (const { file, column, key } of personParts) {
    if (!lost.some((one) => one.file === file)) continue;
    await tx`
      with lost as materialized (
        select r.sourced_id as id, min(r.fault) as fault from ${stagedRejected(tx, reading)} r where r.collection = ${file} group by r.sourced_id
      ), holders as materialized (
        select t.sourced_id, min(l.fault) as fault from ${tx(table)} t cross join lateral jsonb_array_elements(t.${tx(column)}) i (item)
          join lost l on l.id = i.item ->> ${key} where t.estab = ${estab} group by t.sourced_id
      ), spared as (
        delete from ${tx(stageTable(collections.users))} s using holders h where s.estab = ${estab} and s.reading = ${number} and s.sourced_id = h.sourced_id
        returning s.line, s.sourced_id, h.fault
      )
      insert into stage_rejected (estab, reading, collection, line, sourced_id, fault, dependent)
      select ${estab}, ${number}, ${collection}, line, sourced_id, fault, true from spared`;
  }
}
