// In charge of the provider's own keys, for ID tokens and for cookies: sealed, the same for every process, replaced on
// demand. The newest signs; those behind it only verify, for as long as anything that they signed can be in use.
import { randomBytes, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import type { Seal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import type { KeyAge } from '../../access/token-keys.ts';
import type { Db, Fragment, Sql, Tx } from '../../db/connect.ts';

export type ProviderKeys = { jwks: { keys: JWK[] }; cookieKeys: string[] };

/** Cookies of a session live for 12 hours, ID tokens for one. */
const trustedAfterwardsHours = 13;
const advisoryLock = 5_219_008;

const trusted = (sql: Sql): Fragment => sql`(trusted_until is null or trusted_until > now())`;

/** Names the keys that count at present, in one small statement: another name means other keys. The first are made here. */
export async function requireGeneration(db: Db, seal: Seal): Promise<string> {
  const generation = await findGeneration(db);
  if (generation !== '') return generation;
  await db.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${advisoryLock})`;
    if ((await findGeneration(tx)) === '') await makeKeys(tx, seal);
  });
  return findGeneration(db);
}

/** Newest first. */
export async function readProviderKeys(db: Db, seal: Seal): Promise<ProviderKeys> {
  const rows = await db<{ id: string; sealed: Uint8Array }[]>`
    select id, sealed from provider_key where ${trusted(db)} order by trusted_until desc nulls first, created_at desc`;
  const opened = rows.map(({ id, sealed }) => JSON.parse(seal.open(sealed, sealedAs.providerKeys(id))) as ProviderKeys);
  return { jwks: { keys: opened.flatMap(({ jwks }) => jwks.keys) }, cookieKeys: opened.flatMap(({ cookieKeys }) => cookieKeys) };
}

/** Gives the key id of the new one. With `now`, what the earlier ones signed counts no longer. */
export async function rotateProviderKeys(tx: Tx, seal: Seal, { now }: { now: boolean }): Promise<string> {
  await tx`select pg_advisory_xact_lock(${advisoryLock})`;
  const [present] = await tx<{ id: string; sealed: Uint8Array }[]>`select id, sealed from provider_key where trusted_until is null`;
  // With a SECRET_KEY that is not the service's, the service could not open the new ones either.
  if (present) seal.open(present.sealed, sealedAs.providerKeys(present.id));
  await tx`delete from provider_key where ${now ? tx`true` : tx`trusted_until <= now()`}`;
  await tx`update provider_key set trusted_until = now() + make_interval(hours => ${trustedAfterwardsHours}) where trusted_until is null`;
  return makeKeys(tx, seal);
}

/** Those that count, the one that signs first. */
export async function listProviderKeys(db: Db): Promise<KeyAge[]> {
  return db<KeyAge[]>`
    select id::text as id, created_at as created, trusted_until as until, sealed from provider_key where ${trusted(db)}
    order by trusted_until desc nulls first, created_at desc limit 50`;
}

/** Shortens the trust in retired keys that was set before the clock was set back. */
export async function limitProviderKeys(db: Db): Promise<void> {
  const longest = db`now() + make_interval(hours => ${trustedAfterwardsHours})`;
  await db`update provider_key set trusted_until = ${longest} where trusted_until > ${longest}`;
}

/** Those that verify nothing any more. */
export async function forgetProviderKeys(db: Db): Promise<void> {
  await db`delete from provider_key where trusted_until <= now()`;
}

async function makeKeys(tx: Tx, seal: Seal): Promise<string> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = randomBytes(8).toString('hex');
  const jwk = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid };
  const keys: ProviderKeys = { jwks: { keys: [jwk] }, cookieKeys: [randomBytes(32).toString('base64url')] };
  const id = randomUUID();
  await tx`insert into provider_key (id, sealed) values (${id}, ${seal.seal(JSON.stringify(keys), sealedAs.providerKeys(id))})`;
  return kid;
}

async function findGeneration(sql: Sql): Promise<string> {
  const rows = await sql<{ id: string }[]>`select id from provider_key where ${trusted(sql)} order by id`;
  return rows.map(({ id }) => id).join(' ');
}
