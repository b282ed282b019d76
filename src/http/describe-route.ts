// In charge of what a route says of itself for the documentation: its words, what it takes and gives, and every error with an
// example. What comes is checked by the route's own reader, in its own words; nothing here accepts or refuses anything.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TObject, type TSchema } from './json-schema.ts';
import type { ErrorCode } from '../errors.ts';
import { answerHeaders, describeErrors, ownFaults } from './describe-errors.ts';
import { envelopeShape, type ErrorShape } from './error-shape.ts';

/** What a caller presents; the names are those of the documents' security schemes. */
export type Security = readonly Readonly<Record<string, readonly string[]>>[];

/** By its code, a message that it may have. */
export type Refusals = Readonly<Partial<Record<ErrorCode, string>>>;

/** Where it depends on the kind of content. */
export type ByMediaType = Readonly<{ description?: string; content: Readonly<Record<string, { schema: TSchema; example?: unknown }>> }>;

export type RouteWords = Readonly<{
  tag: string;
  operationId: string;
  summary: string;
  description: string;
  /** None: anybody may ask. */
  security: Security;
  params?: TObject;
  query?: TObject;
  headers?: TObject;
  body?: TSchema | ByMediaType;
  /** Everything may stand in the query as well. */
  bodyIsOptional?: true;
  /** By status. With `streamed`, they describe what is rendered elsewhere; otherwise they serialise it. */
  answers: Readonly<Record<number, TSchema | ByMediaType>>;
  streamed?: true;
  errors: Refusals;
  /** How this address speaks of errors: the shape, and the name of the schema that describes it. */
  errorsAs?: Readonly<{ shape: ErrorShape; schema: string }>;
  /** By status, the name of a schema that says more than that. */
  errorSchemas?: Readonly<Record<number, string>>;
}>;

export const text = (description: string, more: object = {}) => Type.String({ description, ...more });
export const instant = (description: string) => Type.String({ format: 'date-time', description });
export const day = (description: string, more: object = {}) => Type.String({ format: 'date', description, ...more });
export const whole = (description: string, more: object = {}) => Type.Integer({ description, ...more });
export const flag = (description: string, more: object = {}) => Type.Boolean({ description, ...more });
export const oneOf = (values: readonly string[], description: string, more: object = {}) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description, ...more });
export const listOf = (items: TSchema, description: string) => Type.Array(items, { description });
/** Always there, and null where there is nothing to say. */
export const orNull = (schema: TSchema): TSchema => {
  const { type, enum: values, ...rest } = schema as TSchema & { type: string; enum?: unknown[] };
  return Type.Unsafe({ ...rest, type: [type, 'null'], ...(values ? { enum: [...values, null] } : {}) });
};
/** The same keys, whichever way they are sent. */
export const jsonOrForm = (schema: TSchema): ByMediaType => ({
  content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
});
/** What is no text. */
export const bytes = (description: string) => Type.Unsafe<string>({ type: 'string', format: 'binary', description });
/** A named schema, with words of its own for this answer. */
export const answerOf = (id: string, description: string) => Type.Unsafe<Record<string, unknown>>({ $ref: `${id}#`, description });
export const named = (id: string) => Type.Unsafe<Record<string, unknown>>({ $ref: `${id}#` });
/** Nothing else is in it. */
export const exactly = (properties: Record<string, TSchema>, more: object = {}) => Type.Object(properties, { additionalProperties: false, ...more });

/** The four fields that every answer under /api ends with. */
export const envelopeFields = {
  Message: orNull(text('A remark for people; null when there is none.')),
  ExceptionType: orNull(text('Null when all is well, else the code of the error.')),
  ExceptionMessage: orNull(text('Null when all is well, else what was wrong and what would be right.')),
  InnerException: orNull(text('Always null.')),
};

/** Schemas that many operations refer to by name. */
export const sharedSchemas = [
  { $id: 'Error', ...exactly(envelopeFields, { description: 'What was wrong: ExceptionType is for programs, ExceptionMessage for people.' }) },
] as const;

/** What leads to each. */
const causes: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_request: 'Something in the request is not as it must be; ExceptionMessage names it.',
  missing_token: 'There is no credential.',
  invalid_token: 'The credential does not hold, or is of another kind: obtain a new token and try once more.',
  invalid_client: 'Unknown client or wrong secret: the answer is the same, after the same time.',
  forbidden: 'Known, but not allowed: a scope is not granted, the school is another, or the authorisation is paused or revoked.',
  not_found: 'There is no such thing for this caller.',
  conflict: 'Not as things stand now.',
  request_timeout: 'The body did not arrive in time.',
  too_large: 'The body is too large.',
  unsupported_media_type: 'The body is of a kind that this address does not take.',
  unprocessable: 'Understood, but it cannot be done with what was given.',
  too_many_requests: 'Too many requests, or too many wrong tries, in this minute.',
  unavailable: ownFaults.unavailable.when,
  unexpected: ownFaults.unexpected.when,
};

/** Wherever something can go wrong at all. */
const everywhere: Refusals = { unexpected: ownFaults.unexpected.message };

declare module 'fastify' {
  interface FastifySchema {
    /** For the documentation: answers that the schemas of the route do not serialise. */
    'x-errors'?: object;
  }
}

/** Errors are described beside the schemas of the route: as such, each would cost the start a serialiser that nobody uses. */
const errorsKey = 'x-errors';
const optionalKey = 'x-body-optional';

export function describeRoute(words: RouteWords): Pick<RouteShorthandOptions, 'schema' | 'validatorCompiler' | 'serializerCompiler'> {
  const { tag, operationId, summary, description, security, params, query, headers, body, answers, streamed } = words;
  return {
    schema: {
      tags: [tag],
      operationId,
      summary,
      description,
      security: security.map((one) => ({ ...one })) as Record<string, string[]>[],
      ...(params ? { params } : {}),
      ...(query ? { querystring: query } : {}),
      ...(headers ? { headers } : {}),
      ...(body ? { body } : {}),
      response: { ...answers },
      [errorsKey]: renderBeside(words),
      ...(words.bodyIsOptional ? { [optionalKey]: true } : {}),
    },
    validatorCompiler: () => () => true,
    ...(streamed ? { serializerCompiler: () => (data: unknown) => JSON.stringify(data) } : {}),
  };
}

function renderBeside({ errors, errorSchemas = {}, errorsAs = { shape: envelopeShape, schema: 'Error' } }: RouteWords): object {
  const { shape, schema } = errorsAs;
  const all = Object.entries({ ...errors, ...everywhere }) as [ErrorCode, string][];
  const refusals = all.map(([code, message]) => ({ code, when: causes[code] ?? '', message }));
  const limited = 'missing_token' in errors;
  const { 'X-Request-Id': id, ...standing } = answerHeaders;
  const named = (name: string) => describeErrors(shape, refusals, { schema: { $ref: `#/components/schemas/${name}` }, limited });
  const special = Object.entries(errorSchemas).map(([status, name]) => [status, named(name)[Number(status)]]);
  return { answered: { 'X-Request-Id': id, ...(limited ? standing : {}) }, errors: { ...named(schema), ...Object.fromEntries(special) } };
}

type Headers = Readonly<Record<string, { description?: string } & object>>;
type Beside = { answered: Headers; errors: Record<string, { headers: Headers; content: object }> };
type Described = {
  responses: Record<string, { headers?: object; content?: object }>;
  requestBody?: { required?: boolean };
  [errorsKey]?: Beside;
  [optionalKey]?: true;
};

/** Puts into a document what its operations say beside their schemas. */
export function finishDescriptions<T extends { paths?: object | undefined }>(document: T): T {
  for (const operation of Object.values(document.paths ?? {}).flatMap((path: object) => Object.values(path) as Described[])) {
    const { [errorsKey]: beside, [optionalKey]: optional, requestBody, responses } = operation;
    if (beside) {
      for (const answer of Object.values(responses)) answer.headers = { ...toHeaders(beside.answered), ...answer.headers };
      for (const [status, error] of Object.entries(beside.errors)) {
        const own = responses[status];
        // An answer of its own may be of another kind than the error with the same status.
        if (own) own.content = { ...error.content, ...own.content };
        else responses[status] = { ...error, headers: toHeaders(error.headers) };
      }
    }
    if (optional && requestBody) requestBody.required = false;
    delete operation[errorsKey];
    delete operation[optionalKey];
  }
  return document;
}

/** As documents have them. */
const toHeaders = (headers: Headers) =>
  Object.fromEntries(Object.entries(headers).map(([name, { description, ...schema }]) => [name, { schema, ...(description ? { description } : {}) }]));
