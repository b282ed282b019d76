// In charge of those who would lose a role or a profile only because a row of somebody else was left out: what it gives to another is taken
// from whoever has it, and in a bulk package whatever is not there is gone. They are left as they were.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { personParts } from './person-parts.ts';
import type { Reading } from './reading.ts';
import { takeOutRejected } from './reject-staged.ts';
import { staged, stagedRejected } from './stage.ts';

/** Gives how many; since each of them may have been given what others have, it is to be asked again until there are none. */
export async function spareHolders(tx: Tx, reading: Reading): Promise<number> {
  const { estab, number } = reading;
  const { users } = collections;
  const lost = await tx<{ file: string }[]>`
    select distinct collection as file from ${stagedRejected(tx, reading)} r where fault > 0 and collection = any(${personParts.map(({ file }) => file)})`;
  let spared = 0;
  for (const { file, column, key, same } of personParts) {
    if (!lost.some((one) => one.file === file)) continue;
    const [one, other] = same;
    const likeness = tx`jsonb_build_array(i.item -> ${one}::text, i.item -> ${other}::text)`;
    const { count } = await tx`
      with lost as materialized (
        select r.sourced_id as id, min(r.fault) as fault from ${stagedRejected(tx, reading)} r
        where r.collection = ${file} and r.fault > 0 group by r.sourced_id
      ), had as materialized (
        select t.sourced_id, l.id, l.fault, ${likeness} as likeness
        from ${tx(users.table)} t cross join lateral jsonb_array_elements(t.${tx(column)}) i (item) join lost l on l.id = i.item ->> ${key}::text
        where t.estab = ${estab} and t.status = 'active'
      ), has as materialized (
        select s.sourced_id, i.item ->> ${key}::text as id, ${likeness} as likeness
        from ${staged(tx, users, reading)} s cross join lateral jsonb_array_elements(s.${tx(column)}) i (item)
        where s.sourced_id in (select sourced_id from had)
      ), losers as materialized (
        select h.sourced_id, min(h.fault) as fault from had h
        where not exists (select from has k where k.sourced_id = h.sourced_id and k.id = h.id)
          and not exists (select from has k where k.sourced_id = h.sourced_id and k.likeness = h.likeness)
        group by h.sourced_id
      )
      insert into stage_rejected (estab, reading, collection, line, sourced_id, fault, dependent)
      select ${estab}::text, ${number}::int, ${users.collection}, s.line, s.sourced_id, l.fault, true
      from ${staged(tx, users, reading)} s join losers l on l.sourced_id = s.sourced_id where s.status = 'active'`;
    if (count > 0) await takeOutRejected(tx, reading, users, { count, which: tx`r.dependent` });
    spared += count;
  }
  return spared;
}
