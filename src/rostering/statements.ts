// In charge of running plans: a page in one statement, a run of records as a stream out of one snapshot, a total by counting once per
// version. Whatever is answered is of the versions that the question names; if a merge committed in between, RosterMoved says so and the
// question is asked again.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { Behind, type Place } from '../db/replicas.ts';
import { begun, openSnapshot } from '../db/snapshot.ts';
import { SchoolbellError } from '../errors.ts';
import { isPast, type Piece } from './as-of.ts';
import { findMilestone } from './milestones.ts';
import { makePlan, type Plan, type Versions } from './plan.ts';
import { plainness, type Question } from './question.ts';
import type { Remembered } from './remembered.ts';
import { createFinish, findVersion, type Listed } from './render.ts';
import { RosterMoved, RosterUnready, type FactsReader } from './roster-facts.ts';

/** Where records are read: small reads, what has to be searched for, whole lists. */
export type Tables = Readonly<{ db: Db; searches: Db; lists: Db }>;
export type Reader = Place<Tables> &
  Readonly<{
    /** What is known of versions comes from here, wherever the records do. */
    primary: Db;
    facts: FactsReader;
    /** Of questions that are counted by looking. */
    totals: Remembered<number>;
  }>;
/** Where rosters stand, by establishment. instant: of the version that is asked for, where that has to be proved. */
type Standing = Readonly<Record<string, { id: string; version: number; keptFrom: number; ready: boolean; instant?: number | null }>>;
type Found = { versions: Standing | null; parents: boolean };
export type Paging = { limit: number | undefined; offset: number };

const recordsPerFetch = 1000;
/** Between records that the database puts together; JSON never holds it unescaped. */
const separator = '\u0001\u0001';

/** The records of a page; with `countedAs` also how many match in all, which is kept under that name. */
export async function readPage(
  reader: Reader,
  question: Question,
  paging: Paging,
  countedAs?: string,
): Promise<{ records: Listed[]; total: number | undefined }> {
  const sql = poolFor(reader, question);
  const versions = await readVersions(reader, question);
  const plan = makePlan(sql, question, versions);
  const seek = await findSeek(reader, question, paging.offset);
  const known = countedAs === undefined ? undefined : reader.totals.get(countedAs);
  const counting = countedAs !== undefined && known === undefined ? countSql(sql, plan) : sql`null::int`;
  const [row] = await sql<(Found & { total: number | null; records: string | null; estabs: string[] | null })[]>`
    select ${plan.standing(reader.isReplica)} as versions, ${plan.parentsExist} as parents, ${counting} as total, page.*
    from (select string_agg(json, ${separator}) as records, ${question.targets.length > 1 ? sql`array_agg(estab)` : sql`null::text[]`} as estabs
          from (select ${plan.json} as json, t.estab from (${listRows(sql, plan, question, seek, paging)}) t) listed) page`;
  requireSame(reader, question, versions, row);
  if (countedAs !== undefined && row && row.total !== null) reader.totals.set(countedAs, row.total, 8);
  const finish = createFinish(question.address, versions);
  const only = question.targets[0]?.estab ?? '';
  const records = (row?.records?.split(separator) ?? []).map((record, at) => ({ estab: row?.estabs?.[at] ?? only, json: finish(`${record}}`) }));
  return { records, total: known ?? row?.total ?? undefined };
}

/** How many records match, paging aside. */
export async function countMatches(reader: Reader, question: Question, countedAs: string, sql: Sql = poolFor(reader, question)): Promise<number> {
  const known = reader.totals.get(countedAs);
  if (known !== undefined) return known;
  const versions = await readVersions(reader, question);
  const plan = makePlan(sql, question, versions);
  const [row] = await sql<(Found & { total: number })[]>`
    select ${plan.standing(reader.isReplica)} as versions, ${plan.parentsExist} as parents, ${countSql(sql, plan)} as total`;
  requireSame(reader, question, versions, row);
  const total = row?.total ?? 0;
  reader.totals.set(countedAs, total, 8);
  return total;
}

const countSql = (sql: Sql, plan: Plan): Fragment => sql`(select count(*)::int from ${plan.from} where ${plan.where})`;

/** The keys that the records' metadata have. */
export async function selectMetadataKeys(reader: Reader, question: Question): Promise<string[]> {
  const plan = makePlan(reader.db, question, await readVersions(reader, question));
  const rows = await reader.db<{ key: string }[]>`select distinct jsonb_object_keys(t.metadata) as key from ${plan.from} where ${plan.where} order by 1`;
  return rows.map((row) => row.key);
}

export type OpenRun = { sql: Sql; batches: AsyncGenerator<Listed[]>; close(): Promise<void> };

/** The records from an offset on, finished, in batches out of one snapshot. The first is fetched at once: what is wrong can still be said. */
export async function openRun(reader: Reader, question: Question, paging: Paging): Promise<OpenRun> {
  const { sql, close } = await openSnapshot(reader.lists);
  try {
    const versions = await readVersions(reader, question);
    const plan = makePlan(sql, question, versions);
    await requireReadable(reader, question, sql);
    const seek = await findSeek(reader, question, paging.offset);
    const finish = createFinish(question.address, versions);
    return { sql, batches: await begun(readBatches(sql, plan, listRows(sql, plan, question, seek, paging), finish)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a whole list is refused for is known before any of it is read. */
export async function requireReadable(reader: Reader, question: Question, sql: Sql = reader.db): Promise<void> {
  const versions = await readVersions(reader, question);
  const plan = makePlan(sql, question, versions);
  const [row] = await sql<Found[]>`select ${plan.standing(reader.isReplica)} as versions, ${plan.parentsExist} as parents`;
  requireSame(reader, question, versions, row);
}

async function* readBatches(sql: Sql, plan: Plan, rows: Fragment, finish: (record: string) => string): AsyncGenerator<Listed[]> {
  for await (const batch of sql<Listed[]>`select ${plan.json} as json, t.estab from (${rows}) t`.cursor(recordsPerFetch)) {
    yield batch.map(({ estab, json }) => ({ estab, json: finish(`${json}}`) }));
  }
}

export async function readVersions({ facts, primary }: Reader, { targets }: Question): Promise<Versions> {
  return new Map(await Promise.all(targets.map(async (target) => [target.estab, await facts.versions(primary, target)] as const)));
}

/** The rows of a page in their order; what is costly per record is put on top, so that it is done for these alone. */
function listRows(sql: Sql, plan: Plan, { targets }: Question, seek: Seek | undefined, { limit, offset }: Paging): Fragment {
  const skip = offset - (seek?.preceding ?? 0);
  const from = seek === undefined ? sql`` : seekSql(sql, seek, targets.length > 1);
  if (plan.pieces) return gather(sql, plan, plan.pieces, from, { limit, skip });
  return sql`select t.* from ${plan.from} where ${plan.where} ${from} order by ${plan.orderBy} limit ${limit ?? null} offset ${skip}`;
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

type Seek = { estab: string; sourcedId: string; preceding: number };

const seekSql = (sql: Sql, { estab, sourcedId }: Seek, several: boolean): Fragment =>
  several ? sql`and (t.estab, t.sourced_id) >= (${estab}, ${sourcedId})` : sql`and t.sourced_id >= ${sourcedId}`;

/** Milestones hold for a collection in its own order, whole or by status; of several schools, for the one that is listed first. */
async function findSeek({ facts, primary }: Reader, question: Question, offset: number): Promise<Seek | undefined> {
  const [target] = question.targets;
  const plain = plainness(question);
  if (!target || !plain || offset === 0) return undefined;
  const milestone = findMilestone(await facts.milestones(primary, target, question.operation.collection), { ...target, ...plain }, offset);
  return milestone && { estab: target.estab, ...milestone };
}

/** Of the version that stands, nothing else will do; one that is past is the same as long as it is kept. */
function requireSame({ isReplica }: Reader, { targets }: Question, versions: Versions, found: Found | undefined): void {
  for (const target of targets) {
    const { id, version = -1, keptFrom = 0, ready, instant } = found?.versions?.[target.estab] ?? {};
    const isThere = id === target.rosterId && version >= target.version;
    const isProved = () => instant === (findVersion(versions.get(target.estab) ?? [], target.version)?.instant ?? null);
    if (isReplica && !(isThere && isProved())) throw new Behind();
    if (!isThere || (isPast(target) ? keptFrom > target.version : version > target.version)) throw new RosterMoved();
    if (!ready) throw new RosterUnready();
  }
  if (!found?.parents) throw new SchoolbellError('not_found', 'There is no such record to look into.');
}
