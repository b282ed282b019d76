// In charge of reading from a provider: every GET carries a token, which is asked for, renewed before it ends, and
// asked for again when the provider no longer takes it.
import type { CollectionName } from '../../../roster/resource.ts';
import { MisError } from '../../connector.ts';
import { discover, findRemembered, type Found, type OneRosterVersion } from './discovery.ts';
import { callPersistently, type ProviderAnswer, type Persistence } from './persistent-call.ts';
import { leavesOutDemographics, scopesToAsk } from './scopes.ts';
import { preferRequest, requestToken, tokenAddresses, type Credentials, type Token, type TokenRequest, type TokenWays } from './token.ts';

export type Provider = Readonly<{
  /** The root, without a slash at its end. */
  url: string;
  found: Found;
  /** GET of a path under the root. */
  get(path: string): Promise<ProviderAnswer>;
  /** Whether the token may open it, by what the provider said when it gave it. */
  mayOpen(collection: CollectionName): boolean;
  /** Where tokens were given. */
  tokenUrl(): string | undefined;
  /** What the next reading need not find out again. */
  remember(): Record<string, unknown>;
}>;

/** state: what the last reading left. What is undefined is found out. */
export type ProviderParts = Credentials &
  Readonly<{
    url: string;
    tokenUrl: string | undefined;
    version?: OneRosterVersion | undefined;
    scope?: string | undefined;
    state: Readonly<Record<string, unknown>>;
  }>;

/** full: everything is read, so that what may have changed at the provider is asked anew. */
export async function openProvider(parts: ProviderParts, persistence: Persistence, { full }: { full: boolean }): Promise<Provider> {
  const url = parts.url.trim().replace(/\/+$/, '');
  const found = await discover(persistence, url, {
    told: parts.version,
    remembered: findRemembered(url, parts.state),
    anew: full,
  });
  const usual = { addresses: tokenAddresses(url, parts.tokenUrl, found.tokenUrl), scopes: scopesToAsk(found.version, parts.scope), by: 'basic' } as const;
  const worked = findWorked(parts.state);
  // Demographics may have been granted since.
  const ways = preferRequest(usual, worked && full && leavesOutDemographics(worked.scope) ? { ...worked, scope: usual.scopes[0] } : worked);
  let token: Token | undefined;
  let opened = false;

  const ask = (path: string, { value }: Token) =>
    callPersistently(persistence, { method: 'GET', url: `${url}${path}`, headers: { authorization: `Bearer ${value}` } });
  const request = async (how: TokenWays): Promise<Token> =>
    (token = await requestToken((call) => callPersistently(persistence, call), parts, how, persistence.now));
  const renew = () => request(preferRequest(ways, token));
  /** With a scope that was not tried yet, as long as there is one. A provider may give a token for one that opens nothing. */
  const askOtherwise = async (path: string, refused: ProviderAnswer): Promise<ProviderAnswer> => {
    let answer = refused;
    for (let at = nextScope(ways, token); isRefusal(answer) && at < ways.scopes.length; at = nextScope(ways, token)) {
      try {
        answer = await ask(path, await request({ ...preferRequest(ways, token), scopes: ways.scopes.slice(at) }));
      } catch (error) {
        // That nothing else is granted explains less than what was refused.
        if (error instanceof MisError && !error.later) return answer;
        throw error;
      }
    }
    return answer;
  };

  return {
    url,
    found,
    async get(path) {
      const fresh = token && (token.staleAt === undefined || token.staleAt > persistence.now()) ? token : await renew();
      let answer = await ask(path, fresh);
      if (isRefusal(answer)) answer = await ask(path, await renew());
      // What opened something is not asked to open everything.
      if (isRefusal(answer) && !opened) answer = await askOtherwise(path, answer);
      opened ||= answer.status === 200;
      return answer;
    },
    mayOpen: (collection) => collection !== 'demographics' || !leavesOutDemographics(token?.granted),
    tokenUrl: () => token?.tokenUrl,
    remember: () => ({ tokenUrl: token?.tokenUrl, scope: token?.scope, by: token?.by, found: { url, ...found } }),
  };
}

function isRefusal({ status }: ProviderAnswer): boolean {
  return status === 401 || status === 403;
}

function nextScope({ scopes }: TokenWays, token: Token | undefined): number {
  return token ? scopes.indexOf(token.scope) + 1 : 0;
}

/** Where no scope is remembered, a token was given without one. */
function findWorked({ tokenUrl, scope, by }: Readonly<Record<string, unknown>>): TokenRequest | undefined {
  if (typeof tokenUrl !== 'string') return undefined;
  return { tokenUrl, scope: typeof scope === 'string' ? scope : undefined, by: by === 'body' ? 'body' : 'basic' };
}
