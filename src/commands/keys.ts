// In charge of the commands on the service's own keys: those that sign, and the one that seals what is stored.
import { trustedAfterwardsHours } from '../access/token-keys.ts';
import { rotateSigningKeys } from '../identity/rotate-keys.ts';
import type { Command } from './command.ts';
import { renderTable } from './table.ts';
import { resealEverything, type Resealed } from './reseal.ts';

const shownUnopened = 20;

export const keyCommands: readonly Command[] = [
  {
    name: 'keys rotate',
    effect: 'changes',
    help: 'Makes new keys for tokens and for single sign-on. What the old ones signed stays valid until it expires.',
    options: { now: { value: undefined, help: 'what the old keys signed is refused from its next use: every caller has to obtain a new token' } },
    async run({ db, seal }, given) {
      const now = given.options.now === true;
      const data = { ...(await rotateSigningKeys(db, seal, { now })), oldEnded: now };
      const taken = `tokens from before are taken until they expire, for ${trustedAfterwardsHours} hours at most`;
      const old = now ? 'whatever was signed before is refused from now on' : taken;
      return { data, lines: [`new tokens are signed with ${data.tokenKey}, new ID tokens with ${data.singleSignOnKey}; ${old}`] };
    },
  },
  {
    name: 'keys reseal',
    effect: 'changes',
    help: 'Seals everything that is kept sealed with the first key of SECRET_KEY (new,old), so that the others may go. May be repeated.',
    options: {},
    async run({ db, seal }) {
      const data = await resealEverything(db, seal);
      const failed = describeFailure(data);
      const counts = renderTable(
        data.places,
        [
          { title: 'What', of: ({ what }) => what },
          { title: 'Found', of: ({ found }) => found, right: true },
          { title: 'Sealed anew', of: ({ resealed }) => resealed, right: true },
        ],
        'nothing is sealed',
      );
      if (failed !== undefined) return { data, lines: counts, failed };
      return { data, lines: [...counts, 'everything is sealed with the first key of SECRET_KEY; any other may now go'] };
    },
  },
];

function describeFailure({ unopened, sealedMeanwhile }: Resealed): string | undefined {
  if (unopened.length > 0) {
    const more = unopened.length > shownUnopened ? ` and ${unopened.length - shownUnopened} more (--json names all)` : '';
    const named = unopened.slice(0, shownUnopened).join(', ');
    return `no key of SECRET_KEY opens ${named}${more}; add the key that sealed it, or replace it, and repeat; until then no key may go`;
  }
  if (sealedMeanwhile === 0) return undefined;
  return `${sealedMeanwhile} were sealed with an older key meanwhile: give every process the new key first, then repeat; until then no key may go`;
}
