// In charge of running a plan: a page in one statement, a whole list as a stream out of one snapshot, a total from
// what is known or by counting once per version. Whatever is answered is of the versions that the question names;
// if a merge committed in between, RosterMoved says so and the question is asked again.
import { reserveWithin, type Db, type Fragment, type Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { makePlan, type Plan, type Question } from './plan.ts';
import type { Remembered } from './remembered.ts';
import { findMark, RosterMoved, sumOf, type FactsReader } from './roster-facts.ts';

export type Reader = { db: Db; searches: Db; streams: Db; facts: FactsReader; totals: Remembered<number> };
export type Paging = { limit: number | undefined; offset: number };

const recordsPerFetch = 1000;
/** How long a whole list waits for others to finish. */
const longestWaitMs = 30_000;

/** The records of a page as JSON, separated by commas, and how many they are. */
export async function selectPage(reader: Reader, question: Question, { limit, offset }: Paging): Promise<{ records: string; count: number }> {
  const sql = poolFor(reader, question);
  const plan = makePlan(sql, question);
  const seek = await findSeek(reader, sql, question, offset);
  const [row] = await sql<{ versions: Record<string, number>; parents: boolean; records: string | null; count: number }[]>`
    select ${plan.currentVersions} as versions, ${plan.parentsExist} as parents, page.records, page.count
    from (select string_agg(json, '},') || '}' as records, count(*)::int as count
          from (select ${plan.json} as json from (${listRows(sql, plan, seek, { limit, offset })}) t) listed) page`;
  requireSame(question, row?.versions, row?.parents);
  return { records: row?.records ?? '', count: row?.count ?? 0 };
}

/** How many records match, paging aside. */
export async function selectTotal(reader: Reader, question: Question, key: string, sql: Sql = poolFor(reader, question)): Promise<number> {
  const status = countableStatus(question);
  if (status !== false) {
    let sum = 0;
    for (const { estab, version, kinds } of question.targets) {
      const { totals } = await reader.facts.facts(sql, estab, version);
      for (const { kind, status: of, count } of totals.get(question.operation.collection) ?? []) sum += sumOf({ [`${kind} ${of}`]: count }, kinds, status);
    }
    return sum;
  }
  const known = reader.totals.get(key);
  if (known !== undefined) return known;
  const plan = makePlan(sql, question);
  const [row] = await sql<{ versions: Record<string, number>; parents: boolean; total: number }[]>`
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

/** The records from an offset on, in pieces of JSON whose records are separated by commas, out of one snapshot. */
export async function openStream(reader: Reader, question: Question, paging: Paging, key: string): Promise<{ total: number; pieces: AsyncGenerator<string> }> {
  const connection = await reserveWithin(reader.streams, longestWaitMs);
  if (!connection) throw new SchoolbellError('too_many_requests', 'Too many whole lists are being read at once. Wait and try again, or read in pages with limit.', { headers: { 'retry-after': '30' } });
  const end = async () => {
    await connection`rollback`.catch(() => {});
    connection.release();
  };
  try {
    await connection`begin isolation level repeatable read read only`;
    const plan = makePlan(connection, question);
    const [row] = await connection<{ versions: Record<string, number>; parents: boolean }[]>`select ${plan.currentVersions} as versions, ${plan.parentsExist} as parents`;
    requireSame(question, row?.versions, row?.parents);
    const total = await selectTotal(reader, question, key, connection);
    const seek = await findSeek(reader, connection, question, paging.offset);
    return { total, pieces: streamPieces(connection, plan, seek, paging, end) };
  } catch (error) {
    await end();
    throw error;
  }
}

async function* streamPieces(sql: Sql, plan: Plan, seek: Seek, paging: Paging, end: () => Promise<void>): AsyncGenerator<string> {
  try {
    const rows = sql<{ json: string }[]>`
      select ${plan.json} as json from (${listRows(sql, plan, seek, paging)}) t`.cursor(recordsPerFetch);
    for await (const batch of rows) yield `${batch.map((row) => row.json).join('},')}}`;
  } finally {
    await end();
  }
}

/** The rows of a page in their order; what is costly per record is put on top, so that it is done for these alone. */
function listRows(sql: Sql, plan: Plan, seek: Seek, { limit, offset }: Paging): Fragment {
  return sql`select t.* from ${plan.from} where ${plan.where} ${seek ? sql`and t.sourced_id >= ${seek.sourcedId}` : sql``}
    order by ${plan.orderBy} limit ${limit ?? null} offset ${offset - (seek?.preceding ?? 0)}`;
}

function poolFor(reader: Reader, { filter, operation }: Question): Db {
  return filter || operation.relation ? reader.searches : reader.db;
}

type Seek = { sourcedId: string; preceding: number } | undefined;

/** Marks hold for the collection in its own order, whole or by status. */
async function findSeek(reader: Reader, sql: Sql, question: Question, offset: number): Promise<Seek> {
  const [target, ...others] = question.targets;
  const status = countableStatus(question);
  if (!target || others.length > 0 || question.sort || status === false || offset === 0) return undefined;
  return findMark(await reader.facts.marks(sql, target.estab, target.version, question.operation.collection), target.kinds, status, offset);
}

/** The status that a question is limited to, undefined for none, false when it depends on more than kind and status. */
function countableStatus({ operation, filter }: Question): string | undefined | false {
  if (operation.relation || operation.single) return false;
  if (!filter) return undefined;
  const [check, ...more] = filter.flat();
  return check && more.length === 0 && check.path.name === 'status' && check.operator === '=' ? check.value.toLowerCase() : false;
}

function requireSame(question: Question, versions: Readonly<Record<string, number>> | undefined, parents: boolean | undefined): void {
  if (question.targets.some((target) => versions?.[target.estab] !== target.version)) throw new RosterMoved();
  if (!parents) throw new SchoolbellError('not_found', 'There is no such record to look into.');
}
