// In charge of every error that may reach a caller: one class, one table of codes.
// The message is public and says what was wrong and what would be right; the detail is for the log only.

export const errorCodes = {
  invalid_request: { status: 400, minor: 'invalid data' },
  invalid_filter: { status: 400, minor: 'invalid_filter_field' },
  invalid_sort: { status: 400, minor: 'invalid_sort_field' },
  invalid_selection: { status: 400, minor: 'invalid_selection_field' },
  blank_selection: { status: 400, minor: 'invalid_blank_selection_field' },
  ambiguous: { status: 400, minor: 'invalid data' },
  missing_token: { status: 401, minor: 'unauthorized' },
  invalid_token: { status: 401, minor: 'unauthorized' },
  forbidden: { status: 403, minor: 'forbidden' },
  not_found: { status: 404, minor: 'unknown object' },
  method_not_allowed: { status: 405, minor: 'invalid data' },
  request_timeout: { status: 408, minor: 'invalid data' },
  too_large: { status: 413, minor: 'invalid data' },
  unsupported_media_type: { status: 415, minor: 'invalid data' },
  too_many_requests: { status: 429, minor: 'server_busy' },
  unavailable: { status: 503, minor: 'server_busy' },
  // OneRoster 1.1 has no code for a fault of the server's own; that which asks to come again later is nearest.
  unexpected: { status: 500, minor: 'server_busy' },
  invalid_client: { status: 401, minor: 'unauthorized' },
  unsupported_grant_type: { status: 400, minor: 'invalid data' },
  invalid_scope: { status: 400, minor: 'invalid data' },
  version_gone: { status: 412, minor: 'invalid data' },
  conflict: { status: 409, minor: 'invalid data' },
  unprocessable: { status: 422, minor: 'invalid data' },
} as const;

export type ErrorCode = keyof typeof errorCodes;

export class SchoolbellError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly detail: string | undefined;

  constructor(code: ErrorCode, message: string, more: { headers?: Record<string, string>; detail?: string; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.name = 'SchoolbellError';
    this.code = code;
    this.headers = more.headers ?? {};
    this.detail = more.detail;
  }
}

/** Runs every check and throws one error that lists all faults, so that whoever typed them can correct them together. */
export async function requireAll(checks: readonly (() => unknown)[]): Promise<void> {
  const faults: string[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof SchoolbellError && error.code === 'invalid_request')) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length > 0) throw new SchoolbellError('invalid_request', faults.join('; '));
}
