// In charge of putting the API together: which features stand behind which addresses.
import type { FastifyInstance } from 'fastify';
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
import type { Config } from './config.ts';
import type { Db, PoolOptions } from './db/connect.ts';
import { pageLimits } from './collection/connectors/oneroster/oneroster-connector.ts';
import { parseAllowList } from './http/address-guard.ts';
import { envelopeShape, type ErrorShape } from './http/error-shape.ts';
import { healthRoutes } from './http/health.ts';
import { describeApi } from './http/openapi.ts';
import { createOutbound } from './http/outbound.ts';
import { createServer } from './http/server.ts';
import { slowReaderLimit, type SlowReaderLimit } from './http/slow-reader.ts';
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
};

export type Pools = {
  /** For what is asked the same way again and again: who is calling, and pages. */
  db: Db;
  /** For filtered lists, whose plans are made anew. */
  searches: Db;
  /** For judging secrets one at a time, so that a flood of tries holds up nobody else. */
  tries: Db;
  /** For whole lists, so that slow readers of those hold up no page. */
  streams: Db;
};

/** The pools of one process; `open` makes one on its database. */
export function createPools(open: (options: PoolOptions) => Db): Pools {
  return { db: open({ max: 10, name: 'api', plans: 'kept' }), searches: open({ max: 6, name: 'searches', plans: 'made', longestMs: longestSearchMs }), streams: open({ max: 16, name: 'streams', plans: 'made' }), tries: open({ max: 4, name: 'tries' }) };
}

const longestSearchMs = 30_000;
const rememberedTotalsBytes = 4 * 1024 * 1024;
const rememberedEndsBytes = 4 * 1024 * 1024;

const errorShapes: readonly { prefix: string; shape: ErrorShape }[] = [...accessErrorShapes, ...dialects.map(({ root, errors }) => ({ prefix: root, shape: errors }))];

/** The shape of the errors of the API under whose root an address is. */
function shapeFor(url: string): ErrorShape {
  const path = url.split('?', 1)[0] ?? '';
  return errorShapes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`))?.shape ?? envelopeShape;
}

export function createApp({ config, pools, seal, now = Date.now, slowReader = slowReaderLimit }: AppParts): FastifyInstance {
  const { db } = pools;
  const app = createServer({ logLevel: config.logLevel, trustProxy: config.trustProxy, shapeFor });
  const keys = createTokenKeys(db, seal);
  const tokens = createTokens(keys, config.publicUrl, now);
  const limit = createRateLimit(db, config.rateLimitPerMinute, now);
  app.addHook('onClose', () => limit.close());
  const requireCaller = createSchoolCaller(db, tokens, limit);
  const allowed = parseAllowList(config.outboundAllow);
  const requireManagement = createManagementCaller(db, tokens, limit);
  const providers = createOutbound(allowed, pageLimits);
  const pictures = createOutbound(allowed, pictureLimits);
  const ledger = createLedger(db);
  app.addHook('onClose', async () => {
    await ledger.close();
    await providers.close();
    await pictures.close();
  });
  describeApi(app);
  app.register(async (api) => {
    healthRoutes(api, db);
    accessRoutes(api, { db: pools.tries, tokens, keys });
    notificationRoutes(api, { db, requireCaller, allowed });
    schoolRegisterRoutes(api, { db, publicUrl: config.publicUrl, requireManagement });
    schoolPageRoutes(api, { db, seal, publicUrl: config.publicUrl, providers });
    identityRoutes(api, { db, publicUrl: config.publicUrl, pictures, requireCaller: createIdentityCaller({ db: pools.tries, requireSchool: requireCaller, requireManagement, limit }) });
    signInRoutes(api, { db, publicUrl: config.publicUrl });
    oidcRoutes(api, { db, seal, publicUrl: config.publicUrl });
    schoolDataRoutes(api, { db, streams: pools.streams, requireCaller, allowed, ledger, slowReader, now });
    rosteringRoutes(api, {
      authenticate: createAuthenticate(db, tokens, limit),
      reader: { ...pools, facts: createFactsReader(), totals: createRemembered(rememberedTotalsBytes), ends: createRemembered(rememberedEndsBytes) },
      publicUrl: config.publicUrl,
      ledger,
      slowReader,
    });
  });
  return app;
}
