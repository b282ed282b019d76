// In charge of the documents as tests read them: as they are served, with every shared part put back where it belongs, and with
// a validator of JSON Schema that holds answers to what is described.
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { FastifyInstance } from 'fastify';
import {
  listOperations, resolveReference, type Described, type OpenApiDocument, type OperationObject, type PathItem, type Response, type Schema,
} from '../src/reference/document.ts';
import { pathOf, surfaces, type SurfaceName } from '../src/reference/surfaces.ts';

export async function readDocuments(app: FastifyInstance): Promise<Record<SurfaceName, OpenApiDocument>> {
  const entries = surfaces.map(async ({ name }) => [name, inline(JSON.parse((await app.inject(pathOf(name))).body) as OpenApiDocument)] as const);
  return Object.fromEntries(await Promise.all(entries)) as Record<SurfaceName, OpenApiDocument>;
}

function inline(document: OpenApiDocument): OpenApiDocument {
  const ofAnswer = (response: Response): Response => {
    const whole = resolveReference(document, response);
    const headers = Object.entries(whole.headers ?? {}).map(([name, header]) => [name, resolveReference(document, header)]);
    return whole.headers ? { ...whole, headers: Object.fromEntries(headers) as NonNullable<Response['headers']> } : whole;
  };
  const ofOperation = (operation: OperationObject): OperationObject => ({
    ...operation,
    ...(operation.parameters ? { parameters: operation.parameters.map((one) => resolveReference(document, one)) } : {}),
    responses: Object.fromEntries(Object.entries(operation.responses).map(([status, response]) => [status, ofAnswer(response)])),
  });
  const paths: Record<string, PathItem> = {};
  for (const { path, verb, operation } of listOperations(document.paths)) paths[path] = { ...paths[path], [verb]: ofOperation(operation) };
  return { ...document, paths };
}

/** The first status that says that all went well, with the schema of its JSON, if it has any. */
export function successOf({ responses }: OperationObject): { status: string; schema: Schema | undefined } {
  const [status = '', response] = Object.entries(responses).find(([one]) => one.startsWith('2')) ?? [];
  return { status, schema: response?.content?.['application/json']?.schema };
}

export const isJson = (contentType: string): boolean => /[/+]json$/.test(contentType);
export const nameOf = ({ verb, path, operation }: Described): string => operation.operationId ?? `${verb} ${path}`;

export type Validate = (schema: Schema, value: unknown) => string[];

/** What is published leaves room for fields to come (see `leave-open`); here an answer has those that are described and no other. */
function close(schema: Schema): Schema {
  const one = (value: unknown): unknown => (value === null || typeof value !== 'object' || Array.isArray(value) ? value : close(value as Schema));
  const each = (value: unknown): unknown => (Array.isArray(value) ? value.map(one) : value);
  const { properties, items, additionalProperties, anyOf, oneOf } = schema;
  return {
    ...schema,
    ...(properties
      ? {
          properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, one(value)])),
          additionalProperties: additionalProperties === undefined ? false : one(additionalProperties),
        }
      : {}),
    ...(items ? { items: one(items) } : {}),
    ...(anyOf ? { anyOf: each(anyOf) } : {}),
    ...(oneOf ? { oneOf: each(oneOf) } : {}),
  };
}

/** Says what does not fit. */
export function createValidate(document: OpenApiDocument): Validate {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  // Its types speak of a module of another kind.
  (formats as unknown as (on: Ajv2020) => void)(ajv);
  const schemas = Object.fromEntries(Object.entries(document.components.schemas).map(([name, schema]) => [name, close(schema)]));
  ajv.addSchema({ $id: 'document', components: { schemas } });
  const compiled = new Map<string, ReturnType<Ajv2020['compile']>>();
  const tell = ({ instancePath, message, params }: ErrorObject) => `${instancePath} ${message} ${JSON.stringify(params)}`;
  return (schema, value) => {
    const text = JSON.stringify(close(schema)).replaceAll('"#/components/', '"document#/components/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
    compiled.set(text, validate);
    return validate(value) ? [] : (validate.errors ?? []).map(tell);
  };
}
