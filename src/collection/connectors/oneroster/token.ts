// In charge of a provider's token: asked for with Basic client credentials, or with credentials in the body where
// Basic is refused, at the address given or at the two usual ones.
import { MisError } from '../../connector.ts';
import type { ProviderAnswer, Call } from './persistent-call.ts';

export type Credentials = Readonly<{ clientId: string; clientSecret: string }>;
export type Token = Readonly<{
  value: string;
  tokenUrl: string;
  /** Milliseconds since 1970 from which on it is better renewed; a provider that does not say so answers 401 in time. */
  staleAt: number | undefined;
}>;

const grant = 'grant_type=client_credentials';
/** The client is known, but may not have what is asked for: other credentials would not help. */
const refusedRights: Readonly<Record<string, string>> = {
  invalid_scope: 'knows the client, but does not grant it the scope that is needed',
  unauthorized_client: 'knows the client, but does not give it tokens in this way',
  unsupported_grant_type: 'does not give tokens for a client id and secret',
};
const marginMs = 60_000;

/** Where tokens may be asked for, in the order in which it is tried. */
export function tokenAddresses(url: string, given: string | undefined, remembered: unknown): string[] {
  if (given !== undefined) return [given];
  const usual = [`${url}/token`, `${url}/auth/token`];
  // An address remembered from another provider must not be handed this one's secret.
  return typeof remembered === 'string' && usual.includes(remembered) ? [remembered, ...usual.filter((one) => one !== remembered)] : usual;
}

export async function requestToken(
  call: (call: Call) => Promise<ProviderAnswer>,
  addresses: readonly string[],
  credentials: Credentials,
  now: () => number,
): Promise<Token> {
  let answer: ProviderAnswer | undefined;
  for (const tokenUrl of addresses) {
    answer = await present(call, tokenUrl, credentials);
    if (answer.status === 200 || answer.status === 201) return readToken(answer, tokenUrl, now());
    if (answer.status !== 404 && answer.status !== 405) throw describeRefusal(answer, tokenUrl);
  }
  throw new MisError(
    'Error',
    `The provider gives no token at ${addresses.join(' or ')} (${answer?.status}). Check its address, and enter the token address that the provider names.`,
    { later: false },
  );
}

async function present(call: (call: Call) => Promise<ProviderAnswer>, tokenUrl: string, { clientId, clientSecret }: Credentials): Promise<ProviderAnswer> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const answer = await call({ method: 'POST', url: tokenUrl, headers: { ...headers, authorization: basic }, body: grant });
  if (answer.status !== 401) return answer;
  return call({
    method: 'POST',
    url: tokenUrl,
    headers,
    body: `${grant}&${new URLSearchParams({ client_id: clientId, client_secret: clientSecret }).toString()}`,
  });
}

function readToken(answer: ProviderAnswer, tokenUrl: string, now: number): Token {
  const { access_token: value, expires_in: seconds } = readObject(answer);
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new MisError('Error', `The provider's token address ${tokenUrl} answered without an access token. Check that it is the right address.`);
  const lifeMs = Number(seconds) * 1000;
  return { value, tokenUrl, staleAt: lifeMs > 0 ? now + Math.max(lifeMs - marginMs, lifeMs / 2) : undefined };
}

function describeRefusal(answer: ProviderAnswer, tokenUrl: string): MisError {
  const { status, headers } = answer;
  if (status >= 300 && status < 400)
    return new MisError(
      'Error',
      `The provider's token address ${tokenUrl} has moved (${status}) to ${headers.location?.slice(0, 200) ?? 'an unnamed place'}. Enter the new address.`,
      { later: false },
    );
  const { error } = readObject(answer);
  // Only a code of the standard: the provider's own words may repeat what it was sent.
  const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? `, ${error}` : '';
  const notAllowed = typeof error === 'string' ? refusedRights[error] : undefined;
  if (notAllowed !== undefined)
    return new MisError('Error', `The provider ${notAllowed} (${status}${code}). Ask the provider to allow this client to read rosters.`, { later: false });
  return new MisError(
    'Error',
    `The provider does not accept the client id and secret (${status}${code}). Enter them again, or ask the provider for new ones.`,
    { later: false },
  );
}

function readObject(answer: ProviderAnswer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(answer.body.toString());
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
