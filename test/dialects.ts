// In charge of the dialects of the rostering API as tests ask them: one row each, so that what holds in all of them is tested in all.
// What a row expects is written out here; only which operations there are is the product's own word.
import type { Dialect } from '../src/rostering/dialects/dialect.ts';
import { oneRoster12 } from '../src/rostering/dialects/oneroster-1p2.ts';
import { variantA } from '../src/rostering/dialects/variant-a.ts';
import { variantB } from '../src/rostering/dialects/variant-b.ts';
import { operations, type Operation } from '../src/rostering/operations.ts';
import { root12, rootA, rootB, type Client } from './service.ts';

type Headers = Record<string, string>;

/** What can go wrong, as far as any dialect tells it apart. */
export type Fault =
  'missingToken' | 'invalidToken' | 'forbidden' | 'notFound' | 'filter' | 'blankFilter' | 'sort' | 'selection' | 'blankSelection' | 'request' | 'verb' |
  'gone' | 'unexpected' | 'away';
/** undefined: it is none here. The code is that of the body, where it has one. */
export type Refusal = Readonly<{ status: number; minor?: string }> | undefined;
export type ReadError = Readonly<{ message: string; minor: string | undefined }>;

export type TestedDialect = Readonly<{
  name: Name;
  root: string;
  /** Of its operations in the reference, and of its golden answers. */
  suffix: string;
  surface: 'variant-a' | 'variant-b' | 'oneroster-1p2';
  tokenPath: string;
  scopeRoot: string;
  /** GET as a client of that establishment; in variant A, of all that the client has. */
  read(client: Client, estab: string, path: string, headers?: Headers): Promise<Response>;
  token(client: Client, estab: string): Promise<string>;
  /** With which the token is asked for. */
  credentials(client: Client, estab: string): readonly [user: string, secret: string];
  /** Which secret these are of. */
  secretOf: 'client' | 'school';
  /** GET as a client of all schools that it has, where a token can open several. */
  readAll?(client: Client, path: string, headers?: Headers): Promise<Response>;
  tokenOfAll?(client: Client): Promise<string>;
  offered: readonly Operation[];
  /** Whether filters by any field, sorts and selections have an effect; otherwise only `status='…'` has. */
  asksFreely: boolean;
  /** What it calls a user's role and organisations, to filter by. */
  words: Readonly<{ role: string; orgs: string }>;
  errors: Readonly<Record<Fault, Refusal>>;
  errorType: RegExp;
  /** In the reference; the body of an error is held to it, where it is JSON. */
  errorSchema?: Readonly<{ $ref: string }>;
  readError(text: string): ReadError;
}>;
type Name = 'A' | 'B' | '1.2';

const offeredBy = (dialect: Dialect) => operations.filter(({ name }) => dialect.offers(name));

const a: TestedDialect = {
  name: 'A',
  root: rootA,
  suffix: 'A',
  surface: 'variant-a',
  tokenPath: `${rootA}/token`,
  scopeRoot: 'https://purl.imsglobal.org/spec/or/v1p1/scope/',
  read: (client, _estab, path, headers) => client.a(path, headers),
  token: (client) => client.tokenA(),
  credentials: ({ clientId, clientSecret }) => [clientId, clientSecret],
  secretOf: 'client',
  readAll: (client, path, headers) => client.a(path, headers),
  tokenOfAll: (client) => client.tokenA(),
  offered: offeredBy(variantA),
  asksFreely: false,
  words: { role: 'role', orgs: 'orgs.sourcedId' },
  errors: {
    missingToken: { status: 403 },
    invalidToken: { status: 400 },
    forbidden: { status: 400 },
    notFound: { status: 404 },
    filter: { status: 400 },
    blankFilter: { status: 400 },
    sort: { status: 400 },
    selection: { status: 400 },
    blankSelection: { status: 400 },
    request: { status: 400 },
    verb: { status: 405 },
    gone: { status: 412 },
    unexpected: { status: 400 },
    away: { status: 400 },
  },
  errorType: /^text\/plain/,
  readError: (text) => ({ message: text, minor: undefined }),
};

const b: TestedDialect = {
  name: 'B',
  root: rootB,
  suffix: 'B',
  surface: 'variant-b',
  tokenPath: `${rootB}/auth/token`,
  scopeRoot: 'https://purl.imsglobal.org/spec/or/v1p1/scope/',
  read: (client, estab, path, headers) => client.b(estab, path, headers),
  token: (client, estab) => client.tokenB(estab),
  credentials: ({ rp, schoolSecrets }, estab) => [`${rp}|${estab}`, schoolSecrets[estab] ?? ''],
  secretOf: 'school',
  offered: offeredBy(variantB),
  asksFreely: true,
  words: { role: 'role', orgs: 'orgs.sourcedId' },
  errors: {
    missingToken: { status: 401, minor: 'unauthorized' },
    invalidToken: { status: 401, minor: 'unauthorized' },
    forbidden: { status: 403, minor: 'forbidden' },
    notFound: { status: 404, minor: 'unknown object' },
    filter: { status: 400, minor: 'invalid_filter_field' },
    blankFilter: { status: 400, minor: 'invalid_filter_field' },
    sort: { status: 400, minor: 'invalid_sort_field' },
    selection: { status: 400, minor: 'invalid_selection_field' },
    blankSelection: { status: 400, minor: 'invalid_blank_selection_field' },
    request: { status: 400, minor: 'invalid data' },
    verb: { status: 405, minor: 'invalid data' },
    gone: { status: 412, minor: 'invalid data' },
    unexpected: { status: 500, minor: 'server_busy' },
    away: { status: 503, minor: 'server_busy' },
  },
  errorType: /^application\/json/,
  errorSchema: { $ref: '#/components/schemas/imsx_StatusInfoSet' },
  readError(text) {
    const { statusInfoSet } = JSON.parse(text) as { statusInfoSet: Headers[] };
    return { message: statusInfoSet[0]?.imsx_description ?? '', minor: statusInfoSet[0]?.imsx_codeMinor };
  },
};

const oneDotTwo: TestedDialect = {
  name: '1.2',
  root: root12,
  suffix: '1p2',
  surface: 'oneroster-1p2',
  tokenPath: `${root12}/token`,
  scopeRoot: 'https://purl.imsglobal.org/spec/or/v1p2/scope/',
  read: (client, estab, path, headers) => client.v12(estab, path, headers),
  token: (client, estab) => client.token12(estab),
  credentials: b.credentials,
  secretOf: 'school',
  readAll: (client, path, headers) => client.v12(undefined, path, headers),
  tokenOfAll: (client) => client.token12(),
  offered: offeredBy(oneRoster12),
  asksFreely: true,
  words: { role: 'roles.role', orgs: 'roles.org.sourcedId' },
  errors: {
    missingToken: { status: 401, minor: 'unauthorisedrequest' },
    invalidToken: { status: 401, minor: 'unauthorisedrequest' },
    forbidden: { status: 403, minor: 'forbidden' },
    notFound: { status: 404, minor: 'unknownobject' },
    filter: { status: 400, minor: 'invalid_filter_field' },
    blankFilter: undefined,
    sort: undefined,
    selection: { status: 400, minor: 'invalid_selection_field' },
    blankSelection: { status: 400, minor: 'invalid_selection_field' },
    request: { status: 400, minor: 'invaliddata' },
    verb: { status: 405, minor: 'invaliddata' },
    gone: { status: 412, minor: 'invaliddata' },
    unexpected: { status: 500, minor: 'internal_server_error' },
    away: { status: 503, minor: 'server_busy' },
  },
  errorType: /^application\/json/,
  errorSchema: { $ref: '#/components/schemas/imsx_StatusInfo' },
  readError(text) {
    const { imsx_description: message, imsx_CodeMinor: { imsx_codeMinorField: [field] } } = JSON.parse(text) as StatusInfo;
    return { message, minor: field?.imsx_codeMinorFieldValue };
  },
};
type StatusInfo = { imsx_description: string; imsx_CodeMinor: { imsx_codeMinorField: { imsx_codeMinorFieldValue: string }[] } };

export const testedDialects: readonly TestedDialect[] = [a, b, oneDotTwo];
export const byName: Readonly<Record<Name, TestedDialect>> = { A: a, B: b, '1.2': oneDotTwo };
/** Those in which anything can be asked. */
export const asking: readonly TestedDialect[] = [b, oneDotTwo];
/** Those in which one token may open several schools. */
export const ofSeveralSchools = [a, oneDotTwo] as readonly (TestedDialect & Required<Pick<TestedDialect, 'readAll' | 'tokenOfAll'>>)[];

/** Whether it has an operation at this path, its ids filled in. */
export function offers({ offered }: TestedDialect, path: string): boolean {
  const steps = path.split('?', 1)[0]?.split('/') ?? [];
  return offered.some((operation) => {
    const own = operation.path.split('/');
    return own.length === steps.length && own.every((step, at) => step.startsWith(':') || step === steps[at]);
  });
}
