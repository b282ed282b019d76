// In charge of a provider's token: asked for with Basic client credentials or with credentials in the body, at the address
// given, announced or usual, and with less of a scope where more is refused.
import { MisError } from '../../connector.ts';
import type { ProviderAnswer, Call } from './persistent-call.ts';
import { readObject } from './read-object.ts';
import { leavesOutRoster } from './scopes.ts';
import { describeRefusal, namesScope, refusesScope, wantsScope } from './token-refusal.ts';

export type Credentials = Readonly<{ clientId: string; clientSecret: string }>;
/** by: where the credentials stand. */
export type TokenRequest = Readonly<{ tokenUrl: string; scope: string | undefined; by: 'basic' | 'body' }>;
export type Token = TokenRequest &
  Readonly<{
    value: string;
    /** What the provider says that it opens, if it does. */
    granted: string | undefined;
    /** Milliseconds since 1970 from which on it is better renewed; a provider that does not say so answers 401 in time. */
    staleAt: number | undefined;
  }>;
/** In the order in which they are tried. */
export type TokenWays = Readonly<{ addresses: readonly string[]; scopes: readonly (string | undefined)[]; by: TokenRequest['by'] }>;

type SendCall = (call: Call) => Promise<ProviderAnswer>;

const marginMs = 60_000;

/** Where tokens may be asked for. announced: by the provider's own document. */
export function tokenAddresses(url: string, given: string | undefined, announced: string | undefined): readonly string[] {
  const named = given ?? announced;
  return named === undefined ? [`${url}/token`, `${url}/auth/token`] : [named];
}

/** What worked before comes first. An address of another provider is none of these, and must not be handed this one's secret. */
export function preferRequest({ addresses, scopes, by }: TokenWays, worked: TokenRequest | undefined): TokenWays {
  if (!worked || !addresses.includes(worked.tokenUrl)) return { addresses, scopes, by };
  return { addresses: putFirst(addresses, worked.tokenUrl), scopes: scopes.includes(worked.scope) ? putFirst(scopes, worked.scope) : scopes, by: worked.by };
}

function putFirst<One>(list: readonly One[], first: One): readonly One[] {
  return [first, ...list.filter((one) => one !== first)];
}

export async function requestToken(call: SendCall, credentials: Credentials, ways: TokenWays, now: () => number): Promise<Token> {
  let status: number | undefined;
  for (const tokenUrl of ways.addresses) {
    let { by } = ways;
    let missed = false;
    /** Some grant less than was asked for without a word; it is taken if there is nothing better. */
    let narrowed: Token | undefined;
    for (const [at, scope] of ways.scopes.entries()) {
      const presented = await present(call, { tokenUrl, scope, by }, credentials).catch(asFailure);
      if (presented instanceof MisError) {
        if (narrowed) return narrowed;
        throw presented;
      }
      const { answer } = presented;
      ({ status } = answer);
      ({ by } = presented);
      const last = at === ways.scopes.length - 1;
      if (status === 200 || status === 201) {
        const token = readToken(answer, { tokenUrl, scope, by }, now());
        if (!leavesOutRoster(token.granted)) return token;
        narrowed ??= token;
        if (last) return narrowed;
        continue;
      }
      if (!narrowed && (status === 404 || status === 405)) break;
      missed ||= scope === undefined && wantsScope(answer);
      const asked = ways.scopes.slice(0, at + 1);
      if (!last && refusesScope(answer)) continue;
      if (narrowed) return narrowed;
      throw describeRefusal(answer, { tokenUrl, asked, missed });
    }
  }
  throw new MisError(
    'Error',
    `The provider gives no token at ${ways.addresses.join(' or ')} (${status}). Check its address, and enter the token address that the provider names.`,
    { later: false },
  );
}

function asFailure(error: unknown): MisError {
  if (error instanceof MisError) return error;
  throw error;
}

/** A 401 may mean the credentials, or where they stand, whatever its words are about. */
async function present(call: SendCall, request: TokenRequest, credentials: Credentials): Promise<{ answer: ProviderAnswer; by: TokenRequest['by'] }> {
  const answer = await call(renderCall(request, credentials));
  if (answer.status !== 401 || namesScope(answer)) return { answer, by: request.by };
  const by = request.by === 'basic' ? 'body' : 'basic';
  const second = await call(renderCall({ ...request, by }, credentials));
  return second.status === 401 && refusesScope(answer) ? { answer, by: request.by } : { answer: second, by };
}

function renderCall({ tokenUrl, scope, by }: TokenRequest, { clientId, clientSecret }: Credentials): Call {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope === undefined ? {} : { scope }),
    ...(by === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  return { method: 'POST', url: tokenUrl, headers: by === 'basic' ? { ...headers, authorization } : headers, body: form.toString() };
}

function readToken(answer: ProviderAnswer, request: TokenRequest, now: number): Token {
  const { access_token: value, expires_in: seconds, scope } = readObject(answer);
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new MisError('Error', `The provider's token address ${request.tokenUrl} answered without an access token. Check that it is the right address.`);
  const lifeMs = Number(seconds) * 1000;
  return {
    ...request,
    value,
    granted: typeof scope === 'string' ? scope : undefined,
    staleAt: lifeMs > 0 ? now + Math.max(lifeMs - marginMs, lifeMs / 2) : undefined,
  };
}
