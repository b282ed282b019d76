// In charge of telling a database that is away, busy or out of room from a statement that is wrong.

export type WhyUnavailable = 'away' | 'busy' | 'lost' | 'silent' | 'unknown';

/**
 * No answer was to be had. busy: every connection of the pool was in use for too long; lost: the connection ended under a statement; silent:
 * it was given up waiting; unknown: a transaction was to be committed, and may have been.
 */
export class DatabaseUnavailable extends Error {
  readonly code = 'DATABASE_UNAVAILABLE';
  readonly why: WhyUnavailable;
  /** Whose connection it was, or would have been. */
  readonly pool: string | undefined;

  constructor(why: WhyUnavailable, message: string, { cause, pool }: { cause?: unknown; pool?: string } = {}) {
    super(message, { cause });
    this.name = 'DatabaseUnavailable';
    this.why = why;
    this.pool = pool;
  }
}

export const sqlStates = {
  queryCanceled: '57014',
  lockNotAvailable: '55P03',
  deadlock: '40P01',
  diskFull: '53100',
  featureNotSupported: '0A000',
  noSuchStatement: '26000',
  inFailedTransaction: '25P02',
  readOnly: '25006',
  undefinedTable: '42P01',
  undefinedColumn: '42703',
  undefinedFunction: '42883',
  duplicateObject: '42710',
} as const;

/** Connection trouble, lack of resources, an operator's intervention, a system error, a server that only reads, a wait that the server ended. */
const states = /^(08|53|57P|58)|^(57014|55P03|25006|25P03|25P04|40001|40P01)$/;

/** Whether the same statement may go well later, without anybody changing it. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  return isServerError(error) && states.test(error.code);
}

/** Whether something that was to be written may have been. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.why !== 'away' && error.why !== 'busy';
}

/** The server itself went away, rather than that it was slow or busy. */
export function isServerGone(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && (error.why === 'away' || error.why === 'lost' || error.why === 'unknown');
}

/** The server was there, but busy: every connection was in use for too long, or a statement, a lock or an answer took too long. */
export function isSlow(error: unknown): error is Error {
  if (error instanceof DatabaseUnavailable) return error.why === 'busy' || error.why === 'silent';
  return isServerError(error) && (error.code === sqlStates.queryCanceled || error.code === sqlStates.lockNotAvailable);
}

/** The connection ended under a statement, as when its server does; another may answer. */
export function isLost(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.why === 'lost';
}

/** It was given up under a statement, as when its server is gone from the network without a word. */
export function isSilent(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.why === 'silent';
}

/** The disk of the database is full. */
export function isDatabaseDiskFull(error: unknown): boolean {
  return isServerError(error) && error.code === sqlStates.diskFull;
}

/** A disk or a quota is full: that of the database, or one that files are written to. */
export function isDiskFull(error: unknown): boolean {
  return isDatabaseDiskFull(error) || (error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT'));
}

/** Two transactions waited for one another, and the server ended this one. */
export function isDeadlock(error: unknown): boolean {
  return isServerError(error) && error.code === sqlStates.deadlock;
}

/** What the server itself said about a statement. */
export function isServerError(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'severity' in error && typeof (error as { code?: unknown }).code === 'string';
}
