// In charge of answering for data: out of the cache, at once, in the envelope; whole lists as a stream of flat memory.
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { SchoolCaller } from '../access/school-caller.ts';
import type { ComponentDatabase } from '../collection/component-databases.ts';
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { Behind } from '../db/replicas.ts';
import { begun, openSnapshot } from '../db/snapshot.ts';
import { SchoolbellError } from '../errors.ts';
import { fine } from '../http/envelope.ts';
import type { ListFolder } from '../roster/list-folder.ts';
import type { Endpoint } from './catalogue.ts';
import { noSuchRow, type DataRequest } from './data-request.ts';
import { renderDatabase, wasCollected } from './db-status.ts';
import { keepRows, nameRowsFile, openKeptRows } from './kept-rows.ts';
import { readOpenedDatabases } from './opened-databases.ts';
import type { DataQuestion, Projection } from './projections.ts';
import { findCalendarRange, localDate } from './school-day.ts';
import { isNoted, isSameStanding, readSchoolStanding, readStanding } from './standing.ts';

type Row = Record<string, unknown>;
/** What stands around the rows. */
type Frame = { meta: Row; pagination: Row; databases: readonly ComponentDatabase[]; gone: string[] | undefined };

const rowsPerFetch = 1000;
/** What moved while it was read is read again, so often at most and after so long. */
const [mostReadings, pauseMs] = [5, 20];

/** Where one snapshot does not hold over several statements, some saw what others did not. */
class Moved extends SchoolbellError {
  constructor() {
    super('unavailable', "The school's data changed again and again while it was read. Try again in a moment.", { headers: { 'retry-after': '1' } });
  }
}

/** standing: of the school's data, where it might be another one there. */
type AnswerParts = Readonly<{ db: Db; folder: ListFolder; standing?: string | undefined }>;

export async function answerData(...asked: Parameters<typeof answerOnce>): Promise<Readable> {
  for (let left = mostReadings - 1; ; left -= 1) {
    try {
      return await answerOnce(...asked);
    } catch (error) {
      if (!(error instanceof Moved) || left === 0) throw error;
      await pause(pauseMs);
    }
  }
}

async function answerOnce(
  { db, folder, standing }: AnswerParts,
  who: SchoolCaller,
  endpoint: Endpoint,
  request: DataRequest,
  now: Date,
  tell: (records: number) => unknown,
): Promise<Readable> {
  // One snapshot for rows, total and status, where a database has such; what follows looks for itself whether it was one.
  const { sql, close } = await openSnapshot(db);
  try {
    if (standing !== undefined && (await readStanding(sql, who.estab)) !== standing) throw new Behind();
    const databases = await readOpenedDatabases(sql, who, endpoint.databases);
    requireCollected(endpoint, databases);
    const pieces: Pieces = 'constant' in endpoint.source
      ? { text: answerConstant(endpoint, endpoint.source.constant, request, who, now) }
      : await answerProjection({ sql, folder }, endpoint, endpoint.source, request, who, databases, now, tell);
    const body = Readable.from(pieces.text, { objectMode: false });
    // What comes out of a file needs no connection.
    if (pieces.release) await close();
    body.once('close', () => {
      pieces.release?.();
      void close();
    });
    return body;
  } catch (error) {
    await close();
    throw error;
  }
}

/** An empty list would say that nobody is there; that nothing was collected yet is another matter. */
function requireCollected(endpoint: Endpoint, databases: readonly ComponentDatabase[]): void {
  if (endpoint.servedAlways) return;
  const missing = databases.find((database) => !wasCollected(database));
  if (!missing) return;
  throw new SchoolbellError(
    'conflict',
    `${endpoint.name} cannot be served: ${missing.name} is ${missing.status}${missing.message ? ` (${missing.message})` : ''},` +
      ` and nothing was collected before. Ask again later, or give a callbackUrl to be told.`,
  );
}

/** release: of the file that they come from, if they do. */
type Pieces = Readonly<{ text: AsyncGenerator<string | Buffer>; release?: () => void }>;

async function answerProjection(
  { sql, folder }: { sql: Sql; folder: ListFolder },
  endpoint: Endpoint,
  projection: Projection,
  request: DataRequest,
  who: SchoolCaller,
  databases: readonly ComponentDatabase[],
  now: Date,
  tell: (records: number) => unknown,
): Promise<Pieces> {
  const { estab, scopes } = who;
  const standing = await readSchoolStanding(sql, estab);
  if (standing && !(await isNoted(sql, estab, standing))) throw new Moved();
  const asked: DataQuestion = { estab, scopes, values: request.values, calendar: await findCalendar(sql, endpoint, estab, now) };
  const rows = chooseRows(sql, projection, asked, request, databases);
  const isWhole = request.updatedSince === undefined && request.row === undefined && projection.narrowed?.(sql, asked) === undefined;
  const isKept = isWhole && projection.ofRoster && request.fields === endpoint.fields;
  const file = isKept && standing ? nameRowsFile(standing, { endpoint: endpoint.name, scopes }) : undefined;
  const gone = await findGone(sql, projection, asked, request);
  const kept = file ? await openKeptRows(folder, file, { number: request.page, size: request.pageSize }) : undefined;
  const [counted] = kept ? [{ count: kept.total }] : await sql<
    { count: number }[]
  >`${isWhole && projection.count ? projection.count(sql, asked) : sql`select count(*)::int as count from (${rows}) counted`}`;
  if (request.row !== undefined && counted?.count === 0) throw noSuchRow(endpoint, request.row);
  const total = counted?.count ?? 0;
  const frame: Frame = {
    meta: renderMeta(who, now, standing?.version ?? 0),
    pagination: renderPagination(endpoint, request, total),
    databases,
    gone,
  };
  if (kept) return { text: render(endpoint, kept.pieces(tell), frame), release: kept.release };
  const batches = await begun(readRows(sql, request, page(sql, rows, request), tell));
  // All rows are of the moment at which the first of them were fetched.
  if (!isSameStanding(standing, await readSchoolStanding(sql, estab))) throw new Moved();
  const noted = file && request.pageSize === undefined ? keepRows(folder, file, total, batches) : batches;
  return { text: render(endpoint, renderRows(noted), frame) };
}

/** Whether the row that is asked for is there; throws if not. */
export async function requireRow(sql: Sql, who: SchoolCaller, endpoint: Endpoint, request: DataRequest): Promise<void> {
  if (request.row === undefined || 'constant' in endpoint.source) return;
  const asked: DataQuestion = { estab: who.estab, scopes: who.scopes, values: request.values, calendar: undefined };
  const found = await sql`select from (${chooseRows(sql, endpoint.source, asked, request, [])}) found`;
  if (found.length === 0) throw noSuchRow(endpoint, request.row);
}

function chooseRows(
  sql: Sql,
  projection: Projection,
  asked: DataQuestion,
  { updatedSince, row }: DataRequest,
  databases: readonly ComponentDatabase[],
): Fragment {
  const narrowed = projection.narrowed?.(sql, asked);
  // Where rows have no time of their own, they are as old as the database that they come from.
  const anyNew = databases.some(({ changedAt }) => changedAt !== null && updatedSince !== undefined && changedAt > updatedSince);
  return sql`select r.* from (${projection.rows(sql, asked)}) r where true ${narrowed ? sql`and ${narrowed}` : sql``}
    ${row === undefined ? sql`` : sql`and r."Id" = ${row}`}
    ${updatedSince === undefined ? sql`` : projection.gone ? sql`and r.at > ${updatedSince}` : sql`and ${anyNew}`}`;
}

/** What is no longer among the rows asked for, also because it changed, is gone for whoever keeps just these. */
async function findGone(sql: Sql, projection: Projection, asked: DataQuestion, { updatedSince }: DataRequest): Promise<string[] | undefined> {
  if (updatedSince === undefined) return undefined;
  if (!projection.gone) return [];
  const narrowed = projection.narrowed?.(sql, asked);
  const others = sql`union select r."Id", r.at from (${projection.rows(sql, asked)}) r where (${narrowed ?? sql`true`}) is not true`;
  const gone = await sql<{ id: string }[]>`
    select g.id from (${projection.gone(sql, asked)} ${narrowed ? others : sql``}) g where g.at > ${updatedSince} order by g.id`;
  return gone.map(({ id }) => id);
}

async function findCalendar(sql: Sql, endpoint: Endpoint, estab: string, now: Date): Promise<DataQuestion['calendar']> {
  if (endpoint.name !== 'Calendar') return undefined;
  const [school] = await sql<{ timeZone: string }[]>`select time_zone as "timeZone" from establishment where estab = ${estab}`;
  return findCalendarRange(sql, estab, localDate(now, school?.timeZone ?? 'UTC'));
}

function page(sql: Sql, rows: Fragment, { page: number, pageSize }: DataRequest): Fragment {
  return pageSize === undefined ? rows : sql`select * from (${rows}) r limit ${pageSize} offset ${(number - 1) * pageSize}`;
}

/** `tell` learns how many rows were handed out, also when the reader left early. */
async function* readRows(sql: Sql, { fields }: DataRequest, rows: Fragment, tell: (records: number) => unknown): AsyncGenerator<Row[]> {
  let read = 0;
  try {
    for await (const batch of sql<Row[]>`${rows}`.cursor(rowsPerFetch)) {
      read += batch.length;
      yield batch.map((row) => pick(row, fields));
    }
  } finally {
    tell(read);
  }
}

function pick(row: Row, fields: readonly string[]): Row {
  return Object.fromEntries(fields.map((field) => [field, row[field] ?? null]));
}

async function* answerConstant(endpoint: Endpoint, all: readonly Row[], request: DataRequest, who: SchoolCaller, now: Date): AsyncGenerator<string | Buffer> {
  const { page: number, pageSize = Math.max(1, all.length) } = request;
  const rows = all.slice((number - 1) * pageSize, number * pageSize).map((row) => pick(row, request.fields));
  yield* render(endpoint, renderRows([rows]), {
    meta: renderMeta(who, now, 0),
    pagination: renderPagination(endpoint, request, all.length),
    databases: [],
    gone: request.updatedSince === undefined ? undefined : [],
  });
}

async function* renderRows(batches: AsyncIterable<readonly object[]> | Iterable<readonly object[]>): AsyncGenerator<string> {
  for await (const batch of batches) if (batch.length > 0) yield JSON.stringify(batch).slice(1, -1);
}

/** Each piece holds some rows separated by commas. */
async function* render(
  { name }: Endpoint,
  pieces: AsyncIterable<string | Buffer>,
  { meta, pagination, databases, gone }: Frame,
): AsyncGenerator<string | Buffer> {
  yield `{${JSON.stringify(name)}:[`;
  let first = true;
  for await (const piece of pieces) {
    if (!first) yield ',';
    yield piece;
    first = false;
  }
  const rest = {
    ...(gone ? { [`${name}_deleted`]: gone } : {}),
    meta: [meta],
    __pagination__: [pagination],
    __dbStatus__: databases.map(renderDatabase),
    ...fine,
  };
  yield `],${JSON.stringify(rest).slice(1)}`;
}

function renderMeta({ estab }: SchoolCaller, now: Date, version: number): Row {
  return { Id: 1, Estab: estab, Version: version, DateTime: now.toISOString() };
}

/** NextPage can be followed as it is: it has whatever else was asked. */
function renderPagination(endpoint: Endpoint, { page: number, pageSize, updatedSince, values, fields }: DataRequest, total: number): Row {
  const size = pageSize ?? Math.max(1, total);
  const pages = Math.max(1, Math.ceil(total / size));
  return {
    PageSize: size,
    PageNumber: number,
    PageCount: pages,
    RowCount: total,
    ...(number < pages
      ? {
          NextPage: `?${new URLSearchParams({
            ...values,
            ...(fields === endpoint.fields ? {} : { select: fields.join(',') }),
            ...(updatedSince ? { updatedSince: updatedSince.toISOString() } : {}),
            page: String(number + 1),
            pageSize: String(size),
          }).toString()}`,
        }
      : {}),
  };
}
