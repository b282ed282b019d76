// In charge of what a route says of itself for the documentation: its words, what it takes and gives, and every error with an
// example. What comes is checked by the route's own reader, in its own words; nothing here accepts or refuses anything.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TObject, type TSchema } from 'typebox';
import { errorCodes, SchoolbellError, type ErrorCode } from '../errors.ts';
import { envelopeShape, type ErrorShape } from './error-shape.ts';

/** What a caller presents; the names are those of the documents' security schemes. */
export type Security = readonly Readonly<Record<string, readonly string[]>>[];

/** By its code, a message that it may have. */
export type Refusals = Readonly<Partial<Record<ErrorCode, string>>>;

/** Where it depends on the kind of content. */
export type ByMediaType = Readonly<{ description?: string; content: Readonly<Record<string, { schema: TSchema }>> }>;

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

const statusWords: Readonly<Record<number, string>> = {
  400: 'Something in the request is not as it must be; ExceptionMessage names it.',
  401: 'No token, or one that does not hold: obtain a new one and try once more.',
  403: 'Known, but not allowed: the scope is not granted, the school is another, or the authorisation is paused or revoked.',
  404: 'There is no such thing for this caller.',
  409: 'Not as things stand now.',
  413: 'The body is too large.',
  415: 'The body is of a kind that this address does not take.',
  422: 'Understood, but it cannot be done with what was given.',
  429: 'Too many requests, or too many wrong tries: come again after Retry-After seconds.',
  503: 'The service cannot reach its data at present: come again after Retry-After seconds.',
};

const header = (description: string, example: string | number) => ({
  description,
  schema: { type: typeof example === 'number' ? 'integer' : 'string', examples: [example] },
});
const requestId = { 'X-Request-Id': header('The id of this request, which the log has too.', 'c2a9f3d5e1b7a4f80c11') };
const standing = {
  'RateLimit-Limit': header('Requests that this credential has in a minute; absent where calls are not limited.', 1200),
  'RateLimit-Remaining': header('How many of them are left.', 1187),
  'RateLimit-Reset': header('Seconds until all are there again.', 42),
};
const errorHeaders: Readonly<Record<number, object>> = {
  401: { 'WWW-Authenticate': header('How to present a credential here.', 'Bearer realm="schoolbell"') },
  429: { 'Retry-After': header('Seconds to wait.', 60) },
  503: { 'Retry-After': header('Seconds to wait.', 5) },
};

declare module 'fastify' {
  interface FastifySchema {
    'x-errors'?: object;
    'x-body-optional'?: true;
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
      [errorsKey]: renderErrors(words),
      ...(words.bodyIsOptional ? { [optionalKey]: true } : {}),
    },
    validatorCompiler: () => () => true,
    ...(streamed ? { serializerCompiler: () => (data: unknown) => JSON.stringify(data) } : {}),
  };
}

function renderErrors({ errors, errorSchemas = {}, errorsAs = { shape: envelopeShape, schema: 'Error' } }: RouteWords): Record<string, object> {
  const { shape, schema } = errorsAs;
  const codes = Object.entries(errors) as [ErrorCode, string][];
  const byStatus = Map.groupBy(codes, ([code]) => shape.statuses[code] ?? errorCodes[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, those]) => [
      String(status),
      {
        description: statusWords[status] ?? 'Refused.',
        headers: { ...requestId, ...errorHeaders[status] },
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${errorSchemas[status] ?? schema}` },
            examples: Object.fromEntries(those.map(([code, message]) => [code, { value: JSON.parse(shape.body(new SchoolbellError(code, message))) }])),
          },
        },
      },
    ]),
  );
}

type Described = { responses?: Record<string, { headers?: object }>; requestBody?: { required?: boolean } } & Record<string, unknown>;

/** Puts into a document what its operations say beside their schemas. */
export function finishDescriptions<T extends { paths?: object | undefined }>(document: T): T {
  const operations = Object.values(document.paths ?? {}).flatMap((path: object) => Object.values(path) as Described[]);
  for (const operation of operations.filter((one) => errorsKey in one)) {
    const { [errorsKey]: errors, [optionalKey]: optional } = operation;
    const limited = (errors as object)['429' as keyof object] === undefined ? {} : standing;
    for (const answer of Object.values(operation.responses ?? {})) answer.headers = { ...requestId, ...limited, ...answer.headers };
    operation.responses = { ...operation.responses, ...(errors as Described['responses']) };
    if (optional && operation.requestBody) operation.requestBody.required = false;
    delete operation[errorsKey];
    delete operation[optionalKey];
  }
  return document;
}
