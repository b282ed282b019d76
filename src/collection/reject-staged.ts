// In charge of staged rows that were noted as rejected: their faults are kept and told, what the package gives to people among them is noted as
// lost, and they leave the stage. Each step is a statement of its own about what the one before it noted: where the database is spread, what
// one part of a statement hands to the next goes to every node, so that the import of a school would need them all.
import type { Fragment, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { joinByHash } from '../db/join-by-hash.ts';
import { personParts } from './person-parts.ts';
import { placeInSql, placeOf } from './place.ts';
import { keptFaults, listedProblems, type Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import { staged, stagedRejected, stageTable } from './stage.ts';

const fewRejected = 1_000;

/** Of which collection the rows are, as they were noted; the file that they stand in, and its column that is wrong. */
type Of = Readonly<{ collection: string; file: string; column: string | null }>;

/**
 * Those with the numbers behind the problems that are known so far. However many they are, only so many as a report lists come here. A line
 * alone may be of two people: who is given a role, and who had it.
 */
export async function tellRejected(tx: Tx, reading: Reading, { collection, file, column }: Of, problems: Problems): Promise<void> {
  const own = tx`r.collection = ${collection} and r.fault > ${problems.total} and not r.dependent`;
  const place = placeInSql(tx, tx`r.line`, file);
  // Who was changed by a file beside it has no row there that the column could be of.
  await tx`
    insert into stage_fault (estab, reading, number, file, line, column_name, value, rule)
    select r.estab, r.reading, r.fault, ${place.file}, ${place.line}, case when r.line >= 0 then ${column}::text end, r.about, r.rule
    from ${stagedRejected(tx, reading)} r where ${own} and r.fault <= ${keptFaults}`;
  const rows = await tx<{ line: number; about: string; rule: string; total: number }[]>`
    select r.line, r.about, r.rule, (count(*) over ())::int as total from ${stagedRejected(tx, reading)} r where ${own}
    order by r.fault limit ${listedProblems}`;
  for (const { line, about, rule } of rows) problems.add({ ...placeOf(line, file), column: line < 0 ? null : column, value: about, rule });
  const [first] = rows;
  if (first) problems.count(first.total - rows.length, { file, line: null, column, value: null, rule: first.rule });
}

type Fallen = Readonly<{ count: number; which: Fragment; givesParts?: boolean }>;

/** which: of the rows r that were rejected. What they give to others falls with them, unless somebody else has it. */
export async function takeOutRejected(tx: Tx, reading: Reading, resource: Resource, { count, which, givesParts = true }: Fallen): Promise<void> {
  const { estab, number } = reading;
  if (count > fewRejected) await joinByHash(tx);
  const fallen = tx`r.collection = ${resource.collection} and r.line = s.line and r.sourced_id = s.sourced_id and ${which}`;
  for (const { file, column, key } of givesParts && resource === collections.users ? personParts : [])
    await tx`
      insert into stage_rejected (estab, reading, collection, line, sourced_id, fault, dependent)
      select s.estab, s.reading, ${file}, s.line, i.item ->> ${key}::text, r.fault, false
      from ${staged(tx, resource, reading)} s join ${stagedRejected(tx, reading)} r on ${fallen}
        cross join lateral jsonb_array_elements(s.${tx(column)}) i (item)
      where i.item ->> ${key}::text is not null`;
  await tx`
    delete from ${tx(stageTable(resource))} s using ${stagedRejected(tx, reading)} r
    where s.estab = ${estab} and s.reading = ${number} and ${fallen}`;
}
