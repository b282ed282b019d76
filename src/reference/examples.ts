// In charge of the examples in the documents: answers that the demo really gave, kept in openapi/examples/ and put beside the
// schema of each answer. `npm run generate` asks for those that are missing or no longer fit (see test/collect-examples.ts).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listOperations, type Media, type OpenApiDocument } from './document.ts';
import type { SurfaceName } from './surfaces.ts';

/** By the operation's id and the status, the body. */
export type Examples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Where the service is in everything that is committed: a name that is reserved for examples. */
export const exampleUrl = 'https://schoolbell.example';

export const examplesFile = (name: SurfaceName): string => `openapi/examples/${name}.json`;

export function readExamples(name: SurfaceName): Examples {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../..', examplesFile(name)), 'utf8')) as Examples;
}

/** Errors have examples by code already; what the demo answered stands beside them. */
export function addExamples(document: OpenApiDocument, examples: Examples): void {
  for (const { operation } of listOperations({ ...document.paths, ...document.webhooks })) {
    for (const [status, body] of Object.entries(examples[operation.operationId ?? ''] ?? {})) {
      const media = findMedia(operation.responses[status]?.content);
      if (media?.examples) media.examples.demo = { value: body };
      else if (media) media.example = body;
    }
  }
}

function findMedia(content: Readonly<Record<string, Media>> | undefined): Media | undefined {
  return content?.['application/json'] ?? Object.values(content ?? {})[0];
}

/** What was kept under the reserved name, at the address of this service. */
export function moveTo(document: OpenApiDocument, publicUrl: string): OpenApiDocument {
  return JSON.parse(JSON.stringify(document).replaceAll(exampleUrl, publicUrl)) as OpenApiDocument;
}
