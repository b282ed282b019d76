// In charge of the rules that no single row can show: sourcedIds are unique, and every reference is to a record that
// will be there. Checked in sets, over everything that was staged.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Field, Resource } from '../roster/resource.ts';
import { listedProblems, type Problem, type Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import type { Mode } from './source.ts';
import { staged, stagedRejected, stageTable } from './stage.ts';

export type Modes = ReadonlyMap<Resource, Mode>;

/** Removes what breaks a rule from the stage, with a problem for each. */
export async function verifyStage(tx: Tx, reading: Reading, modes: Modes, problems: Problems): Promise<void> {
  for (const resource of modes.keys()) await rejectDuplicates(tx, reading, resource, problems);
  // A rejected row may be what another refers to, so this goes round until nothing more falls.
  for (let fell = 1; fell > 0; ) {
    fell = 0;
    for (const resource of allResources.filter((one) => modes.has(one))) {
      for (const field of [...resource.fields, ...ownPerson(resource)]) {
        if (field.csv !== undefined && field.to !== undefined) fell += await rejectUnknown(tx, reading, modes, resource, field, problems);
      }
    }
  }
}

/** A demographics record refers to its user by its own sourcedId. */
function ownPerson({ personColumn }: Resource): Field[] {
  return personColumn === 'sourced_id' ? [{ name: 'sourcedId', type: 'ref', column: personColumn, csv: 'sourcedId', to: 'users' }] : [];
}

async function rejectDuplicates(tx: Tx, reading: Reading, resource: Resource, problems: Problems): Promise<void> {
  const rows = staged(tx, resource, reading);
  const [twice] = await tx`select from ${rows} s group by sourced_id having count(*) > 1 limit 1`;
  if (!twice) return;
  await reject(tx, reading, resource, problems, {
    faulty: tx`select s.line, min(d.line)::text as about from ${rows} s join ${rows} d on d.sourced_id = s.sourced_id and d.line < s.line group by s.line`,
    describe: ({ line, sourcedId, about }) => ({
      file: resource.file,
      line,
      column: 'sourcedId',
      value: sourcedId,
      rule: `must be unique; line ${about} has it already`,
    }),
  });
}

async function rejectUnknown(tx: Tx, reading: Reading, modes: Modes, resource: Resource, field: Field, problems: Problems): Promise<number> {
  const target = collections[field.to ?? 'users'];
  const column = tx(field.column);
  // A bulk file replaces its collection, so what is only in the old roster is about to go; unless its new row was rejected.
  const staysAnyway =
    modes.get(target) === 'bulk'
      ? tx`(w.status = 'tobedeleted' or exists (select from ${stagedRejected(tx, reading)} r where r.collection = ${target.collection}
        and r.sourced_id = w.id))`
      : tx`true`;
  const rows = staged(tx, resource, reading);
  // Nobody knows how many are staged: as a lateral join, a list would be looked through once for every row.
  const wanted =
    field.type === 'refs'
      ? tx`with wanted as materialized (select s.line, s.status, unnest(s.${column}) as id from ${rows} s)`
      : tx`with wanted as not materialized (select s.line, s.status, s.${column} as id from ${rows} s where s.${column} is not null)`;
  const where = modes.has(target) ? target.file : `the roster (${target.file} is not in this import)`;
  return reject(tx, reading, resource, problems, {
    faulty: tx`
      ${wanted} select distinct on (w.line) w.line, w.id as about from wanted w
      where not exists (select from ${staged(tx, target, reading)} k where k.sourced_id = w.id)
        and not exists (select from ${tx(target.table)} l where l.estab = ${reading.estab} and l.sourced_id = w.id and ${staysAnyway})
      order by w.line, w.id`,
    describe: ({ line, about }) => ({ file: resource.file, line, column: field.csv ?? null, value: about, rule: `there is no such record in ${where}` }),
  });
}

type Fallen = { line: number; sourcedId: string; about: string };

/** Takes the faulty lines out of the stage. However many they are, only so many as a report lists come here. */
async function reject(
  tx: Tx,
  reading: Reading,
  resource: Resource,
  problems: Problems,
  { faulty, describe }: { faulty: Fragment; describe: (row: Fallen) => Problem },
): Promise<number> {
  const rows = await tx<(Fallen & { total: number })[]>`
    with faulty as materialized (${faulty}), fallen as (
      delete from ${tx(stageTable(resource))} s using faulty f where s.estab = ${reading.estab} and s.reading = ${reading.number} and s.line = f.line
      returning s.line, s.sourced_id, f.about
    ), noted as (
      insert into stage_rejected (estab, reading, collection, line, sourced_id)
      select ${reading.estab}, ${reading.number}, ${resource.collection}, line, sourced_id from fallen
    )
    select line, sourced_id as "sourcedId", about, (count(*) over ())::int as total from fallen order by line limit ${listedProblems}`;
  for (const row of rows) problems.add(describe(row));
  const total = rows[0]?.total ?? 0;
  problems.count(total - rows.length);
  return total;
}
