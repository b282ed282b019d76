// In charge of one record by its id, wherever it is: of several schools each is asked whether it has the id, since more than one may, and those
// that do are read as a single school is.
import { collections } from '../roster/collections.ts';
import { rowsAt } from './as-of.ts';
import { askSchools, type Ask } from './ask-schools.ts';
import { standingOf } from './plan.ts';
import type { Question } from './question.ts';
import type { Listed } from './render.ts';
import { poolFor, readPage, readPages, readVersions, requireSame, type Reader, type Standing } from './statements.ts';
import type { Target } from './visibility.ts';

/** Looking for an id takes less than its round trip. */
const fewest = 64;
/** Ids may be in all schools, as short numbers are: two that are seen are enough to say so. */
const readTogether = 16;
const first = { limit: 1, offset: 0 };
type Found = Readonly<{ standing: Standing | null; has: boolean }>;

/** More than one where several schools have it. */
export async function readOne(reader: Reader, question: Question): Promise<readonly Listed[]> {
  const [target, ...others] = question.targets;
  if (target && others.length === 0) return (await readPage(reader, question, target, first)).records;
  const found = await askSchools(question.targets, (one) => planLook(reader, question, one), { fewest, over: reader.over });
  const having = question.targets.filter((_, at) => found[at]);
  const records: Listed[] = [];
  for (let at = 0; at < having.length && records.length < 2; at += readTogether) {
    const asked = having.slice(at, at + readTogether).map((one) => ({ target: one, paging: first }));
    records.push(...(await readPages(reader, question, asked)).flatMap((page) => page.records));
  }
  return records;
}

/** Whether it may be seen is left to whoever reads it: this is the same short statement whatever the scopes are. */
async function planLook(reader: Reader, question: Question, target: Target): Promise<Ask<Found, boolean>> {
  const { operation, ids } = question;
  const db = poolFor(reader, question, target);
  // On the primary nothing has to be proved by them, and a thousand schools' are not to be read for one record.
  const versions = reader.isReplica ? await readVersions(reader, target) : [];
  const rows = rowsAt(db, target)(collections[operation.collection]);
  const statement = db<Found[]>`select ${standingOf(db, target, reader.isReplica)} as standing,
    exists (select from ${rows} t where t.estab = ${target.estab} and t.sourced_id = ${ids.at(-1) ?? ''}) as has`;
  const take = (row: Found | undefined) => {
    requireSame(reader, target, versions, row);
    return row?.has === true;
  };
  return { db, statement, take };
}
