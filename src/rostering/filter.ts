// In charge of the filter grammar: field operator 'value', joined by and / or, `and` binding tighter, a quote inside
// a value doubled. Gives a list of alternatives, each a list of conditions that must all hold.
import { SchoolbellError } from '../errors.ts';

export const operators = ['=', '!=', '>', '>=', '<', '<=', '~'] as const;
export type Operator = (typeof operators)[number];
export type Condition = { field: string; operator: Operator; value: string; position: number };
export type Filter = readonly (readonly Condition[])[];

export const maxConditions = 50;

const fieldPattern = /[A-Za-z][A-Za-z0-9_]*(?:\.[^\s=!<>~']+)*/y;
const operatorPattern = /\s*(!=|>=|<=|=|>|<|~)\s*/y;
const valuePattern = /'((?:[^']|'')*)'/y;
const joinPattern = /\s+(and|or)\s+/iy;

export function parseFilter(text: string): Filter {
  const alternatives: Condition[][] = [[]];
  let at = text.length - text.trimStart().length;
  const end = text.trimEnd().length;
  let count = 0;

  const take = (pattern: RegExp, what: string): string => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match) throw unparsable(text, at, what);
    at = pattern.lastIndex;
    return match[1] ?? match[0];
  };

  for (;;) {
    const position = at + 1;
    const field = take(fieldPattern, 'a field name');
    const operator = take(operatorPattern, `one of ${operators.join(' ')}`) as Operator;
    const value = take(valuePattern, "a value in single quotes (a quote inside is doubled: 'O''Brien')").replaceAll("''", "'");
    count += 1;
    if (count > maxConditions)
      throw new SchoolbellError(
        'invalid_filter',
        `The filter has more than ${maxConditions} expressions (at position ${position}); split it into several requests.`,
      );
    alternatives.at(-1)?.push({ field, operator, value, position });
    if (at >= end) return alternatives;
    if (take(joinPattern, '" and " or " or "').toLowerCase() === 'or') alternatives.push([]);
  }
}

function unparsable(text: string, at: number, expected: string): SchoolbellError {
  const found = text.slice(at, at + 20);
  return new SchoolbellError(
    'invalid_filter',
    `The filter cannot be read at position ${at + 1}: expected ${expected}, found ${found === '' ? 'the end' : `"${found}"`}. ` +
      "Write it as field='value', for example status='active'.",
  );
}
