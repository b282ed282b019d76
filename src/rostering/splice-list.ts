// In charge of making a version's file from that of an earlier version: what lies between the rows that changed since is copied as it is.
import { historyTable } from '../collection/history.ts';
import { openSnapshot } from '../db/snapshot.ts';
import { collections } from '../roster/collections.ts';
import { toPiece, type Keeping } from '../roster/keep-list.ts';
import { readSourcedId, type ListFile } from '../roster/list-file.ts';
import { makePlan } from './plan.ts';
import type { Question } from './question.ts';
import { finishOf, readVersions, requireReadable, type Reader } from './statements.ts';
import type { Target } from './visibility.ts';

/** Where more changed, or more than one of so many, the list is read anew. */
const mostChanged = 5_000;
const oneOf = 4;

/** Each record that is not what it was, in the order of their ids; null where the list has it no more. */
type Changed = { sourcedId: string; json: string | null };

/** Returns false if too much changed. The question is about one school at its current version. */
export async function spliceList(reader: Reader, question: Question, base: { file: ListFile; version: number }, keeping: Keeping): Promise<boolean> {
  const changed = await readChanged(reader, question, base.version);
  if (changed.length > mostChanged || changed.length * oneOf > base.file.end.count) return false;
  const target = question.targets[0] as Target;
  const finish = finishOf(question, target, await readVersions(reader, target));
  let copied = 0;
  for (const { sourcedId, json } of changed) {
    const at = await findPlace(base.file, sourcedId, copied);
    await keeping.copy(base.file, copied, at.place);
    copied = at.place + Number(at.isThere);
    if (json !== null) await keeping.add(toPiece([finish(`${json}}`)]));
  }
  await keeping.copy(base.file, copied, base.file.end.count);
  return true;
}

/**
 * Returns the records that changed after version `since`, from one snapshot; json is null for a record that is no longer shown. Throws if, before or
 * after the read, the roster is not at the requested version or `since` is no longer retained.
 */
async function readChanged(reader: Reader, question: Question, since: number): Promise<Changed[]> {
  const { table, history } = tablesOf(question);
  const target = question.targets[0] as Target;
  const { sql, close } = await openSnapshot(reader.lists);
  try {
    const requireBoth = async () => {
      await requireReadable(reader, question, { ...target, version: since }, sql);
      await requireReadable(reader, question, target, sql);
    };
    await requireBoth();
    const plan = makePlan(sql, question, target, await readVersions(reader, target));
    const changed = await sql<Changed[]>`
      with touched as (
        select sourced_id from ${sql(table)} where estab = ${target.estab} and version > ${since}
        union select sourced_id from ${sql(history)} where estab = ${target.estab} and version <= ${since} and until_version > ${since}
      ), shown as (
        select t.sourced_id, ${plan.json} as json from ${plan.from} where ${plan.where} and t.version > ${since}
      )
      select touched.sourced_id as "sourcedId", shown.json from touched left join shown using (sourced_id)
      order by touched.sourced_id limit ${mostChanged + 1}`;
    await requireBoth();
    return changed;
  } finally {
    await close();
  }
}

function tablesOf({ operation }: Question): { table: string; history: string } {
  const resource = collections[operation.collection];
  return { table: resource.table, history: historyTable(resource) };
}

/** Where the record is, or would be, at or behind a place. */
async function findPlace(file: ListFile, sourcedId: string, from: number): Promise<{ place: number; isThere: boolean }> {
  const wanted = Buffer.from(sourcedId);
  let [low, high] = [from, file.end.count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = Buffer.compare(Buffer.from(await readSourcedId(file, middle)), wanted);
    if (order === 0) return { place: middle, isThere: true };
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return { place: low, isThere: false };
}
