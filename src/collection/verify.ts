// In charge of the rules that no single row can show: sourcedIds are unique, and every reference is to a record that
// will be there. Checked in sets, over everything that was staged.
import type { Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Field, Resource } from '../roster/resource.ts';
import { listedProblems, type Problems } from './problem.ts';
import type { Mode } from './source.ts';
import { stageTable } from './stage.ts';

export type Modes = ReadonlyMap<Resource, Mode>;

/** Removes what breaks a rule from the stage, with a problem for each; gives how many rows that were. */
export async function verifyStage(tx: Tx, estab: string, modes: Modes, problems: Problems): Promise<number> {
  let rejected = 0;
  for (const resource of modes.keys()) rejected += await rejectDuplicates(tx, resource, problems);
  // A rejected row may be what another refers to, so this goes round until nothing more falls.
  for (let fell = 1; fell > 0; ) {
    fell = 0;
    for (const resource of allResources.filter((one) => modes.has(one))) {
      for (const field of [...resource.fields, ...ownPerson(resource)]) {
        if (field.csv !== undefined && field.to !== undefined) fell += await rejectUnknown(tx, estab, modes, resource, field, problems);
      }
    }
    rejected += fell;
  }
  return rejected;
}

/** A demographics record refers to its user by its own sourcedId. */
function ownPerson({ personColumn }: Resource): Field[] {
  return personColumn === 'sourced_id' ? [{ name: 'sourcedId', type: 'ref', column: personColumn, csv: 'sourcedId', to: 'users' }] : [];
}

async function rejectDuplicates(tx: Tx, resource: Resource, problems: Problems): Promise<number> {
  const stage = tx(stageTable(resource));
  const [twice] = await tx`select from ${stage} group by sourced_id having count(*) > 1 limit 1`;
  if (!twice) return 0;
  const rows = await tx<{ line: number; sourcedId: string; first: number }[]>`
    delete from ${stage} s using (select sourced_id, min(line) as first from ${stage} group by sourced_id having count(*) > 1) d
    where s.sourced_id = d.sourced_id and s.line > d.first
    returning s.line, s.sourced_id as "sourcedId", d.first`;
  return reject(tx, resource, rows, problems, ({ line, sourcedId, first }) => ({
    file: resource.file,
    line,
    column: 'sourcedId',
    value: sourcedId,
    rule: `must be unique; line ${first} has it already`,
  }));
}

async function rejectUnknown(tx: Tx, estab: string, modes: Modes, resource: Resource, field: Field, problems: Problems): Promise<number> {
  const target = collections[field.to ?? 'users'];
  const stage = tx(stageTable(resource));
  const column = tx(field.column);
  // A bulk file replaces its collection, so what is only in the old roster is about to go; unless its new row was rejected.
  const staysAnyway = modes.get(target) === 'bulk'
    ? tx`(s.status = 'tobedeleted' or exists (select from stage_rejected r where r.collection = ${target.collection} and r.sourced_id = w.id))`
    : tx`true`;
  const wanted = field.type === 'refs' ? tx`unnest(s.${column})` : tx`(select s.${column} where s.${column} is not null)`;
  const rows = await tx<{ line: number; sourcedId: string; id: string }[]>`
    delete from ${stage} using (
      select distinct on (s.line) s.line, w.id from ${stage} s cross join lateral ${wanted} as w(id)
      where not exists (select from ${tx(stageTable(target))} k where k.sourced_id = w.id)
        and not exists (select from ${tx(target.table)} l where l.estab = ${estab} and l.sourced_id = w.id and ${staysAnyway})
      order by s.line, w.id) unknown
    where ${stage}.line = unknown.line
    returning ${stage}.line, ${stage}.sourced_id as "sourcedId", unknown.id`;
  const where = modes.has(target) ? target.file : `the roster (${target.file} is not in this import)`;
  return reject(tx, resource, rows, problems, ({ line, id }) => ({
    file: resource.file,
    line,
    column: field.csv ?? null,
    value: id,
    rule: `there is no such record in ${where}`,
  }));
}

async function reject<Row extends { line: number; sourcedId: string }>(
  tx: Tx,
  resource: Resource,
  rows: readonly Row[],
  problems: Problems,
  describe: (row: Row) => Parameters<Problems['add']>[0],
): Promise<number> {
  const sorted = rows.toSorted((a, b) => a.line - b.line);
  for (const row of sorted.slice(0, listedProblems)) problems.add(describe(row));
  problems.count(Math.max(0, sorted.length - listedProblems));
  for (let at = 0; at < sorted.length; at += 10_000) {
    const part = sorted.slice(at, at + 10_000);
    await tx`insert into stage_rejected select ${resource.collection}, line, sourced_id
      from unnest(${part.map((row) => row.line)}::int[], ${part.map((row) => row.sourcedId)}::text[]) as given (line, sourced_id)`;
  }
  return rows.length;
}
