// In charge of the command that replaces a secret of an application.
import { endOldSecrets, type SecretOf } from '../access/credentials.ts';
import { requireApplication } from '../access/applications.ts';
import { secretKinds } from '../access/secrets.ts';
import { SchoolbellError } from '../errors.ts';
import { rotateSecret } from '../onboarding/rotate-secret.ts';
import { optionalText, text, type Command, type Given } from './command.ts';
import { parseDuration } from './duration.ts';
import { renderPairs, renderTime } from './table.ts';

export const shownOnce = 'Keep these; they are not shown again.';

export const secretCommands: readonly Command[] = [
  {
    name: 'rotate',
    effect: 'changes',
    help: 'Replaces a secret. The old one ends at once, a signing secret after a day, unless --keep-old says otherwise.',
    options: {
      rp: { value: '<id>', help: 'the application (relying party)', required: true },
      estab: { value: '<id>', help: 'the establishment' },
      secret: { value: '<kind>', help: `${secretKinds.join(', ')} (school needs --estab)`, required: true },
      'keep-old': { value: '<duration>', help: 'how long the old one stays valid: 30m, 24h, 7d, at most 30d; 0 ends it at once' },
      'end-old': { value: undefined, help: 'make no new one: end those that were replaced and are still valid' },
    },
    async run({ db, seal }, given) {
      const of = parseSecretOf(given);
      const pair = { rp: of.rp, ...(of.kind === 'school' ? { estab: of.estab } : {}) };
      const keep = optionalText(given, 'keep-old');
      if (given.options['end-old'] === true) {
        if (keep !== undefined) throw new SchoolbellError('invalid_request', '--keep-old does not go with --end-old');
        await requireApplication(db, of.rp);
        const ended = await endOldSecrets(db, of);
        const words = ended === 0 ? 'there was no old one' : `${ended} old ${ended === 1 ? 'one' : 'ones'} ended`;
        return { data: { ...pair, secret: of.kind, ended }, lines: [words] };
      }
      const rotated = await rotateSecret({ db, seal }, of, { keepSeconds: keep === undefined ? undefined : parseDuration(keep, '--keep-old') });
      const data = { ...pair, [`${of.kind}Secret`]: rotated.secret };
      return {
        data: { ...data, oldEnds: rotated.oldEnds },
        lines: [...renderPairs(data), shownOnce, `The old one ${rotated.keptSeconds === 0 ? 'has ended' : `ends at ${renderTime(rotated.oldEnds)}`}.`],
      };
    },
  },
];

function parseSecretOf(given: Given): SecretOf {
  const [rp, estab, kind] = [text(given, 'rp'), optionalText(given, 'estab'), text(given, 'secret')];
  const known = secretKinds.find((one) => one === kind);
  if (!known) throw new SchoolbellError('invalid_request', `--secret "${kind}": must be one of ${secretKinds.join(', ')}`);
  if (known === 'school') {
    if (!estab) throw new SchoolbellError('invalid_request', '--estab is missing: a school secret belongs to an application at an establishment');
    return { rp, kind: known, estab };
  }
  if (estab !== undefined) throw new SchoolbellError('invalid_request', `--estab does not go with --secret ${known}, which belongs to the application alone`);
  return { rp, kind: known };
}
