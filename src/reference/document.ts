// In charge of what an OpenAPI document is to the code that makes and reads ours: the parts of 3.1 that occur in them. Of references
// there are only those to schemas; a document that is served has more of them (see `share-parts`).

export type Schema = Readonly<Record<string, unknown>>;
/** To a part of the same document: #/components/… */
export type Reference = Readonly<{ $ref: string }>;

export type Example = Readonly<{ summary?: string; description?: string; value: unknown }>;
export type Media = { schema?: Schema; example?: unknown; examples?: Record<string, Example> };
export type Header = { description?: string; schema?: Schema; example?: unknown };
export type Response = { description: string; headers?: Record<string, Header>; content?: Record<string, Media> };

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  description?: string;
  required?: boolean;
  deprecated?: boolean;
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, Example>;
};

export type RequestBody = { description?: string; required?: boolean; content: Record<string, Media> };
export type SecurityRequirement = Record<string, readonly string[]>;

export type OperationObject = {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, Response>;
  security?: SecurityRequirement[];
};

export const verbs = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
export type Verb = (typeof verbs)[number];
export type PathItem = Partial<Record<Verb, OperationObject>>;

export type SecurityScheme = Readonly<{
  type: 'http' | 'apiKey' | 'openIdConnect' | 'oauth2';
  description: string;
  scheme?: string;
  bearerFormat?: string;
  in?: 'header' | 'query' | 'cookie';
  name?: string;
  openIdConnectUrl?: string;
}>;

export type Tag = Readonly<{ name: string; description: string }>;

export type OpenApiDocument = {
  openapi: string;
  info: { title: string; summary: string; description: string; version: string; license: { name: string; identifier: string } };
  servers: { url: string; description: string }[];
  tags: Tag[];
  paths: Record<string, PathItem>;
  webhooks?: Readonly<Record<string, PathItem>>;
  components: {
    schemas: Record<string, Schema>;
    securitySchemes: Record<string, SecurityScheme>;
  };
};

/** An operation with where it stands. */
export type Described = Readonly<{ path: string; verb: Verb; operation: OperationObject }>;

/** In the order of the document. */
export function listOperations(paths: Readonly<Record<string, PathItem>>): Described[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    verbs.flatMap((verb) => {
      const operation = item[verb];
      return operation ? [{ path, verb, operation }] : [];
    }),
  );
}

/** What a reference within the document leads to, or the thing itself. */
export function resolveReference<T>(document: OpenApiDocument, thing: T | Reference): T {
  if (typeof thing !== 'object' || thing === null || !('$ref' in thing)) return thing as T;
  let at: unknown = document;
  for (const step of thing.$ref.replace(/^#\//, '').split('/')) {
    at = (at as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (at === undefined) throw new Error(`${thing.$ref} leads nowhere`);
  return at as T;
}
