// In charge of the documents: one for each surface, made of the schemas that the routes validate and serialise with. A
// document holds the operations whose tag is its own, and of schemas and credentials those that they name.
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { finishDescriptions, sharedSchemas } from '../http/describe-route.ts';
import { version } from '../version.ts';
import { listOperations, type OpenApiDocument, type PathItem, type Schema, type SecurityScheme } from './document.ts';
import { addEventExamples, readEventExamples } from './events.ts';
import { addExamples, moveTo, readExamples } from './examples.ts';
import { leaveOpen } from './leave-open.ts';
import { securitySchemes, surfaces, type SurfaceName, type SurfaceRow } from './surfaces.ts';

export type Surface = Readonly<{ name: SurfaceName; document: OpenApiDocument }>;
/** Made when it is first asked for, and the same from then on. */
export type ReadSurfaces = () => readonly Surface[];

type Whole = Readonly<{ paths: Record<string, PathItem>; schemas: Record<string, Schema> }>;

/** Follows the routes as they are registered, which is therefore to be called before. */
export function followRoutes(app: FastifyInstance, publicUrl: string): ReadSurfaces {
  for (const schema of sharedSchemas) app.addSchema(schema);
  app.register(swagger, {
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => (typeof schema.$id === 'string' ? schema.$id : `schema-${index}`) },
    openapi: { openapi: '3.1.0', info: { title: 'Schoolbell', version }, components: { securitySchemes } },
  });
  let described: readonly Surface[] | undefined;
  return () => (described ??= describeSurfaces(app, publicUrl));
}

export function requireSurface(described: readonly Surface[], name: SurfaceName): Surface {
  const found = described.find((one) => one.name === name);
  if (!found) throw new Error(`there is no surface ${name}`);
  return found;
}

/** Once the app is ready. */
function describeSurfaces(app: FastifyInstance, publicUrl: string): Surface[] {
  const made = finishDescriptions(structuredClone(app.swagger()));
  const { paths, components } = made as unknown as { paths: Whole['paths']; components: { schemas: Whole['schemas'] } };
  return surfaces.map((row) => ({ name: row.name, document: describeSurface(row, { paths, schemas: components.schemas }, publicUrl) }));
}

function describeSurface(row: SurfaceRow, whole: Whole, publicUrl: string): OpenApiDocument {
  const own = new Set(row.tags.map(({ name }) => name));
  const paths: Record<string, PathItem> = {};
  for (const { path, verb, operation } of listOperations(whole.paths)) {
    if (operation.tags?.some((tag) => own.has(tag))) paths[path] = { ...paths[path], [verb]: operation };
  }
  const { title, summary, description, tags, webhooks } = row;
  const used = new Set(listOperations(paths).flatMap(({ operation }) => operation.tags ?? []));
  const document: OpenApiDocument = {
    openapi: '3.1.0',
    // The package says nothing of a licence, and so nothing is granted by this document.
    info: { title, summary, description, version, license: { name: 'None stated', identifier: 'NONE' } },
    servers: [{ url: publicUrl, description: 'This service' }],
    tags: tags.filter(({ name }) => used.has(name)),
    paths,
    ...(webhooks ? { webhooks: structuredClone(webhooks) } : {}),
    components: {
      schemas: takeUsed(whole.schemas, [paths, webhooks ?? {}]),
      securitySchemes: absolute(pick(securitySchemes, schemesOf(paths)), publicUrl),
    },
  };
  addExamples(document, readExamples(row.name));
  addEventExamples(document.webhooks ?? {}, readEventExamples());
  return leaveOpen(moveTo(document, publicUrl));
}

/** The schemas that are referred to, and those that they refer to. */
function takeUsed(schemas: Readonly<Record<string, Schema>>, from: unknown): Record<string, Schema> {
  const found = new Set<string>();
  const look = (at: unknown): void => {
    for (const [, name = ''] of JSON.stringify(at).matchAll(/"\$ref":"#\/components\/schemas\/([^"/]+)/g)) {
      if (found.has(name)) continue;
      found.add(name);
      look(schemas[name]);
    }
  };
  look(from);
  return pick(schemas, found);
}

function schemesOf(paths: Record<string, PathItem>): Set<string> {
  return new Set(listOperations(paths).flatMap(({ operation: { security = [] } }) => security.flatMap((one) => Object.keys(one))));
}

function absolute(schemes: Record<string, SecurityScheme>, publicUrl: string): Record<string, SecurityScheme> {
  return Object.fromEntries(
    Object.entries(schemes).map(([name, scheme]) => [
      name,
      scheme.openIdConnectUrl === undefined ? scheme : { ...scheme, openIdConnectUrl: publicUrl + scheme.openIdConnectUrl },
    ]),
  );
}

/** In the order of the table. */
function pick<T>(table: Readonly<Record<string, T>>, names: ReadonlySet<string>): Record<string, T> {
  return Object.fromEntries(Object.entries(table).filter(([name]) => names.has(name)));
}
