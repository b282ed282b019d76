// In charge of documents that are short to read: what is the same in several operations, an answer, a parameter or a header, is
// written out once and referred to by name. Code reads documents in which everything stands where it belongs.
import type { OpenApiDocument, OperationObject, PathItem, Response } from './document.ts';

type Paths = OpenApiDocument['paths'];
/** Gives a part, or what stands in its place. */
type Visit = <T>(name: string, part: T) => T;
type Walk = (operation: OperationObject, visit: Visit) => OperationObject;

const walks = {
  headers: (operation, visit) => {
    const withHeaders = (response: Response): Response =>
      response.headers ? { ...response, headers: mapValues(response.headers, (header, name) => visit(name, header)) } : response;
    return { ...operation, responses: mapValues(operation.responses, withHeaders) };
  },
  parameters: (operation, visit) =>
    operation.parameters ? { ...operation, parameters: operation.parameters.map((one) => visit(one.name, one)) } : operation,
  responses: (operation, visit) => ({ ...operation, responses: mapValues(operation.responses, (response, status) => visit(`Answer-${status}`, response)) }),
} satisfies Record<string, Walk>;

export function shareParts(document: OpenApiDocument): object {
  const { webhooks, components, ...rest } = document;
  let { paths } = rest;
  const shared: Record<string, object> = {};
  // Headers first: answers that refer to the same ones are the same again.
  for (const [kind, walk] of Object.entries(walks)) {
    const share = shareKind(kind, walk, paths);
    paths = share.paths;
    if (Object.keys(share.parts).length > 0) shared[kind] = share.parts;
  }
  return {
    ...rest,
    paths,
    ...(webhooks ? { webhooks } : {}),
    components: { schemas: components.schemas, ...shared, securitySchemes: components.securitySchemes },
  };
}

function shareKind(kind: string, walk: Walk, given: Paths): { paths: Paths; parts: Record<string, unknown> } {
  const seen = new Map<string, number>();
  walkPaths(walk, given, (_name, part) => {
    const text = JSON.stringify(part);
    seen.set(text, (seen.get(text) ?? 0) + 1);
    return part;
  });
  const parts: Record<string, unknown> = {};
  const names = new Map<string, string>();
  const paths = walkPaths(walk, given, (name, part) => {
    const text = JSON.stringify(part);
    if ((seen.get(text) ?? 0) < 2) return part;
    const known = names.get(text) ?? freeName(parts, name);
    names.set(text, known);
    parts[known] = part;
    return { $ref: `#/components/${kind}/${known}` } as typeof part;
  });
  return { paths, parts };
}

/** Those that differ and have the same name are told apart by a number. */
function freeName(taken: object, name: string): string {
  let free = name;
  for (let number = 2; free in taken; number += 1) free = `${name}-${number}`;
  return free;
}

function walkPaths(walk: Walk, paths: Paths, visit: Visit): Paths {
  return mapValues(paths, (item): PathItem => mapValues(item as Record<string, OperationObject>, (operation) => walk(operation, visit)));
}

function mapValues<T, U>(given: Readonly<Record<string, T>>, to: (value: T, name: string) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, to(value, name)]));
}
