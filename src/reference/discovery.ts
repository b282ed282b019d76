// In charge of the document in which OneRoster 1.2 has a service say what it offers and where: ours of that surface, with the names of
// the standard, real addresses, and the scopes of which each operation needs one.
import { rosteringTokenEndpoints } from '../access/rostering-token.ts';
import type { OneRosterScope } from '../access/scopes.ts';
import { oneRoster12 } from '../rostering/dialects/oneroster-1p2.ts';
import { operations } from '../rostering/operations.ts';
import { acceptedScopes } from '../rostering/visibility.ts';
import { listOperations, type OpenApiDocument, type OperationObject, type PathItem, type Schema } from './document.ts';

/** The binding names one file, the guide to certification the other. */
const fileNames = ['onerosterv1p2rostersservice_openapi3_v1p0.json', 'imsorv1p2_rostering_openapi3_v1p0.json'];

export const discoveryPaths: readonly string[] = fileNames.map((name) => `${oneRoster12.root}/discovery/${name}`);

const schemeName = 'OAuth2CC';
const opens: Readonly<Record<OneRosterScope, string>> = {
  core: 'Lists of records and records by their ids, but for demographics.',
  roster: 'Everything but demographics.',
  demographics: 'Demographics.',
};

export function describeService(document: OpenApiDocument, publicUrl: string): object {
  const { root, scopes, suffix } = oneRoster12;
  const paths: Record<string, PathItem> = {};
  for (const { path, verb, operation } of listOperations(document.paths)) {
    const name = operation.operationId?.replace(new RegExp(`_${suffix}$`), '') ?? '';
    const own = operations.find((one) => one.name === name);
    if (own) paths[path.slice(root.length)] = { [verb]: named(operation, name, acceptedScopes(scopes, own.scope)) };
  }
  const { info, tags, components } = document;
  const used = new Set(listOperations(paths).flatMap(({ operation }) => operation.tags ?? []));
  return {
    openapi: document.openapi,
    info: { ...info, version: '1.2' },
    servers: [{ url: publicUrl + root, description: 'This service' }],
    tags: tags.filter(({ name }) => used.has(name)),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(components.schemas).map(([name, schema]) => [name, closed(schema)])),
      securitySchemes: {
        [schemeName]: {
          type: 'oauth2',
          description: 'OAuth 2 with client credentials, as Basic or in the form.',
          flows: {
            clientCredentials: {
              tokenUrl: publicUrl + rosteringTokenEndpoints[suffix].path,
              scopes: Object.fromEntries((Object.keys(opens) as OneRosterScope[]).map((scope) => [scopes[scope], opens[scope]])),
            },
          },
        },
      },
    },
  };
}

function named(operation: OperationObject, operationId: string, scopes: readonly string[]): OperationObject {
  return { ...operation, operationId, security: [{ [schemeName]: scopes }] };
}

/** The standard's own records are closed, and so are ours; what is published elsewhere leaves room for fields to come. */
function closed<T>(part: T): T {
  if (Array.isArray(part)) return part.map(closed) as T;
  if (part === null || typeof part !== 'object') return part;
  const entries = Object.entries(part).map(([name, value]) => [name, closed<unknown>(value)]);
  const isObject = (part as Schema).type === 'object' && (part as Schema).properties !== undefined;
  return { ...Object.fromEntries(entries), ...(isObject && !('additionalProperties' in part) ? { additionalProperties: false } : {}) } as T;
}
