// In charge of the rules for one value, whichever connector it came through: texts, ids, dates, years, booleans and
// enumerations.
import { extension, valuesOf, type Edition, type Field } from '../roster/resource.ts';

export const maxIdCharacters = 255;
const maxTextCharacters = 4000;
/** Control characters but tab and line breaks, and what a wrong encoding leaves behind. */
// oxlint-disable-next-line no-control-regex
const unreadable = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffd]/;
// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f]/;
const dateTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/** Told of each value that breaks a rule. */
export type Broken = (value: string, rule: string) => void;

/** What a status may be written as; inactive is what OneRoster 1.0 had for tobedeleted. */
export const writtenStatuses: readonly string[] = ['', 'active', 'tobedeleted', 'inactive'];

/** A value that is wrong may hold what no text of the database can; no value that is right is the same afterwards. */
export const storableText = (text: string): string => text.replaceAll('\u0000', '\ufffd').toWellFormed();

/** The rule that a text breaks, if any. */
export function textRule(text: string): string | undefined {
  if (unreadable.test(text)) return 'must not hold control characters or characters lost to a wrong encoding';
  if (text.length > maxTextCharacters) return `must not be longer than ${maxTextCharacters} characters`;
  return undefined;
}

/** The rule that an id breaks, if any. */
export function idRule(id: string): string | undefined {
  if (id === '') return 'must not be blank';
  if (id.length > maxIdCharacters) return `must not be longer than ${maxIdCharacters} characters`;
  if (controlCharacter.test(id)) return 'must not hold line breaks or other control characters';
  return undefined;
}

export function checkId(id: string, broken: Broken): string {
  const fault = idRule(id);
  if (fault) broken(id, fault);
  return id;
}

/** A single value that is not blank, as it is kept. `given` is what it was written as, by a source of this edition. */
export function checkValue(field: Field, given: string, broken: Broken, edition: Edition): string {
  const text = given.trim();
  switch (field.type) {
    case 'id':
    case 'uri':
    case 'ref':
    case 'refs':
      return checkId(text, broken);
    case 'enum':
      return checkWord(field, given, broken, edition);
    case 'boolean':
      if (text.toLowerCase() !== 'true' && text.toLowerCase() !== 'false') broken(given, 'must be true or false');
      return text.toLowerCase();
    case 'date':
      if (!isDate(text)) broken(given, 'must be a date of the calendar, written YYYY-MM-DD');
      return text;
    case 'year':
      if (!/^\d{4}$/.test(text)) broken(given, 'must be a year, written YYYY');
      return text;
    case 'list':
      return text;
    default:
      return given;
  }
}

function checkWord(field: Field, given: string, broken: Broken, edition: Edition): string {
  const [text, words, { spelled = {} }] = [given.trim(), valuesOf(field, edition), field];
  if (words.includes(text)) return text;
  const extends12 = edition === 'v1p2' && field.closed === undefined;
  const own = extends12 ? Object.keys(spelled).find((word) => spelled[word] === text) : undefined;
  if (own !== undefined) return own;
  const others = Object.values(spelled);
  if (extends12 && others.length === 0 && extension.test(text)) return text;
  const more = extends12 && others.length === 0 ? ', or a word of your own that begins with ext:' : '';
  broken(given, `must be one of ${[...words, ...(extends12 ? others : [])].join(', ')}${more}`);
  return text;
}

const writtenDate = /^\d{4}-\d{2}-\d{2}$/;

/** By arithmetic: of a million enrolments each has two. */
function isDate(text: string): boolean {
  if (!writtenDate.test(text)) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))];
  return year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month);
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

export function isDateTime(text: string): boolean {
  return dateTime.test(text);
}
