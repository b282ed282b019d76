// In charge of the provider's own keys: made once, sealed, the same for every process.
import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Seal } from '../../access/seal.ts';
import type { Db } from '../../db/connect.ts';

export type ProviderKeys = { jwks: { keys: JWK[] }; cookieKeys: string[] };

const advisoryLock = 5_219_008;

export async function readProviderKeys(db: Db, seal: Seal): Promise<ProviderKeys> {
  return db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${advisoryLock})`;
    const [kept] = await tx<{ sealed: string }[]>`select payload ->> 'sealed' as sealed from oidc_record where model = 'Keys' and id = 'keys'`;
    if (kept) return JSON.parse(seal.open(Buffer.from(kept.sealed, 'base64'))) as ProviderKeys;
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const keys: ProviderKeys = { jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: randomBytes(8).toString('hex') }] }, cookieKeys: [randomBytes(32).toString('base64url')] };
    await tx`insert into oidc_record (model, id, payload) values ('Keys', 'keys', ${tx.json({ sealed: seal.seal(JSON.stringify(keys)).toString('base64') })})`;
    return keys;
  });
}
