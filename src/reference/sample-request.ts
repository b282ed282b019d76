// In charge of the request that a sample makes: an operation with values for its parameters and its body, put together once for all
// languages.
import { credentials, isCredential, type Credential, type CredentialName, type Variable } from './credentials.ts';
import type { Described, Media, OpenApiDocument, OperationObject, Parameter, Response } from './document.ts';
import { findExample, makeExample } from './schema-example.ts';
import { Env, type Value } from './quote.ts';

/** An operation, and the document that it stands in. */
export type Located = Described & Readonly<{ document: OpenApiDocument }>;

/** Each as it is meant, not yet encoded; a list is sent as that many parameters. */
export type SampleValues = Readonly<{
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | readonly string[]>>;
  headers?: Readonly<Record<string, string>>;
  body?: Value;
  /** Which of the content types that the operation takes. */
  contentType?: string;
  /** Which of the credentials that it takes. */
  credential?: CredentialName;
}>;

export type SampleBody =
  | Readonly<{ kind: 'json'; value: Value }>
  | Readonly<{ kind: 'form'; fields: readonly (readonly [string, string | Env])[] }>
  | Readonly<{ kind: 'text'; text: string }>
  | Readonly<{ kind: 'file'; name: string }>;

export type SampleRequest = Readonly<{
  origin: string;
  method: string;
  /** Percent-encoded, without the query. */
  path: string;
  query: readonly (readonly [string, string])[];
  headers: readonly (readonly [string, string])[];
  credential: Credential | undefined;
  body: (SampleBody & { contentType: string }) | undefined;
  /** What comes back, and what a program does with it. */
  answer: 'json' | 'text' | 'nothing' | Readonly<{ file: string }>;
}>;

export function planRequest(located: Located, values: SampleValues): SampleRequest {
  const { document, verb, operation } = located;
  const path = located.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => encodeURIComponent((values.path?.[name] ?? name).toWellFormed()));
  const query = Object.entries(values.query ?? {}).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => [name.toWellFormed(), one.toWellFormed()] as const),
  );
  const answer = planAnswer(operation.responses);
  const accept = answer === 'json' ? 'application/json' : undefined;
  const credential = values.credential ?? listCredentials(located)[0];
  return {
    origin: (document.servers[0]?.url ?? '').replace(/\/$/, ''),
    method: verb.toUpperCase(),
    path,
    query,
    headers: [...(accept === undefined ? [] : [['Accept', accept] as const]), ...Object.entries(values.headers ?? {})],
    credential: credential === undefined ? undefined : credentials[credential],
    body: planBody(located, values),
    answer,
  };
}

/** In the order in which the operation names them. */
export function listCredentials({ operation }: Pick<Located, 'operation'>): readonly CredentialName[] {
  return (operation.security ?? []).flatMap((one) => Object.keys(one)).filter(isCredential);
}

const fileTypes: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/svg+xml': 'svg', 'application/zip': 'zip', 'application/octet-stream': 'bin' };
const isJson = (contentType: string) => /[/+]json\b/.test(contentType);

function planBody({ operation }: Located, { body: value, contentType: asked }: SampleValues): SampleRequest['body'] {
  if (!operation.requestBody || value === undefined) return undefined;
  const contentType = asked ?? findContentType(operation.requestBody.content) ?? 'application/json';
  const file = fileTypes[contentType];
  if (file !== undefined) return { kind: 'file', name: `roster.${file}`, contentType };
  if (contentType === 'application/x-www-form-urlencoded') return { kind: 'form', fields: listFields(value), contentType };
  return isJson(contentType) ? { kind: 'json', value: wellFormed(value), contentType } : { kind: 'text', text: String(value).toWellFormed(), contentType };
}

/** JSON before all others, whatever comes first. */
export function findContentType(content: Readonly<Record<string, Media>>): string | undefined {
  const types = Object.keys(content);
  return types.find(isJson) ?? types[0];
}

function listFields(value: Value): readonly (readonly [string, string | Env])[] {
  if (value === null || typeof value !== 'object' || value instanceof Env) return [];
  const text = (one: unknown) => (one instanceof Env ? one : (typeof one === 'object' ? JSON.stringify(one) : String(one)).toWellFormed());
  return Object.entries(value).map(([name, one]) => [name.toWellFormed(), text(one)]);
}

function wellFormed(value: Value): Value {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || typeof value !== 'object' || value instanceof Env) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key.toWellFormed(), wellFormed(one as Value)]));
}

function planAnswer(answers: Readonly<Record<string, Response>>): SampleRequest['answer'] {
  const [, given] = Object.entries(answers).find(([status]) => status.startsWith('2')) ?? [];
  if (!given) return 'text';
  const types = Object.keys(given.content ?? {});
  // What is a picture first of all is kept as one, though JSON can be had of it too.
  const file = types.map((type) => fileTypes[type]).find((one) => one !== undefined);
  if (file !== undefined) return { file: `answer.${file}` };
  if (types.length === 0) return 'nothing';
  return types.some(isJson) ? 'json' : 'text';
}

/** Besides what is required, what a first try is better for. */
const worthShowing: ReadonlySet<string> = new Set(['limit', 'pageSize']);

/** What the description itself gives as examples: of all that is required, and of a few that are not. */
export function takeExamples({ document, operation }: Located): SampleValues {
  const { parameters = [], requestBody } = operation;
  const of = (place: string, wanted: (one: Parameter) => boolean) =>
    Object.fromEntries(
      parameters.filter((one) => one.in === place && wanted(one)).map((one) => [one.name, String(findExample(document, one) ?? one.name)] as const),
    );
  const media = requestBody?.content[findContentType(requestBody.content) ?? ''];
  const required = (one: Parameter) => one.required === true;
  return {
    path: of('path', () => true),
    query: of('query', (one) => required(one) || worthShowing.has(one.name)),
    headers: of('header', required),
    ...(media && needsBody(operation) ? { body: hideSecrets((findExample(document, media) ?? makeExample(document, media.schema)) as Value) ?? '' } : {}),
  };
}

/** One that may be left out is sent where nothing else says what is wanted: the parameters could, but none of them must. */
function needsBody({ parameters = [], requestBody }: OperationObject): boolean {
  return requestBody?.required === true || (parameters.some((one) => one.in === 'query') && !parameters.some((one) => one.required));
}

const prefixes: Readonly<Record<string, Variable>> = {
  sb_school_: 'SCHOOL_SECRET',
  sb_mgmt_: 'MANAGEMENT_SECRET',
  sb_client_: 'CLIENT_SECRET',
  sb_upload_: 'UPLOAD_TOKEN',
  whsec_: 'SIGNING_SECRET',
};

/** Where an example shows a secret, it is set where the program runs. */
function hideSecrets(value: Value | undefined): Value | undefined {
  if (typeof value === 'string') {
    const [, variable] = Object.entries(prefixes).find(([prefix]) => value.startsWith(prefix)) ?? [];
    return variable === undefined ? value : new Env(variable);
  }
  if (value === undefined || value === null || typeof value !== 'object' || value instanceof Env) return value;
  if (Array.isArray(value)) return value.map((one: Value) => hideSecrets(one) ?? null);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hideSecrets(one as Value) ?? null]));
}
