// The keys that sign tokens. The service creates them, stores them encrypted in the database so that every process can sign, publishes them as a
// JWK set, and replaces them on demand. Whether a retired key is still trusted is read at every call.
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose';
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import type { Seal } from './seal.ts';
import { sealedAs } from './sealed-as.ts';

export const tokenAlgorithm = 'ES256';
/** A retired key counts for as long as the longest token lives (24 h), with an hour to spare. */
export const trustedAfterwardsHours = 25;
const advisoryLock = 5_219_003;

export type TokenKeys = {
  /** databaseTime: milliseconds of the database's clock. */
  signingKey(): Promise<{ kid: string; key: CryptoKey; databaseTime: number }>;
  /** Of any key there ever was, so that its tokens are told from what was never issued here. */
  verificationKey(kid: string): Promise<CryptoKey | undefined>;
  publicKeys(): Promise<JWK[]>;
};

const trusted = (sql: Sql): Fragment => sql`(trusted_until is null or trusted_until > now())`;

export type TokenFacts = { keyTrusted: boolean; databaseTime: number };

const databaseTime = (sql: Sql): Fragment => sql`(extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseTime"`;

/**
 * Columns of the statement that reads who is calling: whether the key is trusted, so that a key that one process withdraws is refused by all
 * at once, and the time.
 */
export const tokenFacts = (sql: Sql, kid: string | Fragment): Fragment =>
  sql`exists (select from token_key where kid = ${kid} and ${trusted(sql)}) as "keyTrusted", ${databaseTime(sql)}`;

export function createTokenKeys(db: Db, seal: Seal): TokenKeys {
  const privateKeys = new Map<string, CryptoKey>();
  const publicKeys = new Map<string, CryptoKey>();

  return {
    async signingKey() {
      let row = await findSigning(db);
      if (!row) {
        await db.begin(async (tx) => {
          await tx`select pg_advisory_xact_lock(${advisoryLock})`;
          if (!(await findSigning(tx))) await makeKey(tx, seal);
        });
        row = await findSigning(db);
      }
      if (!row) throw new Error('no token key could be made');
      let key = privateKeys.get(row.kid);
      if (!key) {
        key = (await importJWK(JSON.parse(seal.open(row.sealed, sealedAs.tokenKey(row.kid))) as JWK, tokenAlgorithm)) as CryptoKey;
        privateKeys.set(row.kid, key);
      }
      return { kid: row.kid, key, databaseTime: row.databaseTime };
    },
    async verificationKey(kid) {
      const known = publicKeys.get(kid);
      // A header may hold anything, and PostgreSQL takes no NUL.
      if (known || !/^[\w-]{1,64}$/.test(kid)) return known;
      const [row] = await db<{ publicJwk: JWK }[]>`select public_jwk as "publicJwk" from token_key where kid = ${kid}`;
      if (row) publicKeys.set(kid, (await importJWK(row.publicJwk, tokenAlgorithm)) as CryptoKey);
      return publicKeys.get(kid);
    },
    async publicKeys() {
      const rows = await db<{ publicJwk: JWK }[]>`
        select public_jwk as "publicJwk" from token_key where ${trusted(db)} order by trusted_until desc nulls first, created_at desc`;
      return rows.map((row) => row.publicJwk);
    },
  };
}

/** A new key signs from now on. The earlier ones count until their last token has expired or, with `now`, no longer. */
export async function rotateTokenKey(tx: Tx, seal: Seal, { now }: { now: boolean }): Promise<string> {
  await tx`select pg_advisory_xact_lock(${advisoryLock})`;
  const present = await findSigning(tx);
  // With a SECRET_KEY that is not the service's, the service could not open the new one either.
  if (present) seal.open(present.sealed, sealedAs.tokenKey(present.kid));
  await tx`
    update token_key set trusted_until = least(trusted_until, now() + make_interval(hours => ${now ? 0 : trustedAfterwardsHours})), sealed_private_jwk = null
    where ${trusted(tx)}`;
  return makeKey(tx, seal);
}

/** Shortens the trust in retired keys that was set before the clock was set back. */
export async function limitTokenKeys(db: Db): Promise<void> {
  const longest = db`now() + make_interval(hours => ${trustedAfterwardsHours})`;
  await db`update token_key set trusted_until = ${longest} where trusted_until > ${longest}`;
}

/** Since when a key has signed or verified, and until when; sealed: what is left of a private one. */
export type KeyAge = Readonly<{ id: string; created: Date; until: Date | null; sealed: Uint8Array | null }>;

/** Those that count, the one that signs first. */
export async function listTokenKeys(db: Db): Promise<KeyAge[]> {
  return db<KeyAge[]>`
    select kid as id, created_at as created, trusted_until as until, sealed_private_jwk as sealed from token_key where ${trusted(db)}
    order by trusted_until desc nulls first, created_at desc limit 50`;
}

async function makeKey(sql: Sql, seal: Seal): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair(tokenAlgorithm, { extractable: true });
  const publicJwk = await exportJWK(publicKey);
  const kid = `${Date.now().toString(36)}-${publicJwk.x?.slice(0, 8)}`;
  const sealed = seal.seal(JSON.stringify(await exportJWK(privateKey)), sealedAs.tokenKey(kid));
  const described = { ...publicJwk, kid, alg: tokenAlgorithm, use: 'sig' } as unknown as Record<string, string>;
  await sql`insert into token_key (kid, public_jwk, sealed_private_jwk) values (${kid}, ${sql.json(described)}, ${sealed})`;
  return kid;
}

type SigningRow = { kid: string; sealed: Uint8Array; databaseTime: number };

async function findSigning(sql: Sql): Promise<SigningRow | undefined> {
  const [row] = await sql<SigningRow[]>`
    select kid, sealed_private_jwk as sealed, ${databaseTime(sql)} from token_key where trusted_until is null order by created_at desc, kid limit 1`;
  return row;
}
