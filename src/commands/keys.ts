// In charge of the commands on the keys with which the service signs.
import { rotateTokenKey, trustedAfterwardsHours } from '../access/token-keys.ts';
import { rotateProviderKeys } from '../identity/oidc/keys.ts';
import type { Command } from './command.ts';

export const keyCommands: readonly Command[] = [
  {
    name: 'keys rotate',
    help: 'Makes new keys for tokens and for single sign-on. What the old ones signed stays valid until it expires.',
    options: { now: { value: undefined, help: 'what the old keys signed is refused from its next use: every caller has to obtain a new token' } },
    async run({ db, seal }, given) {
      const now = given.options.now === true;
      const data = await db.begin(async (tx) => ({ tokenKey: await rotateTokenKey(tx, seal, { now }), singleSignOnKey: await rotateProviderKeys(tx, seal, { now }), oldEnded: now }));
      const old = now ? 'whatever was signed before is refused from now on' : `tokens from before are taken until they expire, for ${trustedAfterwardsHours} hours at most`;
      return { data, lines: [`new tokens are signed with ${data.tokenKey}, new ID tokens with ${data.singleSignOnKey}; ${old}`] };
    },
  },
];
