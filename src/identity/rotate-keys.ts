// In charge of replacing the keys that sign, all at once: those of tokens and those of single sign-on.
import { rotateTokenKey } from '../access/token-keys.ts';
import type { Seal } from '../access/seal.ts';
import type { Db } from '../db/connect.ts';
import { rotateProviderKeys } from './oidc/keys.ts';

/** The names of the new ones. With `now`, what the old ones signed is refused from its next use. */
export async function rotateSigningKeys(db: Db, seal: Seal, how: { now: boolean }): Promise<{ tokenKey: string; singleSignOnKey: string }> {
  return db.begin(async (tx) => {
    const tokenKey = await rotateTokenKey(tx, seal, how);
    return { tokenKey, singleSignOnKey: await rotateProviderKeys(tx, seal, how) };
  });
}
