// In charge of reading the body of an attendance writeback. What is wrong with the body as a whole is refused here;
// what is wrong with a single mark is kept beside it, so that all marks can be judged at once.
import { SchoolbellError } from '../errors.ts';

export const markFields = ['StudentId', 'MarkType', 'Date', 'Session', 'Mark', 'Mins', 'Notes'] as const;
export type MarkField = (typeof markFields)[number];

/** A mark as it was given, each field as text; undefined where nothing, or nothing readable, was given. */
export type GivenMark = Readonly<{
  index: number;
  studentId: string | undefined;
  markType: string | undefined;
  date: string | undefined;
  session: string | undefined;
  mark: string | undefined;
  mins: string | undefined;
  notes: string | undefined;
  /** What could not be read, with the reason; Marks stands for the mark as a whole. */
  malformed: ReadonlyMap<MarkField | 'Marks', string>;
}>;

export type MarksBody = Readonly<{ marks: readonly GivenMark[]; callbacks: readonly { url: string }[] }>;

export const mostMarks = 5000;
/** Every callback is a call that we make for one that we get. */
export const mostCallbacks = 10;

const fieldsByKey = new Map<string, MarkField>(markFields.map((field) => [field.toLowerCase(), field]));

export function parseMarksBody(body: unknown): MarksBody {
  if (!isObject(body)) refuse('The body must be a JSON object with Marks, and callback if the outcome is to be posted.');
  const marks = readOnce(body, 'Marks');
  if (marks === undefined || marks === null) refuse('"Marks" is missing: an array of marks.');
  if (!Array.isArray(marks)) refuse(`"Marks" is ${describe(marks)}; it must be an array of marks.`);
  if (marks.length === 0) refuse(`"Marks" is empty; give 1 to ${mostMarks} marks.`);
  if (marks.length > mostMarks) refuse(`"Marks" has ${marks.length} marks; at most ${mostMarks} are taken at once.`);
  return { marks: marks.map(readMark), callbacks: readCallbacks(readOnce(body, 'callback')) };
}

function readMark(value: unknown, index: number): GivenMark {
  const given = new Map<MarkField, unknown>();
  const malformed = new Map<MarkField | 'Marks', string>();
  if (!isObject(value)) malformed.set('Marks', `The mark is ${describe(value)}; it must be an object with StudentId, MarkType, Date, Session and Mark.`);
  for (const [key, content] of isObject(value) ? Object.entries(value) : []) {
    const field = fieldsByKey.get(key.toLowerCase());
    if (!field) continue;
    if (given.has(field)) malformed.set(field, `${field} is given more than once, in different spellings; give it once.`);
    given.set(field, content);
  }
  const read = (field: MarkField): string | undefined => {
    const content = given.get(field) ?? '';
    if (malformed.has(field) || content === '') return undefined;
    if (field === 'Mins' && typeof content === 'number') return String(content);
    if (typeof content === 'string' && isStorable(content)) return content;
    malformed.set(
      field,
      typeof content === 'string' ? `${field} holds characters that are no text.` : `${field} is ${describe(content)}; it must be a string.`,
    );
    return undefined;
  };
  return {
    index,
    studentId: read('StudentId'),
    markType: read('MarkType'),
    date: read('Date'),
    session: read('Session'),
    mark: read('Mark'),
    mins: read('Mins'),
    notes: read('Notes'),
    malformed,
  };
}

/** An array or one object, as clients differ. */
function readCallbacks(callback: unknown): { url: string }[] {
  if (callback === undefined || callback === null) return [];
  const all: unknown[] = Array.isArray(callback) ? callback : [callback];
  if (all.length > mostCallbacks) refuse(`"callback" has ${all.length} entries; at most ${mostCallbacks} are taken.`);
  return all.map((one, at) => {
    const name = Array.isArray(callback) ? `callback[${at}]` : 'callback';
    if (!isObject(one)) refuse(`"${name}" is ${describe(one)}; it must be an object with Method and Url.`);
    const method = readOnce(one, 'Method', name) ?? 'POST';
    if (typeof method !== 'string' || method.toUpperCase() !== 'POST')
      refuse(`"${name}.Method" is ${typeof method === 'string' ? `"${method.slice(0, 20)}"` : describe(method)}; it must be POST.`);
    const url = readOnce(one, 'Url', name) ?? '';
    if (url === '') refuse(`"${name}.Url" is missing: the address to post the outcome to.`);
    if (typeof url !== 'string') refuse(`"${name}.Url" is ${describe(url)}; it must be a string.`);
    return { url };
  });
}

/** A value by its key in any case. */
function readOnce(object: object, key: string, within?: string): unknown {
  const [found, another] = Object.entries(object).filter(([name]) => name.toLowerCase() === key.toLowerCase());
  if (another) refuse(`"${within ? `${within}.` : ''}${key}" is given more than once, in different spellings; give it once.`);
  return found?.[1];
}

/** PostgreSQL has no place for a NUL, nor UTF-8 for half a surrogate pair. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function refuse(message: string): never {
  throw new SchoolbellError('invalid_request', message);
}
