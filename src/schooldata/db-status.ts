// In charge of the DBStatus object: how the component databases stand that an endpoint needs.
import { minutesToLive, type ComponentDatabase } from '../collection/component-databases.ts';

export type StatusReport = Readonly<{
  estab: string;
  endpoint: string;
  requestId: string | null;
  databases: readonly ComponentDatabase[];
  timedOut?: boolean;
  /** What was wrong with the request itself. */
  problem?: { type: string; message: string } | undefined;
}>;

export function renderDatabase({ name, status, updatedAt, expiresAt, rowCount, message }: ComponentDatabase): Record<string, unknown> {
  return {
    DatabaseName: name,
    Status: status,
    LastUpdated: updatedAt?.toISOString() ?? null,
    Expires: expiresAt?.toISOString() ?? null,
    TTLMinutes: minutesToLive[name],
    RowCount: rowCount,
    Message: message,
  };
}

export function renderStatus({ estab, endpoint, requestId, databases, timedOut = false, problem }: StatusReport): Record<string, unknown> {
  const allOk = problem === undefined && databases.every(({ status }) => status === 'OK');
  return {
    DBStatus: databases.map(renderDatabase),
    Estab: estab,
    Endpoint: endpoint,
    RequestId: requestId,
    AllOK: allOk,
    TimedOut: timedOut,
    Message: describe(databases, timedOut, problem !== undefined, allOk),
    ExceptionType: problem?.type ?? null,
    ExceptionMessage: problem?.message ?? null,
    InnerException: null,
  };
}

function describe(databases: readonly ComponentDatabase[], timedOut: boolean, faulty: boolean, allOk: boolean): string | null {
  if (allOk || faulty) return null;
  const behind = databases.filter(({ status }) => status !== 'OK').map(({ name, status, message }) => `${name} is ${status}${message ? ` (${message})` : ''}`);
  return `${timedOut ? 'Not ready within 10 minutes: ' : ''}${behind.join('; ')}. ${describeCache(databases)}`;
}

/** Whoever needs several databases is served only when all of them were collected once. */
function describeCache(databases: readonly ComponentDatabase[]): string {
  const missing = databases.filter((database) => !wasCollected(database)).map(({ name }) => name);
  return missing.length === 0 ? 'What was collected before can be requested directly.' : `Nothing of ${missing.join(' and ')} was collected before.`;
}

export function wasCollected({ updatedAt, status }: ComponentDatabase): boolean {
  return updatedAt !== null && status !== 'NotInstalled';
}
