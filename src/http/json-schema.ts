// In charge of the words that JSON Schema is written in: those of TypeBox, with its types, and without loading it. Nine of them are
// used here; the library took 22 MB and a fifth of a second of every start, of each command too.
import type { TSchema, Type as Words } from 'typebox';

export type { TObject, TSchema } from 'typebox';

/** On a schema that may be left out of its object; nobody who reads or copies the schema sees it. */
const mayBeLeftOut = '~optional';

const made = {
  String: (options?: object) => ({ type: 'string', ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Array: (items: TSchema, options?: object) => ({ type: 'array', items, ...options }),
  Object: (properties: Readonly<Record<string, TSchema>>, options?: object) => {
    const required = Object.keys(properties).filter((name) => !(mayBeLeftOut in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
  },
  Record: (_names: TSchema, values: TSchema, options?: object) => ({ type: 'object', patternProperties: { '^.*$': values }, ...options }),
  Optional: (schema: TSchema) => Object.defineProperty({ ...schema }, mayBeLeftOut, { value: true }),
  Unsafe: (schema: TSchema) => ({ ...schema }),
};

export const Type = made as unknown as Pick<typeof Words, keyof typeof made>;
