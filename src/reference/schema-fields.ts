// In charge of schemas in words: which fields there are, of what type, which are always there, and what they mean. A schema with a
// name of its own is named; one without is told of field by field, however deep.
import type { Schema } from './document.ts';

/** As JSON Schema has it, as far as it is told here. */
type View = Readonly<{
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  const?: unknown;
  properties?: Readonly<Record<string, View>>;
  required?: readonly string[];
  additionalProperties?: boolean | View;
  items?: View;
  anyOf?: readonly View[];
  oneOf?: readonly View[];
  allOf?: readonly View[];
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  deprecated?: boolean;
  contentEncoding?: string;
}>;

/** name: the schema that is meant, where it has one. */
export type Kind = Readonly<{ words: string; name?: string }>;
export type Field = Readonly<{
  /** With what it is in: marks[].date. */
  path: string;
  kind: readonly Kind[];
  required: boolean;
  deprecated: boolean;
  description: string | undefined;
  /** The values there are; empty where any of the type is one. */
  values: readonly string[];
  limits: readonly string[];
}>;

const deepest = 8;

export function listFields(schema: Schema): readonly Field[] {
  return walk(schema, '', 0);
}

function walk(given: View, path: string, depth: number): readonly Field[] {
  const schema = inner(given);
  if (schema === undefined || depth > deepest || schema.$ref !== undefined) return [];
  if (schema.allOf || schema.anyOf || schema.oneOf)
    return [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((one) => walk(one, path, depth + 1));
  if (schema.items) return walk(schema.items, `${path}[]`, depth + 1);
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return [describe(one, at, required.has(name)), ...walk(one, at, depth + 1)];
  });
}

/** What is meant where the alternative is null. */
function inner(schema: View): View | undefined {
  const others = (schema.anyOf ?? schema.oneOf)?.filter((one) => one.type !== 'null');
  return others?.length === 1 ? others[0] : schema;
}

function describe(schema: View, path: string, required: boolean): Field {
  return {
    path,
    kind: describeKind(schema),
    required,
    deprecated: schema.deprecated === true,
    description: schema.description,
    values: listValues(schema),
    limits: listLimits(schema),
  };
}

export function describeKind(schema: Schema | View): readonly Kind[] {
  const view = schema as View;
  if (view.$ref !== undefined) return [{ words: '', name: view.$ref.replace(/^.*\//, '') }];
  const parts = view.anyOf ?? view.oneOf ?? view.allOf;
  if (parts) return distinct(parts.flatMap(describeKind));
  if (view.items) return [{ words: 'list of' }, ...describeKind(view.items)];
  if (view.const !== undefined) return [{ words: view.const === null ? 'null' : typeof view.const }];
  const types = typeof view.type === 'string' ? [view.type] : (view.type ?? (view.properties ? ['object'] : view.enum ? ['string'] : ['any']));
  return types.map((type) => ({ words: type !== 'null' && view.format !== undefined ? `${type} (${view.format})` : type === 'array' ? 'list' : type }));
}

function distinct(kinds: readonly Kind[]): readonly Kind[] {
  return [...new Map(kinds.map((kind) => [JSON.stringify(kind), kind])).values()];
}

export function listValues(schema: Schema | View): readonly string[] {
  const view = schema as View;
  if (view.enum) return view.enum.map(String);
  if (view.const !== undefined && view.const !== null) return [String(view.const)];
  const parts = view.anyOf ?? view.oneOf;
  if (parts) return parts.flatMap(listValues);
  return view.items && view.items.$ref === undefined ? listValues(view.items) : [];
}

export function listLimits(schema: Schema | View): readonly string[] {
  const view = inner(schema as View) ?? {};
  const { minimum, maximum, maxLength, maxItems, pattern } = view;
  return [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined ? [] : [`at most ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems} of them`]),
    ...(view.default === undefined ? [] : [`${JSON.stringify(view.default)} unless given`]),
    ...(pattern === undefined ? [] : [`matches ${pattern}`]),
  ];
}
