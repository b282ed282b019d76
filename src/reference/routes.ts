// In charge of the addresses at which the documents are read: by people, by generators, and by pages of anybody's.
import type { FastifyInstance } from 'fastify';
import { createHash } from 'node:crypto';
import { describeService, discoveryPaths } from './discovery.ts';
import { requireSurface, type ReadSurfaces } from './describe-surfaces.ts';
import type { OpenApiDocument } from './document.ts';
import { shareParts } from './share-parts.ts';
import { pathOf, surfaces, type SurfaceName } from './surfaces.ts';

type File = { text: string; etag: string };

/** They hold nothing of a school, and are the same for everybody until the next version. */
const reading = { 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff', 'access-control-allow-origin': '*' } as const;

export function referenceRoutes(app: FastifyInstance, readSurfaces: ReadSurfaces, publicUrl: string): void {
  const files = new Map<SurfaceName, File>();
  const fileOf = (name: SurfaceName): File => {
    const file = files.get(name) ?? toFile(shareParts(requireSurface(readSurfaces(), name).document));
    files.set(name, file);
    return file;
  };
  const serve = (path: string, read: () => File) =>
    app.get(path, { schema: { hide: true } }, async (request, reply) => {
      const { text, etag } = read();
      reply.headers({ ...reading, etag });
      const theirs = request.headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^W\//, ''));
      if (theirs?.some((one) => one === '*' || one === etag.replace(/^W\//, ''))) return reply.code(304).send();
      return reply.type('application/json; charset=utf-8').send(text);
    });
  for (const { name } of surfaces) serve(pathOf(name), () => fileOf(name));
  let discovered: File | undefined;
  const discover = () => (discovered ??= toFile(describeService(requireSurface(readSurfaces(), 'oneroster-1p2').document, publicUrl)));
  for (const path of discoveryPaths) serve(path, discover);
}

function toFile(document: object): File {
  const text = renderJson(document);
  // Weak: it is the same document in any encoding.
  return { text, etag: `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` };
}

export function renderDocument(document: OpenApiDocument): string {
  return renderJson(shareParts(document));
}

const renderJson = (document: object) => `${JSON.stringify(document, null, 2)}\n`;
