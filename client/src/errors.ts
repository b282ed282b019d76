// In charge of every error that the client throws: one class, with what the answer said. A caller's own AbortSignal is the
// exception: its reason is thrown as it is.

export type ErrorFacts = {
  code: string;
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
};

export class SchoolbellError extends Error {
  override readonly name: string = 'SchoolbellError';
  /** The service's own, or one of network, timeout, incomplete, unreadable, unsupported, invalid_request. */
  readonly code: string;
  readonly status: number | undefined;
  /** Under which the service has logged the request. */
  readonly requestId: string | undefined;
  /** When to come again. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { code, status, requestId, retryAfterMs, cause }: ErrorFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What was read so far cannot be gone on with: begin again. */
export class VersionGone extends SchoolbellError {
  override readonly name = 'VersionGone';
}

/** @internal What an answer says of its error, in whichever way its API speaks: OneRoster, OAuth, the envelope, or plain text. */
export function readFault(text: string, contentType: string): { code?: string | undefined; message?: string | undefined } {
  if (!contentType.includes('json')) return contentType.startsWith('text/plain') && text !== '' ? { message: text } : {};
  let body: Record<string, unknown>;
  try {
    body = Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
  const [info] = Array.isArray(body.statusInfoSet) ? (body.statusInfoSet as Record<string, unknown>[]) : [];
  return {
    code: firstText(info?.imsx_codeMinor, body.ExceptionType, body.error),
    message: firstText(info?.imsx_description, body.ExceptionMessage, body.error_description, body.Message),
  };
}

function firstText(...values: unknown[]): string | undefined {
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}
