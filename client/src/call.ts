// In charge of one call and its repetitions: a time limit on each attempt, a limit on all waiting together, and nothing done
// twice that must not be.
import { readFault, SchoolbellError, VersionGone } from './errors.ts';
import { backoffMs, longestTimerMs, parseRetryAfter, sleep, type Sleep } from './retry.ts';

export type Abortable = { signal?: AbortSignal | undefined };

export type ClientOptions = {
  url: string;
  /** Of one attempt; 60 s. */
  timeoutMs?: number | undefined;
  /** Of all pauses of a call together; 120 s. */
  maxWaitMs?: number | undefined;
  /** Of a call that gets no answer; 4. */
  tries?: number | undefined;
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  now?: (() => number) | undefined;
  sleep?: Sleep | undefined;
};

/** @internal */
export type Settings = { [Name in keyof ClientOptions]-?: NonNullable<ClientOptions[Name]> };

/** @internal */
export type Values = Readonly<Record<string, string | number | boolean | undefined>>;

/** @internal */
export type Call = {
  method?: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  path: string;
  query?: Values;
  headers?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Whether it may be sent again without knowing what became of it; what only reads may. */
  repeatable?: boolean;
  /** Statuses besides 503 that, with a Retry-After, ask to come again. */
  busy?: readonly number[];
  /** Statuses that are no errors. */
  accepts?: readonly number[];
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
};

/** @internal */
export type Answer = { status: number; headers: Headers; bytes: Uint8Array };

/** @internal */
export function settle(options: ClientOptions): Settings {
  const { url, timeoutMs = 60_000, maxWaitMs = 120_000, tries = 4, now = Date.now } = options;
  if (!/^https?:\/\/[^\s?#]+$/.test(url))
    throw new SchoolbellError(`url is "${url}"; it must begin with https:// and have no query.`, { code: 'invalid_request' });
  const fetching = options.fetch ?? ((address, init) => fetch(address, init));
  return { url: url.replace(/\/+$/, ''), timeoutMs, maxWaitMs, tries, now, fetch: fetching, sleep: options.sleep ?? sleep };
}

/** @internal The answer, whatever its status; throws where none comes. */
export async function call(settings: Settings, given: Call): Promise<Answer> {
  let waited = 0;
  let mayBeDone = false;
  for (let tries = 1; ; tries += 1) {
    given.signal?.throwIfAborted();
    const outcome = await attempt(settings, given);
    const pause = pauseBefore(settings, given, outcome, tries);
    if (pause === undefined || waited + pause > settings.maxWaitMs) {
      if (outcome instanceof SchoolbellError) throw outcome;
      // An earlier try, whose answer was lost, has removed it.
      return mayBeDone && given.method === 'DELETE' && outcome.status === 404 ? { ...outcome, status: 204 } : outcome;
    }
    mayBeDone ||= outcome.status !== 429;
    await settings.sleep(pause, given.signal);
    waited += pause;
  }
}

/** Undefined: it is not tried again. */
function pauseBefore(settings: Settings, given: Call, outcome: Answer | SchoolbellError, tries: number): number | undefined {
  const { method = 'GET', repeatable, busy = [] } = given;
  const again = repeatable ?? method !== 'POST';
  if (outcome instanceof SchoolbellError) return again && tries < settings.tries ? backoffMs(tries) : undefined;
  const { status, headers } = outcome;
  const after = parseRetryAfter(headers.get('retry-after'), settings.now());
  // Who is asked to slow down was not served; what became of the others is not known.
  if (status === 429 || (again && (status === 503 || (busy.includes(status) && after !== undefined)))) return Math.max(after ?? 0, backoffMs(tries));
  return again && (status === 502 || status === 504) && tries < settings.tries ? backoffMs(tries) : undefined;
}

async function attempt(settings: Settings, given: Call): Promise<Answer | SchoolbellError> {
  const { method = 'GET', path, query = {}, body, signal, timeoutMs = settings.timeoutMs } = given;
  const end = new AbortController();
  const leave = () => end.abort(signal?.reason);
  const timer = setTimeout(() => end.abort(), Math.min(timeoutMs, longestTimerMs));
  signal?.addEventListener('abort', leave, { once: true });
  try {
    const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...withoutGaps(given.headers ?? {}) };
    const parameters = new URLSearchParams(withoutGaps(query)).toString();
    // A redirect would carry a secret to who knows where.
    const init: RequestInit = { method, headers, redirect: 'manual', signal: end.signal };
    const response = await settings.fetch(`${settings.url}${path}${parameters === '' ? '' : `?${parameters}`}`, {
      ...init,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
  } catch (cause) {
    signal?.throwIfAborted();
    const what = `${method} ${path}`;
    if (end.signal.aborted) return new SchoolbellError(`${what} took longer than ${timeoutMs} ms.`, { code: 'timeout', cause });
    return new SchoolbellError(`${what} got no whole answer: ${describe(cause)}`, { code: 'network', cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', leave);
  }
}

/** fetch says "fetch failed", and why in its cause; of several addresses only a code. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause as { message?: string; code?: string } | undefined;
  return cause ? `${error.message} (${cause.message || cause.code})` : error.message;
}

function withoutGaps(values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])));
}

/** @internal */
export function requireFine(answer: Answer, given: Call, now: number): Answer {
  const { status } = answer;
  if ((status >= 200 && status < 300) || given.accepts?.includes(status)) return answer;
  throw toError(answer, `${given.method ?? 'GET'} ${given.path}`, now);
}

/** @internal */
export function toError({ status, headers, bytes }: Answer, what: string, now: number): SchoolbellError {
  const { code = `http_${status}`, message } = readFault(new TextDecoder().decode(bytes), headers.get('content-type') ?? '');
  const facts = {
    code,
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfter(headers.get('retry-after'), now),
  };
  const Kind = status === 412 ? VersionGone : SchoolbellError;
  const to = headers.get('location');
  return new Kind(message ?? `${what} was answered with ${status}${to === null ? '' : `, a redirect to ${to}, which is not followed`}.`, facts);
}

/** @internal A body that ends in its middle is no JSON. */
export function readJson<T>({ status, headers, bytes }: Answer, what: string): T {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as T;
  } catch (cause) {
    const requestId = headers.get('x-request-id') ?? undefined;
    throw new SchoolbellError(`What ${what} was answered with is no JSON, or was cut off.`, { code: 'unreadable', status, requestId, cause });
  }
}
