// In charge of OneRoster 1.2: all its rostering operations, for the credentials of either variant, with its records and its error body.
import type { ErrorCode } from '../../errors.ts';
import { operators } from '../filter.ts';
import type { Dialect } from './dialect.ts';
import { edition12 } from './edition.ts';

/** 1.2 has nine codes; what none of them names is invalid data. */
const minorCodes: Partial<Record<ErrorCode, string>> = {
  invalid_filter: 'invalid_filter_field',
  invalid_selection: 'invalid_selection_field',
  blank_selection: 'invalid_selection_field',
  missing_token: 'unauthorisedrequest',
  invalid_token: 'unauthorisedrequest',
  forbidden: 'forbidden',
  not_found: 'unknownobject',
  too_many_requests: 'server_busy',
  unavailable: 'server_busy',
  unexpected: 'internal_server_error',
};
export const otherMinorCode = 'invaliddata';
export const allMinorCodes: readonly string[] = [...new Set([...Object.values(minorCodes), otherMinorCode])];

export const oneRoster12: Dialect = {
  name: '1.2',
  title: 'OneRoster 1.2',
  suffix: '1p2',
  credential: 'oneRoster12Token',
  ...edition12,
  root: '/ims/oneroster/rostering/v1p2',
  tokenKind: 'rostering-1p2',
  offers: () => true,
  filter: { fields: undefined, operators, joined: true, ignoredOn: [], refusesBlank: false },
  sorts: true,
  selects: true,
  errors: {
    contentType: 'application/json; charset=utf-8',
    statuses: {},
    headers: { 401: { 'www-authenticate': 'Bearer realm="schoolbell"' } },
    body: (error) =>
      JSON.stringify({
        imsx_codeMajor: 'failure',
        imsx_severity: 'error',
        imsx_description: error.message,
        imsx_CodeMinor: {
          imsx_codeMinorField: [{ imsx_codeMinorFieldName: 'TargetEndSystem', imsx_codeMinorFieldValue: minorCodes[error.code] ?? otherMinorCode }],
        },
      }),
  },
  errorSchema: { $ref: 'imsx_StatusInfo#' },
  severalSchools: true,
};
