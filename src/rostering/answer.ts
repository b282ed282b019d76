// In charge of the walk of one request: who sees what → at which version → the question → its source → the answer. It also says which
// version of the roster the answer is of, answers of an earlier one that is asked for, and 304 when the caller has it already.
import { Readable } from 'node:stream';
import type { Caller } from '../access/authenticate.ts';
import type { Ledger } from '../access/disclosures.ts';
import { SchoolbellError } from '../errors.ts';
import { chooseEncoding, encodings } from '../http/encodings.ts';
import type { Query } from '../http/query.ts';
import { collections } from '../roster/collections.ts';
import type { Counts, OpenList } from '../roster/list-source.ts';
import type { Reading } from './by-school.ts';
import type { Dialect } from './dialects/dialect.ts';
import { disclose } from './disclose.ts';
import { renderLinks } from './link.ts';
import { parseListRequest, parseSelection, wishName, type ListRequest } from './list-request.ts';
import { pathParameters, type Operation } from './operations.ts';
import { pinSight, vary, type VersionNames } from './pin.ts';
import type { Question } from './question.ts';
import { readOne } from './read-one.ts';
import { renderOne, renderPieces, selectFields, wrapperOf } from './render.ts';
import { digest, type FindSight } from './sight.ts';
import { findSource } from './source.ts';
import type { Turnstile } from './turnstile.ts';

export type Asked = {
  rp: string;
  params: Record<string, string>;
  query: Query;
  /** The version that the answer must be of. */
  ifRosterVersion: string | undefined;
  ifNoneMatch: string | undefined;
  acceptEncoding: string | string[] | undefined;
  head: boolean;
  /** Told of what the answer discloses. */
  note: Ledger['note'];
};
export type Answer = { status: 200 | 304; headers: Record<string, string>; body: Buffer | Readable | undefined };

export type Answering = {
  reading: Reading;
  dialect: Dialect;
  findSight: FindSight;
  turnstile: Turnstile;
  names: VersionNames;
  /** Where the dialect's root is found from outside. */
  address: string;
};

/** Up to here an answer fits in memory; beyond, and without a limit, it is streamed. */
const longestPage = 1000;

export async function answerOperation(answering: Answering, operation: Operation, caller: Caller, given: Asked): Promise<Answer> {
  const { dialect, address } = answering;
  const { sight, version } = await pinSight(answering.names, caller, answering.findSight(caller, operation, dialect), given);
  // What it is of is said by the sight.
  const asked = { ...given, query: without(given.query, wishName) };
  const ids = pathParameters(operation.path).map((name) => asked.params[name] ?? '');
  if (ids.some((id) => id.includes('\0'))) throw new SchoolbellError('not_found', 'There is no such record.');
  const resource = collections[operation.collection];
  const request = operation.single
    ? { ...nothingAsked, fields: parseSelection(asked.query, resource, dialect) }
    : parseListRequest(asked.query, resource, dialect);

  const named = JSON.stringify([address, operation.name, ids, sight.name]);
  const headers = {
    'x-roster-version': version,
    etag: `W/"${digest(named + JSON.stringify(asked.query))}"`,
    'cache-control': 'private, no-cache',
    vary,
  };
  const unchanged: Answer = { status: 304, headers, body: undefined };
  if (hasTag(asked.ifNoneMatch, headers.etag)) return unchanged;
  const { filter, sort } = request;
  const question: Question = { dialect, operation, ids, targets: sight.targets, filter, sort, address };
  const answer = await (operation.single
    ? answerOne(answering, question, request, headers, asked)
    : answerList(answering, question, request, headers, asked));
  if (asked.ifNoneMatch?.trim() !== '*') return answer;
  if (answer.body instanceof Readable) answer.body.destroy();
  return unchanged;
}

const nothingAsked: ListRequest = { limit: undefined, offset: 0, filter: undefined, sort: undefined, fields: undefined };

async function answerOne(
  { reading }: Answering,
  question: Question,
  { fields }: ListRequest,
  headers: Record<string, string>,
  asked: Asked,
): Promise<Answer> {
  const [found, another] = await readOne(reading, question);
  if (!found) throw new SchoolbellError('not_found', 'There is no such record.');
  if (another)
    throw new SchoolbellError('ambiguous', 'More than one school has a record with this sourcedId; read it from the list, or with a token of one school.');
  if (leaves(asked)) disclose(asked.note, asked.rp, question, fields, new Map([[found.estab, 1]]));
  const record = fields ? selectFields(Buffer.from(found.json), fields).toString() : found.json;
  return { status: 200, headers, body: Buffer.from(renderOne(collections[question.operation.collection], record)) };
}

async function answerList(
  { reading, address, turnstile }: Answering,
  question: Question,
  { limit, offset, fields }: ListRequest,
  headers: Record<string, string>,
  asked: Asked,
): Promise<Answer> {
  const source = await findSource(reading, question);
  const wrapper = wrapperOf(collections[question.operation.collection]);
  const wish = [wishName, headers['x-roster-version'] ?? ''] as const;
  const tell = (counts: Counts) => leaves(asked) && disclose(asked.note, asked.rp, question, fields, counts);
  const withTotal = (total: number) => ({
    ...headers,
    'x-total-count': String(total),
    ...(limit === undefined ? {} : { link: renderLinks(address + fillPath(question), asked.query, { limit, offset, total }, wish) }),
  });
  if (limit !== undefined && limit <= longestPage) {
    const margins = { before: wrapper.before.length, behind: wrapper.behind.length };
    const { bytes, counts, total } = await source.page({ limit, offset }, margins);
    tell(counts);
    wrapper.before.copy(bytes);
    wrapper.behind.copy(bytes, bytes.length - margins.behind);
    const body = fields ? select(bytes, margins, fields) : bytes;
    return { status: 200, headers: withTotal(total), body };
  }
  if (asked.head) return { status: 200, headers: withTotal(await source.total()), body: undefined };
  const encoding = chooseEncoding(asked.acceptEncoding, question.targets.length > 1 ? ['gzip'] : encodings);
  const isWhole = limit === undefined && offset === 0 && fields === undefined;
  const leave = await turnstile(asked.rp);
  try {
    const compressed = isWhole && encoding ? await source.openCompressed?.(encoding, wrapper) : undefined;
    if (encoding && compressed) {
      const coded = { 'content-encoding': encoding, vary: `${vary}, accept-encoding` };
      return streamed({ ...withTotal(compressed.total), ...coded }, compressed.length, compressed.bytes(tell), [leave, compressed.close]);
    }
    const list = await source.open({ limit, offset });
    const length = fields || list.length === undefined ? undefined : wrapper.before.length + list.length + wrapper.behind.length;
    return streamed(withTotal(list.total), length, renderPieces(wrapper, counting(list, tell), fields), [leave, () => void list.close()]);
  } catch (error) {
    leave();
    throw error;
  }
}

/** closing: what is done when it has gone out, or its reader has. */
function streamed(headers: Record<string, string>, length: number | undefined, pieces: AsyncIterable<Buffer>, closing: readonly (() => void)[]): Answer {
  const body = Readable.from(length === undefined ? pieces : exactly(length, pieces), { objectMode: false });
  body.once('close', () => {
    for (const close of closing) close();
  });
  return { status: 200, headers: { ...headers, ...(length === undefined ? {} : { 'content-length': String(length) }) }, body };
}

/** A reader would wait for what is missing: it is told instead that something is wrong. */
async function* exactly(length: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest = length;
  for await (const piece of pieces) {
    rest -= piece.length;
    if (rest < 0) break;
    yield piece;
  }
  if (rest !== 0) throw new Error(`a list of ${length} bytes ended with ${Math.abs(rest)} ${rest > 0 ? 'missing' : 'too many'}`);
}

function select(bytes: Buffer, { before, behind }: { before: number; behind: number }, fields: readonly string[]): Buffer {
  const end = bytes.length - behind;
  if (before === end) return bytes;
  return Buffer.concat([bytes.subarray(0, before), selectFields(bytes.subarray(before, end), fields), bytes.subarray(end)]);
}

/** Passes the pieces on, and tells when they have all gone out, or as many as were taken. */
async function* counting({ pieces }: OpenList, tell: (counts: Counts) => unknown): AsyncGenerator<Buffer> {
  const sums = new Map<string, number>();
  try {
    for await (const { bytes, count, estab } of pieces) {
      sums.set(estab, (sums.get(estab) ?? 0) + count);
      yield bytes;
    }
  } finally {
    tell(sums);
  }
}

/** Whether records are sent at all: HEAD has no body, and `If-None-Match: *` ends in 304. */
function leaves({ head, ifNoneMatch }: Asked): boolean {
  return !head && ifNoneMatch?.trim() !== '*';
}

function without(query: Query, name: string): Query {
  if (query[name] === undefined) return query;
  const { [name]: _, ...rest } = query;
  return rest;
}

function fillPath({ operation, ids }: Question): string {
  let at = 0;
  return operation.path.replace(/:\w+/g, () => encodeURIComponent(ids[at++] ?? ''));
}

/** Weak comparison, as If-None-Match asks for. Who has the tag got it with this answer. */
function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return ifNoneMatch?.split(',').some((tag) => opaque(tag) === opaque(etag)) ?? false;
}
