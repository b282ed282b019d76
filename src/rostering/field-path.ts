// In charge of what a filter or sort may name: a field of the record, dotted into references, userIds and metadata.
// A path knows how its values compare and the SQL that gives them for a row t.
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { addressPlaceholder, editions, fieldsOf, type Edition, type Field, type Resource } from '../roster/resource.ts';
import { shownColumn } from '../roster/shown.ts';

/** How values compare: exactly, by folded text, in time, by the version's instant, or as a list. */
export type Comparison = 'exact' | 'text' | 'date' | 'instant' | 'exactList' | 'textList';

/** A version of a roster and when it came to be. */
export type Version = { version: number; instant: number; stamp: string };

/** What the SQL of a path may depend on besides the row. */
export type PathContext = {
  /** The address of the API, as in the hrefs of the answer. */
  address: string;
  /** The agents of a user that the caller may see. */
  visibleAgents: Fragment;
  /** What a field's column gives, as far as the caller may see it. */
  visibleColumn: (field: Field, column: Fragment) => Fragment;
  /** The record as the caller sees it, but for its first properties. */
  properties: Fragment;
  /** The versions of the roster, in their order. */
  versions: readonly Version[];
};

export type FieldPath = { name: string; comparison: Comparison; sql: (sql: Sql, context: PathContext) => Fragment };

const base: Record<string, FieldPath> = {
  sourcedId: { name: 'sourcedId', comparison: 'exact', sql: (sql) => sql`t.sourced_id` },
  status: { name: 'status', comparison: 'text', sql: (sql) => sql`t.status` },
  // Within a roster, versions are in the order of their instants.
  dateLastModified: { name: 'dateLastModified', comparison: 'instant', sql: (sql) => sql`t.version` },
};

export const selectableFields = (resource: Resource, edition: Edition): string[] => [
  'sourcedId',
  'status',
  'dateLastModified',
  'metadata',
  ...fieldsOf(resource, edition).map((field) => field.name),
];

/** In whatever edition. */
export const everyField = (resource: Resource): string[] => [...new Set(editions.flatMap((edition) => selectableFields(resource, edition)))];

/** The path of that name, or undefined with a hint at what would be right. */
export function findFieldPath(resource: Resource, name: string, edition: Edition): FieldPath | undefined {
  if (Object.hasOwn(base, name)) return base[name];
  const dot = name.indexOf('.');
  const [head, tail] = dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)];
  if (head === 'metadata') return tail === '' ? undefined : { name, comparison: 'text', sql: (sql) => sql`((t.metadata ->> ${tail}) collate "C")` };
  const field = fieldsOf(resource, edition).find((one) => one.name === head);
  if (!field) return undefined;
  const column = columnOf(field, edition);
  switch (field.type) {
    case 'text':
    case 'enum':
    case 'year':
    case 'id':
    case 'uri':
      return plain(name, tail, 'text', column);
    case 'boolean':
      return plain(name, tail, 'text', (sql, context) => sql`(case ${column(sql, context)} when true then 'true' when false then 'false' end)`);
    case 'date':
      return plain(name, tail, 'date', column);
    case 'list':
      return plain(name, tail, 'textList', column);
    case 'idList':
      return plain(name, tail, 'exactList', column);
    case 'userIds':
      return tail === 'type' || tail === 'identifier' ? { name, comparison: 'textList', sql: (sql) => sql`t.${sql(`user_id_${tail}s`)}` } : undefined;
    case 'ref':
    case 'refs':
      return referencePath(name, tail, field, column);
    case 'items':
      return itemPath(name, tail, field);
  }
}

type Column = FieldPath['sql'];

function columnOf(field: Field, edition: Edition): Column {
  if (field.name === 'agents') return (_sql, context) => context.visibleAgents;
  return (sql, context) => context.visibleColumn(field, shownColumn(sql, field, edition));
}

/** A list of what the items have there, out of the record as it is shown. Where items have items, of all of them. */
function itemPath(name: string, tail: string, field: Field): FieldPath | undefined {
  const exact = findInItems(field.items ?? [], tail.split('.'));
  if (exact === undefined) return undefined;
  const path = `$.${name.split('.').map((step) => `"${step}"`).join('.')}`;
  return {
    name,
    comparison: exact ? 'exactList' : 'textList',
    sql: (sql, { address, properties }) => sql`nullif(array(select (found.value #>> '{}') collate "C" from jsonb_path_query(
      ('{' || substr(replace(${properties}, ${addressPlaceholder}, ${address}), 2) || '}')::jsonb, ${path}::jsonpath)
      as found (value)), '{}')`,
  };
}

/** Whether what the steps lead to is an id; undefined when they lead nowhere. */
function findInItems(fields: readonly Field[], [step, ...further]: readonly string[]): boolean | undefined {
  const field = fields.find((one) => one.name === step);
  if (field?.items) return findInItems(field.items, further);
  if (field?.to) return further.length === 1 && ['sourcedId', 'href', 'type'].includes(further[0] ?? '') ? further[0] === 'sourcedId' : undefined;
  return field && further.length === 0 ? false : undefined;
}

function plain(name: string, tail: string, comparison: Comparison, sql: Column): FieldPath | undefined {
  return tail === '' ? { name, comparison, sql } : undefined;
}

function referencePath(name: string, tail: string, field: Field, column: Column): FieldPath | undefined {
  const target = collections[field.to ?? 'users'];
  const many = field.type === 'refs';
  const href = (sql: Sql, context: PathContext, id: Fragment) => sql`(${`${context.address}/${target.collection}/`}::text || roster_encode(${id}))`;
  if (tail === 'sourcedId') return { name, comparison: many ? 'exactList' : 'exact', sql: column };
  if (tail === 'type') {
    if (many)
      return {
        name,
        comparison: 'textList',
        sql: (sql, context) => sql`(case when cardinality(${column(sql, context)}) > 0 then array[${target.refType}::text] end)`,
      };
    return { name, comparison: 'text', sql: (sql, context) => sql`(case when ${column(sql, context)} is not null then ${target.refType}::text end)` };
  }
  if (tail !== 'href') return undefined;
  if (many)
    return {
      name,
      comparison: 'textList',
      sql: (sql, context) => sql`(select array_agg(${href(sql, context, sql`id`)}) from unnest(${column(sql, context)}) id)`,
    };
  return { name, comparison: 'text', sql: (sql, context) => href(sql, context, column(sql, context)) };
}

/** What to write instead of a name that is not a path. */
export function pathHint(resource: Resource, name: string, edition: Edition): string {
  const head = name.split('.', 1)[0] ?? '';
  const field = fieldsOf(resource, edition).find((one) => one.name === head);
  if (head === 'metadata') return 'Name a key: metadata.…';
  if (field?.to) return `Use ${head}.sourcedId.`;
  if (field?.type === 'userIds') return `Use ${head}.type or ${head}.identifier.`;
  if (field?.items) return `Use ${listInItems(head, field.items).join(', ')}.`;
  return `Fields are ${selectableFields(resource, edition).join(', ')}.`;
}

function listInItems(before: string, fields: readonly Field[]): string[] {
  return fields.flatMap(({ name, to, items }) => (items ? listInItems(`${before}.${name}`, items) : [`${before}.${name}${to ? '.sourcedId' : ''}`]));
}
