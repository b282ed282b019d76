// In charge of variant B: all rostering operations of OneRoster 1.1 under /ims, its filter syntax and its error body.
import { errorCodes } from '../../errors.ts';
import { operators } from '../filter.ts';
import type { Dialect } from './dialect.ts';
import { edition11 } from './edition.ts';

export const variantB: Dialect = {
  name: 'B',
  title: 'Variant B',
  suffix: 'B',
  credential: 'variantBToken',
  ...edition11,
  root: '/ims/oneroster/v1p1',
  tokenKind: 'rostering-b',
  offers: () => true,
  filter: { fields: undefined, operators, joined: true, ignoredOn: [], refusesBlank: true },
  sorts: true,
  selects: true,
  errors: {
    contentType: 'application/json; charset=utf-8',
    statuses: {},
    headers: { 401: { 'www-authenticate': 'Bearer realm="schoolbell"' } },
    body: (error) =>
      JSON.stringify({
        statusInfoSet: [{ imsx_codeMajor: 'failure', imsx_severity: 'error', imsx_codeMinor: errorCodes[error.code].minor, imsx_description: error.message }],
      }),
  },
  errorSchema: { $ref: 'imsx_StatusInfoSet#' },
  severalSchools: false,
};
