// In charge of reading from a provider: every GET carries a token, which is asked for, renewed before it ends, and
// asked for again when the provider no longer takes it.
import { callPersistently, type ProviderAnswer, type Persistence } from './persistent-call.ts';
import { requestToken, tokenAddresses, type Credentials, type Token } from './token.ts';

export type Provider = Readonly<{
  /** The root, without a slash at its end. */
  url: string;
  /** GET of a path under the root. */
  get(path: string): Promise<ProviderAnswer>;
  /** Where tokens were given. */
  tokenUrl(): string | undefined;
}>;

export type ProviderParts = Credentials & Readonly<{ url: string; tokenUrl: string | undefined; rememberedTokenUrl: unknown }>;

export function createProvider(parts: ProviderParts, persistence: Persistence): Provider {
  const url = parts.url.trim().replace(/\/+$/, '');
  const addresses = tokenAddresses(url, parts.tokenUrl, parts.rememberedTokenUrl);
  let token: Token | undefined;

  const ask = (path: string, { value }: Token) =>
    callPersistently(persistence, { method: 'GET', url: `${url}${path}`, headers: { authorization: `Bearer ${value}` } });
  const renew = async (): Promise<Token> => (token = await requestToken((call) => callPersistently(persistence, call), addresses, parts, persistence.now));

  return {
    url,
    async get(path) {
      const fresh = token && (token.staleAt === undefined || token.staleAt > persistence.now()) ? token : await renew();
      const answer = await ask(path, fresh);
      return answer.status === 401 || answer.status === 403 ? ask(path, await renew()) : answer;
    },
    tokenUrl: () => token?.tokenUrl,
  };
}
