// Holds the documents to the routes: every route is described once or left out for a reason, and what is described is there.
import type { FastifyInstance } from 'fastify';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate } from '../db/migrate.ts';
import { withApp, withEmptyDatabase } from '../../test/generate.ts';
import { listOperations, type OpenApiDocument } from './document.ts';
import { pathOf, surfaces } from './surfaces.ts';

type Route = { verb: string; path: string; hidden: boolean; refuses: boolean };
type Tried = { what: string; status: number; body: string };

/** What is not described, by how its address begins, and why. */
const leftOut: Readonly<Record<string, string>> = {
  '/': 'pages for people: the start page',
  '/README.md': 'text for people',
  '/style.css': 'what pages load',
  '/follow.js': 'what pages load',
  '/search.js': 'what pages load',
  '/console': 'pages for people',
  '/school': 'pages for people',
  '/login': 'pages for people',
  '/account': 'pages for people',
  '/register': 'pages for people',
  '/openapi/': 'the documents themselves',
  '/ims/oneroster/rostering/v1p2/discovery/': 'the same as OneRoster 1.2 wants it',
  '/docs': 'pages for people: the reference, made of the documents',
  '/oidc/': 'pages for people, and other verbs of what is described',
  '/api/v1/{name}': 'names that are none, which are refused or told to a callbackUrl',
  '/api/v1/School/{estab}/{name}': 'names that are none, which are refused or told to a callbackUrl',
};

const read = await readAll();
const documents = Object.values(read.documents);
const described = documents.flatMap(({ paths }) => listOperations(paths));
const nameOf = ({ verb, path }: { verb: string; path: string }) => `${verb} ${path}`;
/** HEAD is the twin of GET, and routes that are there to say no say it of addresses that are described or hidden. */
const routes = read.routes.filter(({ verb, refuses }) => verb !== 'head' && !refuses);

/** The routes as the framework has them, the documents as they are served, and what is answered to whoever asks without credentials. */
function readAll(): Promise<{ routes: Route[]; documents: Record<string, OpenApiDocument>; tried: Tried[] }> {
  return withEmptyDatabase(async (url, db) => {
    await migrate(db);
    const routes: Route[] = [];
    const follow = (app: FastifyInstance) =>
      app.addHook('onRoute', ({ url: path, method, schema, config }) => {
        const [hidden, refuses] = [(schema as { hide?: boolean } | undefined)?.hide === true, config?.refuses === true];
        for (const verb of [method].flat()) routes.push({ verb: verb.toLowerCase(), path: path.replace(/:(\w+)/g, '{$1}'), hidden, refuses });
      });
    return withApp(url, db, async ({ app }) => ({ routes, ...(await askAll(app)) }), follow);
  });
}

async function askAll(app: FastifyInstance): Promise<{ documents: Record<string, OpenApiDocument>; tried: Tried[] }> {
  const documents: Record<string, OpenApiDocument> = {};
  const tried: Tried[] = [];
  for (const { name } of surfaces) documents[name] = JSON.parse((await app.inject(pathOf(name))).body) as OpenApiDocument;
  for (const { verb, path } of Object.values(documents).flatMap(({ paths }) => listOperations(paths))) {
    const { statusCode, body } = await app.inject({ method: verb, url: path.replace(/\{\w+\}/g, 'x') });
    tried.push({ what: `${verb} ${path}`, status: statusCode, body });
  }
  return { documents, tried };
}

test('every tag belongs to one surface, and every operation has one tag and a name of its own', () => {
  const tags = surfaces.flatMap((surface) => surface.tags.map(({ name }) => name));
  assert.deepEqual(tags, [...new Set(tags)]);
  assert.deepEqual(described.filter(({ operation }) => operation.tags?.length !== 1).map(nameOf), []);
  const ids = described.map(({ operation }) => operation.operationId);
  assert.deepEqual(ids, [...new Set(ids)]);
  assert.ok(!ids.includes(undefined));
});

test('every route is described once, or left out for a reason', () => {
  const names = described.map(nameOf);
  assert.deepEqual(names, [...new Set(names)]);
  const wanted = routes.filter(({ hidden }) => !hidden);
  assert.deepEqual(names.toSorted(), wanted.map(nameOf).toSorted());
  const isLeftOut = ({ path }: Route) => Object.keys(leftOut).some((begin) => path === begin || (begin !== '/' && path.startsWith(begin)));
  // Names of the catalogue at the root answer as they do under /api/v1, where they are described.
  const isAtRoot = ({ verb, path }: Route) => names.includes(`${verb} /api/v1${path}`);
  assert.deepEqual(routes.filter((route) => route.hidden && !isLeftOut(route) && !isAtRoot(route)).map(nameOf), []);
});

test('what is described is there', () => {
  assert.ok(read.tried.length > 40);
  const missing = read.tried.filter(({ status, body }) => status === 405 || (status === 404 && body.includes('There is nothing at this address')));
  assert.deepEqual(missing, []);
});

test('a document names only schemas, headers and credentials that it has, and has none that it does not name', () => {
  for (const { info, paths, webhooks, components, tags } of documents) {
    const text = JSON.stringify([paths, webhooks ?? {}, components]);
    for (const kind of ['schemas', 'headers', 'parameters', 'responses']) {
      const named = new Set([...text.matchAll(new RegExp(`"#/components/${kind}/([^"/]+)`, 'g'))].map(([, name = '']) => name));
      assert.deepEqual([...named].toSorted(), Object.keys((components as Record<string, object>)[kind] ?? {}).toSorted(), `${info.title}: ${kind}`);
    }
    const operations = listOperations(paths).map(({ operation }) => operation);
    const schemes = new Set(operations.flatMap(({ security = [] }) => security.flatMap((one) => Object.keys(one))));
    assert.deepEqual([...schemes].toSorted(), Object.keys(components.securitySchemes).toSorted(), info.title);
    assert.deepEqual([...new Set(operations.flatMap((one) => one.tags ?? []))].toSorted(), tags.map(({ name }) => name).toSorted(), info.title);
  }
});
