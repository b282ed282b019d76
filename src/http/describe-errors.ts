// In charge of describing errors: of the codes that an operation can answer with, each status with its headers, its body and
// an example for every code, all taken from the shape and the table with which errors are rendered.
import { errorCodes, SchoolbellError, type ErrorCode } from '../errors.ts';
import { awayMessage, renderFaultMessage, shapeOf, type ErrorShape } from './error-shape.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** For the documentation: the body may be left out. */
    'x-body-optional'?: true;
  }
}

/** message: one that is really sent. when: what leads to it. */
export type Refusal = Readonly<{ code: ErrorCode; when: string; message: string }>;

const exampleId = '5f0c2d9a7b3e4f18';

/** Whatever is asked, the service itself can be at fault, or away from its data. */
export const ownFaults = {
  unexpected: { code: 'unexpected', when: 'A fault of the service, which is logged.', message: renderFaultMessage(exampleId) },
  unavailable: { code: 'unavailable', when: 'The service cannot reach its data at present.', message: awayMessage },
} as const satisfies Partial<Record<ErrorCode, Refusal>>;

const header = (description: string, example: string | number) => ({
  type: typeof example === 'number' ? 'integer' : 'string',
  description,
  examples: [example],
});

/** The headers that answers of the API share, in words. */
export const answerHeaders = {
  'X-Request-Id': header('The id of this request, which the log has too.', exampleId),
  'RateLimit-Limit': header('Requests that the credential has in a minute; absent where calls are not limited or were not counted.', 1200),
  'RateLimit-Remaining': header('How many of them are left.', 1187),
  'RateLimit-Reset': header('Seconds until all of them are there again.', 42),
} as const;

const retryAfter = header('Seconds after which it is worth trying again.', 5);
const limitHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;
/** Refused before anything is counted, as long as nobody knows whose call it is. */
const uncounted: readonly ErrorCode[] = ['missing_token', 'invalid_token', 'invalid_client'];

/** schema: of the body. ownFaultsSchema: of the body of a fault of the service, if it has a shape of its own. limited: calls are counted here. */
type Place = Readonly<{ schema: object; ownFaultsSchema?: object; limited: boolean }>;

export type DescribeErrors = (refusals: readonly Refusal[]) => Record<number, object>;

/** Of a single operation. */
export function describeErrors(shape: ErrorShape, refusals: readonly Refusal[], place: Place): Record<number, object> {
  return createDescribeErrors(shape, place)(refusals);
}

/** By status, as a route's schema has its answers. */
export function createDescribeErrors(given: ErrorShape, { schema, ownFaultsSchema = schema, limited }: Place): DescribeErrors {
  const statusOf = ({ code }: Refusal) => shapeOf(given, code).statuses[code] ?? errorCodes[code].status;
  // Most operations share most refusals, and making an error costs more than all else here.
  const rendered = new Map<string, unknown>();
  const render = ({ code, message }: Refusal): unknown => {
    const known = rendered.get(`${code} ${message}`) ?? renderBody(shapeOf(given, code), new SchoolbellError(code, message));
    rendered.set(`${code} ${message}`, known);
    return known;
  };

  function describeStatus(status: number, own: readonly Refusal[]): object {
    const waits = own.some(({ code }) => code === 'too_many_requests' || code === 'unavailable');
    const challenge = given.headers[status]?.['www-authenticate'];
    const counted = limited && own.some(({ code }) => !uncounted.includes(code));
    return {
      description: own.map(({ when }) => when).join(' '),
      headers: {
        'X-Request-Id': answerHeaders['X-Request-Id'],
        ...(counted ? Object.fromEntries(limitHeaders.map((name) => [name, answerHeaders[name]])) : {}),
        ...(challenge ? { 'WWW-Authenticate': header('How to present a credential.', challenge) } : {}),
        ...(waits ? { 'Retry-After': retryAfter } : {}),
      },
      content: Object.assign({}, ...[given, ...(given.ownFaults ? [given.ownFaults] : [])].map((shape) => describeBodies(shape, own))),
    };
  }

  /** The bodies of those errors that have this shape. */
  function describeBodies(shape: ErrorShape, all: readonly Refusal[]): object {
    const own = all.filter(({ code }) => shapeOf(given, code) === shape);
    if (own.length === 0) return {};
    const [mediaType = ''] = shape.contentType.split(';');
    const examples = Object.fromEntries(own.map((refusal) => [refusal.code, { value: render(refusal) }]));
    return { [mediaType]: { schema: shape === given ? schema : ownFaultsSchema, examples } };
  }

  return (refusals) => {
    const statuses = [...new Set(refusals.map(statusOf))].toSorted((a, b) => a - b);
    return Object.fromEntries(statuses.map((status) => [status, describeStatus(status, refusals.filter((refusal) => statusOf(refusal) === status))]));
  };
}

function renderBody(shape: ErrorShape, error: SchoolbellError): unknown {
  const body = shape.body(error);
  return shape.contentType.startsWith('application/json') ? (JSON.parse(body) as unknown) : body;
}
