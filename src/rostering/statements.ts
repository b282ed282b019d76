// In charge of running a plan: a page in one statement, a whole list as a stream out of one snapshot, a total from
// what is known or by counting once per version. Whatever is answered is of the versions that the question names;
// if a merge committed in between, RosterMoved says so and the question is asked again.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { openSnapshot } from '../db/snapshot.ts';
import { SchoolbellError } from '../errors.ts';
import { isPast, type Piece } from './as-of.ts';
import { findMilestone, sumOf } from './milestones.ts';
import { makePlan, type Plan, type Question } from './plan.ts';
import type { Remembered } from './remembered.ts';
import { RosterMoved, RosterUnready, type FactsReader } from './roster-facts.ts';

export type Reader = {
  db: Db;
  searches: Db;
  lists: Db;
  facts: FactsReader;
  totals: Remembered<number>;
  /** Where pages ended, so that the next page of a walk begins there. */
  ends: Remembered<End>;
};
export type End = { sourcedId: string; estab: string };
/** Where rosters stand, by establishment. */
type Standing = Readonly<Record<string, { id: string; version: number; keptFrom: number; ready: boolean }>>;
export type Paging = { limit: number | undefined; offset: number };

const recordsPerFetch = 1000;
/** Lower than any character of an id, so that joined ids are in the order of the ids. */
const separator = '\u0001';

/** The records of a page as JSON, separated by commas, and how many they are. `key` names the question. */
export async function selectPage(reader: Reader, question: Question, paging: Paging, key: string): Promise<{ records: string; count: number }> {
  const sql = poolFor(reader, question);
  const plan = makePlan(sql, question);
  const seek = (question.sort ? undefined : reader.ends.get(`${key} ${paging.offset}`)) ?? (await findSeek(reader, sql, question, paging.offset));
  const [row] = await sql<{ versions: Standing; parents: boolean; records: string | null; count: number; last: string | null }[]>`
    select ${plan.currentVersions} as versions, ${plan.parentsExist} as parents, page.*
    from (select string_agg(json, '},') || '}' as records, count(*)::int as count, max(sourced_id || ${separator} || estab) as last
          from (select ${plan.json} as json, t.sourced_id, t.estab from (${listRows(sql, plan, question, seek, paging)}) t) listed) page`;
  requireSame(question, row?.versions, row?.parents);
  const { records, count, last } = row ?? { records: null, count: 0, last: null };
  if (last !== null && count === paging.limit && !question.sort) {
    const [sourcedId = '', estab = ''] = last.split(separator);
    reader.ends.set(`${key} ${paging.offset + count}`, { sourcedId, estab }, last.length * 2 + key.length * 2);
  }
  return { records: records ?? '', count };
}

/** How many records match, paging aside. */
export async function selectTotal(reader: Reader, question: Question, key: string, sql: Sql = poolFor(reader, question)): Promise<number> {
  const status = countableStatus(question);
  if (status !== false) {
    let sum = 0;
    for (const target of question.targets) sum += sumOf(await reader.facts.totals(sql, target, question.operation.collection), { ...target, status });
    return sum;
  }
  const known = reader.totals.get(key);
  if (known !== undefined) return known;
  const plan = makePlan(sql, question);
  const [row] = await sql<{ versions: Standing; parents: boolean; total: number }[]>`
    select ${plan.currentVersions} as versions, ${plan.parentsExist} as parents, (select count(*)::int from ${plan.from} where ${plan.where}) as total`;
  requireSame(question, row?.versions, row?.parents);
  const total = row?.total ?? 0;
  reader.totals.set(key, total, 8);
  return total;
}

/** The keys that the records' metadata have. */
export async function selectMetadataKeys(reader: Reader, question: Question): Promise<string[]> {
  const plan = makePlan(reader.db, question);
  const rows = await reader.db<{ key: string }[]>`select distinct jsonb_object_keys(t.metadata) as key from ${plan.from} where ${plan.where} order by 1`;
  return rows.map((row) => row.key);
}

export type OpenStream = { total: number; pieces: AsyncGenerator<string>; close(): Promise<void> };

/** The records from an offset on, in pieces of JSON whose records are separated by commas, out of one snapshot. */
export async function openStream(reader: Reader, question: Question, paging: Paging, key: string): Promise<OpenStream> {
  const { sql, close } = await openSnapshot(reader.lists);
  try {
    const plan = makePlan(sql, question);
    await requireReadable(sql, question, plan);
    const total = await selectTotal(reader, question, key, sql);
    const seek = await findSeek(reader, sql, question, paging.offset);
    return { total, pieces: await begun(streamPieces(sql, plan, listRows(sql, plan, question, seek, paging))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a whole list is refused for is known before any of it is read. */
export async function requireReadable(sql: Sql, question: Question, plan: Plan = makePlan(sql, question)): Promise<void> {
  const [row] = await sql<{ versions: Standing; parents: boolean }[]>`select ${plan.currentVersions} as versions, ${plan.parentsExist} as parents`;
  requireSame(question, row?.versions, row?.parents);
}

/** The first piece is fetched before anything is answered: what is wrong can still be said. */
async function begun(pieces: AsyncGenerator<string>): Promise<AsyncGenerator<string>> {
  const first = await pieces.next();
  return (async function* all() {
    if (first.done) return;
    yield first.value;
    yield* pieces;
  })();
}

async function* streamPieces(sql: Sql, plan: Plan, rows: Fragment): AsyncGenerator<string> {
  for await (const batch of sql<{ json: string }[]>`select ${plan.json} as json from (${rows}) t`.cursor(recordsPerFetch)) {
    yield `${batch.map((row) => row.json).join('},')}}`;
  }
}

/** The rows of a page in their order; what is costly per record is put on top, so that it is done for these alone. */
function listRows(sql: Sql, plan: Plan, question: Question, seek: Seek | End | undefined, { limit, offset }: Paging): Fragment {
  const skip = seek === undefined ? offset : 'preceding' in seek ? offset - seek.preceding : 0;
  const from =
    seek === undefined
      ? sql``
      : sql`and t.sourced_id >= ${seek.sourcedId} ${'estab' in seek ? sql`and (t.sourced_id, t.estab) > (${seek.sourcedId}, ${seek.estab})` : sql``}`;
  if (plan.pieces) return gather(sql, plan, plan.pieces, from, { limit, skip });
  const rows = sql`select t.* from ${plan.from} where ${plan.where} ${from}`;
  if (question.targets.length === 1 || question.sort || limit === undefined) return sql`${rows} order by ${plan.orderBy} limit ${limit ?? null} offset ${skip}`;
  // Several establishments: the first rows of each by its own key, instead of sorting all rows of all.
  return sql`
    select t.* from unnest(${question.targets.map((target) => target.estab)}::text[]) as each (estab)
    cross join lateral (${rows} and t.estab = each.estab order by t.sourced_id limit ${limit + skip}) t
    order by ${plan.orderBy} limit ${limit} offset ${skip}`;
}

/** The first rows of each piece by its own key, instead of sorting all rows of all. */
function gather(sql: Sql, plan: Plan, pieces: readonly Piece[], from: Fragment, { limit, skip }: { limit: number | undefined; skip: number }): Fragment {
  const most = limit === undefined ? sql`` : sql`limit ${limit + skip}`;
  const each = pieces.map(
    ({ table, holds }) => sql`(select ${plan.columns} from ${table} t where ${holds} and ${plan.where} ${from} order by ${plan.orderBy} ${most})`,
  );
  return sql`select t.* from (${each.reduce((all, one) => sql`${all} union all ${one}`)}) t order by ${plan.orderBy} limit ${limit ?? null} offset ${skip}`;
}

function poolFor(reader: Reader, { filter, operation, targets }: Question): Db {
  return filter || operation.relation || targets.some(isPast) ? reader.searches : reader.db;
}

type Seek = { sourcedId: string; preceding: number };

/** Milestones hold for the collection in its own order, whole or by status. */
async function findSeek(reader: Reader, sql: Sql, question: Question, offset: number): Promise<Seek | undefined> {
  const [target, ...others] = question.targets;
  const status = countableStatus(question);
  if (!target || others.length > 0 || question.sort || status === false || offset === 0) return undefined;
  return findMilestone(await reader.facts.milestones(sql, target, question.operation.collection), { ...target, status }, offset);
}

/** The status that a question is limited to, undefined for none, false when it depends on more than kind and status. */
function countableStatus({ operation, filter }: Question): string | undefined | false {
  if (operation.relation || operation.single) return false;
  if (!filter) return undefined;
  const [check, ...more] = filter.flat();
  return check && more.length === 0 && check.path.name === 'status' && check.operator === '=' ? check.value.toLowerCase() : false;
}

/** Of the version that stands, nothing else will do; one that is past is the same as long as it is kept. */
function requireSame({ targets }: Question, standing: Standing | undefined, parents: boolean | undefined): void {
  for (const target of targets) {
    const { id, version = -1, keptFrom = 0, ready } = standing?.[target.estab] ?? {};
    const same = isPast(target) ? keptFrom <= target.version && target.version <= version : version === target.version;
    if (id !== target.rosterId || !same) throw new RosterMoved();
    if (!ready) throw new RosterUnready();
  }
  if (!parents) throw new SchoolbellError('not_found', 'There is no such record to look into.');
}
