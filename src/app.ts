// In charge of putting the API together: which features stand behind which addresses.
import type { FastifyInstance } from 'fastify';
import { availableParallelism } from 'node:os';
import { createApplicationCaller } from './access/application-caller.ts';
import { createAuthenticate } from './access/authenticate.ts';
import { createFindTokenSeconds, createIsDemo, createRequireAnswer, refuseAtTimes } from './access/demo-faults.ts';
import { createLedger } from './access/disclosures.ts';
import { createIdentityCaller } from './access/identity-caller.ts';
import { createManagementCaller } from './access/management-caller.ts';
import { createRateLimit, tellStanding } from './access/rate-limit.ts';
import { createRequestLines, type RequestLines } from './access/request-lines.ts';
import { accessRoutes, tokenErrorShapes } from './access/routes.ts';
import type { Seal } from './access/seal.ts';
import { createSchoolCaller } from './access/school-caller.ts';
import type { Opening } from './access/scopes.ts';
import { createTokenKeys } from './access/token-keys.ts';
import { createTokens } from './access/tokens.ts';
import { createUploadCaller } from './access/upload-tokens.ts';
import { uploadRoutes } from './collection/upload-routes.ts';
import type { Config } from './config.ts';
import { createSend } from './console/applications/try/send.ts';
import { consoleRoutes } from './console/routes.ts';
import type { Db } from './db/connect.ts';
import type { OpenPool, OpenReplica } from './db/open.ts';
import { apiPools, policies, replicaPolicies } from './db/policies.ts';
import { createPrefer, ReplicaHealth } from './db/replicas.ts';
import type { DemoCredentials } from './demo.ts';
import { listRetained } from './describe-retention.ts';
import { pageLimits } from './collection/connectors/oneroster/oneroster-connector.ts';
import { parseAllowList } from './http/address-guard.ts';
import { asksForPage } from './http/accepts-page.ts';
import { announceDeprecations, deprecations, type Deprecation } from './http/deprecations.ts';
import { envelopeShape, type ErrorShape } from './http/error-shape.ts';
import { healthRoutes } from './http/health.ts';
import { withKnownParameters } from './http/known-parameters.ts';
import { createLeaving, type Leaving } from './http/leaving.ts';
import type { LogStream } from './http/log-lines.ts';
import { createOutbound } from './http/outbound.ts';
import { pageErrorShape } from './http/page-error.ts';
import { scriptRoutes } from './http/pages/scripts.ts';
import { styleRoute } from './http/pages/style.ts';
import { createRequestMeter, type RequestMeter } from './http/request-meter.ts';
import { createServer } from './http/server.ts';
import { slowReaderLimit, type SlowReaderLimit } from './http/slow-reader.ts';
import { createHashPool, type HashPool } from './access/hash-pool.ts';
import { signInClaims } from './identity/oidc/provider.ts';
import { oidcRoutes } from './identity/oidc/routes.ts';
import { signInRoutes } from './identity/page-routes.ts';
import { pictureLimits } from './identity/fetch-picture.ts';
import { identityRoutes } from './identity/routes.ts';
import { userFields } from './identity/user-records.ts';
import { deliveryRoutes } from './notifications/delivery-routes.ts';
import { holdLimits, type HoldLimits } from './notifications/inbox/hold.ts';
import { createRequireTarget } from './notifications/inbox/require-target.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { schoolPageRoutes } from './onboarding/routes.ts';
import { schoolRegisterRoutes } from './onboarding/school-register.ts';
import { followRoutes } from './reference/describe-surfaces.ts';
import { docsRoutes, maxSearchesPerMinute } from './reference/docs-routes.ts';
import { referenceRoutes } from './reference/routes.ts';
import { listsFolder } from './roster/sweep-lists.ts';
import { openReadings } from './rostering/readings.ts';
import { dialects } from './rostering/dialects/all.ts';
import { oneRoster12 } from './rostering/dialects/oneroster-1p2.ts';
import { rosteringRoutes } from './rostering/routes.ts';
import { sandboxRoutes } from './sandbox/routes.ts';
import { endpoints } from './schooldata/catalogue.ts';
import { outcomeFields } from './schooldata/outcome.ts';
import { schoolDataRoutes } from './schooldata/routes.ts';
import { startRoutes } from './start-page.ts';

export type AppParts = {
  config: Config;
  pools: Pools;
  /** Undefined: everything is read from the primary. */
  replicas?: ReplicaPools | undefined;
  seal: Seal;
  now?: () => number;
  slowReader?: SlowReaderLimit;
  /** Bytes of a package that a school uploads. */
  largestUpload?: number;
  /** How often a request that waits for the outcome of a writeback looks by itself. */
  lookEveryMs?: number;
  /** What the start page may show. */
  demo?: DemoCredentials | undefined;
  /** The token in the printed link, which the demo's one-click sign-in requires. */
  demoEntry?: string | undefined;
  /** The threads that hash passwords; they end with the app. */
  hashing?: HashPool;
  /** How long inboxes keep callers waiting, and how many. */
  holds?: HoldLimits;
  /** Who keeps requests; it ends with the app. */
  lines?: RequestLines;
  /** Other than those of the product. */
  deprecations?: readonly Deprecation[];
} & Partial<Watched>;

/** Where the lines of the log go, who counts requests, and how it takes leave of those who call. */
export type Watched = { logTo: LogStream | undefined; meter: RequestMeter; leaving: Leaving };

/** The pools of the API; what each is for stands beside its limits in `db/policies`. */
export type Pools = Readonly<Record<(typeof apiPools)[number], Db>>;

export function createPools(open: OpenPool): Pools {
  return Object.fromEntries(apiPools.map((name) => [name, open(policies[name])])) as Pools;
}

/** Those of them that only read, once more. */
export type ReplicaPools = Readonly<Record<keyof typeof replicaPolicies, Db>>;

export function createReplicaPools({ spread, one }: OpenReplica): ReplicaPools {
  const { reads, searches, lists, console } = replicaPolicies;
  return { reads: spread(reads), searches: spread(searches), lists: spread(lists), console: one(console) };
}

/** One processor is left to everything else, the kept thread aside, which is mostly idle. */
const hashThreads = Math.max(1, availableParallelism() - 1);

/** The first root that an address is under decides the shape of its errors. */
const errorShapes: readonly { root: string; shape: ErrorShape }[] = [
  ...dialects.map(({ root, errors }) => ({ root, shape: errors })),
  // No service of OneRoster is offered elsewhere, and a client that looks for one there expects the body of its newest edition.
  { root: '/ims/oneroster', shape: oneRoster12.errors },
];

/** What a school reads before it decides, beside what the roster's own descriptions say. */
export const openings: readonly Opening[] = [
  ...endpoints.map(({ name, scope, fields }) => ({ name, scope, fields })),
  { name: 'Writeback', scope: 'WritebackAttendance', fields: outcomeFields },
  { name: 'GetUsers', scope: 'Identity', fields: userFields },
  { name: 'SignIn', scope: 'Identity', fields: Object.values(signInClaims).flat() },
];

const programRoots = ['/api', '/ims', '/oidc', '/.well-known'] as const;
/** Where a person goes on from an error that no page has made. */
const ways: readonly { roots: readonly string[]; shape: ErrorShape }[] = [
  { roots: ['/school'], shape: pageErrorShape({ path: '/school', label: 'To the pages of your school' }) },
  { roots: ['/console'], shape: pageErrorShape({ path: '/console', label: 'To the overview' }) },
  { roots: ['/docs'], shape: pageErrorShape({ path: '/docs', label: 'To the reference' }) },
  { roots: ['/login', '/account', '/register'], shape: pageErrorShape({ path: '/login', label: 'To the sign-in page' }) },
];
const pageErrors = pageErrorShape({ path: '/', label: 'To the start page' });

/** Returns the error shape of the API that an address belongs to, or a page if it belongs to none and the client is a browser. */
function shapeFor(url: string, accept: string | undefined): ErrorShape {
  const path = (url.split('?', 1)[0] ?? '').toLowerCase();
  const isUnder = (root: string) => path === root || path.startsWith(`${root}/`);
  const token = tokenErrorShapes.find((one) => path.replace(/\/$/, '') === one.path.toLowerCase());
  const known = (token ?? errorShapes.find(({ root }) => isUnder(root)))?.shape;
  if (known || programRoots.some(isUnder) || !asksForPage(accept)) return known ?? envelopeShape;
  return ways.find(({ roots }) => roots.some(isUnder))?.shape ?? pageErrors;
}

/** What a process without an API answers: whether it lives and can work. */
export function createHealthApp(config: Config, db: Db, { logTo, meter, leaving }: Watched): FastifyInstance {
  const app = createServer({ logLevel: config.logLevel, logTo, meter, leaving, trustProxy: config.trustProxy, shapeFor });
  app.register(async (api) => healthRoutes(api, db, leaving.isLeaving));
  return app;
}

export function createApp({ config, pools, seal, now = Date.now, slowReader = slowReaderLimit, ...parts }: AppParts): FastifyInstance {
  const { callers, reads, changes, tries, signIns } = pools;
  const hashing = parts.hashing ?? createHashPool({ threads: hashThreads });
  const meter = parts.meter ?? createRequestMeter();
  const lines = parts.lines ?? createRequestLines(changes, meter);
  const leaving = parts.leaving ?? createLeaving();
  const told = { logTo: parts.logTo, meter, tellEnded: lines.note, leaving };
  const app = createServer({ logLevel: config.logLevel, ...told, trustProxy: config.trustProxy, shapeFor });
  const keys = createTokenKeys(callers, seal);
  const sandbox = config.demo ? openSandbox(callers, config, now) : undefined;
  const steady = createTokens(keys, config.publicUrl, sandbox?.findTokenSeconds);
  const tokens = sandbox ? refuseAtTimes(steady, sandbox.requireAnswer) : steady;
  const limit = createRateLimit(changes, config.rateLimitPerMinute, now);
  const searchLimit = createRateLimit(changes, maxSearchesPerMinute, now);
  app.addHook('onClose', async () => void (await Promise.all([limit.close(), searchLimit.close()])));
  tellStanding(app, limit);
  const requireSchool = createSchoolCaller(callers, tokens, limit);
  const requireCaller = withKnownParameters(requireSchool);
  const allowed = parseAllowList(config.outboundAllow);
  const sendsMail = config.mail !== undefined;
  const requireTarget = createRequireTarget(changes, config.publicUrl, allowed);
  const requireManagement = createManagementCaller(callers, tokens, limit);
  const providers = createOutbound(allowed, pageLimits);
  const pictures = createOutbound(allowed, pictureLimits);
  const ledger = createLedger(changes);
  const tablesOf = ({ reads: db, searches, lists }: Pick<Pools, 'reads' | 'searches' | 'lists'>) => ({ db, searches, lists });
  const health = new ReplicaHealth((err, words) => app.log.warn({ err }, words));
  const readings = openReadings(tablesOf(pools), parts.replicas && tablesOf(parts.replicas), health, {
    folder: listsFolder(config.dataDir),
    maxBytes: config.listCacheMb * 1024 ** 2,
    tell: (error, words) => app.log.warn({ err: error }, words),
    now,
  });
  app.addHook('onClose', async () => {
    await readings.close();
    await ledger.close();
    await lines.close();
    await providers.close();
    await pictures.close();
    await hashing.close();
  });
  const ending = parts.deprecations ?? deprecations;
  announceDeprecations(app, ending, config.publicUrl);
  const readSurfaces = followRoutes(app, config.publicUrl);
  app.register(async (api) => {
    healthRoutes(api, pools.probes, leaving.isLeaving);
    styleRoute(api);
    scriptRoutes(api);
    startRoutes(api, { config, demo: parts.demo, demoEntry: parts.demoEntry });
    referenceRoutes(api, readSurfaces, config.publicUrl);
    docsRoutes(api, searchLimit, { readSurfaces, publicUrl: config.publicUrl, deprecations: ending });
    accessRoutes(api, { db: tries, tokens, keys });
    // Those that name schemas each by itself: what serialises an answer is made with all schemas that its route can see.
    api.register(async (scope) => notificationRoutes(scope, { db: changes, requireCaller, requireTarget }));
    api.register(async (scope) =>
      deliveryRoutes(scope, {
        db: changes,
        reads,
        requireCaller: withKnownParameters(createApplicationCaller(requireSchool, requireManagement)),
        answersFrom: parseAllowList(config.answersFrom),
      }),
    );
    // Not refused as it says of others: whoever set it must be able to end it.
    if (sandbox) api.register(async (scope) => sandboxRoutes(scope, { db: changes, requireManagement: createManagementCaller(callers, steady, limit), now }));
    schoolRegisterRoutes(api, { db: changes, publicUrl: config.publicUrl, sendsMail, requireManagement });
    const uploads = { dataDir: config.dataDir, ...(parts.largestUpload === undefined ? {} : { largest: parts.largestUpload }) };
    uploadRoutes(api, { db: changes, requireUpload: withKnownParameters(createUploadCaller(tries, limit)), uploads, publicUrl: config.publicUrl });
    schoolPageRoutes(api, { db: changes, seal, publicUrl: config.publicUrl, sendsMail, providers, uploads, openings });
    const requireIdentity = createIdentityCaller({ db: tries, requireSchool, requireManagement, limit, requireAnswer: sandbox?.requireAnswer });
    const retained = listRetained(config);
    const pages = { db: pools.console, prefer: createPrefer({ db: pools.console }, parts.replicas && { db: parts.replicas.console }, { health }) };
    const holds = parts.holds ?? holdLimits;
    const trying = { tokens, readSurfaces, send: createSend(app, config.publicUrl), demo: parts.demo && { rp: parts.demo.rp, estab: parts.demo.estab } };
    const { demoEntry } = parts;
    consoleRoutes(api, {
      ...pages, changes, tries: signIns, seal, config, demoEntry, hashing, providers, uploads, holds, trying, openings, retained, now,
    });
    identityRoutes(api, { db: changes, hashing, publicUrl: config.publicUrl, pictures, requireCaller: requireIdentity });
    signInRoutes(api, { db: changes, tries: signIns, hashing, publicUrl: config.publicUrl, sendsMail });
    oidcRoutes(api, { db: changes, tries: signIns, hashing, seal, publicUrl: config.publicUrl });
    const rows = { db: changes, prefer: createPrefer<Pick<Pools, 'reads' | 'lists'>>(pools, parts.replicas, { health }), folder: readings.files.folder };
    const schoolData = { ...rows, requireCaller, requireTarget, ledger, slowReader, now, lookEveryMs: parts.lookEveryMs };
    api.register(async (scope) => schoolDataRoutes(scope, schoolData));
    api.register(async (scope) =>
      rosteringRoutes(scope, { authenticate: createAuthenticate(callers, tokens, limit), readings, publicUrl: config.publicUrl, ledger, slowReader }),
    );
  });
  return app;
}

/** What the sandbox does to callers: only where there is a demo, and only to its applications. */
function openSandbox(db: Db, { rateLimitPerMinute }: Config, now: () => number) {
  const isDemo = createIsDemo(db, now);
  return { findTokenSeconds: createFindTokenSeconds(db, isDemo), requireAnswer: createRequireAnswer(db, isDemo, rateLimitPerMinute) };
}
