// In charge of variant A: six collections under /api/ims, filters on status alone, errors as plain text.
import { plainTextSchema, plainTextShape } from '../../http/error-shape.ts';
import type { Dialect } from './dialect.ts';
import { edition11 } from './edition.ts';

const offered = ['Org', 'User', 'Class', 'Course', 'Enrollment', 'AcademicSession'];
const plurals = ['Orgs', 'Users', 'Classes', 'Courses', 'Enrollments', 'AcademicSessions'];
const operations = new Set([...offered.map((one) => `get${one}`), ...plurals.map((many) => `getAll${many}`)]);

export const variantA: Dialect = {
  name: 'A',
  title: 'Variant A',
  suffix: 'A',
  credential: 'variantAToken',
  ...edition11,
  root: '/api/ims/oneroster/v1p1',
  tokenKind: 'rostering-a',
  offers: (operation) => operations.has(operation),
  filter: { fields: ['status'], operators: ['='], joined: false, ignoredOn: ['enrollments'], refusesBlank: true },
  sorts: false,
  selects: false,
  errors: {
    ...plainTextShape,
    statuses: { ...plainTextShape.statuses, missing_token: 403, invalid_token: 400, forbidden: 400 },
  },
  errorSchema: plainTextSchema,
  severalSchools: true,
};
