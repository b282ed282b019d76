// In charge of the command that replaces a secret of an application.
import { rotateApplicationSecret } from '../access/applications.ts';
import { rotateSchoolSecret } from '../access/authorisations.ts';
import { keptSeconds, secretKinds } from '../access/secrets.ts';
import { SchoolbellError } from '../errors.ts';
import { announceRotation } from '../onboarding/approve.ts';
import { optionalText, text, type Command } from './command.ts';
import { parseDuration } from './duration.ts';
import { renderPairs, renderTime } from './table.ts';

export const shownOnce = 'Keep these; they are not shown again.';

export const secretCommands: readonly Command[] = [
  {
    name: 'rotate',
    help: 'Replaces a secret. The old one ends at once, a signing secret after a day, unless --keep-old says otherwise.',
    options: {
      rp: { value: '<id>', help: 'the application (relying party)', required: true },
      estab: { value: '<id>', help: 'the establishment' },
      secret: { value: '<kind>', help: `${secretKinds.join(', ')} (school needs --estab)`, required: true },
      'keep-old': { value: '<duration>', help: 'how long the old one stays valid: 30m, 24h, 7d, at most 30d; 0 ends it at once' },
    },
    async run({ db, seal }, given) {
      const kind = text(given, 'secret');
      const known = secretKinds.find((one) => one === kind);
      if (!known) throw new SchoolbellError('invalid_request', `--secret "${kind}": must be one of ${secretKinds.join(', ')}`);
      const [rp, estab, keep] = [text(given, 'rp'), optionalText(given, 'estab'), optionalText(given, 'keep-old')];
      if (known === 'school' && !estab)
        throw new SchoolbellError('invalid_request', '--estab is missing: a school secret belongs to an application at an establishment');
      if (known !== 'school' && estab !== undefined)
        throw new SchoolbellError('invalid_request', `--estab does not go with --secret ${known}, which belongs to the application alone`);
      const seconds = keep === undefined ? keptSeconds[known] : parseDuration(keep, '--keep-old');
      const pair = { rp, estab: estab ?? '' };
      const secret =
        known === 'school'
          ? await rotateSchoolSecret(db, rp, pair.estab, (tx, issued) => announceRotation(tx, seal, pair, issued), seconds)
          : await rotateApplicationSecret(db, seal, rp, known, seconds);
      const oldEnds = new Date(Date.now() + seconds * 1000);
      const data = { rp, ...(known === 'school' ? { estab } : {}), [`${known}Secret`]: secret };
      return {
        data: { ...data, oldEnds },
        lines: [...renderPairs(data), shownOnce, `The old one ${seconds === 0 ? 'has ended' : `ends at ${renderTime(oldEnds)}`}.`],
      };
    },
  },
];
