// In charge of running plans, each about one school: a page in one statement, a run of records as a stream out of one snapshot, a total by
// counting once per version. Whatever is answered is of the version that the target names; if a merge committed in between, RosterMoved says
// so and the question is asked again. Behind: it has been committed, and is not to be seen yet where the school's rows are.
import { atOnce } from '../at-once.ts';
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { Behind, type Place } from '../db/replicas.ts';
import { begun, openSnapshot, tellBusy } from '../db/snapshot.ts';
import { SchoolbellError } from '../errors.ts';
import { isPast, type Piece } from './as-of.ts';
import { askSchools, type Ask } from './ask-schools.ts';
import type { Version } from './field-path.ts';
import { findMilestone } from './milestones.ts';
import { makePlan, type Plan } from './plan.ts';
import { matchesNothing, plainness, type Question } from './question.ts';
import type { Remembered } from './remembered.ts';
import { createFinish, findVersion, type Finish, type Listed } from './render.ts';
import { RosterMoved, type FactsReader } from './roster-facts.ts';
import { digest } from './sight.ts';
import type { Target } from './visibility.ts';

/** Where records are read: small reads, what has to be searched for, whole lists. */
export type Tables = Readonly<{ db: Db; searches: Db; lists: Db }>;
export type Reader = Place<Tables> &
  Readonly<{
    /** What is known of versions comes from here, wherever the records do. */
    primary: Db;
    facts: FactsReader;
    /** Of questions that are counted by looking. */
    totals: Remembered<Counted>;
    /** Of a request: nobody waits for its answer any more, and nothing more is to be asked for it. */
    over?: AbortSignal;
  }>;
/** parents: whether what the records are asked for within is there. */
export type Counted = Readonly<{ parents: boolean; count: number }>;
/** instant: of the version that is asked for, where that has to be proved. */
export type Standing = Readonly<{ id: string; version: number; keptFrom: number; instant?: number | null }>;
type Found = Readonly<{ standing: Standing | null; parents: boolean }>;
type FoundPage = Found & Readonly<{ total: number | null; records: string | null }>;
type FoundCount = Found & Readonly<{ total: number }>;
export type Paging = { limit: number | undefined; offset: number };
export type SchoolPage = Readonly<{ parents: boolean; records: readonly Listed[]; total: number | undefined }>;

export const recordsPerFetch = 1000;
const bytesPerCount = 16;
/** Pages that nothing has to be searched for take less than their round trip. */
const shortTogether = 16;
const factsAtOnce = 3;
/** Between records that the database puts together; JSON never holds it unescaped. */
export const separator = '\u0001\u0001';

/** The records of a page; wantsTotal: also how many match in all, which is then known. */
export async function readPage(reader: Reader, question: Question, target: Target, paging: Paging, wantsTotal = false): Promise<SchoolPage> {
  const { statement, take } = await planPage(reader, question, target, paging, poolFor(reader, question, target), wantsTotal);
  return take((await statement)[0]);
}

/** Of several schools, in their order. */
export function readPages(reader: Reader, question: Question, asked: readonly Readonly<{ target: Target; paging: Paging }>[]): Promise<SchoolPage[]> {
  const plan = ({ target, paging }: { target: Target; paging: Paging }) => planPage(reader, question, target, paging, poolFor(reader, question, target));
  return askSchools(asked, plan, { fewest: isSearched(question) ? 1 : shortTogether, over: reader.over });
}

async function planPage(
  reader: Reader,
  question: Question,
  target: Target,
  paging: Paging,
  sql: Db,
  wantsTotal = false,
): Promise<Ask<FoundPage, SchoolPage>> {
  const versions = await readVersions(reader, target);
  const plan = makePlan(sql, question, target, versions);
  const seek = await findSeek(reader, question, target, paging.offset);
  const key = countKey(question, target);
  const known = wantsTotal ? reader.totals.get(key) : undefined;
  const counting = wantsTotal && known === undefined ? countSql(sql, plan) : sql`null::int`;
  const statement = sql<FoundPage[]>`
    select ${plan.standing(reader.isReplica)} as standing, ${plan.parentsExist} as parents, ${counting} as total, page.*
    from (select string_agg(json, ${separator}) as records from (select ${plan.json} as json from (${listRows(sql, plan, seek, paging)}) t) listed) page`;
  const take = (row: FoundPage | undefined): SchoolPage => {
    requireSame(reader, target, versions, row);
    const parents = row?.parents === true;
    if (row && row.total !== null) reader.totals.set(key, { parents, count: row.total }, bytesPerCount);
    const finish = finishOf(question, target, versions);
    const records = (row?.records?.split(separator) ?? []).map((record) => ({ estab: target.estab, json: finish(`${record}}`) }));
    return { parents, records, total: known?.count ?? row?.total ?? undefined };
  };
  return { db: sql, statement, take };
}

/** How many records match, paging aside. */
export async function countMatches(
  reader: Reader,
  question: Question,
  target: Target,
  key = countKey(question, target),
): Promise<Counted> {
  const known = reader.totals.get(key);
  if (known !== undefined) return known;
  const { statement, take } = await planCount(reader, question, target, key);
  return take((await statement)[0]);
}

/** In each school that it is about. */
export async function countEach(reader: Reader, question: Question): Promise<Counted[]> {
  const { targets } = question;
  const keys = new Map(targets.map((target) => [target, countKey(question, target)]));
  const plan = (target: Target) => planCount(reader, question, target, keys.get(target) ?? '');
  const look = async (target: Target) => reader.totals.get(keys.get(target) ?? '') ?? findNothing(reader, question, target);
  const known = await atOnce(factsAtOnce, targets, look, reader.over);
  const unknown = targets.filter((_, at) => known[at] === undefined);
  const found = (await askSchools(unknown, plan, { fewest: 1, over: reader.over })).values();
  return known.map((counted) => counted ?? (found.next().value as Counted));
}

/** Where the versions of a school say already that nothing matches, and there is nothing else to look for. */
async function findNothing(reader: Reader, question: Question, target: Target): Promise<Counted | undefined> {
  if (!question.filter || question.operation.parents) return undefined;
  return matchesNothing(question, target, await readVersions(reader, target)) ? { parents: true, count: 0 } : undefined;
}

async function planCount(reader: Reader, question: Question, target: Target, key: string): Promise<Ask<FoundCount, Counted>> {
  const sql = poolFor(reader, question, target);
  const versions = await readVersions(reader, target);
  const plan = makePlan(sql, question, target, versions);
  const statement = sql<FoundCount[]>`
    select ${plan.standing(reader.isReplica)} as standing, ${plan.parentsExist} as parents, ${countSql(sql, plan)} as total`;
  const take = (row: FoundCount | undefined): Counted => {
    requireSame(reader, target, versions, row);
    const counted = { parents: row?.parents === true, count: row?.total ?? 0 };
    reader.totals.set(key, counted, bytesPerCount);
    return counted;
  };
  return { db: sql, statement, take };
}

const countSql = (sql: Sql, plan: Plan): Fragment => sql`(select count(*)::int from ${plan.from} where ${plan.where})`;

/** Names what is counted, at its version, as it is seen. */
function countKey({ dialect, operation, ids, filter, address }: Question, { rosterId, version, kinds, people }: Target): string {
  const checks = filter?.map((all) => all.map(({ path, operator, value }) => [path.name, operator, value]));
  // There are as many as schools times questions: whole names would leave no room for what they are of.
  return digest(JSON.stringify([rosterId, version, kinds, people, dialect.name, address, operation.name, ids, checks]));
}

/** The keys that the records' metadata have. */
export async function selectMetadataKeys(reader: Reader, question: Question, target: Target): Promise<string[]> {
  const plan = makePlan(reader.db, question, target, await readVersions(reader, target));
  const rows = await reader.db<{ key: string }[]>`select distinct jsonb_object_keys(t.metadata) as key from ${plan.from} where ${plan.where} order by 1`;
  return rows.map((row) => row.key);
}

export type OpenRun = { parents: boolean; batches: AsyncGenerator<readonly Listed[]>; close(): Promise<void> };

/**
 * The records from an offset on, finished, in batches out of one snapshot. The first is fetched at once: what is wrong can still be said. It is
 * looked before and after whether the roster stands as it should, since not every database keeps a snapshot from one statement to the next.
 */
export async function openRun(reader: Reader, question: Question, target: Target, paging: Paging): Promise<OpenRun> {
  if (paging.limit !== undefined && paging.limit <= recordsPerFetch) {
    const { statement, take } = await planPage(reader, question, target, paging, reader.lists);
    const { parents, records } = take((await statement.then((rows) => rows, tellBusy))[0]);
    return { parents, batches: oneBatch(records), close: async () => {} };
  }
  const { sql, close } = await openSnapshot(reader.lists);
  try {
    const versions = await readVersions(reader, target);
    const plan = makePlan(sql, question, target, versions);
    const parents = await requireReadable(reader, question, target, sql);
    const seek = await findSeek(reader, question, target, paging.offset);
    const rows = listRows(sql, plan, seek, paging);
    const batches = await begun(readBatches(sql, plan, rows, target.estab, finishOf(question, target, versions)));
    await requireReadable(reader, question, target, sql);
    return { parents, batches, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a whole list is refused for is known before any of it is read. Gives whether what it is asked for within is there. */
export async function requireReadable(reader: Reader, question: Question, target: Target, sql: Sql = reader.db): Promise<boolean> {
  const versions = await readVersions(reader, target);
  const plan = makePlan(sql, question, target, versions);
  const [row] = await sql<Found[]>`select ${plan.standing(reader.isReplica)} as standing, ${plan.parentsExist} as parents`;
  requireSame(reader, target, versions, row);
  return row?.parents === true;
}

/** Schools may have the same ids: what is asked for within is looked for in each of them, and one that has it is enough. */
export function requireParents(found: readonly Pick<Counted, 'parents'>[]): void {
  if (!found.some(({ parents }) => parents)) throw new SchoolbellError('not_found', 'There is no such record to look into.');
}

async function* oneBatch(records: readonly Listed[]): AsyncGenerator<readonly Listed[]> {
  if (records.length > 0) yield records;
}

async function* readBatches(sql: Sql, plan: Plan, rows: Fragment, estab: string, finish: Finish): AsyncGenerator<Listed[]> {
  for await (const batch of sql<{ json: string }[]>`select ${plan.json} as json from (${rows}) t`.cursor(recordsPerFetch)) {
    yield batch.map(({ json }) => ({ estab, json: finish(`${json}}`) }));
  }
}

export function readVersions({ facts, primary }: Reader, target: Target): Promise<readonly Version[]> {
  return facts.versions(primary, target);
}

export const finishOf = ({ address }: Question, { estab }: Target, versions: readonly Version[]): Finish => createFinish(address, new Map([[estab, versions]]));

/** The rows of a page in their order; what is costly per record is put on top, so that it is done for these alone. */
export function listRows(sql: Sql, plan: Plan, seek: Seek | undefined, { limit, offset }: Paging): Fragment {
  const skip = offset - (seek?.preceding ?? 0);
  const from = seek === undefined ? sql`` : sql`and t.sourced_id >= ${seek.sourcedId}`;
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

const isSearched = ({ filter, operation }: Question) => filter !== undefined || operation.relation !== undefined;

export function poolFor(reader: Reader, question: Question, target: Target): Db {
  return isSearched(question) || isPast(target) ? reader.searches : reader.db;
}

type Seek = { sourcedId: string; preceding: number };

/** Milestones hold for a collection in its own order, whole or by status. */
async function findSeek({ facts, primary }: Reader, question: Question, target: Target, offset: number): Promise<Seek | undefined> {
  const plain = plainness(question);
  if (!plain || offset === 0) return undefined;
  return findMilestone(await facts.milestones(primary, target, question.operation.collection), { ...target, ...plain }, offset);
}

/** Of the version that stands, nothing else will do; one that is past is the same as long as it is kept. */
export function requireSame({ isReplica }: Reader, target: Target, versions: readonly Version[], found: Pick<Found, 'standing'> | undefined): void {
  const { id, version = -1, keptFrom = 0, instant } = found?.standing ?? {};
  const isOther = id !== target.rosterId;
  const isBehind = version < target.version;
  const isProved = () => instant === (findVersion(versions, target.version)?.instant ?? null);
  if (isReplica ? isOther || isBehind || !isProved() : !isOther && isBehind) throw new Behind();
  if (isOther || (isPast(target) ? keptFrom > target.version : version > target.version)) throw new RosterMoved();
}
