// In charge of the rules that no single row can show: sourcedIds are unique, and every reference is to a record that
// will be there. Checked in sets, over everything that was staged. A row that refers to one that fell falls with it, and so
// does one that lacks what only went to that one.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Field, Resource } from '../roster/resource.ts';
import { leaveOutPassedOver } from './passed-over.ts';
import { noSuchRecord, type Problem, type Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import { takeOutRejected, tellRejected } from './reject-staged.ts';
import type { Mode } from './source.ts';
import { spareHolders } from './spare-holders.ts';
import { staged, stagedRejected } from './stage.ts';

export type Modes = ReadonlyMap<Resource, Mode>;

/** Of collections of which not everything was staged: how many records are as they were, and those that are no longer in the source. */
export type Known = ReadonlyMap<Resource, Readonly<{ count: number; missing: readonly string[] }>>;

/** Terms are in years, families in families: what is real is not as deep. Each goes over all that was staged. */
const mostRounds = 50;

/**
 * Removes what breaks a rule from the stage, with a problem for each, and what then refers to nothing. Gives whether that is all of it. unique:
 * of which no sourcedId is there twice, for certain.
 */
export async function verifyStage(tx: Tx, reading: Reading, modes: Modes, known: Known, unique: ReadonlySet<Resource>, problems: Problems): Promise<boolean> {
  for (const resource of modes.keys()) if (!unique.has(resource)) await rejectDuplicates(tx, reading, resource, problems);
  if (modes.has(collections.users)) await leaveOutPassedOver(tx, reading);
  const references = referencesOf(modes);
  // What is staged and what fell are, together, always the same: whether a record is nowhere does not change while more fall.
  for (const { resource, field } of references) await rejectUnknown(tx, { reading, modes, known }, resource, field, problems);
  // A row that fell may be what another refers to, so this goes round until nothing more falls.
  let fell = await findRejected(tx, reading);
  for (let round = 0; fell.size > 0 && round < mostRounds; round += 1) {
    const next = new Set<string>();
    for (const { resource, field } of references) {
      if (!fell.has(field.to ?? '') && !next.has(field.to ?? '')) continue;
      if ((await rejectDependants(tx, { reading, modes, known }, resource, field)) > 0) next.add(resource.collection);
    }
    const people = collections.users;
    if ((fell.has(people.collection) || next.has(people.collection)) && (await spareHolders(tx, reading)) > 0) next.add(people.collection);
    fell = next;
  }
  return fell.size === 0;
}

/** Reported if `verifyStage` did not reach an end: rows whose references were not followed cannot be left out. */
export const tooDeep: Problem = {
  file: 'this import',
  line: null,
  column: null,
  value: null,
  rule: 'rows that are wrong are referred to by others, those by others again, and so on without an end in sight; put right what is wrong first',
};

type Stage = Readonly<{ reading: Reading; modes: Modes; known: Known }>;

/** All that records of these collections refer to. */
export function referencesOf(of: Pick<Modes, 'has'>): { resource: Resource; field: Field }[] {
  return allResources
    .filter((resource) => of.has(resource))
    .flatMap((resource) => [...resource.fields, ...ownPerson(resource)].map((field) => ({ resource, field })))
    .filter(({ field }) => field.csv !== undefined && field.to !== undefined);
}

/** A demographics record refers to its user by its own sourcedId. */
function ownPerson({ personColumn }: Resource): Field[] {
  if (personColumn !== 'sourced_id') return [];
  const about = 'The person whom the record is about.';
  return [{ name: 'sourcedId', type: 'ref', column: personColumn, csv: 'sourcedId', to: 'users', required: true, about }];
}

/** The collections of which rows fell. */
async function findRejected(tx: Tx, reading: Reading): Promise<Set<string>> {
  const rows = await tx<{ collection: string }[]>`select distinct collection from ${stagedRejected(tx, reading)} r`;
  return new Set(rows.map(({ collection: name }) => allResources.find(({ file }) => file === name)?.collection ?? name));
}

async function rejectDuplicates(tx: Tx, reading: Reading, resource: Resource, problems: Problems): Promise<void> {
  const rows = staged(tx, resource, reading);
  const [twice] = await tx`select from ${rows} s group by sourced_id having count(*) > 1 limit 1`;
  if (!twice) return;
  await reject(tx, reading, resource, problems, {
    column: 'sourcedId',
    // Their first row stays, and has what the package gives to them.
    givesParts: false,
    faulty: tx`
      select s.line, s.sourced_id, s.sourced_id as about, 'must be unique; line ' || min(d.line) || ' has it already' as rule
      from ${rows} s join ${rows} d on d.sourced_id = s.sourced_id and d.line < s.line group by s.line, s.sourced_id`,
  });
}

async function rejectUnknown(tx: Tx, stage: Stage, resource: Resource, field: Field, problems: Problems): Promise<void> {
  const { reading, modes } = stage;
  const target = collections[field.to ?? 'users'];
  // What goes with somebody who was passed over is passed over as well; whatever else still refers to them is wrong.
  const follows = resource.personColumn === field.column ? tx`w.status = 'tobedeleted'` : tx`false`;
  await reject(tx, reading, resource, problems, {
    column: field.csv ?? null,
    faulty: tx`
      ${wanted(tx, reading, resource, field)}
      select distinct on (w.line, w.sourced_id) w.line, w.sourced_id, w.id as about, ${noSuchRecord(target.file, modes.has(target))}::text as rule from wanted w
      where ${isNowhere(tx, stage, target)}
        and not exists (select from ${stagedRejected(tx, reading)} r where ${isOf(tx, target)} and r.sourced_id = w.id
          and (r.fault > 0 or ${follows}))
      order by w.line, w.sourced_id, w.id`,
  });
}

/** What refers to a row that fell is no fault of its own: it is counted with the fault of that one. */
async function rejectDependants(tx: Tx, stage: Stage, resource: Resource, field: Field): Promise<number> {
  const { reading } = stage;
  const target = collections[field.to ?? 'users'];
  const { count } = await tx`
    with fell as materialized (
      select r.sourced_id, min(r.fault) as fault from ${stagedRejected(tx, reading)} r
      where ${isOf(tx, target)} and r.sourced_id is not null group by r.sourced_id
    ), faulty as materialized (
      ${wanted(tx, reading, resource, field)}
      select w.line, w.sourced_id, min(f.fault) as fault from wanted w join fell f on f.sourced_id = w.id
      where ${isNowhere(tx, stage, target)} group by w.line, w.sourced_id
    )
    insert into stage_rejected (estab, reading, collection, line, sourced_id, fault, dependent)
    select ${reading.estab}::text, ${reading.number}::int, ${resource.collection}, line, sourced_id, fault, true from faulty`;
  if (count > 0) await takeOutRejected(tx, reading, resource, { count, which: tx`r.dependent` });
  return count;
}

/** That a row of what was rejected is a record of the collection, or would be if its file had it. */
function isOf(tx: Tx, { collection, file }: Resource): Fragment {
  return tx`r.collection in (${collection}, ${file})`;
}

/** Nobody knows how many are staged: as a lateral join, a list would be looked through once for every row. */
function wanted(tx: Tx, reading: Reading, resource: Resource, field: Field): Fragment {
  const [rows, column] = [staged(tx, resource, reading), tx(field.column)];
  return field.type === 'refs'
    ? tx`with wanted as materialized (select s.line, s.sourced_id, s.status, unnest(s.${column}) as id from ${rows} s)`
    : tx`with wanted as not materialized (select s.line, s.sourced_id, s.status, s.${column} as id from ${rows} s where s.${column} is not null)`;
}

/** That what a row of `wanted` w refers to is neither staged nor going to stay. */
function isNowhere(tx: Tx, { reading, modes, known }: Stage, target: Resource): Fragment {
  // A bulk file replaces its collection, so what is only in the old roster is about to go; unless its new row was rejected.
  const staysAnyway =
    modes.get(target) === 'bulk'
      ? tx`(w.status = 'tobedeleted' ${isKnown(tx, known, target)} or exists (select from ${stagedRejected(tx, reading)} r
        where r.collection = ${target.collection} and r.sourced_id = w.id))`
      : tx`true`;
  return tx`
    not exists (select from ${staged(tx, target, reading)} k where k.sourced_id = w.id)
    and not exists (select from ${tx(target.table)} l where l.estab = ${reading.estab} and l.sourced_id = w.id and ${staysAnyway})`;
}

/** Where not everything was staged: that a record l of the roster was in the source, and still is. */
function isKnown(tx: Tx, known: Known, target: Resource): Fragment {
  const { missing } = known.get(target) ?? {};
  return missing ? tx`or (l.status = 'active' and l.sourced_id <> all(${missing}::text[]))` : tx``;
}

/** Takes the faulty rows out of the stage. */
async function reject(
  tx: Tx,
  reading: Reading,
  resource: Resource,
  problems: Problems,
  { faulty, column, givesParts = true }: { faulty: Fragment; column: string | null; givesParts?: boolean },
): Promise<void> {
  const { estab, number } = reading;
  const { collection, file } = resource;
  const known = problems.total;
  // Who was changed by a file beside it has no row there that the column could be of.
  const rule = tx`case when line >= 0 then rule else ${column === null ? '' : `${column} of ${file}: `} || rule end`;
  const { count } = await tx`
    with faulty as materialized (${faulty})
    insert into stage_rejected (estab, reading, collection, line, sourced_id, fault, dependent, about, rule)
    select ${estab}::text, ${number}::int, ${collection}, line, sourced_id, (${known}::int + row_number() over (order by line, sourced_id))::int, false,
      about, ${rule}
    from faulty`;
  if (count === 0) return;
  await tellRejected(tx, reading, { collection, file, column }, problems);
  await takeOutRejected(tx, reading, resource, { count, which: tx`r.fault > ${known}`, givesParts });
}
