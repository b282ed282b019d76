// In charge of the keys that sign tokens: made by the service, kept sealed in the database so that any process may
// sign, published as a JWK set, and replaced on demand. A retired key verifies until its last token has expired.
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose';
import type { Db } from '../db/connect.ts';
import type { Seal } from './seal.ts';

export const tokenAlgorithm = 'ES256';
const advisoryLock = 5_219_003;

export type TokenKeys = {
  signingKey(): Promise<{ kid: string; key: CryptoKey }>;
  verificationKey(kid: string): Promise<CryptoKey | undefined>;
  publicKeys(): Promise<JWK[]>;
  rotate(): Promise<string>;
};

export function createTokenKeys(db: Db, seal: Seal): TokenKeys {
  const privateKeys = new Map<string, CryptoKey>();
  const publicKeys = new Map<string, CryptoKey>();

  /** Retired keys are listed for as long as the longest token lives (24 h), with an hour to spare. */
  const stillTrusted = () => db<{ kid: string; publicJwk: JWK }[]>`
    select kid, public_jwk as "publicJwk" from token_key where retired_at is null or retired_at > now() - interval '25 hours' order by created_at desc`;

  async function makeKey(): Promise<string> {
    const { publicKey, privateKey } = await generateKeyPair(tokenAlgorithm, { extractable: true });
    const publicJwk = await exportJWK(publicKey);
    const kid = `${Date.now().toString(36)}-${publicJwk.x?.slice(0, 8)}`;
    const sealed = seal.seal(JSON.stringify(await exportJWK(privateKey)));
    const described = { ...publicJwk, kid, alg: tokenAlgorithm, use: 'sig' } as unknown as Record<string, string>;
    await db`insert into token_key (kid, public_jwk, sealed_private_jwk) values (${kid}, ${db.json(described)}, ${sealed})`;
    return kid;
  }

  const newest = () => db<{ kid: string; sealed: Uint8Array }[]>`
    select kid, sealed_private_jwk as sealed from token_key where retired_at is null order by created_at desc, kid limit 1`;

  return {
    async signingKey() {
      let [row] = await newest();
      if (!row) {
        await db.begin(async (tx) => {
          await tx`select pg_advisory_xact_lock(${advisoryLock})`;
          const [known] = await tx`select from token_key where retired_at is null`;
          if (!known) await makeKey();
        });
        [row] = await newest();
      }
      if (!row) throw new Error('no token key could be made');
      let key = privateKeys.get(row.kid);
      if (!key) {
        key = (await importJWK(JSON.parse(seal.open(row.sealed)) as JWK, tokenAlgorithm)) as CryptoKey;
        privateKeys.set(row.kid, key);
      }
      return { kid: row.kid, key };
    },
    async verificationKey(kid) {
      const known = publicKeys.get(kid);
      if (known) return known;
      for (const row of await stillTrusted()) {
        if (row.kid === kid) publicKeys.set(kid, (await importJWK(row.publicJwk, tokenAlgorithm)) as CryptoKey);
      }
      return publicKeys.get(kid);
    },
    async publicKeys() {
      return (await stillTrusted()).map((row) => row.publicJwk);
    },
    async rotate() {
      const kid = await makeKey();
      await db`update token_key set retired_at = now() where kid <> ${kid} and retired_at is null`;
      return kid;
    },
  };
}
