// In charge of the addresses of the reference. Its pages are the same for everybody: each is made when it is first asked for, and
// kept. They hold nothing of a school, and need no credentials.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';
import { changesPath, type Deprecation } from '../http/deprecations.ts';
import { usePageErrors } from '../http/page-error.ts';
import { sendPage, sendScriptedPage } from '../http/page-reply.ts';
import type { Query } from '../http/query.ts';
import type { ReadSurfaces, Surface } from './describe-surfaces.ts';
import { readGuides } from './guides.ts';
import { renderChanges } from './pages/changes.ts';
import { renderGuide, renderGuides } from './pages/guides.ts';
import { docsPath, guidePath, guidesPath, schemasPath, searchPath, surfacePath, tagPath, webhooksPath } from './pages/links.ts';
import { renderSearch } from './pages/search.ts';
import { renderStart } from './pages/start.ts';
import { renderSchemas, renderSurface, renderTag } from './pages/surface.ts';
import { renderWebhooks } from './pages/webhooks.ts';
import { makeIndex, type Index } from './search-index.ts';

const hidden = { schema: { hide: true } } as const;
/** Until the next version; a reader who comes back within the hour is not sent it again. */
const reading = { 'cache-control': 'public, max-age=3600' } as const;

type Told = Readonly<{ readSurfaces: ReadSurfaces; publicUrl: string; deprecations: readonly Deprecation[] }>;

export function docsRoutes(app: FastifyInstance, told: Told): void {
  const kept = new Map<string, string>();
  let pages: ReadonlyMap<string, () => string> | undefined;
  let index: Index | undefined;

  const show = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const path = (request.url.split('?', 1)[0] ?? '').toLowerCase().replace(/\/+$/, '');
    pages ??= listPages(told);
    const page = kept.get(path) ?? pages.get(path)?.();
    if (page === undefined) throw new SchoolbellError('not_found', 'There is no such page in the reference.');
    kept.set(path, page);
    return sendPage(reply, page).headers(reading);
  };

  app.register(async (scope) => {
    usePageErrors(scope, { path: docsPath, label: 'To the reference' });
    for (const path of [docsPath, guidesPath, webhooksPath, changesPath]) scope.get(path, hidden, async (request, reply) => show(request, reply));
    scope.get(searchPath, hidden, async (request, reply) => {
      index ??= makeIndex(told.readSurfaces(), readGuides());
      return sendScriptedPage(reply, renderSearch(index, (request.query as Query)['q']?.[0] ?? ''));
    });
    scope.get(`${docsPath}/:surface`, hidden, async (request, reply) => show(request, reply));
    scope.get(`${docsPath}/:surface/:part`, hidden, async (request, reply) => show(request, reply));
  });
}

/** Every page that is kept, by its address. */
function listPages({ readSurfaces, publicUrl, deprecations }: Told): ReadonlyMap<string, () => string> {
  const surfaces = readSurfaces();
  const ofSurface = (surface: Surface): [string, () => string][] => [
    [surfacePath(surface.name), () => renderSurface(surface)],
    [schemasPath(surface.name), () => renderSchemas(surface)],
    ...surface.document.tags.map((tag): [string, () => string] => [tagPath(surface.name, tag.name), () => renderTag(surface, tag)]),
  ];
  const guides = readGuides();
  return new Map<string, () => string>([
    [guidesPath, () => renderGuides(guides)],
    ...guides.flatMap((group) => group.guides).map((guide): [string, () => string] => [guidePath(guide.name), () => renderGuide(guide, publicUrl)]),
    [docsPath, () => renderStart(publicUrl, surfaces)],
    [webhooksPath, () => renderWebhooks(surfaces)],
    [changesPath, () => renderChanges(deprecations)],
    ...surfaces.flatMap(ofSurface),
  ]);
}
