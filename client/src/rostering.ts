// In charge of reading rosters: one reader for both variants, whose types know which lists each has and what may be asked of them.
import { readJson, requireFine, type Settings } from './call.ts';
import { variantA, variantB, type Dialect, type Variant } from './dialects.ts';
import { SchoolbellError } from './errors.ts';
import { createWhere, type FieldOf, type Filter, type Where, type WhereStatus } from './filter.ts';
import { wrappers, type Base, type ListsA, type ListsB } from './records.ts';
import { createSession, rosteringAccess } from './session.ts';
import { countRecords, recordPath, requireTaken, walkPages, type Page, type Question, type Reader } from './walk.ts';

type Lists = { A: ListsA; B: ListsB };
export type ListName<V extends Variant> = keyof Lists[V] & string;
export type RecordOf<V extends Variant, L extends ListName<V>> = Lists[V][L] extends { record: infer R extends Base } ? R : never;

type Reading = Pick<Question, 'version' | 'signal'>;
type Paging = Pick<Question, 'pageSize' | 'offset'>;
/** filter: text, or (where) => where('role').is('student'). */
type Narrowing<V extends Variant, L extends ListName<V>> = V extends 'B'
  ? { filter?: string | ((where: Where<RecordOf<V, L>>) => Filter<RecordOf<V, L>>) | undefined } & OfOption<L & ListName<'B'>>
  : L extends 'enrollments'
    ? { filter?: undefined }
    : { filter?: ((where: WhereStatus) => { toString(): string }) | undefined };
/** What the list is of: { school: 's1' }, { class: 'c1' } and so on. */
type OfOption<L extends ListName<'B'>> = [ListsB[L]['of']] extends [never] ? { of?: undefined } : { of?: ListsB[L]['of'] | undefined };
type Shaping<V extends Variant, L extends ListName<V>, F> = V extends 'B'
  ? { sort?: FieldOf<RecordOf<V, L>> | undefined; orderBy?: 'asc' | 'desc' | undefined; fields?: readonly F[] | undefined }
  : { fields?: undefined };

export type CountOptions<V extends Variant, L extends ListName<V>> = Reading & Narrowing<V, L>;
export type ListOptions<V extends Variant, L extends ListName<V>, F> = CountOptions<V, L> & Paging & Shaping<V, L, F>;
export type GetOptions<V extends Variant, F> = Reading & (V extends 'B' ? { fields?: readonly F[] | undefined } : unknown);

type Keys<V extends Variant, L extends ListName<V>> = keyof RecordOf<V, L> & string;

export type Roster<V extends Variant = Variant> = {
  readonly variant: V;
  /** Every record, of one version of the roster. Throws VersionGone where it must begin again. */
  list<L extends ListName<V>, F extends Keys<V, L> = Keys<V, L>>(list: L, options?: ListOptions<V, L, F>): AsyncGenerator<Pick<RecordOf<V, L>, F>>;
  /** The same page by page, with total and version. */
  pages<L extends ListName<V>, F extends Keys<V, L> = Keys<V, L>>(list: L, options?: ListOptions<V, L, F>): AsyncGenerator<Page<Pick<RecordOf<V, L>, F>>>;
  get<L extends ListName<V>, F extends Keys<V, L> = Keys<V, L>>(list: L, id: string, options?: GetOptions<V, F>): Promise<Pick<RecordOf<V, L>, F> | undefined>;
  count<L extends ListName<V>>(list: L, options?: CountOptions<V, L>): Promise<{ total: number; version: string }>;
  /** For code that reads whichever list of whichever variant: in the words of the API, unchecked. */
  readonly raw: RawRoster;
};

export type RawRoster = {
  pages(list: string, question?: Question): AsyncGenerator<Page<Base>, void, undefined>;
  get(list: string, id: string, question?: Pick<Question, 'fields' | 'version' | 'signal'>): Promise<Base | undefined>;
  count(list: string, question?: Omit<Question, 'pageSize' | 'offset' | 'sort' | 'fields'>): Promise<{ total: number; version: string }>;
};

/** @internal Every school that authorises the application, under its own id and secret. */
export function rosterA(settings: Settings, { clientId, clientSecret }: { clientId: string; clientSecret: string }): Roster<'A'> {
  return createRoster(settings, variantA, clientId, clientSecret) as Roster<'A'>;
}

/** @internal One school. */
export function rosterB(settings: Settings, { rp, estab, secret }: { rp: string; estab: string; secret: string }): Roster<'B'> {
  return createRoster(settings, variantB, `${rp}|${estab}`, secret) as Roster<'B'>;
}

type Options = Omit<Question, 'filter'> & { filter?: string | ((where: Where<Base>) => { toString(): string }) | undefined };

function createRoster(settings: Settings, dialect: Dialect, id: string, secret: string): unknown {
  const { refusals, busy, tokenPath, variant } = dialect;
  const session = createSession(settings, { scheme: 'Bearer', refusals, busy, obtain: rosteringAccess(tokenPath, id, secret, busy) });
  const reader: Reader = { session, dialect };
  const raw: RawRoster = {
    pages: (list, question = {}) => walkPages(reader, list, question),
    get: (list, sourcedId, question = {}) => getRecord(reader, list, sourcedId, question),
    count: (list, question = {}) => countRecords(reader, list, question),
  };
  const pages = (list: string, options: Options = {}) => raw.pages(list, toQuestion(options));

  return {
    variant,
    raw,
    pages,
    async *list(list: string, options?: Options) {
      for await (const page of pages(list, options)) yield* page.records;
    },
    count: (list: string, options: Options = {}) => raw.count(list, toQuestion(options)),
    get: raw.get,
  };
}

function toQuestion({ filter, ...rest }: Options): Question {
  return { ...rest, filter: typeof filter === 'function' ? filter(createWhere<Base>()).toString() : filter };
}

async function getRecord({ session, dialect }: Reader, list: string, id: string, { fields, version, signal }: Question): Promise<Base | undefined> {
  const path = recordPath(dialect, list, id);
  const headers = { 'if-roster-version': version };
  requireTaken(dialect, list, { fields });
  const answer = await session.send({ path, query: { fields: fields?.join(',') }, headers, accepts: [404], signal });
  // Any other 404 is of something in between, which knows nothing of records.
  if (answer.status === 404 && answer.headers.has('x-request-id')) return undefined;
  requireFine(answer, { path }, session.settings.now());
  const record = readJson<Record<string, unknown>>(answer, `GET ${path}`)[wrappers[list as keyof typeof wrappers].one];
  if (record === undefined) throw new SchoolbellError(`What GET ${path} was answered with is no record of ${list}.`, { code: 'unreadable' });
  return record as Base;
}
