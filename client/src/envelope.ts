// In charge of what answers under /api have in common.
import type { DatabaseName } from './rows.ts';

export type DatabaseStatus = 'OK' | 'Updating' | 'Expired' | 'NoData' | 'Error' | 'Timeout' | 'Paused' | 'NotInstalled';

export type DatabaseState = {
  DatabaseName: DatabaseName;
  Status: DatabaseStatus;
  LastUpdated: string | null;
  Expires: string | null;
  TTLMinutes: number;
  RowCount: number;
  Message: string | null;
};

/** How the databases stand that an endpoint needs. */
export type DbStatus = {
  DBStatus: DatabaseState[];
  Estab: string;
  Endpoint: string;
  RequestId: string | null;
  AllOK: boolean;
  /** Not ready within ten minutes. */
  TimedOut: boolean;
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
  InnerException: string | null;
};

/** @internal */
export type Pagination = { PageSize: number; PageNumber: number; PageCount: number; RowCount: number };

/** @internal An id in a path. One that would lead to another place becomes one that nothing has. */
export function pathPart(text: string): string {
  return encodeURIComponent(text).replace(/^\.{0,2}$/, '%00');
}
