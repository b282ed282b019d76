// In charge of the walk of one request: parse, plan, query, render, once each. It also says which version of the
// roster the answer is of, answers of an earlier one that is asked for, and 304 when the caller has it already.
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Caller } from '../access/authenticate.ts';
import type { Ledger } from '../access/disclosures.ts';
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import { collections } from '../roster/collections.ts';
import type { Dialect } from './dialects/dialect.ts';
import { countRecords, disclose, disclosing, type Counts } from './disclose.ts';
import { renderLinks } from './link.ts';
import { parseListRequest, parseSelection, parseWish, wishName, type ListRequest } from './list-request.ts';
import { pathParameters, type Operation } from './operations.ts';
import { pinTargets, type VersionNames } from './pin.ts';
import type { Question } from './plan.ts';
import type { Remembered } from './remembered.ts';
import { createFinish, renderList, renderOne, renderStream } from './render.ts';
import { openStream, requireReadable, selectPage, selectTotal, type Reader } from './select-page.ts';
import type { Turnstile } from './turnstile.ts';
import { requireTargets, type Target } from './visibility.ts';

export type Asked = {
  rp: string;
  params: Record<string, string>;
  query: Query;
  /** The version that the answer must be of. */
  ifRosterVersion: string | undefined;
  ifNoneMatch: string | undefined;
  head: boolean;
  /** Told of what the answer discloses. */
  note: Ledger['note'];
};
export type Answer = { status: 200 | 304; headers: Record<string, string>; body: Buffer | Readable | undefined };
export type Page = { body: Buffer; total: number; counts: Counts };

export type Answering = {
  reader: Reader;
  pages: Remembered<Page>;
  dialect: Dialect;
  turnstile: Turnstile;
  names: VersionNames;
  /** Where the dialect's root is found from outside. */
  address: string;
};

/** Up to here an answer is one statement and fits in memory; beyond, and without a limit, it is streamed. */
const longestPage = 1000;

export async function answerOperation(answering: Answering, operation: Operation, caller: Caller, given: Asked): Promise<Answer> {
  const { dialect, reader, address } = answering;
  const { targets, version } = await pin(answering, caller, requireTargets(caller, operation, dialect), given);
  // What it is of is said by the targets.
  const asked = { ...given, query: without(given.query, wishName) };
  const ids = pathParameters(operation.path).map((name) => asked.params[name] ?? '');
  if (ids.some((id) => id.includes('\0'))) throw new SchoolbellError('not_found', 'There is no such record.');
  const resource = collections[operation.collection];
  const request = operation.single
    ? { ...nothingAsked, fields: parseSelection(asked.query, resource, dialect) }
    : parseListRequest(asked.query, resource, dialect);

  const key = keyOf(answering, operation, ids, targets, asked.query);
  const headers = { 'x-roster-version': version, etag: `W/"${digest(key)}"`, 'cache-control': 'private, no-cache', vary };
  const unchanged: Answer = { status: 304, headers, body: undefined };
  if (hasTag(asked.ifNoneMatch, headers.etag ?? '')) return unchanged;
  const versions = new Map(await Promise.all(targets.map(async (target) => [target.estab, await reader.facts.versions(reader.db, target)] as const)));
  const question: Question = { dialect, operation, ids, targets, filter: request.filter, sort: request.sort, address, versions };
  const answer = await (operation.single
    ? answerOne(answering, question, request, headers, key, asked)
    : answerList(answering, question, request, headers, key, asked));
  if (asked.ifNoneMatch?.trim() !== '*') return answer;
  if (answer.body instanceof Readable) answer.body.destroy();
  return unchanged;
}

const vary = 'authorization, if-roster-version';

type Pinned = { targets: readonly Target[]; version: string };

/** If-Roster-Version is a condition; the parameter that our links carry is a wish, and without it, or past it, all is as it stands. */
async function pin({ names }: Answering, caller: Caller, targets: readonly Target[], { ifRosterVersion, query }: Asked): Promise<Pinned> {
  const wish = parseWish(query);
  const asked = ifRosterVersion ?? wish;
  const standing = await names.nameOf(caller.reach);
  if (asked === undefined || asked === standing) return { targets, version: standing };
  const named = await names.find(asked);
  const pinned = named && pinTargets(targets, named);
  if (pinned) return { targets: pinned, version: asked };
  if (ifRosterVersion === undefined) return { targets, version: standing };
  const message = `The version "${asked.slice(0, 60)}" is not kept, or not of these schools. Begin again without If-Roster-Version.`;
  throw new SchoolbellError('version_gone', message, { headers: { vary } });
}

const nothingAsked: ListRequest = { limit: undefined, offset: 0, filter: undefined, sort: undefined, fields: undefined };

async function answerOne(
  { reader }: Answering,
  question: Question,
  request: ListRequest,
  headers: Record<string, string>,
  key: string,
  asked: Asked,
): Promise<Answer> {
  const { records, count } = await selectPage(reader, question, { limit: 2, offset: 0 }, key);
  if (count === 0) throw new SchoolbellError('not_found', 'There is no such record.');
  if (count > 1)
    throw new SchoolbellError('ambiguous', 'More than one school has a record with this sourcedId; read it from the list, or with a token of one school.');
  if (leaves(asked)) disclose(asked.note, asked.rp, question, request.fields, countRecords(records, question.targets));
  return {
    status: 200,
    headers,
    body: Buffer.from(renderOne(collections[question.operation.collection], createFinish(question.address, question.versions, request.fields)(records))),
  };
}

async function answerList(
  answering: Answering,
  question: Question,
  request: ListRequest,
  headers: Record<string, string>,
  key: string,
  asked: Asked,
): Promise<Answer> {
  const { reader, pages, address } = answering;
  const resource = collections[question.operation.collection];
  // The question without the page and the selection.
  const questionKey = keyOf(answering, question.operation, question.ids, question.targets, asked.query.filter ? { filter: asked.query.filter } : {});
  const { limit, offset } = request;
  const finish = createFinish(address, question.versions, request.fields);
  const wish = [wishName, headers['x-roster-version'] ?? ''] as const;
  const withTotal = (total: number) => ({
    ...headers,
    'x-total-count': String(total),
    ...(limit === undefined ? {} : { link: renderLinks(address + fillPath(question), asked.query, { limit, offset, total }, wish) }),
  });
  if (limit !== undefined && limit <= longestPage) {
    let page = pages.get(key);
    if (!page) {
      const total = await selectTotal(reader, question, questionKey);
      const { records } = await selectPage(reader, question, request, questionKey);
      page = { body: Buffer.from(renderList(resource, finish(records))), total, counts: countRecords(records, question.targets) };
      pages.set(key, page, page.body.length);
    }
    if (leaves(asked)) disclose(asked.note, asked.rp, question, request.fields, page.counts);
    return { status: 200, headers: withTotal(page.total), body: page.body };
  }
  if (asked.head) {
    await requireReadable(reader.db, question);
    return { status: 200, headers: withTotal(await selectTotal(reader, question, questionKey)), body: undefined };
  }
  const leave = await answering.turnstile(asked.rp);
  const { total, pieces, close } = await openStream(reader, question, request, questionKey).catch((error: unknown) => {
    leave();
    throw error;
  });
  const body = Readable.from(
    renderStream(
      resource,
      disclosing(pieces, question.targets, (counts) => leaves(asked) && disclose(asked.note, asked.rp, question, request.fields, counts)),
      finish,
    ),
    { objectMode: false },
  );
  body.once('close', () => {
    leave();
    void close();
  });
  return { status: 200, headers: withTotal(total), body };
}

/** Whether records are sent at all: HEAD has no body, and `If-None-Match: *` ends in 304. */
function leaves({ head, ifNoneMatch }: Asked): boolean {
  return !head && ifNoneMatch?.trim() !== '*';
}

function without(query: Query, name: string): Query {
  const { [name]: _, ...rest } = query;
  return rest;
}

function fillPath({ operation, ids }: Question): string {
  let at = 0;
  return operation.path.replace(/:\w+/g, () => encodeURIComponent(ids[at++] ?? ''));
}

/** Everything that the answer depends on. */
function keyOf({ address }: Answering, operation: Operation, ids: readonly string[], targets: readonly Target[], query: Query): string {
  return JSON.stringify([
    address,
    operation.name,
    ids,
    targets.map(({ estab, rosterId, version, kinds, people }) => [estab, rosterId, version, kinds, people]),
    query,
  ]);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** Weak comparison, as If-None-Match asks for. Who has the tag got it with this answer. */
function hasTag(ifNoneMatch: string | undefined, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return ifNoneMatch?.split(',').some((tag) => opaque(tag) === opaque(etag)) ?? false;
}
