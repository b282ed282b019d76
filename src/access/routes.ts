// In charge of the addresses at which callers obtain tokens and the keys that verify them.
import type { FastifyInstance } from 'fastify';
import type { Db } from '../db/connect.ts';
import { useErrorShape, type ErrorShape } from '../http/error-shape.ts';
import { acceptTokenBodies } from './client-credentials.ts';
import { describeRosteringToken, tokenErrorSchema } from './describe-rostering-token.ts';
import { describeGetToken, describeKeys, tokenSchemas } from './describe-tokens.ts';
import { getToken, getTokenErrorShape } from './get-token.ts';
import { exchangeForRosteringToken, rosteringTokenEndpoints, type RosteringTokenName } from './rostering-token.ts';
import type { TokenKeys } from './token-keys.ts';
import type { Tokens } from './tokens.ts';

const getTokenPath = '/api/oauth/GetToken';
const jwksPath = '/.well-known/jwks.json';

export function accessRoutes(app: FastifyInstance, { db, tokens, keys }: { db: Db; tokens: Tokens; keys: TokenKeys }): void {
  for (const schema of tokenSchemas) app.addSchema(schema);
  const nothingStored = { config: { changesNothing: true } } as const;
  for (const name of Object.keys(rosteringTokenEndpoints) as RosteringTokenName[]) {
    const endpoint = rosteringTokenEndpoints[name];
    app.register(async (scope) => {
      useErrorShape(scope, endpoint.errors);
      acceptTokenBodies(scope);
      scope.addSchema(tokenErrorSchema);
      scope.post(endpoint.path, { ...nothingStored, ...describeRosteringToken(name) }, exchangeForRosteringToken(db, tokens, endpoint));
    });
  }
  app.register(async (scope) => {
    useErrorShape(scope, getTokenErrorShape);
    acceptTokenBodies(scope);
    scope.post(getTokenPath, { ...nothingStored, ...describeGetToken(getTokenErrorShape) }, getToken(db, tokens));
  });
  app.get(jwksPath, describeKeys, async () => ({ keys: await keys.publicKeys() }));
}

/** The shapes of errors at a token endpoint that never reach its route. */
export const tokenErrorShapes: readonly { path: string; shape: ErrorShape }[] = [
  ...Object.values(rosteringTokenEndpoints).map(({ path, errors }) => ({ path, shape: errors })),
  { path: getTokenPath, shape: getTokenErrorShape },
];
