// In charge of tokens: JWTs of five kinds, each refused everywhere but where its kind belongs. A token names the
// secret it was obtained with, so that it ends with that secret.
import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { SchoolbellError } from '../errors.ts';
import { tokenAlgorithm, type TokenKeys } from './token-keys.ts';

const rosteringLifetimes = { 'rostering-a': 3600, 'rostering-b': 3600, 'rostering-1p2': 3600 } as const;
export type RosteringTokenKind = keyof typeof rosteringLifetimes;
export const isRosteringKind = (kind: TokenKind): kind is RosteringTokenKind => Object.hasOwn(rosteringLifetimes, kind);
export const tokenLifetimes = { ...rosteringLifetimes, school: 86_400, management: 86_400 } as const;
export type TokenKind = keyof typeof tokenLifetimes;

export type Claims = {
  kind: TokenKind;
  rp: string;
  /** Absent in tokens that are not of one establishment. */
  estab: string | undefined;
  secretId: string;
  /** The key that signed it, which may have been withdrawn since. */
  kid: string;
  /** OneRoster scopes that the token was narrowed to. */
  oneRosterScopes: readonly string[] | undefined;
  expiresAt: number;
};

export type IssuedToken = { token: string; expiresIn: number; expiresAt: Date };

export type Tokens = {
  issue(given: Omit<Claims, 'expiresAt' | 'kid'>): Promise<IssuedToken>;
  /** The claims of a token of that kind; anything else is an invalid_token error. */
  verify(token: string, kind: TokenKind): Promise<Claims>;
};

/** Seconds that a token of this application lives, where that is not as usual. */
export type FindTokenSeconds = (rp: string) => Promise<number | undefined>;

/** A token has 400 to 1,000 characters, and what it says takes about as much again. */
const rememberedCharacters = 4 * 1024 ** 2;

export function createTokens(keys: TokenKeys, issuer: string, now: () => number = Date.now, findSeconds?: FindTokenSeconds): Tokens {
  // A signature is checked once; expiry at every call, and everything that can be revoked is read from the database.
  const verified = new Map<string, Claims>();
  let characters = 0;

  return {
    async issue(given) {
      const { kid, key } = await keys.signingKey();
      const issuedAt = Math.floor(now() / 1000);
      const expiresIn = (await findSeconds?.(given.rp)) ?? tokenLifetimes[given.kind];
      const token = await new SignJWT({
        sid: given.secretId,
        ...(given.estab === undefined ? {} : { estab: given.estab }),
        ...(given.oneRosterScopes ? { scope: given.oneRosterScopes.join(' ') } : {}),
      })
        .setProtectedHeader({ alg: tokenAlgorithm, kid, typ: 'JWT' })
        .setIssuer(issuer)
        .setSubject(given.rp)
        .setAudience(given.kind)
        .setJti(randomUUID())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + expiresIn)
        .sign(key);
      return { token, expiresIn, expiresAt: new Date((issuedAt + expiresIn) * 1000) };
    },
    async verify(token, kind) {
      let claims = verified.get(token);
      if (!claims) {
        claims = await check(token);
        remember(token, claims);
      }
      if (claims.kind !== kind) throw new SchoolbellError('invalid_token', `The token is of another kind (${claims.kind}); this address takes ${kind} tokens.`);
      if (claims.expiresAt <= now()) throw new SchoolbellError('invalid_token', 'The token has expired; obtain a new one.');
      return claims;
    },
  };

  /** The oldest go first. */
  function remember(token: string, claims: Claims): void {
    if (!verified.has(token)) characters += token.length;
    verified.set(token, claims);
    for (const oldest of verified.keys()) {
      if (characters <= rememberedCharacters) break;
      verified.delete(oldest);
      characters -= oldest.length;
    }
  }

  async function check(token: string): Promise<Claims> {
    const kid = readKeyId(token);
    const key = await keys.verificationKey(kid);
    if (!key) throw malformed('unknown key');
    const { payload } = await jwtVerify(token, key, { issuer, algorithms: [tokenAlgorithm], clockTolerance: Number.MAX_SAFE_INTEGER }).catch((cause: Error) => {
      throw malformed(cause.message);
    });
    const { sub, aud, sid, estab, scope, exp } = payload as { sub?: string; aud?: string; sid?: string; estab?: string; scope?: string; exp?: number };
    if (!sub || !aud || !sid || !exp || !(aud in tokenLifetimes)) throw malformed('claims are missing');
    return { kind: aud as TokenKind, rp: sub, estab, secretId: sid, kid, oneRosterScopes: scope?.split(' '), expiresAt: exp * 1000 };
  }
}

function readKeyId(token: string): string {
  try {
    const { kid } = decodeProtectedHeader(token);
    return typeof kid === 'string' ? kid : '';
  } catch (cause) {
    throw malformed((cause as Error).message);
  }
}

function malformed(detail: string): SchoolbellError {
  return new SchoolbellError('invalid_token', 'The token is malformed or was not issued by this service.', { detail });
}
