// In charge of reading what a client presents to a token endpoint: Basic, or credentials in the body, and the
// parameters beside them, from a form body or the query. Real clients differ, so every form is taken.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';
import { parseQuery, requireWellFormed, type Query } from '../http/query.ts';

export type Presented = { client: string; secret: string };
/** Parameters by lower-cased name. */
export type Parameters = ReadonlyMap<string, string>;

const maxTokenBodyBytes = 16 * 1024;

/** Token endpoints take any content type: many clients send a JSON header with an empty body. */
export function acceptTokenBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxTokenBodyBytes }, (request, body, done) => {
    try {
      done(null, parseBody(request.headers['content-type'] ?? '', body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function parseBody(contentType: string, body: Buffer): Parameters {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body).trim();
  } catch {
    throw new SchoolbellError('invalid_request', 'The body is not valid UTF-8.');
  }
  if (text === '') return new Map();
  if (text.startsWith('{') || contentType.includes('json')) return parseJsonObject(text);
  const form = parseQuery(text);
  requireWellFormed(form);
  return firstValues(form);
}

function parseJsonObject(text: string): Parameters {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SchoolbellError('invalid_request', 'The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new SchoolbellError('invalid_request', 'The body must be a JSON object.');
  const parameters = new Map<string, string>();
  for (const [name, one] of Object.entries(value)) {
    // What is no text cannot be one of ours; `thirdpartyid` may be anything.
    if (typeof one !== 'string' && typeof one !== 'number') continue;
    if (String(one).includes('\0')) throw new SchoolbellError('invalid_request', `"${name}" must not hold a NUL character.`);
    parameters.set(name.toLowerCase(), String(one));
  }
  return parameters;
}

function firstValues(query: Query): Parameters {
  return new Map(Object.entries(query).map(([name, values]) => [name.toLowerCase(), values[0] ?? '']));
}

export function readParameters(request: FastifyRequest): Parameters {
  return new Map([...firstValues(request.query as Query), ...((request.body as Parameters | undefined) ?? [])]);
}

/**
 * What was presented, in the order in which it is tried: Basic as sent, then form-decoded; else the body's. Never the
 * query's, which proxies log.
 */
export function readCredentials(request: FastifyRequest): Presented[] {
  const { authorization } = request.headers;
  if (authorization === undefined) {
    const body = (request.body as Parameters | undefined) ?? new Map<string, string>();
    const client = body.get('client_id');
    return client ? [{ client, secret: body.get('client_secret') ?? '' }] : [];
  }
  const encoded = /^basic\s+(\S+)\s*$/i.exec(authorization)?.[1];
  const decoded = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const cut = decoded.indexOf(':');
  if (cut < 0) return [];
  const asSent = { client: decoded.slice(0, cut), secret: decoded.slice(cut + 1) };
  const formDecoded = { client: formDecode(asSent.client), secret: formDecode(asSent.secret) };
  const tries = formDecoded.client === asSent.client && formDecoded.secret === asSent.secret ? [asSent] : [asSent, formDecoded];
  return tries.filter(({ client, secret }) => !client.includes('\0') && !secret.includes('\0'));
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
