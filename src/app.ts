// In charge of putting the API together: which features stand behind which addresses.
import type { FastifyInstance } from 'fastify';
import { availableParallelism } from 'node:os';
import { createAuthenticate } from './access/authenticate.ts';
import { createLedger } from './access/disclosures.ts';
import { createIdentityCaller } from './access/identity-caller.ts';
import { createManagementCaller } from './access/management-caller.ts';
import { createRateLimit } from './access/rate-limit.ts';
import { accessErrorShapes, accessRoutes } from './access/routes.ts';
import type { Seal } from './access/seal.ts';
import { createSchoolCaller } from './access/school-caller.ts';
import { createTokenKeys } from './access/token-keys.ts';
import { createTokens } from './access/tokens.ts';
import { createUploadCaller } from './access/upload-tokens.ts';
import { uploadRoutes } from './collection/upload-routes.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import type { OpenPool } from './db/open.ts';
import { policies } from './db/policies.ts';
import { pageLimits } from './collection/connectors/oneroster/oneroster-connector.ts';
import { parseAllowList } from './http/address-guard.ts';
import { envelopeShape, type ErrorShape } from './http/error-shape.ts';
import { healthRoutes } from './http/health.ts';
import { describeApi } from './http/openapi.ts';
import { createOutbound } from './http/outbound.ts';
import { pageErrorShape } from './http/page-error.ts';
import { styleRoute } from './http/pages/style.ts';
import { createServer } from './http/server.ts';
import { slowReaderLimit, type SlowReaderLimit } from './http/slow-reader.ts';
import { createHashPool, type HashPool } from './identity/hash-pool.ts';
import { oidcRoutes } from './identity/oidc/routes.ts';
import { signInRoutes } from './identity/page-routes.ts';
import { pictureLimits } from './identity/fetch-picture.ts';
import { identityRoutes } from './identity/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { schoolPageRoutes } from './onboarding/routes.ts';
import { schoolRegisterRoutes } from './onboarding/school-register.ts';
import { createRemembered } from './rostering/remembered.ts';
import { createFactsReader } from './rostering/roster-facts.ts';
import { dialects, rosteringRoutes } from './rostering/routes.ts';
import { schoolDataRoutes } from './schooldata/routes.ts';

export type AppParts = {
  config: Config;
  pools: Pools;
  seal: Seal;
  now?: () => number;
  slowReader?: SlowReaderLimit;
  /** Bytes of a package that a school uploads. */
  largestUpload?: number;
  /** How often a request that waits for the outcome of a writeback looks by itself. */
  lookEveryMs?: number;
  /** The threads that hash passwords; they end with the app. */
  hashing?: HashPool;
};

/** The pools of the API; what each is for stands beside its limits in `db/policies`. */
export const apiPools = ['callers', 'reads', 'searches', 'lists', 'tries', 'signIns', 'changes'] as const;
export type Pools = Readonly<Record<(typeof apiPools)[number], Db>>;

export function createPools(open: OpenPool): Pools {
  return Object.fromEntries(apiPools.map((name) => [name, open(policies[name])])) as Pools;
}

/** One processor is left to everything else, the kept thread aside, which is mostly idle. */
const hashThreads = Math.max(1, availableParallelism() - 1);
const rememberedTotalsBytes = 4 * 1024 * 1024;
const rememberedEndsBytes = 4 * 1024 * 1024;

const errorShapes: readonly { prefix: string; shape: ErrorShape }[] = [
  ...accessErrorShapes,
  ...dialects.map(({ root, errors }) => ({ prefix: root, shape: errors })),
];

const programRoots = ['/api', '/ims', '/oidc', '/.well-known'] as const;
const pageErrors = pageErrorShape({ path: '/school', label: 'To the pages of your school' });

/** The shape of the errors of the API under whose root an address is; a page where there is none and a browser asks. */
function shapeFor(url: string, accept = ''): ErrorShape {
  const path = url.split('?', 1)[0] ?? '';
  const isUnder = (root: string) => path === root || path.startsWith(`${root}/`);
  const unlessKnown = accept.includes('text/html') && !programRoots.some(isUnder) ? pageErrors : envelopeShape;
  return errorShapes.find(({ prefix }) => isUnder(prefix))?.shape ?? unlessKnown;
}

/** What a process without an API answers: whether it lives and can work. */
export function createHealthApp(config: Config, db: Db): FastifyInstance {
  const app = createServer({ logLevel: config.logLevel, trustProxy: config.trustProxy, shapeFor });
  app.register(async (api) => healthRoutes(api, db));
  return app;
}

export function createApp({ config, pools, seal, now = Date.now, slowReader = slowReaderLimit, ...parts }: AppParts): FastifyInstance {
  const { callers, reads, changes, tries, signIns } = pools;
  const hashing = parts.hashing ?? createHashPool({ threads: hashThreads });
  const app = createServer({ logLevel: config.logLevel, trustProxy: config.trustProxy, shapeFor });
  const keys = createTokenKeys(callers, seal);
  const tokens = createTokens(keys, config.publicUrl, now);
  const limit = createRateLimit(changes, config.rateLimitPerMinute, now);
  app.addHook('onClose', () => limit.close());
  const requireCaller = createSchoolCaller(callers, tokens, limit);
  const allowed = parseAllowList(config.outboundAllow);
  const requireManagement = createManagementCaller(callers, tokens, limit);
  const providers = createOutbound(allowed, pageLimits);
  const pictures = createOutbound(allowed, pictureLimits);
  const ledger = createLedger(changes);
  app.addHook('onClose', async () => {
    await ledger.close();
    await providers.close();
    await pictures.close();
    await hashing.close();
  });
  describeApi(app);
  app.register(async (api) => {
    healthRoutes(api, changes);
    styleRoute(api);
    accessRoutes(api, { db: tries, tokens, keys });
    notificationRoutes(api, { db: changes, requireCaller, allowed });
    schoolRegisterRoutes(api, { db: changes, publicUrl: config.publicUrl, requireManagement });
    const uploads = { dataDir: config.dataDir, ...(parts.largestUpload === undefined ? {} : { largest: parts.largestUpload }) };
    uploadRoutes(api, { db: changes, requireUpload: createUploadCaller(tries, limit), uploads, publicUrl: config.publicUrl });
    schoolPageRoutes(api, { db: changes, seal, publicUrl: config.publicUrl, providers, uploads });
    const requireIdentity = createIdentityCaller({ db: tries, requireSchool: requireCaller, requireManagement, limit });
    identityRoutes(api, { db: changes, hashing, publicUrl: config.publicUrl, pictures, requireCaller: requireIdentity });
    signInRoutes(api, { db: changes, tries: signIns, hashing, publicUrl: config.publicUrl });
    oidcRoutes(api, { db: changes, tries: signIns, hashing, seal, publicUrl: config.publicUrl });
    schoolDataRoutes(api, { db: changes, reads, lists: pools.lists, requireCaller, allowed, ledger, slowReader, now, lookEveryMs: parts.lookEveryMs });
    rosteringRoutes(api, {
      authenticate: createAuthenticate(callers, tokens, limit),
      reader: {
        db: reads,
        searches: pools.searches,
        lists: pools.lists,
        facts: createFactsReader(),
        totals: createRemembered(rememberedTotalsBytes),
        ends: createRemembered(rememberedEndsBytes),
      },
      publicUrl: config.publicUrl,
      ledger,
      slowReader,
    });
  });
  return app;
}
