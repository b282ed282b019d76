// In charge of scopes: what a school can grant, what each opens, and how they meet the scopes of OneRoster.
import { SchoolbellError } from '../errors.ts';
import type { Edition } from '../roster/resource.ts';

export const scopeNames = ['School', 'Student', 'Staff', 'Contact', 'StudentDemographic', 'Attendance', 'WritebackAttendance', 'Identity'] as const;
export type Scope = (typeof scopeNames)[number];

/** What a scope opens beside the roster: an answer by its name, with every field that it can have. */
export type Opening = Readonly<{ name: string; scope: Scope; fields: readonly string[] }>;

/** People that a scope opens, by the kinds of the roster. */
const peopleOpenedBy: Partial<Record<Scope, readonly string[]>> = { Student: ['student'], Staff: ['teacher', 'staff'], Contact: ['contact'] };

export function visiblePeople(scopes: readonly string[]): string[] {
  return Object.entries(peopleOpenedBy).flatMap(([scope, kinds]) => (scopes.includes(scope) ? kinds : []));
}

/** Records of a student need StudentDemographic alone; those of anyone else also the scope that opens the person. */
export function visibleDemographics(scopes: readonly string[]): string[] {
  return scopes.includes('StudentDemographic') ? [...new Set(['student', ...visiblePeople(scopes)])] : [];
}

/** What a school reads when it decides. */
export const scopeDescriptions: Readonly<Record<Scope, { category: string; description: string }>> = {
  School: { category: 'School', description: 'The school itself, its terms, courses, classes and calendar' },
  Student: { category: 'Students', description: 'Students and their classes' },
  Staff: { category: 'Staff', description: 'Teachers and other staff and their classes' },
  Contact: { category: 'Contacts', description: 'Parents, guardians and relatives' },
  StudentDemographic: { category: 'Students', description: 'Birth dates and other demographic details of students' },
  Attendance: { category: 'Students', description: 'Attendance marks' },
  WritebackAttendance: { category: 'Writeback', description: 'Entering attendance marks' },
  Identity: { category: 'Identity', description: 'Logins of students and staff' },
};

const names = { core: 'roster-core.readonly', roster: 'roster.readonly', demographics: 'roster-demographics.readonly' } as const;
export type OneRosterScope = keyof typeof names;
/** By what each opens. */
export type OneRosterScopes = Readonly<Record<OneRosterScope, string>>;

function scopesUnder(prefix: string): OneRosterScopes {
  return { core: prefix + names.core, roster: prefix + names.roster, demographics: prefix + names.demographics };
}

export const oneRosterScopes: Readonly<Record<Edition, OneRosterScopes>> = {
  v1p1: scopesUnder('https://purl.imsglobal.org/spec/or/v1p1/scope/'),
  v1p2: scopesUnder('https://purl.imsglobal.org/spec/or/v1p2/scope/'),
};

/** The OneRoster scopes that a grant can serve. */
export function oneRosterScopesOf(scopes: readonly string[], { core, roster, demographics }: OneRosterScopes): string[] {
  const opened: string[] = [];
  if (scopes.includes('School') || visiblePeople(scopes).length > 0) opened.push(core, roster);
  if (scopes.includes('StudentDemographic')) opened.push(demographics);
  return opened;
}

/** What remains of the scopes that a token request named, or undefined when it named none. Some write their addresses with http. */
export function narrowScopes(requested: string | undefined, granted: readonly string[], known: OneRosterScopes): string[] | undefined {
  if (requested === undefined || requested.trim() === '') return undefined;
  const opened = oneRosterScopesOf(granted, known);
  const named = requested.trim().split(/\s+/).map((scope) => scope.replace(/^http:/i, 'https:'));
  const remaining = [...new Set(named)].filter((scope) => opened.includes(scope));
  if (remaining.length > 0) return remaining;
  throw new SchoolbellError('invalid_scope', `None of the requested scopes can be granted. Those that can: ${opened.join(' ') || 'none'}.`);
}

export type ScopeRequest = { required: Scope[]; optional: Scope[] };

/** Reads `School,Student,Staff:optional`. */
export function parseScopes(text: string): ScopeRequest {
  const request: ScopeRequest = { required: [], optional: [] };
  for (const part of text.split(',').map((one) => one.trim()).filter(Boolean)) {
    const [name, mark, ...rest] = part.split(':');
    const scope = scopeNames.find((one) => one === name);
    if (!scope || rest.length > 0 || (mark !== undefined && mark !== 'optional')) {
      throw new SchoolbellError('invalid_request', `"${part}" is not a scope. Scopes are ${scopeNames.join(', ')}; an optional one is written Staff:optional.`);
    }
    if ([...request.required, ...request.optional].includes(scope)) throw new SchoolbellError('invalid_request', `the scope ${scope} is named twice`);
    (mark === 'optional' ? request.optional : request.required).push(scope);
  }
  if (request.required.length + request.optional.length === 0)
    throw new SchoolbellError('invalid_request', `at least one scope is needed: ${scopeNames.join(', ')}`);
  return request;
}
