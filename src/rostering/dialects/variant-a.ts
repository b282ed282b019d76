// In charge of variant A: six collections under /api/ims, filters on status alone, errors as plain text.
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
    contentType: 'text/plain; charset=utf-8',
    statuses: { missing_token: 403, invalid_token: 400, forbidden: 400, unavailable: 400, unexpected: 400 },
    headers: {},
    body: (error) => error.message,
  },
  errorSchema: { type: 'string', description: 'What was wrong and what would be right, for people.' },
  severalSchools: true,
};
