// In charge of examples: the one that a description gives, or one that is put together of those of its fields.
import { resolveReference, type Media, type OpenApiDocument, type Schema } from './document.ts';

type View = Readonly<{
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  example?: unknown;
  examples?: readonly unknown[];
  default?: unknown;
  enum?: readonly unknown[];
}>;

const viewOf = (document: OpenApiDocument, schema: Schema): View => resolveReference<Schema>(document, schema);

/** The first that there is, wherever it stands. */
export function findExample(document: OpenApiDocument, { example, examples, schema }: Pick<Media, 'example' | 'examples' | 'schema'>): unknown {
  if (example !== undefined) return example;
  const [first] = Object.values(examples ?? {});
  if (first !== undefined) return first.value;
  return schema && exampleOf(viewOf(document, schema));
}

function exampleOf(view: View): unknown {
  return view.example ?? view.examples?.[0] ?? view.default ?? view.enum?.[0];
}

/** Of all fields that are required; where none is, of those that have an example. */
export function makeExample(document: OpenApiDocument, schema: Schema | undefined): unknown {
  if (!schema) return undefined;
  const view = viewOf(document, schema);
  const given = exampleOf(view);
  if (given !== undefined) return given;
  if (view.items) {
    const one = makeExample(document, view.items);
    return one === undefined ? [] : [one];
  }
  if (!view.properties) return undefined;
  const made = Object.entries(view.properties).map(([name, one]) => [name, makeExample(document, one)] as const);
  const required = view.required ?? [];
  return Object.fromEntries(made.filter(([name, one]) => one !== undefined && (required.length === 0 || required.includes(name))));
}
