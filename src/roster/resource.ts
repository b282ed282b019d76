// In charge of what a roster record is: the shape in which each OneRoster class is described once, for the CSV
// binding, the tables, the JSON, filters, sorting and the documentation alike.
import type { Fragment, Sql } from '../db/connect.ts';

export type UserId = { type: string; identifier: string };
/** One of a list that has fields of its own: each by its name, a reference as the id alone; `id` is its key in a CSV file. */
export type Item = Readonly<{ [name: string]: string | readonly Item[] | undefined; id?: string }>;
/** A checked value: text, list, pairs of a userIds list, items, or nothing. Dates and booleans are kept as their text. */
export type Value = string | readonly string[] | readonly UserId[] | readonly Item[] | undefined;

export type CollectionName = 'orgs' | 'academicSessions' | 'courses' | 'classes' | 'users' | 'enrollments' | 'demographics';

export type FieldType = 'id' | 'text' | 'uri' | 'enum' | 'boolean' | 'date' | 'year' | 'list' | 'idList' | 'ref' | 'refs' | 'userIds' | 'items';

/** Of OneRoster. */
export const editions = ['v1p1', 'v1p2'] as const;
export type Edition = (typeof editions)[number];

export type Field = Readonly<{
  /** The property of the JSON record. */
  name: string;
  /** What it is, for whoever reads the documentation. */
  about: string;
  type: FieldType;
  column: string;
  /** The column of the CSV file; a field with neither is derived. */
  csv?: string;
  /** The CSV file of its own whose rows are its items. */
  file?: string;
  /** The only edition that has it; all others are in both. */
  only?: Edition;
  /** In both editions, or in one alone. Every CSV file must have what 1.1 requires. */
  required?: true | Edition;
  /** The vocabulary of an enumeration, where the editions differ of each. That of 1.2 may be extended by words that begin with `ext:`. */
  values?: readonly string[] | Readonly<Record<Edition, readonly string[]>>;
  /** Not to be extended. */
  closed?: true;
  /** How 1.2 spells words that only 1.1 has; they are kept as 1.1 has them. */
  spelled?: Readonly<Record<string, string>>;
  /** What becomes in 1.1 of a word that only 1.2 can say, where it is taken at all. */
  foreign?: 'omitted' | 'shown';
  /** What 1.2 shows of a record without a value: its sourcedId, or this word. */
  blank?: 'sourcedId' | 'true' | 'false';
  /** What 1.2 shows where the source had no such field. */
  otherwise?: (valueOf: (name: string) => Value) => Value;
  /** The same of a row t. */
  otherwiseSql?: (sql: Sql) => Fragment;
  /** The fields of each item. */
  items?: readonly Field[];
  /** What a reference points to. */
  to?: CollectionName;
  /** The field of a role that can name it: where roles do, but none that the caller may see, it is not shown. */
  namedBy?: string;
  /** As what two people are related by it, one of one kind and one of the other, where they are of several. */
  relates?: readonly [string, string];
  /** Of whoever is of several kinds: the one that it tells of. */
  tellsOf?: string;
  /** A list that must be as long as this one in a CSV package of 1.2; `collection/paired-lists` says what happens to unequal ones. */
  pairedWith?: string;
  /** Rendered after the rest of the record: derived, or subject to what the caller may see. */
  late?: boolean;
}>;

export type Resource = Readonly<{
  collection: CollectionName;
  /** The name of one record in an answer. */
  one: string;
  /** The type that a reference to such a record carries. */
  refType: string;
  about: string;
  table: string;
  file: string;
  /** The columns of the CSV file, in the order of the standard; of an edition in which it was issued twice, both. */
  headers: Readonly<Record<Edition, readonly string[]>>;
  fields: readonly Field[];
  kinds: readonly string[];
  /** The field that decides the kind; without one the kind is that of the person the record is about. */
  kindBy?: { field: string; kindOf: (value: string) => string };
  /** A record may be of further kinds: those of the items of this field. */
  kindsBy?: { field: string; kindOf: (item: Item) => string };
  /** Where the person stands whose kind the record takes on. */
  personColumn?: string;
  /** Of a record about somebody of several kinds: the column, and which of them its words are of. */
  ownKind?: { column: string; kinds: Readonly<Record<string, string>> };
}>;

export const roles = ['administrator', 'aide', 'guardian', 'parent', 'proctor', 'relative', 'student', 'teacher'] as const;
/** Of a file whose columns are the same in both editions. */
export const unchanged = (header: string): Resource['headers'] => ({ v1p1: [header], v1p2: [header] });

export const statuses = ['active', 'tobedeleted'] as const;
export type Status = (typeof statuses)[number];

/** In a stored record this byte stands for the address of the API. JSON never holds it unescaped. */
export const addressPlaceholder = '\u0001';

/** In a stored record a version's name stands between two of these, where its instant belongs. */
export const versionPlaceholder = '\u0002';

/** In a rendering for 1.2 that is not merged yet this byte stands for the role of an administrator, which depends on the organisation. */
export const administratorPlaceholder = '\u0003';

/** Column types of staging and roster tables, by field type. */
export function columnsOf(field: Field): { name: string; type: string }[] {
  if (field.type === 'userIds')
    return [
      { name: 'user_id_types', type: 'text[]' },
      { name: 'user_id_identifiers', type: 'text[]' },
    ];
  const type = {
    id: 'text',
    text: 'text',
    uri: 'text',
    enum: 'text',
    year: 'text',
    ref: 'text',
    boolean: 'boolean',
    date: 'date',
    list: 'text[]',
    idList: 'text[]',
    refs: 'text[]',
    items: 'jsonb',
  }[field.type];
  return [{ name: field.column, type }];
}

/** The fields that have columns of their own, each column once. */
export function storedFields(resource: Resource): Field[] {
  return resource.fields.filter((field) => field.type !== 'idList');
}

/** Whether the source says it; it is derived otherwise. */
export const isGiven = ({ csv, file }: Field): boolean => csv !== undefined || file !== undefined;

export function fieldsOf({ fields }: { fields: readonly Field[] }, edition: Edition): Field[] {
  return fields.filter(({ only }) => only === undefined || only === edition);
}

export const isRequired = ({ required }: Field, edition: Edition): boolean => required === true || required === edition;

export function valuesOf({ values = [] }: Field, edition: Edition): readonly string[] {
  return Array.isArray(values) ? values : (values as Readonly<Record<Edition, readonly string[]>>)[edition];
}

/** Fields that 1.1 requires and 1.2 does not: a record that came without one has something in its place, which 1.2 does not show. */
export function canLack({ fields }: Resource): readonly Field[] {
  return fields.filter(({ required, only }) => required === 'v1p1' && only === undefined);
}

/** People, and what is about one, may be of several kinds. */
export function kindColumns({ kindsBy, personColumn }: Resource): string[] {
  return kindsBy !== undefined || personColumn !== undefined ? ['kind', 'kinds'] : ['kind'];
}

/** Beside the columns of its fields, what is kept of how a record is shown. */
export function renderedColumns(resource: Resource): string[] {
  return ['record', 'v1p2', 'shared', ...(canLack(resource).length > 0 ? ['lacks'] : [])];
}

/** A word by which a vocabulary of 1.2 was extended. */
export const extension = /^ext:[A-Za-z0-9.\-_]+$/;
