// In charge of which operations can be tried: those of the API's own descriptions that take a token, and with which.
import type { TokenKind } from '../../../access/tokens.ts';
import type { ReadSurfaces } from '../../../reference/describe-surfaces.ts';
import { listOperations, resolveReference, type Parameter } from '../../../reference/document.ts';
import { operationPath } from '../../../reference/pages/links.ts';
import { findContentType, listCredentials, type Located } from '../../../reference/sample-request.ts';

/** ofSchool: it opens one. scheme: how it is presented. */
type TokenScheme = Readonly<{ kind: TokenKind; scheme: 'Bearer' | 'Idaas'; ofSchool: boolean; label: string }>;

/** By the name of the security scheme. */
export const tokenSchemes = {
  variantAToken: { kind: 'rostering-a', scheme: 'Bearer', ofSchool: false, label: 'Token of variant A, for all schools of the application' },
  variantBToken: { kind: 'rostering-b', scheme: 'Bearer', ofSchool: true, label: 'Token of variant B, for one school' },
  oneRoster12Token: { kind: 'rostering-1p2', scheme: 'Bearer', ofSchool: true, label: 'Token of OneRoster 1.2, for one school' },
  schoolToken: { kind: 'school', scheme: 'Idaas', ofSchool: true, label: 'School token, for one school' },
  managementToken: { kind: 'management', scheme: 'Idaas', ofSchool: false, label: 'Management token, for the application itself' },
} as const satisfies Record<string, TokenScheme>;
export type TokenName = keyof typeof tokenSchemes;

/** key: what it is called in an address. reference: where it is read of. parameters: those that are filled in. takesBody: JSON. */
export type Operation = Located &
  Readonly<{ key: string; reference: string; credentials: readonly TokenName[]; parameters: readonly Parameter[]; takesBody: boolean }>;

/** In this order: an address first. */
const places: readonly Parameter['in'][] = ['path', 'query', 'header'];
export const isTokenName = (name: string): name is TokenName => Object.hasOwn(tokenSchemes, name);
const isJson = (type: string | undefined) => type !== undefined && /[/+]json\b/.test(type);

/** In the order of the descriptions. What is sent as anything but JSON is left to programs. */
export function listTryable(readSurfaces: ReadSurfaces): Operation[] {
  return readSurfaces().flatMap(({ name, document }) =>
    listOperations(document.paths).flatMap((described): Operation[] => {
      const located = { ...described, document };
      const { operationId, requestBody, parameters = [] } = described.operation;
      const credentials = listCredentials(located).filter(isTokenName);
      const takesBody = requestBody !== undefined;
      if (operationId === undefined || credentials.length === 0 || (takesBody && !isJson(findContentType(requestBody.content)))) return [];
      return [{
        ...located,
        key: `${name}.${operationId}`,
        reference: operationPath(name, described.operation.tags?.[0] ?? '', operationId),
        credentials,
        parameters: places.flatMap((place) => parameters.map((one) => resolveReference(document, one)).filter((one) => one.in === place)),
        takesBody,
      }];
    }),
  );
}

/** What is called back or registered by it happens later, and outside. */
const calling: ReadonlySet<string> = new Set(['url', 'callbackurl']);

/** Those of its parameters with which it has somebody called. */
export function listCalling({ parameters }: Pick<Operation, 'parameters'>): string[] {
  return parameters.flatMap(({ name }) => (calling.has(name.toLowerCase()) ? [name] : []));
}

/** Whether it may change something: by its verb, or by what is given with it. */
export function mayChangeSomething({ verb }: Pick<Operation, 'verb'>, query: Readonly<Record<string, string>>): boolean {
  return verb !== 'get' || Object.keys(query).some((name) => calling.has(name.toLowerCase()));
}
