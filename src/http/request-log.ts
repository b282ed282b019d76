// In charge of what is said of every request: its id, which each answer carries, one line in the log when it is over, with
// who was calling, its count, and a word to whoever keeps requests. Never a query, a body or a credential.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import type { RequestMeter } from './request-meter.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who turned out to be calling; see `noteCaller`. */
    caller: NotedCaller | null;
    /** The code of the error that it is answered with. */
    refusedAs: string | null;
    /** How many records it was answered with, where they are counted; see `noteRecords`. */
    records: number | null;
  }
  interface FastifyContextConfig {
    /** Asked again and again by machines: its line is one for debugging. */
    quiet?: true;
    /** The request belongs to the API, although its path does not begin with a root of the API. */
    isApi?: true;
  }
}

export type NotedCaller = Readonly<{ rp?: string | undefined; estab?: string | undefined }>;

/** route: its pattern, where there is one. words: parts that stand written out in some pattern, in small letters. */
export type EndedRequest = Readonly<{
  requestId: string;
  method: string;
  url: string;
  route: string | undefined;
  words: ReadonlySet<string>;
  isApi: boolean;
  status: number;
  ms: number;
  caller: NotedCaller | null;
  records: number | null;
}>;
export type TellEnded = (ended: EndedRequest) => void;

export const requestIdHeader = 'x-request-id';
export const requestLine = 'request';
/** Ours is of no use to guess others by; theirs, if it looks like one, is logged beside it. */
const theirIdRule = /^[A-Za-z0-9._-]{1,64}$/;
const secretParameters = /:(?:token|uid)\b/;
/** Where no route says what a part of a path is, what may be a link's secret is left out. */
const mayBeSecret = /[A-Za-z0-9_-]{20,}/g;
const longestPath = 300;
const nobodyWaited = 499;

/** Of 80 random bits, in letters that can be read out on a telephone. */
export function makeRequestId(): string {
  return randomBytes(10).toString('hex');
}

/** Whose credential it is, as soon as that is certain, so that what is refused for another reason is known by it too. */
export function noteCaller(request: FastifyRequest, caller: NotedCaller): void {
  request.caller = { ...request.caller, ...caller };
}

/** In addition to those before: of several schools each is told of by itself. */
export function noteRecords(request: FastifyRequest, records: number): void {
  request.records = (request.records ?? 0) + records;
}

export function followRequests(app: FastifyInstance, meter: RequestMeter, tellEnded: TellEnded = () => {}): void {
  const begun = new WeakMap<FastifyRequest, { answered?: number }>();
  const words = new Set<string>();
  app.addHook('onRoute', ({ url }) => url.split('/').filter((part) => !/[:*]/.test(part)).forEach((part) => words.add(part.toLowerCase())));
  app.decorateRequest('caller', null);
  app.decorateRequest('refusedAs', null);
  app.decorateRequest('records', null);
  app.addHook('onRequest', (request, reply, done) => {
    const times: { answered?: number } = {};
    begun.set(request, times);
    followRequest(request, reply, meter, { times, tellEnded, words });
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    const times = begun.get(request);
    if (times) times.answered = performance.now();
    done(null, payload);
  });
}

/** On the raw answer, whose headers survive an error and are there for whoever writes to it directly. */
export function followRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  meter: RequestMeter,
  { times = {}, tellEnded, words = new Set() }: { times?: { answered?: number }; tellEnded?: TellEnded | undefined; words?: ReadonlySet<string> } = {},
): void {
  const started = performance.now();
  // As it came: whoever answers may cut its root off.
  const { url } = request;
  reply.raw.setHeader(requestIdHeader, request.id);
  meter.begin();
  reply.raw.once('close', () => {
    const ended = performance.now();
    const { method, routeOptions } = request;
    const route = routeOptions.url;
    const whole = reply.raw.writableFinished;
    const status = reply.raw.headersSent ? reply.raw.statusCode : nobodyWaited;
    const { caller, refusedAs, records } = request;
    const ms = Math.round((ended - started) * 10) / 10;
    meter.end({ method, route: route ?? 'none', status, refusedAs, seconds: ((times.answered ?? ended) - started) / 1000 });
    const isApi = routeOptions.config.isApi === true;
    if (!routeOptions.config.quiet) tellEnded?.({ requestId: request.id, method, url, route, words, isApi, status, ms, caller, records });
    const theirs = request.headers[requestIdHeader];
    request.log[routeOptions.config.quiet ? 'debug' : 'info'](
      {
        method,
        path: describePath(url, route),
        route,
        status,
        ms,
        ...caller,
        ...(refusedAs === null ? {} : { refusedAs }),
        ...(routeOptions.config.deprecation ? { deprecated: true } : {}),
        address: request.ip,
        ...(whole ? {} : { cutOff: true }),
        ...(typeof theirs === 'string' && theirIdRule.test(theirs) ? { theirRequestId: theirs } : {}),
      },
      requestLine,
    );
  });
}

function describePath(url: string, route: string | undefined): string {
  const path = (url.split('?', 1)[0] ?? '').slice(0, longestPath);
  if (route === undefined || route.endsWith('*')) return path.replaceAll(mayBeSecret, '…');
  return secretParameters.test(route) ? route : path;
}
