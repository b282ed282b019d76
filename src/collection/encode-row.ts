// In charge of how a row lies in the spool: as a line of COPY's text format, with its JSON made.
import { renderRecord } from '../roster/record.ts';
import {
  canLack,
  columnsOf,
  isGiven,
  renderedColumns,
  storedFields,
  type Field,
  type Item,
  type Resource,
  type UserId,
  type Value,
} from '../roster/resource.ts';
import type { MarkRow } from './mark.ts';
import type { Problem } from './problem.ts';
import type { Reading } from './reading.ts';
import type { RejectedRow, SourceRow } from './source.ts';
import { storableText } from './value-rules.ts';

/** Of the table that the collection is staged in, in the order of a line. */
export function stagedColumns(resource: Resource): string[] {
  const kinds = resource.kindsBy ? ['kinds'] : [];
  const rendered = [...renderedColumns(resource), 'late'];
  return ['estab', 'reading', 'line', 'place', 'sourced_id', 'kind', ...kinds, 'status', ...ownColumns(resource), 'metadata', ...rendered];
}

export const rejectedColumns = ['estab', 'reading', 'collection', 'line', 'sourced_id', 'fault'] as const;
export const faultColumns = ['estab', 'reading', 'number', 'file', 'line', 'column_name', 'value', 'rule'] as const;
export const markColumns = ['estab', 'reading', 'line', 'student_id', 'date', 'session', 'mark', 'minutes_late', 'notes'] as const;

/** Columns that come from the source. */
export function ownColumns(resource: Resource): string[] {
  return storedFields(resource).filter(isGiven).flatMap((field) => columnsOf(field).map((column) => column.name));
}

export function createRowEncoder(resource: Resource, reading: Reading): (row: SourceRow) => string {
  const kindAt = resource.fields.findIndex((field) => field.name === resource.kindBy?.field);
  const stored = resource.fields.flatMap((field, at) =>
    field.type !== 'idList' && isGiven(field) ? [{ field, at, blank: `\t${nothing}`.repeat(columnsOf(field).length) }] : [],
  );
  const derived = resource.fields.flatMap((field, at) =>
    field.type === 'idList' ? [{ at, from: resource.fields.findIndex((one) => one.column === field.column) }] : [],
  );
  const findKinds = createFindKinds(resource);
  const lacksAny = canLack(resource).length > 0;
  const key = keyOf(reading);
  return ({ line, page = line, sourcedId, status, values: given, metadata, lacks }) => {
    let values = given;
    if (derived.length > 0) {
      const completed = [...given];
      for (const { at, from } of derived) completed[at] = given[from];
      values = completed;
    }
    const { record, late, v1p2, shared } = renderRecord(resource, { sourcedId, values, metadata, lacks });
    const kind = kindAt < 0 ? nothing : (resource.kindBy?.kindOf((values[kindAt] as string | undefined) ?? '') ?? nothing);
    let text = `${key}\t${line}\t${page}\t${escape(sourcedId)}\t${kind}${findKinds ? `\t${encodeArray(findKinds(values))}` : ''}\t${status}`;
    for (let index = 0; index < stored.length; index += 1) {
      const { field, at, blank } = stored[index] as (typeof stored)[number];
      const value = values[at];
      text += value === undefined ? blank : `\t${encodeValue(field, value)}`;
    }
    text += `\t${metadata === undefined ? nothing : escape(metadata)}\t${escape(record)}\t${v1p2 === '' ? nothing : escape(v1p2)}\t${shared ?? nothing}`;
    return `${text}${lacksAny ? `\t${encodeArray(lacks)}` : ''}\t${escape(late)}\n`;
  };
}

/** Of a record that is of several kinds, all of them, in one order; of any other, nothing. */
function createFindKinds({ kinds, kindsBy, fields }: Resource): ((values: readonly Value[]) => readonly string[] | undefined) | undefined {
  if (!kindsBy) return undefined;
  const at = fields.findIndex(({ name }) => name === kindsBy.field);
  return (values) => {
    const items = values[at] as readonly Item[] | undefined;
    if (items === undefined || items.length < 2) return undefined;
    const own = new Set(items.map(kindsBy.kindOf));
    return own.size > 1 ? kinds.filter((kind) => own.has(kind)) : undefined;
  };
}

/**
 * Of its parts each is a line of its own, under the name of its file. What is of nobody is not counted as a record of the collection: it stands
 * under the name of the file that the record is missing in, or, where it could be of anybody, without its fault.
 */
export function encodeRejected({ collection, file }: Resource, reading: Reading, { line, sourcedId, fault, parts = [], ofNobody }: RejectedRow): string {
  const missing = ofNobody && sourcedId !== undefined;
  const own = { file: missing ? file : collection, id: sourcedId, number: ofNobody && !missing ? 0 : fault };
  const all = [own, ...parts.map((part) => ({ ...part, number: fault }))];
  return all.map(({ file: name, id, number }) => `${keyOf(reading)}\t${name}\t${line}\t${storable(id ?? null)}\t${number}\n`).join('');
}

export function encodeFault(reading: Reading, number: number, { file, line, column, value, rule }: Problem): string {
  return `${keyOf(reading)}\t${number}\t${storable(file)}\t${line ?? nothing}\t${storable(column)}\t${storable(value)}\t${storable(rule)}\n`;
}

function storable(text: string | null): string {
  return text === null ? nothing : escape(storableText(text));
}

export function encodeMark(reading: Reading, { line, studentId, date, session, mark, minutesLate, notes }: MarkRow): string {
  return `${keyOf(reading)}\t${line}\t${escape(studentId)}\t${date}\t${session}\t${encodeText(mark)}\t${minutesLate ?? nothing}\t${encodeText(notes)}\n`;
}

const nothing = '\\N';
const keyOf = ({ estab, number }: Reading) => `${escape(estab)}\t${number}`;
const encodeText = (text: string | undefined) => (text === undefined ? nothing : escape(text));

function encodeValue(field: Field, value: Exclude<Value, undefined>): string {
  if (field.type === 'userIds') {
    const pairs = value as readonly UserId[];
    return `${encodeArray(pairs.map((pair) => pair.type))}\t${encodeArray(pairs.map((pair) => pair.identifier))}`;
  }
  if (field.type === 'items') return escape(JSON.stringify(value));
  return typeof value === 'string' ? escape(value) : encodeArray(value as readonly string[]);
}

function encodeArray(items: readonly string[] | undefined): string {
  if (items === undefined) return nothing;
  return escape(`{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`);
}

const needsEscape = /[\\\t\n\r]/;
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escape(text: string): string {
  return needsEscape.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : text;
}
