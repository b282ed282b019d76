// In charge of the commands on applications and secrets.
import { addApplication, rotateApplicationSecret } from '../access/applications.ts';
import { rotateSchoolSecret } from '../access/authorisations.ts';
import { secretKinds } from '../access/secrets.ts';
import { SchoolbellError } from '../errors.ts';
import { announceRotation } from '../onboarding/approve.ts';
import { optionalText, text, type Command } from './command.ts';

const anyEstab = { value: '<id>', help: 'the establishment' } as const;
const rp = { value: '<id>', help: 'the application (relying party)', required: true } as const;
const shownOnce = 'Keep these; they are not shown again.';

export const applicationCommands: readonly Command[] = [
  {
    name: 'application add',
    help: 'Adds an application and prints its secrets.',
    options: {
      rp,
      name: { value: '<name>', help: 'its name, as schools will read it', required: true },
      'callback-url': { value: '<url>', help: 'where authentication events go', required: true },
      scopes: { value: '<list>', help: 'what it asks for, for example School,Student,Staff:optional', required: true },
      'redirect-uri': { value: '<url>', help: 'where sign-ins may return to; may be repeated', many: true },
    },
    async run({ db, seal }, given) {
      const redirectUris = ((given.options['redirect-uri'] as string[] | undefined) ?? []).map(String);
      const data = await addApplication(db, seal, {
        rp: text(given, 'rp'),
        name: text(given, 'name'),
        callbackUrl: text(given, 'callback-url'),
        scopes: text(given, 'scopes'),
        redirectUris,
      });
      return { data, lines: [...Object.entries(data).map(([name, value]) => `${name}\t${value}`), shownOnce] };
    },
  },
  {
    name: 'rotate',
    help: 'Replaces a secret. The old one ends at once; a signing secret stays valid for a day.',
    options: { rp, estab: anyEstab, secret: { value: '<kind>', help: `${secretKinds.join(', ')} (school needs --estab)`, required: true } },
    async run({ db, seal }, given) {
      const kind = text(given, 'secret');
      const known = secretKinds.find((one) => one === kind);
      if (!known) throw new SchoolbellError('invalid_request', `--secret "${kind}": must be one of ${secretKinds.join(', ')}`);
      const [forRp, forEstab] = [text(given, 'rp'), optionalText(given, 'estab')];
      if (known === 'school' && !forEstab)
        throw new SchoolbellError('invalid_request', '--estab is missing: a school secret belongs to an application at an establishment');
      const secret =
        known === 'school'
          ? await rotateSchoolSecret(db, forRp, forEstab ?? '', (tx, issued) => announceRotation(tx, seal, { rp: forRp, estab: forEstab ?? '' }, issued))
          : await rotateApplicationSecret(db, seal, forRp, known);
      const data = { rp: forRp, ...(known === 'school' ? { estab: forEstab } : {}), [`${known}Secret`]: secret };
      return { data, lines: [...Object.entries(data).map(([name, value]) => `${name}\t${value}`), shownOnce] };
    },
  },
];
