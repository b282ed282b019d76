// In charge of what a roster record is: the shape in which each OneRoster class is described once, for the CSV
// binding, the tables, the JSON, filters, sorting and the documentation alike.

export type CollectionName = 'orgs' | 'academicSessions' | 'courses' | 'classes' | 'users' | 'enrollments' | 'demographics';

export type FieldType = 'id' | 'text' | 'enum' | 'boolean' | 'date' | 'year' | 'list' | 'idList' | 'ref' | 'refs' | 'userIds';

export type Field = Readonly<{
  /** The property of the JSON record. */
  name: string;
  /** What it is, for whoever reads the documentation. */
  about: string;
  type: FieldType;
  column: string;
  /** The column of the CSV file; a field without one is derived. */
  csv?: string;
  required?: boolean;
  /** The vocabulary of an enumeration. */
  values?: readonly string[];
  /** What a reference points to. */
  to?: CollectionName;
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
  /** The columns of the CSV file, in the order of the standard. */
  header: string;
  fields: readonly Field[];
  kinds: readonly string[];
  /** The field that decides the kind; without one the kind is that of the person the record is about. */
  kindBy?: { field: string; kindOf: (value: string) => string };
  /** Where the person stands whose kind the record takes on. */
  personColumn?: string;
}>;

export const roles = ['administrator', 'aide', 'guardian', 'parent', 'proctor', 'relative', 'student', 'teacher'] as const;
export const statuses = ['active', 'tobedeleted'] as const;
export type Status = (typeof statuses)[number];

/** In a stored record this byte stands for the address of the API. JSON never holds it unescaped. */
export const addressPlaceholder = '\u0001';

/** In a stored record a version's name stands between two of these, where its instant belongs. */
export const versionPlaceholder = '\u0002';

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
    enum: 'text',
    year: 'text',
    ref: 'text',
    boolean: 'boolean',
    date: 'date',
    list: 'text[]',
    idList: 'text[]',
    refs: 'text[]',
  }[field.type];
  return [{ name: field.column, type }];
}

/** The fields that have columns of their own, each column once. */
export function storedFields(resource: Resource): Field[] {
  return resource.fields.filter((field) => field.type !== 'idList');
}
