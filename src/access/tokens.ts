// Access tokens: JWTs of five kinds, each refused wherever another kind is required. A token names the secret that it was obtained with and ends
// with that secret. Its times are set and checked by the database's clock, so that processes whose clocks differ accept each other's tokens.
import { randomUUID } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify, SignJWT, type JWTPayload } from 'jose';
import { SchoolbellError } from '../errors.ts';
import { tokenAlgorithm, type TokenKeys, type TokenFacts } from './token-keys.ts';

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
  /** Milliseconds of the database's clock, from which and until which the token is valid. */
  validFrom: number;
  expiresAt: number;
};

export type IssuedToken = { token: string; expiresIn: number; expiresAt: Date };

export type Tokens = {
  issue(given: Omit<Claims, 'validFrom' | 'expiresAt' | 'kid'>): Promise<IssuedToken>;
  /** Returns the claims of a token of that kind, or throws invalid_token. The caller checks them with `requireValid` against the database. */
  verify(token: string, kind: TokenKind): Promise<Claims>;
};

/** Seconds that a token of this application lives, where that is not as usual. */
export type FindTokenSeconds = (rp: string) => Promise<number | undefined>;

/** A token that is valid only later than this was issued by a clock that has been set back since, and would live longer than it should. */
const maxFutureMs = 5 * 60_000;

/** Throws invalid_token if the key was withdrawn, or the token's times do not include the present time of the database. */
export function requireValid({ validFrom, expiresAt }: Claims, { keyTrusted, databaseTime }: TokenFacts): void {
  if (!keyTrusted) throw new SchoolbellError('invalid_token', 'The key that signed this token was withdrawn; obtain a new token.');
  if (expiresAt <= databaseTime) throw new SchoolbellError('invalid_token', 'The token has expired; obtain a new one.');
  if (validFrom > databaseTime + maxFutureMs)
    throw new SchoolbellError('invalid_token', 'The token was issued for a time in the future; obtain a new one.');
}

/** A token has 400 to 1,000 characters, and what it says takes about as much again. */
const rememberedCharacters = 4 * 1024 ** 2;

export function createTokens(keys: TokenKeys, issuer: string, findSeconds?: FindTokenSeconds): Tokens {
  // A signature is checked once. Times, and everything that can be revoked, are checked at every call.
  const verified = new Map<string, Claims>();
  let characters = 0;

  return {
    async issue(given) {
      const { kid, key, databaseTime } = await keys.signingKey();
      const issuedAt = Math.floor(databaseTime / 1000);
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
        .setNotBefore(issuedAt)
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
    const { sub, aud, sid, estab, scope, iat, nbf, exp } = payload as JWTPayload & { aud?: string; sid?: string; estab?: string; scope?: string };
    if (!sub || !aud || !sid || !iat || !exp || !(aud in tokenLifetimes)) throw malformed('claims are missing');
    return {
      kind: aud as TokenKind,
      rp: sub,
      estab,
      secretId: sid,
      kid,
      oneRosterScopes: scope?.split(' '),
      validFrom: Math.max(iat, nbf ?? iat) * 1000,
      expiresAt: exp * 1000,
    };
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
