// In charge of what a provider means when it gives no token: a wrong secret, a scope that it does not grant, one that it
// misses, or something else; and of saying so without its own words, which may repeat what it was sent.
import { MisError } from '../../connector.ts';
import type { ProviderAnswer } from './persistent-call.ts';
import { readObject } from './read-object.ts';

/** missed: the provider said that it gives none without a scope. */
export type Refused = Readonly<{ tokenUrl: string; asked: readonly (string | undefined)[]; missed: boolean }>;

const codes = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'access_denied'];
const refusing = [400, 401, 403];
const aboutScope = /scope/i;
const notGiven = /missing|require|must|empty|blank|no scope|without/i;
const notValid = /invalid|\bnot\b|no such|unknown|unsupported|unrecogni|malformed|denied|exceed|unauthori[sz]ed|forbidden|disallowed|insufficient/i;

/** Whether less of a scope may be granted. Wrong credentials stay wrong with any. */
export function refusesScope(answer: ProviderAnswer): boolean {
  const { error } = readObject(answer);
  if (error === 'invalid_client' || !refusing.includes(answer.status)) return false;
  const words = wordsOf(answer);
  return error === 'invalid_scope' || (aboutScope.test(words) && (notValid.test(words) || notGiven.test(words)));
}

/** By the standard's own word, so that the credentials were taken. */
export function namesScope(answer: ProviderAnswer): boolean {
  return readObject(answer).error === 'invalid_scope';
}

/** Of a request that had no scope. */
export function wantsScope(answer: ProviderAnswer): boolean {
  const words = wordsOf(answer);
  return refusing.includes(answer.status) && aboutScope.test(words) && notGiven.test(words);
}

function wordsOf(answer: ProviderAnswer): string {
  const { error, error_description: description, message } = readObject(answer);
  return [error, description, message].filter((one) => typeof one === 'string').join(' ').slice(0, 1000);
}

export function describeRefusal(answer: ProviderAnswer, { tokenUrl, asked, missed }: Refused): MisError {
  const { status, headers } = answer;
  const refuse = (message: string) => new MisError('Error', message, { later: false });
  if (status >= 300 && status < 400)
    return refuse(
      `The provider's token address ${tokenUrl} has moved (${status}) to ${headers.location?.slice(0, 200) ?? 'an unnamed place'}. Enter the new address.`,
    );
  const { error } = readObject(answer);
  const code = typeof error === 'string' && codes.includes(error) ? error : undefined;
  const said = `(${status}${code === undefined ? '' : `, ${code}`})`;
  const names = [...new Set(asked.flatMap((scope) => scope?.split(' ') ?? []))].join(', ');
  const scoped = refusesScope(answer);
  // Whose credentials are not taken may be told of scopes as well.
  if (scoped && status === 401 && !namesScope(answer))
    return refuse(
      `The provider does not accept the client id and secret, or does not grant the scope that is needed ${said}; asked for: ${names || 'none'}. ` +
        'Enter the id and secret again, or the scope that the provider names for this client.',
    );
  if (scoped && missed && names === '')
    return refuse(`The provider gives no token without a scope ${said}. Enter the scope that the provider names for this client.`);
  if (scoped && missed)
    return refuse(`The provider gives no token without a scope ${said}, and grants none of ${names}. Enter the scope that the provider names for this client.`);
  if (scoped && names !== '')
    return refuse(
      `The provider knows the client, but does not grant it the scope that is needed ${said}; asked for: ${names}. ` +
        'Ask the provider to allow this client to read rosters, or enter the scope that it names.',
    );
  // With 401 some say so of a secret that is wrong.
  if (code === 'unauthorized_client' && status !== 401)
    return refuse(`The provider knows the client, but does not give it tokens in this way ${said}. Ask the provider to allow this client to read rosters.`);
  if (code === 'unsupported_grant_type')
    return refuse(`The provider does not give tokens for a client id and secret ${said}. Ask the provider to allow this client to read rosters.`);
  return refuse(`The provider does not accept the client id and secret ${said}. Enter them again, or ask the provider for new ones.`);
}
