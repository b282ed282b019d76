// The pages at /docs. They are the same for every reader, contain nothing of a school and need no credentials, so each is rendered
// once, at its first request.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tellStanding, type RateLimit } from '../access/rate-limit.ts';
import { networkOf } from '../access/wrong-tries.ts';
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
import { listEntries } from './search-entries.ts';
import { createSearchIndex, type SearchIndex } from './search.ts';

const hidden = { schema: { hide: true } } as const;
/** Until the next version; a reader who comes back within the hour is not sent it again. */
const reading = { 'cache-control': 'public, max-age=3600' } as const;

/** Searches per minute from one network address. The page searches again as its reader types. */
export const maxSearchesPerMinute = 120;

type Told = Readonly<{ readSurfaces: ReadSurfaces; publicUrl: string; deprecations: readonly Deprecation[] }>;

export function docsRoutes(app: FastifyInstance, searchLimit: RateLimit, told: Told): void {
  const kept = new Map<string, string>();
  let pages: ReadonlyMap<string, () => string> | undefined;
  let index: SearchIndex | undefined;

  // Describing every route and reading the guides takes up to four seconds, in which no request would be answered.
  app.addHook('onReady', async () => {
    index = createSearchIndex(listEntries(told.readSurfaces(), readGuides()));
  });

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
    tellStanding(scope, searchLimit);
    scope.get(searchPath, hidden, async (request, reply) => {
      searchLimit.count(request, `search ${networkOf(request.ip)}`);
      if (!index) throw new Error('the search index is built before the first request');
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
