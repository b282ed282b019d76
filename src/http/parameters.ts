// In charge of reading single parameters of a query: their names in any case, each once, every value checked.
import { SchoolbellError } from '../errors.ts';
import type { Query } from './query.ts';

const valuesOf = (query: Query, name: string) =>
  Object.entries(query).filter(([key]) => key.toLowerCase() === name.toLowerCase()).flatMap(([, values]) => values);

export function isGiven(query: Query, name: string): boolean {
  return valuesOf(query, name).length > 0;
}

/** The value of a parameter, its name in any case; undefined when it is not given. */
export function findParameter(query: Query, name: string): string | undefined {
  const given = valuesOf(query, name);
  if (given.length > 1) throw new SchoolbellError('invalid_request', `${name} is given ${given.length} times; give it once.`);
  return given[0];
}

export function parseWhole(query: Query, name: string): number | undefined {
  const text = findParameter(query, name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is not a whole number from 1 on.`);
  return Number(text);
}

export function parseInstant(query: Query, name: string): Date | undefined {
  const text = findParameter(query, name);
  if (text === undefined) return undefined;
  // A plus sign that was not encoded arrives as a space.
  const shape = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+ -]\d{2}:?\d{2})?)?$/i.exec(text);
  const [, day = '', time = '00:00', zone = 'Z'] = shape ?? [];
  const instant = Date.parse(
    `${day}T${time}${zone
      .toUpperCase()
      .replace(' ', '+')
      .replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')}`,
  );
  if (!shape || Number.isNaN(instant) || !isDay(day))
    throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is not a time such as 2026-09-01T08:00:00Z.`);
  return new Date(instant);
}

export function isDay(text: string): boolean {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) && !text.startsWith('0000') ? new Date(`${text}T00:00:00Z`) : undefined;
  return date !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
