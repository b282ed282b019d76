// In charge of the faults of an import, all of them: on their way through the spool and the stage, and kept with its
// report for whoever puts them right.
import type { Db, Tx } from '../db/connect.ts';
import { encodeFault } from './encode-row.ts';
import { keptFaults, listedProblems, type FaultSink, type Problem, type Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import type { SpoolFile } from './spool.ts';
import { stagedFaults, stagedRejected } from './stage.ts';

/** Of so many imports of a school; reports last longer. */
export const shownImports = 20;

export function spoolFaults(reading: Reading, file: SpoolFile): FaultSink {
  return { encode: (number, problem) => encodeFault(reading, number, problem), write: (lines) => file.write(lines) };
}

/** What falls with each, once all that falls is known. */
export async function countDependants(tx: Tx, reading: Reading, problems: Problems): Promise<void> {
  const rows = await tx<{ number: number; file: string; column: string | null; rule: string; count: number }[]>`
    select f.number, f.file, f.column_name as column, f.rule, d.count
    from ${stagedFaults(tx, reading)} f join (${dependants(tx, reading)}) d on d.fault = f.number order by f.number limit ${keptFaults}`;
  for (const { number, count, ...kind } of rows) {
    const group = problems.groupOf(kind);
    if (group) group.dependants += count;
    const listed = number <= listedProblems ? problems.listed[number - 1] : undefined;
    if (listed) listed.dependants = count;
  }
}

function dependants(tx: Tx, reading: Reading) {
  return tx`
    select r.fault, count(distinct (r.collection, r.line, r.sourced_id))::int as count
    from ${stagedRejected(tx, reading)} r where r.dependent group by r.fault`;
}

/** With the report, which has to be there; those of imports that are no longer shown go. */
export async function keepFaults(tx: Tx, reading: Reading, run: string): Promise<void> {
  const { estab } = reading;
  await tx`
    insert into import_fault (estab, import, number, file, line, column_name, value, rule, dependants)
    select f.estab, ${run}, f.number, f.file, f.line, f.column_name, f.value, f.rule, coalesce(d.count, 0)
    from ${stagedFaults(tx, reading)} f left join (${dependants(tx, reading)}) d on d.fault = f.number where f.number <= ${keptFaults}`;
  await tx`
    delete from import_fault where estab = ${estab} and import in (
      select id from import_run where estab = ${estab} order by finished_at desc, id offset ${shownImports})`;
}

/** Returns the faults of an import in their order. Those of an older import are deleted; its report keeps the first of them (`listed`). */
export async function* readFaults(db: Db, estab: string, run: string, listed: readonly Problem[] = []): AsyncGenerator<Problem> {
  const atOnce = 1000;
  for (let after = 0; ; ) {
    const rows = await db<(Required<Problem> & { number: number })[]>`
      select number, file, line, column_name as column, value, rule, dependants from import_fault
      where estab = ${estab} and import = ${run} and number > ${after} order by number limit ${atOnce}`;
    if (after === 0 && rows.length === 0) yield* listed;
    for (const { number: _, ...fault } of rows) yield fault;
    after = rows.at(-1)?.number ?? after;
    if (rows.length < atOnce) return;
  }
}
