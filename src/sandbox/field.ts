// In charge of what a control of the sandbox is given: each field described once, for the command line, the API and the console.
import { SchoolbellError } from '../errors.ts';

type Kind =
  | Readonly<{ type: 'choice'; choices: readonly string[] }>
  | Readonly<{ type: 'whole'; least: number; most: number }>
  | Readonly<{ type: 'text'; example: string }>
  | Readonly<{ type: 'switch' }>;

/** name: as an option, `retry-after`; in the API it is RetryAfter. first: on the command line it stands without a name. typed: more for who types it. */
export type Field = Readonly<{ name: string; label: string; help: string; required?: true; first?: true; typed?: string }> & Kind;
/** either: of these fields exactly one is given. */
export type Taken = Readonly<{ fields: readonly Field[]; either?: readonly [string, string] }>;
export type Value = string | number | boolean;
export type Values = Readonly<Record<string, Value | undefined>>;

const longestText = 40;

export const pascal = (name: string) => name.split('-').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');

/** As texts or as JSON has them. called: what the field is called where it came from. */
export function parseValues({ fields, either }: Taken, given: (field: Field) => unknown, called: (field: Field) => string): Values {
  const values = Object.fromEntries(fields.map((field) => [field.name, parse(field, given(field), called(field))]));
  const rivals = fields.filter(({ name }) => either?.includes(name));
  if (either && rivals.filter(({ name }) => values[name] !== undefined).length !== 1)
    throw new SchoolbellError('invalid_request', `give either ${rivals.map(called).join(' or ')}`);
  return values;
}

function parse(field: Field, value: unknown, called: string): Value | undefined {
  const refuse = (rule: string) => new SchoolbellError('invalid_request', `${called}${value === undefined ? '' : ` "${cut(value)}"`}: ${rule}`);
  if (value === undefined || value === null || value === '') {
    if (field.required) throw new SchoolbellError('invalid_request', `${called} is missing: ${ruleOf(field)}`);
    return undefined;
  }
  if (field.type === 'switch') {
    if (typeof value === 'boolean') return value;
    if (value === 'yes' || value === 'true' || value === 'false') return value !== 'false';
    throw refuse(ruleOf(field));
  }
  if (field.type === 'whole') {
    const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= field.least && number <= field.most) return number;
    throw refuse(ruleOf(field));
  }
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text.length > longestText || /\p{Cc}/u.test(text)) throw refuse(ruleOf(field));
  if (field.type === 'choice' && !field.choices.includes(text)) throw refuse(ruleOf(field));
  return text;
}

const cut = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)).slice(0, longestText);

function ruleOf(field: Field): string {
  if (field.type === 'choice') return `must be one of ${field.choices.join(', ')}`;
  if (field.type === 'whole') return `must be a whole number from ${field.least} to ${field.most}`;
  return field.type === 'switch' ? 'must be true or false' : `must be a text such as ${field.example}`;
}
