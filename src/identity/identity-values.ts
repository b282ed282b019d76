// In charge of what a caller of an identity operation gives: in the query or in the body, names in any case, each once.
import { SchoolbellError } from '../errors.ts';
import { findParameter } from '../http/parameters.ts';
import type { Query } from '../http/query.ts';

const longestValue = 500;

/** A value of the query; undefined when it is not given. */
export function findValue(query: Query, name: string): string | undefined {
  return checkText(name, findParameter(query, name));
}

/** A value of a JSON object; undefined when it is not given or null. */
export function findField(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const given = Object.entries(body).filter(([key]) => key.toLowerCase() === name.toLowerCase());
  if (given.length > 1) throw new SchoolbellError('invalid_request', `${name} is given ${given.length} times; give it once.`);
  return given[0]?.[1] ?? undefined;
}

export function findTextField(body: unknown, name: string): string | undefined {
  const value = findField(body, name);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw new SchoolbellError('invalid_request', `${name} must be a string.`);
  return checkText(name, value);
}

function checkText(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (value.length > longestValue) throw new SchoolbellError('invalid_request', `${name} has ${value.length} characters; at most ${longestValue} are taken.`);
  if (value.includes('\0')) throw new SchoolbellError('invalid_request', `${name} must not hold a NUL character.`);
  return value;
}

function parseFlag(name: string, value: string | undefined, unlessGiven: boolean): boolean {
  if (value === undefined) return unlessGiven;
  const flag = value.trim().toLowerCase();
  if (!['true', 'false', '1', '0'].includes(flag)) throw new SchoolbellError('invalid_request', `${name}: "${value.slice(0, 40)}" is neither true nor false.`);
  return flag === 'true' || flag === '1';
}

/** A value of the query or of the body; in both places it must be equal, which is said without repeating it. */
export function findGiven(query: Query, body: unknown, name: string): string | undefined {
  const [inQuery, inBody] = [findValue(query, name), findTextField(body, name)];
  if (inQuery !== undefined && inBody !== undefined && inQuery !== inBody)
    throw new SchoolbellError('invalid_request', `${name} differs between the query and the body.`);
  return inQuery ?? inBody;
}

/** In a body a flag may be true as well as "true". */
export function findFlag(query: Query, body: unknown, name: string, unlessGiven: boolean): boolean {
  const field = findField(body, name);
  return parseFlag(name, findGiven(query, typeof field === 'boolean' ? { [name]: String(field) } : body, name), unlessGiven);
}

/** Both in the query or both in the body; in both places they must be equal. */
export function requirePair(query: Query, body: unknown, names: readonly [string, string]): [string, string] {
  const inQuery = names.map((name) => findValue(query, name));
  const inBody = names.map((name) => findTextField(body, name));
  for (const [at, name] of names.entries()) {
    const [one, other] = [inQuery[at], inBody[at]];
    if (one !== undefined && other !== undefined && one !== other)
      throw new SchoolbellError(
        'invalid_request',
        `${name} is "${one.slice(0, 60)}" in the query and "${other.slice(0, 60)}" in the body; they must be equal.`,
      );
    if (one === '' || other === '') throw new SchoolbellError('invalid_request', `${name} is empty.`);
  }
  const missing = names.filter((_, at) => inQuery[at] === undefined && inBody[at] === undefined);
  if (missing.length > 0)
    throw new SchoolbellError('invalid_request', `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing: give ${names.join(' and ')}.`);
  const values = [inQuery, inBody].find((place) => !place.includes(undefined));
  if (!values) throw new SchoolbellError('invalid_request', `Give ${names.join(' and ')} both in the query or both in the body.`);
  return values as [string, string];
}
